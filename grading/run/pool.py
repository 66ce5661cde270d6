"""A pool of processes for jobs that may kill their process.

concurrent.futures gives up the whole pool when one process dies. Here a job whose process died is
tried once more, in a new process; the second death, or its deadline, is that job's result. A job
that gets stuck in a step of its work is done again without that step: see `Step`. Orders are
pickled; answers are JSON, so that nothing which comes back from near a student's code is ever
unpickled. A process whose master was killed ends at once.
"""

from __future__ import annotations

import collections
import contextlib
import gc
import importlib
import json
import math
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from multiprocessing.connection import Connection, Pipe, wait

#: How often a job is tried that kills its process.
TRIES = 2
#: Seconds for an idle process to end by itself.
GRACE_SECONDS = 5.0

#: step(name, seconds) is a context manager of one step of a job, which may take so long. Native
#: code lets no signal and no other thread interrupt it, so the master watches: if a step takes
#: longer, its process is killed, and the job done again in a new one, with the names of all steps
#: in which it got stuck in job["stuck"]. It must leave those out.
Step = Callable[[str, float], AbstractContextManager[None]]

_prepared: list[Process] = []

START = (
    "import gc, sys; gc.disable(); sys.path[:] = sys.argv[2:]; "
    "from grading.run.pool import serve; serve(int(sys.argv[1]))"
)


class PoolError(RuntimeError):
    """No process of the pool can start; the message is its own."""


def run(
    jobs: list[dict],
    handler: str,
    settings: dict,
    *,
    processes: int,
    deadline: float,
    load: Callable[[dict], dict] | None = None,
) -> Iterator[tuple[int, dict]]:
    """Do the jobs and yield (number, answer) in the order in which they end.

    Args:
        jobs: dictionaries.
        handler: "module:function"; called once in each process with the settings, it returns a
            context manager of the function that does a job and returns a dictionary for JSON. The
            function gets the job and a `Step`.
        settings: the handler's arguments.
        processes: how many run at a time.
        deadline: seconds after which a job's process is killed; without the steps in which it got
            stuck, a job has what is left of them.
        load: called with a job before it is sent, returns what is sent.

    Yields:
        the number of the job and its answer; {"lost": reason} where the process died of it. After
        an answer with a true "spent" its process gets no other job.

    Raises:
        PoolError: if a process can't begin.

    """
    waiting = collections.deque(range(len(jobs)))
    tries: collections.Counter[int] = collections.Counter()
    having: dict[Process, int] = {}
    idle: list[Process] = []

    def hand_out() -> None:
        """Give everybody who is free a job."""
        while waiting and len(having) < processes:
            process, number = (
                idle.pop() if idle else start(handler, settings),
                waiting[0],
            )
            if process.send(load(jobs[number]) if load else jobs[number], deadline):
                having[process] = waiting.popleft()
            else:
                process.kill()

    try:
        hand_out()
        while having:
            until = min(process.until for process in having)
            wait(
                [process.pipe for process in having], max(0.0, until - time.monotonic())
            )
            done = []
            for process, number in list(having.items()):
                answer = process.receive()
                if answer is None:
                    continue
                del having[process]
                tries[number] += 1
                if process.ended or answer.get("spent"):
                    process.kill()
                else:
                    idle.append(process)
                if answer.get("died") and tries[number] < TRIES:
                    waiting.append(number)
                else:
                    done.append((number, answer))
            hand_out()  # before the caller deals with these: nobody waits for that
            yield from done
    finally:
        for process in (*idle, *having):
            process.pipe.close()  # who is idle ends by itself, all at the same time
        for process in (*idle, *having):
            process.kill()


def prepare(processes: int, modules: Sequence[str]) -> None:
    """Start processes for the next `run`, which import modules while this one prepares the jobs."""
    _prepared.extend(Process(modules) for _ in range(processes))


def discard() -> None:
    """End what was prepared and not used."""
    while _prepared:
        process = _prepared.pop()
        process.ended = True
        process.kill()


def start(handler: str, settings: dict, idle_seconds: float | None = None) -> Process:
    """Return a process that does jobs, one that was prepared if there is one.

    Args:
        handler: as for `run`.
        settings: as for `run`.
        idle_seconds: how long it waits for a job before it ends, without end if None.

    """
    process = Process() if not _prepared or idle_seconds else _prepared.pop()
    process.begin(handler, settings, idle_seconds)
    return process


class Process:
    """A process that does one job after the other, as soon as `begin` has told it how.

    Args:
        modules: what it imports first.

    """

    def __init__(self, modules: Sequence[str] = ()) -> None:
        self.busy = self.ended = False
        self.deadline = self.limit = 0.0
        self.step, self.step_until = "", math.inf
        self.job: dict | None = None  # until it is done: it may have to be done again
        self.orders: tuple | None = None
        self._launch(modules)

    def _launch(self, modules: Sequence[str]) -> None:
        """Start the process itself."""
        self.ready = False
        self.pipe, other = Pipe()
        path = [os.path.abspath(entry) for entry in sys.path]
        with other:
            self.process = subprocess.Popen(
                [sys.executable, "-c", START, str(other.fileno()), *path],
                stdin=subprocess.DEVNULL,
                pass_fds=[other.fileno()],
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
        self._send(list(modules))

    def begin(self, handler: str, settings: dict, idle_seconds: float | None) -> None:
        """Tell it how jobs are done; see `start`."""
        self.orders = handler, settings, idle_seconds
        self._send(self.orders)

    def _send(self, message: object) -> bool:
        try:
            self.pipe.send_bytes(pickle.dumps(message))
        except OSError:
            self.ended = True
        return not self.ended

    def send(self, job: dict, deadline: float) -> bool:
        """Give it a job; False if it is gone."""
        self.deadline, self.limit = time.monotonic() + deadline, deadline
        self.step, self.step_until = "", math.inf
        self.busy, self.job = True, job
        return self._send(job) if self.ready else True

    def receive(self) -> dict | None:
        """Return the answer to its job if there is one; {"lost": reason} if there never will be.

        Raises:
            PoolError: if it could not begin.

        """
        answer = None
        try:
            while answer is None and self.pipe.poll():
                answer = self._told(json.loads(self.pipe.recv_bytes()))
            if answer is None and time.monotonic() >= self.until:
                answer = self._overdue()
        except (OSError, EOFError):
            self.ended = True
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(10)
            status = _status(self.process.returncode)
            answer = {"lost": f"the grading process ended ({status})", "died": True}
        if answer is not None:
            self.busy, self.job = False, None
        return answer

    def _told(self, message: dict) -> dict | None:
        """Take note of what it says; return that if it is the answer to its job.

        Raises:
            PoolError: if it could not begin.

        """
        if not self.ready:
            if "ready" not in message:
                self.ended = True
                raise PoolError(
                    message.get("cannot_start", "a grading process did not start")
                )
            self.ready = True
            self._send(
                self.job
            )  # if it is gone, that is found out when its answer is read
            self.ended = False
        elif "step" in message:
            self.step = message["step"]
            self.step_until = time.monotonic() + (message["seconds"] or math.inf)
        else:
            return message
        return None

    def _overdue(self) -> dict | None:
        """Return the answer to a job whose time is over, or None and do it without its step."""
        stuck = self.job.get("stuck", [])
        if time.monotonic() >= self.deadline:
            self.ended = True
            return {"lost": f"grading took longer than {self.limit:.0f} s"}
        if self.step in stuck:
            self.ended = True
            return {"lost": f"grading can't leave out the step {self.step!r}"}
        self.pipe.close()
        self.process.kill()
        self.process.wait()
        self.job = {**self.job, "stuck": [*stuck, self.step]}
        self.step, self.step_until = "", math.inf
        self._launch(())
        self._send(self.orders)
        return None

    def ask(self, job: dict, deadline: float) -> dict:
        """Return the answer to a job, or {"lost": reason}.

        Raises:
            PoolError: if the process could not begin.

        """
        self.send(job, deadline)
        while True:
            wait([self.pipe], max(0.0, self.until - time.monotonic()))
            if (answer := self.receive()) is not None:
                return answer

    @property
    def until(self) -> float:
        """When something has to be done about it if it has not answered."""
        return min(self.deadline, self.step_until)

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self.process.poll() is None

    def kill(self) -> None:
        """End the process, at once if it is at work."""
        self.pipe.close()
        if not (self.busy or self.ended):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(GRACE_SECONDS)
        self.process.kill()
        self.process.wait()


def _status(code: int | None) -> str:
    """Return the words for an exit status."""
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit status {code}"


def _end_with_master(pipe: int, at_work: threading.Event) -> None:
    """End this process when its master is gone, also in the middle of a job."""
    poll = select.poll()
    poll.register(pipe, 0)  # what is always reported: the other end was closed
    poll.poll()
    if not at_work.is_set():
        time.sleep(GRACE_SECONDS)  # the main thread finds out by itself, and clears up
    os._exit(1)


def serve(descriptor: int) -> None:
    """Do jobs until the pipe ends; in a process of the pool."""
    # A key press ends the master, which ends this process: no traceback from here.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe, at_work = Connection(descriptor), threading.Event()
    watcher = threading.Thread(
        target=_end_with_master, args=(descriptor, at_work), daemon=True
    )
    watcher.start()
    at_work.set()
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(EOFError, OSError))
        try:
            for name in pickle.loads(pipe.recv_bytes()):
                importlib.import_module(name)
            handler, settings, idle_seconds = pickle.loads(pipe.recv_bytes())
            module, _, name = handler.partition(":")
            work = stack.enter_context(
                getattr(importlib.import_module(module), name)(**settings)
            )
        except EOFError:  # there was nothing to do
            return
        except Exception as error:  # whatever it is, the master must hear of it
            pipe.send_bytes(json.dumps({"cannot_start": f"{error}"}).encode())
            return

        @contextlib.contextmanager
        def step(name: str, seconds: float) -> Iterator[None]:
            pipe.send_bytes(json.dumps({"step": name, "seconds": seconds}).encode())
            try:
                yield
            finally:
                pipe.send_bytes(json.dumps({"step": "", "seconds": None}).encode())

        gc.freeze()
        gc.enable()  # off until here: imports make much and leave little to collect
        pipe.send_bytes(json.dumps({"ready": True}).encode())
        while True:
            at_work.clear()
            if not pipe.poll(idle_seconds):
                return
            job = pickle.loads(pipe.recv_bytes())
            at_work.set()
            pipe.send_bytes(json.dumps(work(job, step)).encode())
