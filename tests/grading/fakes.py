"""An engine for the tests of the pipeline: cells run in this process, without any wall."""

from __future__ import annotations

import ast
import os
import time

from grading.bridge.redaction import JOIN, Texts
from grading.run.pool import Step
from grading.run.runner import CellOutcome, EngineError, TestOutcome
from grading.verdict.compilation import compiled

#: Code of a student's, for this engine, that nothing inside its process can interrupt: it lets no
#: other thread run, and a signal waits for its end.
NATIVE = "__import__('ctypes').PyDLL(None).sleep(600)"
#: An answer to the sample's first task that never ends, and one to its second without the first.
STUCK = f"def double(x):\n    {NATIVE}"
ALONE = "def total(values):\n    return sum(2 * value for value in values)"

#: Environment variables by which a test reaches the engine of another process.
LOG, DELAY = "GRADING_TEST_LOG", "GRADING_TEST_DELAY"


class FakeProcess:
    """One namespace for both sides, as in a kernel."""

    def __init__(self) -> None:
        self.texts = Texts()
        self.namespace: dict = {"__name__": "__main__", JOIN: self.texts.join}

    def run(self, source: str, *, here: bool, owns: tuple = ()) -> CellOutcome:
        """Execute a cell; SystemExit stands for a process that ends."""
        error = ""
        try:
            exec(compile(source, "<cell>", "exec"), self.namespace)
        except BaseException as raised:
            error = f"{type(raised).__name__}: {raised}"
        return CellOutcome(error, died=error.startswith("SystemExit"))

    def test(self, source: str) -> TestOutcome:
        """Execute a test cell."""
        seen, rest, last, texts = compiled(source)
        self.texts.words |= texts
        value, reached, error, told = None, False, "", ""
        try:
            exec(seen, self.namespace)
            reached = rest is not None
            exec(rest or "", self.namespace)
            value = last and eval(last, self.namespace)
        except BaseException as raised:
            kind = type(raised).__name__
            error = f"{kind}: {raised}"
            told = f"{kind}: {self.texts.told(str(raised)) if kind == 'AssertionError' else ''}"
        number = value if isinstance(value, (int, float)) else None
        return TestOutcome(
            error, number, error.startswith("SystemExit"), "", told, reached
        )

    def recall(self, source: str) -> None:
        """Define what a test cell defines."""
        tree = ast.parse(source)
        tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        exec(compile(tree, "<cell>", "exec"), self.namespace)

    def close(self) -> str:
        """End; a fake limit is named by the submission itself."""
        return self.namespace.get("LIMIT", "")


class FakeEngine:
    """Starts such processes; slow, and noting its own id at each start, if the environment says."""

    sandboxed = True

    def open(self) -> FakeProcess:
        """Start one."""
        time.sleep(float(os.environ.get(DELAY, "0")))
        if LOG in os.environ:
            with open(os.environ[LOG], "a", encoding="utf-8") as file:
                file.write(f"{os.getpid()}\n")
        return FakeProcess()

    def close(self) -> None:
        """Nothing to end."""


class BrokenEngine(FakeEngine):
    """An engine whose machinery fails."""

    def open(self) -> FakeProcess:
        """Fail."""
        raise EngineError("no process left")


def make(sandbox: bool = True) -> FakeEngine:
    """Return the engine."""
    engine = FakeEngine()
    engine.sandboxed = sandbox
    return engine


def make_here(place: object) -> FakeEngine:
    """Return the engine, as Gradescope's runner is asked for one."""
    return FakeEngine()


def make_none(sandbox: bool = True) -> FakeEngine:
    """Be an engine that isn't there."""
    raise EngineError("bubblewrap is missing: apt-get install bubblewrap")


class Jobs:
    """A handler for the pool's own tests: a job says what it does."""

    def __enter__(self) -> Jobs:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to end."""

    def __call__(self, job: dict, step: Step) -> dict:
        """Answer, die, or hang."""
        if job["do"] == "die":
            os.kill(os.getpid(), 9)
        if job["do"] == "hang":
            time.sleep(600)
        return {"did": job["do"], "by": os.getpid(), "spent": job["do"] == "spend"}
