"""Executes test cells in the trusted process, against code that runs in another one.

    student = Student(Channel(read_fd, write_fd), call_timeout=20)
    student.run_given(imports_and_helpers)
    student.run_cell(what_the_student_wrote)
    run_test_cell(student, test)

A name in a test is the test's own, then one of the given cells, then the submission's.
"""

from __future__ import annotations

import builtins
import contextlib
import gc
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from grading.bridge.exceptions import LONGEST_TEXT
from grading.bridge.magics import Shell
from grading.bridge.proxies import Proxy, StudentLost
from grading.bridge.redaction import JOIN, Texts
from grading.bridge.trusted import TrustedPeer
from grading.course.states import STUB
from grading.verdict.canary import canary
from grading.verdict.compilation import GIVEN, compiled, definitions, given_cell
from grading.verdict.errors import UNUSABLE, is_authors, is_tests_own, text_of
from grading.verdict.guards import (
    MemoryLimit,
    TestTimeout,
    data_size,
    interrupt,
    silence,
)
from grading.verdict.memory import Memory
from grading.wire.channel import Channel

#: Python's own names.
PLAIN_BUILTINS = {
    name: value for name, value in vars(builtins).items() if not name.startswith("_")
}
#: Bytes that may wait for Python's own collector when a submission has ended.
KEPT = 64 << 20


@dataclass(frozen=True)
class CellRun:
    """What became of a cell that ran in the submission's process."""

    ok: bool
    error_name: str = ""
    error_text: str = ""
    stdout: str = ""
    stderr: str = ""
    student_died: bool = False


@dataclass(frozen=True)
class TestRun:
    """What became of a test cell; `credit` is the number that it ended with, if any.

    `tampered` says which comparison that must fail did not: then this verdict is worth nothing.
    `told` is what a student may read of the message once hidden lines have run; `reached` says
    whether those of this test have.
    `doubt` says how a test fails that passes only when the submission may change the test's data.
    """

    __test__ = False  # pytest: not a class of tests

    passed: bool
    message: str = ""
    error_name: str = ""
    student_died: bool = False
    credit: float | None = None
    tampered: str = ""
    told: str = ""
    reached: bool = False
    doubt: str = ""


class Student:
    """A submission's process, and the namespace of its tests here."""

    def __init__(
        self,
        channel: Channel,
        *,
        call_timeout: float | None = 30.0,
        strict: bool = False,
        memory: Memory | None = None,
    ) -> None:
        """Take over a channel.

        Args:
            channel: to the process.
            call_timeout: seconds for each call.
            strict: whether tests use only what reference solutions offer.
            memory: what tests have worked out beside other submissions.

        """
        self.memory = memory or Memory()
        self.peer = TrustedPeer(channel, call_timeout, strict)
        self.texts = Texts()
        #: Whether something here was interrupted, perhaps in the middle of an import.
        self.interrupted = False
        self._namespace = Namespace(self)
        self._memory = data_size()

    def close(self) -> None:
        """Let go of all that the submission sent and the tests made: it may be much."""
        self._namespace.empty()
        self.peer.empty()
        if data_size() > self._memory + KEPT:  # in cycles, as of tracebacks and frames
            gc.collect()

    def memory_limit(self) -> MemoryLimit:
        """Return what bounds the memory of this process, for all cells together."""
        return MemoryLimit(self._memory)

    @property
    def lost(self) -> str:
        """Why nothing more can be asked, or an empty text."""
        return "" if self.peer.lost is None else str(self.peer.lost)

    def namespace(self) -> Namespace:
        """Return the namespace in which tests are executed."""
        return self._namespace

    def run_cell(
        self, source: str, timeout: float | None = None, *, owns: tuple[str, ...] = ()
    ) -> CellRun:
        """Execute a cell in the submission's process.

        Args:
            source: the cell.
            timeout: seconds, without a limit of its own if None.
            owns: what the submission offers from now on, as `offered_names` has it: names that a
                test cell used before are the submission's again. Give what the *reference*
                solution offers: a submission must not choose that.

        """
        self._namespace.known.clear()
        self._namespace.give_up(owns)
        try:
            with self.memory_limit(), self.limit(timeout), interrupt(timeout):
                found = self.peer.request("exec", {}, source=source)
        except StudentLost as lost:
            return CellRun(False, "StudentLost", str(lost), student_died=True)
        except TestTimeout:  # its answer takes long to read
            self.interrupted = True
            self.peer.lose(
                "time", "the answer of the submission's process takes too long to read"
            )
            return CellRun(False, "StudentLost", self.lost, student_died=True)
        # The other side chooses which error it answers with, as where no memory is left there.
        except Exception as error:
            return CellRun(False, type(error).__name__, text_of(error)[:LONGEST_TEXT])
        texts = [
            text_in(found, name, LONGEST_TEXT * 10) for name in ("stdout", "stderr")
        ]
        error = found.get("error") if isinstance(found, dict) else None
        if not isinstance(error, dict):
            return CellRun(True, "", "", *texts)
        name, text = text_in(error, "name", 200), text_in(error, "text", LONGEST_TEXT)
        return CellRun(False, name, text, *texts)

    def run_given(
        self, source: str, timeout: float | None = None, *, there: bool = True
    ) -> CellRun:
        """Execute a cell of the release in the submission's process (there), and here.

        Here it runs at once if it needs nothing of the submission (imports, helpers), and else
        only when a test asks for a name that it binds.
        """
        result = self.run_cell(source, timeout) if there else CellRun(True)
        self._namespace.give(source, timeout)
        return result

    @contextlib.contextmanager
    def limit(self, seconds: float | None) -> Iterator[None]:
        """Let everything in a block take so many seconds together."""
        before = self.peer.deadline
        if seconds is not None:
            own = time.monotonic() + seconds
            self.peer.deadline = own if before is None else min(before, own)
        try:
            yield
        finally:
            self.peer.deadline = before


class Namespace(dict):
    """Names of the trusted side; a missing one is looked for in the submission."""

    def __init__(self, student: Student) -> None:
        shell = Shell(self, GIVEN)
        super().__init__(
            {
                "__name__": "__main__",
                # Also as names of its own: else each use of one would be a miss here first.
                **PLAIN_BUILTINS,
                "__builtins__": builtins,
                "get_ipython": lambda: shell,
                JOIN: student.texts.join,
                "course_memory": student.memory,
            }
        )
        self.student = student
        self.given: set[str] = set()
        self.later: list[tuple[str, frozenset[str]]] = []
        self.owned: set[str] = set()
        self.known: dict[str, Proxy] = {}  # functions and classes, until the next cell

    def __missing__(self, name: str) -> object:
        for index, (source, names) in enumerate(self.later):
            if name in names:
                del self.later[index]
                self.execute_given(source)
                return self[name]
        if name.startswith("__") or (
            hasattr(builtins, name) and name not in self.owned
        ):
            raise KeyError(name)  # Python looks among its own names next
        if self.student.peer.offer.strict and name not in self.owned:
            raise KeyError(name)
        if name not in self.known:
            found = self.student.peer.request("name", {}, name=name)
            if not isinstance(found, Proxy):
                return found  # may be another the next time
            self.known[name] = found
        return self.known[name]

    def give(self, source: str, timeout: float | None) -> None:
        """Execute a cell of the release now, or remember it for later."""
        try:
            _, needed, bound, texts = given_cell(source)
        except SyntaxError:
            return
        self.student.texts.words |= texts
        missing = {
            name for name in needed if name not in self and not hasattr(builtins, name)
        }
        if missing:
            self.later.append((source, bound))
        else:
            with self.student.limit(timeout):
                self.execute_given(source)

    def execute_given(self, source: str) -> None:
        """Execute a cell of the release here; one that fails binds what it bound so far."""
        before = dict(self)
        with contextlib.suppress(Exception), silence():
            exec(given_cell(source)[0], self)
        self.given |= {
            name for name in self if before.get(name, self) is not self[name]
        }

    def recall(self, source: str) -> None:
        """Define the functions and classes of a test cell that ran beside an earlier process."""
        codes, texts = definitions(source)
        self.student.texts.words |= texts
        for code in codes:
            with contextlib.suppress(Exception, StudentLost), silence():
                exec(code, self)

    def empty(self) -> None:
        """Forget all names: functions among them hold this, so it would live on."""
        self.clear()
        self.known.clear()

    def give_up(self, names: tuple[str, ...]) -> None:
        """Let names be the submission's, unless a given cell bound them."""
        self.student.peer.offer.names |= set(names)
        self.student.texts.words |= set(names)
        for name in set(names) - self.given:
            self.pop(name, None)
            self.owned.add(name)


def text_in(found: object, name: str, most: int) -> str:
    """Return a text in an answer, "" if it is none.

    To make one of anything else could take all memory and any time, or ask the submission again.
    """
    text = found.get(name) if isinstance(found, dict) else None
    return text[:most] if type(text) is str else ""


def run_test_cell(
    student: Student, source: str, *, timeout: float | None = 60.0
) -> TestRun:
    """Execute a test cell here, and return how it ended; check that tests can still fail here."""
    peer = student.peer
    student.texts.made.clear()
    peer.altered.undo(peer.storages)  # by a cell of the submission's
    generators = torch.get_rng_state(), random.getstate()
    with student.memory_limit():
        run = _run_test_cell(student, source, timeout)
        if run.passed and peer.altered:
            torch.set_rng_state(generators[0])
            random.setstate(generators[1])
            run = _without_changes(student, source, timeout, run)
    peer.altered.undo(peer.storages)
    return replace(run, tampered=canary())


def _without_changes(
    student: Student, source: str, timeout: float | None, run: TestRun
) -> TestRun:
    """Execute a test again that passed, and let no change of its own data through."""
    changes = student.peer.altered
    changes.undo(student.peer.storages)
    changes.refused = True
    try:
        again = _run_test_cell(student, source, timeout)
    finally:
        changes.refused = False
    doubt = (
        ""
        if again.passed and again.credit == run.credit
        else again.message or "other points"
    )
    return replace(run, doubt=doubt, student_died=again.student_died)


def _run_test_cell(student: Student, source: str, timeout: float | None) -> TestRun:
    namespace = student.namespace()
    student.memory.begin(source)
    reached, text = False, ""
    try:
        with silence(), student.limit(timeout), interrupt(timeout):
            try:
                seen, body, last, texts = compiled(source)
                student.texts.words |= texts
                exec(seen, namespace)
                reached = body is not None
                if body is not None:
                    exec(body, namespace)
                value = None if last is None else eval(last, namespace)
            except BaseException as error:
                # Within the limits: its text may hold an object that only the submission can show.
                text = text_of(error)
                raise
    except StudentLost as lost:
        return TestRun(
            False,
            str(lost),
            "StudentLost",
            student_died=True,
            told=str(lost),
            reached=reached,
        )
    except TestTimeout:
        student.interrupted = True
        student.peer.lose("time", "the test did not end in time")
        return TestRun(
            False,
            f"the test did not end within {timeout} s",
            "TimeoutError",
            student_died=True,
            reached=reached,
        )
    except BaseException as error:
        name, told = type(error).__name__, ""
        if name == "AssertionError" and not is_authors(error):
            name = f"Raised{name}"
        elif name == "AssertionError":
            told = student.texts.told(text)
        elif text == f"{name}: {STUB}":
            told = STUB
        elif isinstance(error, Exception) and is_tests_own(error):
            text, told = f"{text} ({UNUSABLE})", UNUSABLE
        return TestRun(
            False,
            text[:LONGEST_TEXT],
            name,
            bool(student.lost),
            told=told[:LONGEST_TEXT],
            reached=reached,
        )
    if student.lost:  # a test swallowed it
        return TestRun(
            False,
            student.lost,
            "StudentLost",
            student_died=True,
            told=student.lost,
            reached=reached,
        )
    credit = float(value) if type(value) in (int, float) else None
    return TestRun(True, credit=credit, reached=reached)
