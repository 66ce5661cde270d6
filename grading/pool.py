"""A few processes that work through a list of jobs, each of which may kill its process.

concurrent.futures gives up the whole pool when one process dies. Here the death, or the deadline,
of one job is that job's result, and a new process takes the place. Messages are JSON. A process
whose master was killed ends at once.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait


class PoolError(RuntimeError):
    """No process of the pool can start; the message is its own."""


def run(jobs: list[dict], handler: str, settings: dict, *, processes: int, deadline: float
        ) -> Iterator[tuple[int, dict]]:
    """Do the jobs and yield (number, answer) in the order in which they end.

    Args:
        jobs: dictionaries for JSON.
        handler: "module:function"; called once in each process with the settings, it returns a
            context manager of the function that does a job.
        settings: a dictionary for JSON.
        processes: how many run at a time.
        deadline: seconds after which a job's process is killed.

    Yields:
        the number of the job and its answer; {"lost": reason} where the process died of it.

    Raises:
        PoolError: if a process can't begin.

    """
    waiting = list(range(len(jobs)))[::-1]
    workers: list[_Worker] = []
    try:
        while waiting or any(worker.job is not None for worker in workers):
            while waiting and len(workers) < min(processes, len(jobs)):
                workers.append(_Worker(handler, settings))
            for worker in workers:
                if worker.job is None and waiting:
                    number = waiting.pop()
                    if not worker.send(number, jobs[number], deadline):
                        waiting.append(number)  # it died before it began
            busy = [worker for worker in workers if worker.job is not None]
            until = min((worker.until for worker in busy), default=time.monotonic())
            pipes = [worker.pipe for worker in workers]
            wait(pipes, timeout=max(0.0, until - time.monotonic()))
            for worker in list(workers):
                done = worker.receive()
                if done is not None:
                    yield done
                if worker.ended:
                    worker.kill()
                    workers.remove(worker)
    finally:
        for worker in workers:
            worker.pipe.close()  # who is idle ends by itself, all at the same time
        for worker in workers:
            worker.kill()


class _Worker:
    """One process, and the job that it has."""

    def __init__(self, handler: str, settings: dict) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other, handler, settings), daemon=False)
        self.process.start()
        other.close()
        self.job: int | None = None
        self.until = 0.0
        self.began = self.ended = False

    def send(self, number: int, job: dict, deadline: float) -> bool:
        """Give it a job; False if it is gone."""
        try:
            self.pipe.send_bytes(json.dumps(job).encode())
        except OSError:
            self.ended = True
            return False
        self.job, self.until, self.limit = number, time.monotonic() + deadline, deadline
        return True

    def receive(self) -> tuple[int, dict] | None:
        """Return the job that ended and its answer, if one did."""
        try:
            if self.pipe.poll():
                answer = json.loads(self.pipe.recv_bytes())
            elif self.job is not None and time.monotonic() >= self.until:
                answer = {"lost": f"grading took longer than {self.limit:.0f} s"}
                self.ended = True
            else:
                return None
        except (OSError, EOFError):
            self.process.join(10)
            answer = {"lost": f"the grading process ended ({_status(self.process.exitcode)})"}
            self.ended = True
        if "cannot_start" in answer:
            raise PoolError(answer["cannot_start"])
        if self.job is None:
            return None
        number, self.job = self.job, None
        return number, answer

    def kill(self) -> None:
        """End the process at once."""
        self.pipe.close()
        self.process.join(0.0 if self.job is not None or self.ended else 5)
        if self.process.is_alive():
            self.process.kill()
        self.process.join(10)
        self.process.close()


def _status(code: int | None) -> str:
    """Return the words for an exit status."""
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit status {code}"


def _end_with_master() -> None:
    """End this process at once when its master is gone, also in the middle of a job."""
    wait([multiprocessing.parent_process().sentinel])
    os._exit(1)


def _serve(pipe: Connection, handler: str, settings: dict) -> None:
    """Do jobs until the pipe ends; in a process of the pool."""
    # A key press ends the master, which ends this process: no traceback from here.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["OMP_NUM_THREADS"] = "1"
    threading.Thread(target=_end_with_master, daemon=True).start()
    module, _, name = handler.partition(":")
    with contextlib.ExitStack() as stack:
        try:
            work = stack.enter_context(getattr(importlib.import_module(module), name)(**settings))
        except Exception as error:  # whatever it is, the master must hear of it
            pipe.send_bytes(json.dumps({"cannot_start": f"{error}"}).encode())
            return
        with contextlib.suppress(EOFError, OSError):
            while True:
                job = json.loads(pipe.recv_bytes())
                pipe.send_bytes(json.dumps(work(job)).encode())
