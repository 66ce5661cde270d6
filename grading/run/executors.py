"""Executors for submissions: local processes, a Dask cluster, or any concurrent.futures engine.

    with open_executor("local", jobs=2) as executor:
        for number, answer in executor.run(jobs, handler, settings, deadline=720): ...

A job goes out with all that is needed to do it: the submission's bytes, the assignment with its
tests, the options. Plain data comes back. Only the process that calls `run` writes anything.

On another machine a job is done by a process of its own beside the engine's worker (`unit`), which
stays warm for the next one. The machine needs this course, in the same version, and bubblewrap.

A Dask scheduler runs whatever it is sent by anyone who can reach it, and what is sent here has the
hidden tests in it: use tls:// and a network of one's own.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import hashlib
import importlib
import importlib.metadata
import pickle
import queue
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Protocol

from grading.run import pool
from grading.run.pool import TRIES, PoolError

#: How often a cluster is asked which of its workers are alive, and how long one is waited for.
LOOK_SECONDS, WORKER_SECONDS = 1.0, 60.0
#: How long a Dask scheduler may take to answer.
CONNECT_SECONDS = 15.0
#: Messages that a client of Dask keeps to look for faults.
MESSAGES_KEPT = 10
#: A process beside an engine's worker that has had nothing to do for so long ends.
IDLE_SECONDS = 600.0
#: Schemes of a Dask scheduler's address.
SCHEMES = ("tcp://", "tls://", "ucx://", "ws://", "wss://")

DASK_MISSING = """--executor {spec}: Dask is not installed. Install it here and on the machines of
the cluster: make env EXTRAS=grade"""


class Executor(Protocol):
    """Does a list of jobs somewhere."""

    def run(
        self,
        jobs: list[dict],
        handler: str,
        settings: dict,
        *,
        deadline: float,
        load: Callable[[dict], dict] | None = None,
    ) -> Iterator[tuple[int, dict]]:
        """Do the jobs; see `grading.run.pool.run`."""


class Local:
    """Processes of this machine."""

    def __init__(self, processes: int) -> None:
        self.processes = processes

    def run(
        self,
        jobs: list[dict],
        handler: str,
        settings: dict,
        *,
        deadline: float,
        load: Callable[[dict], dict] | None = None,
    ) -> Iterator[tuple[int, dict]]:
        """Do the jobs; see `grading.run.pool.run`."""
        return pool.run(
            jobs,
            handler,
            settings,
            processes=self.processes,
            deadline=deadline,
            load=load,
        )


class Futures:
    """An engine with `submit`, like those of concurrent.futures; its futures may be its own.

    An engine may have `slots()`, which says how many jobs it takes at a time; else it is `slots`.
    """

    def __init__(self, engine: object, slots: int) -> None:
        self.engine, self.slots = engine, getattr(engine, "slots", lambda: slots)

    def run(
        self,
        jobs: list[dict],
        handler: str,
        settings: dict,
        *,
        deadline: float,
        load: Callable[[dict], dict] | None = None,
    ) -> Iterator[tuple[int, dict]]:
        """Do the jobs; see `grading.run.pool.run`.

        A job whose worker is lost is tried once more, after all the others.
        """
        packed, code = zlib.compress(pickle.dumps(settings)), version()
        waiting = collections.deque(range(len(jobs)))
        tries: collections.Counter[int] = collections.Counter()
        flying: dict[int, Future] = {}
        ended: queue.SimpleQueue[int] = queue.SimpleQueue()
        try:
            while waiting or flying:
                while waiting and len(flying) < self.slots():
                    number = waiting.popleft()
                    job = load(jobs[number]) if load else jobs[number]
                    tries[number] += 1
                    flying[number] = self.engine.submit(
                        unit, code, packed, handler, job, deadline
                    )
                    flying[number].add_done_callback(
                        functools.partial(_note, ended, number)
                    )
                if not flying:
                    raise PoolError(
                        "the executor takes no jobs: all its workers are gone"
                    )
                number = ended.get()
                answer = _answer(flying.pop(number))
                if "cannot_start" in answer:
                    raise PoolError(answer["cannot_start"])
                if answer.get("died") and tries[number] < TRIES:
                    waiting.append(number)
                else:
                    yield number, answer
        finally:
            for future in flying.values():
                future.cancel()


def _note(ended: queue.SimpleQueue, number: int, _: object) -> None:
    """Write down that a job ended; called by the engine, in any thread."""
    ended.put(number)


def _answer(future: Future) -> dict:
    """Return what came of a job; an error of the engine's is the loss of a worker.

    Raises:
        PoolError: if the worker has not this course.

    """
    try:
        return future.result()
    except ImportError as error:
        raise PoolError(
            f"a worker of the executor can't import the grader ({error}): install this course "
            "there, in the same version, and start the worker in the course's environment"
        ) from error
    except Exception as error:  # each engine has errors of its own
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        return {
            "lost": f"the worker that graded it was lost ({reason})"[:500],
            "died": True,
        }


def open_executor(spec: str, jobs: int) -> contextlib.AbstractContextManager[Executor]:
    """Return a context manager of what does jobs.

    Args:
        spec: "local"; a Dask scheduler's address, "tcp://host:port" or "dask:tcp://host:port"; or
            "module:factory", where factory() returns an engine of concurrent.futures or like one.
        jobs: how many at a time; a Dask cluster takes as many as its workers have threads.

    Raises:
        PoolError: if it is none of these, or there is no cluster.

    """
    if spec == "local":
        return contextlib.nullcontext(Local(jobs))
    address = spec.removeprefix("dask:")
    if address.startswith(SCHEMES):
        return _cluster(spec, address)
    return _engine(spec, jobs)


@contextlib.contextmanager
def _engine(spec: str, jobs: int) -> Iterator[Futures]:
    """Make an engine by its factory's name, and end it."""
    module, _, name = spec.partition(":")
    try:
        engine = getattr(importlib.import_module(module), name)()
    except (ImportError, AttributeError, ValueError) as error:
        if getattr(error, "name", None) in ("dask", "distributed"):
            raise PoolError(DASK_MISSING.format(spec=spec)) from error
        raise PoolError(
            f"--executor {spec}: expected local, the address of a Dask scheduler such as "
            f"tcp://host:8786, or module:factory ({error})"
        ) from error
    try:
        yield Futures(engine, jobs)
    finally:
        getattr(engine, "shutdown", lambda: None)()
        release()


@contextlib.contextmanager
def _cluster(spec: str, address: str) -> Iterator[Futures]:
    """Connect to a Dask cluster, and leave it."""
    try:
        import dask
        from distributed import Client
    except ImportError as error:
        raise PoolError(DASK_MISSING.format(spec=spec)) from error
    try:
        # By default a client keeps its last thousand messages, and here a job lies in each.
        with dask.config.set({"distributed.admin.low-level-log-length": MESSAGES_KEPT}):
            client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise PoolError(
            f"--executor {spec}: no Dask scheduler answers there: {error}"
        ) from error
    with client:
        engine = Cluster(client)
        try:
            yield Futures(engine, 1)
        finally:
            engine.shutdown()


class Cluster:
    """A Dask cluster as an engine: each job is given to one worker, and fails if that is lost.

    Left to itself, Dask moves a lost worker's jobs to the next one, in silence and several times:
    a submission that kills its worker would kill many. And it counts the death against each job
    that was waiting for the worker.

    Raises:
        PoolError: if no worker is there in time.

    """

    def __init__(self, client: object) -> None:
        self.client = client
        self.jobs: dict[Future, tuple[str, object]] = {}
        self.lock = threading.Lock()
        self.closed = threading.Event()
        try:
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except TimeoutError:
            raise PoolError(
                f"the Dask scheduler has had no worker for {WORKER_SECONDS:.0f} s: start one with "
                "`dask worker ADDRESS --nthreads 1` in the course's environment"
            ) from None
        self.workers: dict[str, int] = {}
        self._look()
        threading.Thread(target=self._watch, daemon=True).start()

    def slots(self) -> int:
        """Return how many jobs the workers take at a time; wait if all of them are gone."""
        while not self.workers and not self.closed.wait(LOOK_SECONDS):
            pass
        return sum(self.workers.values())

    def submit(self, function: Callable, *arguments: object) -> Future:
        """Have a worker with a free thread call the function."""
        found: Future = Future()
        workers = self.workers
        if not workers:
            found.set_exception(ConnectionError("no worker is left"))
            return found
        with self.lock:
            load = collections.Counter(worker for worker, _ in self.jobs.values())
            worker = max(workers, key=lambda name: workers[name] - load[name])
            remote = self.client.submit(
                function,
                *arguments,
                workers=[worker],
                allow_other_workers=False,
                pure=False,
            )
            self.jobs[found] = worker, remote
        remote.add_done_callback(functools.partial(self._ended, found))
        return found

    def _ended(self, found: Future, remote: object) -> None:
        """Pass on a result; called in a thread of the client's."""
        if self._forget(found):
            try:
                found.set_result(remote.result())
            except BaseException as error:  # passed on, whatever it is
                found.set_exception(error)

    def _forget(self, found: Future) -> bool:
        """Take a job off the list; False if somebody did already."""
        with self.lock:
            return self.jobs.pop(found, None) is not None

    def _look(self) -> None:
        """Find out which workers there are."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"]
        self.workers = {name: worker["nthreads"] for name, worker in workers.items()}

    def _watch(self) -> None:
        """Give up the jobs of lost workers."""
        while not self.closed.wait(LOOK_SECONDS):
            problem = ""
            try:
                self._look()
                if not self.workers:
                    self.client.wait_for_workers(1, timeout=WORKER_SECONDS)
                    self._look()
            except (OSError, TimeoutError, RuntimeError) as error:
                problem = f"the Dask cluster is gone: {type(error).__name__}: {error}"
                self.workers = {}
            for found, (worker, remote) in list(self.jobs.items()):
                if worker not in self.workers and self._forget(found):
                    with contextlib.suppress(OSError, TimeoutError, RuntimeError):
                        remote.cancel()
                    if problem:
                        found.set_result({"cannot_start": problem})
                    else:
                        found.set_exception(ConnectionError(worker))
            if problem:
                self.closed.set()

    def shutdown(self) -> None:
        """End the processes beside the workers; the cluster stays."""
        self.closed.set()
        for _, remote in list(self.jobs.values()):
            with contextlib.suppress(OSError, TimeoutError, RuntimeError):
                remote.cancel()
        with contextlib.suppress(OSError, TimeoutError, RuntimeError):
            self.client.run(release, on_error="ignore")


# -- what follows happens on the side of the engine's workers

_idle: list[tuple[bytes, pool.Process]] = []
_lock = threading.Lock()


@functools.cache
def version() -> str:
    """Return what must be the same on both sides: this package's code, and torch."""
    here = Path(__file__).resolve().parent.parent
    files = [path.read_bytes() for path in sorted(here.rglob("*.py"))]
    try:
        torch = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        torch = "none"
    return hashlib.sha256(b"\0".join([torch.encode(), *files])).hexdigest()


def unit(code: str, packed: bytes, handler: str, job: dict, deadline: float) -> dict:
    """Do one job in a warm process of this machine; return its answer.

    Args:
        code: the caller's `version`.
        packed: the handler's settings, pickled and compressed.
        handler: "module:function", as for `grading.run.pool.run`.
        job: as it was loaded.
        deadline: seconds.

    """
    if code != version():
        return {
            "cannot_start": f"{socket.gethostname()} has another version of the course's "
            "grader, or of torch: install the same on all machines"
        }
    key = hashlib.sha256(handler.encode() + packed).digest()
    process = _take(key) or pool.start(
        handler, pickle.loads(zlib.decompress(packed)), idle_seconds=IDLE_SECONDS
    )
    try:
        answer = process.ask(job, deadline)
    except PoolError as error:
        answer = {"cannot_start": f"{socket.gethostname()}: {error}"}
    if process.ended or answer.get("spent"):
        process.kill()
    else:
        with _lock:
            _idle.append((key, process))
    return answer


def _take(key: bytes) -> pool.Process | None:
    """Return a process that is warm for these settings; end those that are for others."""
    with _lock:
        mine = [entry for entry in _idle if entry[0] == key and entry[1].alive]
        others = [entry for entry in _idle if entry not in mine]
        _idle[:] = mine[:-1]
    for _, process in others:
        process.kill()
    return mine[-1][1] if mine else None


def release() -> None:
    """End the processes that have nothing to do."""
    with _lock:
        free, _idle[:] = list(_idle), []
    for _, process in free:
        process.pipe.close()
    for _, process in free:
        process.kill()
