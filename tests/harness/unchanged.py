"""Tests of what seldom changes are run when it has changed: tests/unchanged.json has the rest.

    @pytest.mark.reads("solutions/{folder}", "tests/answers/{folder}*")

says that a test depends on these files, folders and patterns, and on all that its module imports.
`{folder}` is the parameter of that name, or the name of the file that it is.

`make unchanged` runs the marked tests and writes down, for each that passes, the digest of all that
it depends on, the versions of Python and of the libraries included. `make test` skips those whose
digest is on record, and says so; `make test ANEW=1` and `make release` skip none.
"""

from __future__ import annotations

import hashlib
import json
import platform
from functools import cache
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "tests" / "unchanged.json"
PACKAGES = ("tests", "grading", "tools", "book", "transformer", "translator")
#: What each test depends on: the libraries, how tests are set up, and what judges answers.
ALWAYS = (
    *("requirements.txt", "constraints.txt", "pyproject.toml"),
    *("tests/conftest.py", "tests/harness"),
)
#: Written by runs, and read by none.
PASSED_OVER = {"__pycache__", ".ipynb_checkpoints"}
WRONG = pytest.StashKey[str]()
REASON = "unchanged since it passed (tests/unchanged.json); ANEW=1 runs it"


class NothingReadError(ValueError):
    """A mark names no file, or a parameter that its test does not have."""


@cache
def graph() -> grimp.ImportGraph:
    """Return who imports whom."""
    return grimp.build_graph(*PACKAGES, cache_dir=None)


@cache
def modules(name: str) -> frozenset[Path]:
    """Return the files of a module, of all that it imports, and of the packages around them."""
    names = graph().find_upstream_modules(name) | {name}
    paths = {ROOT.joinpath(*one.split(".")) for one in names}
    paths |= {above for path in paths for above in path.parents if above > ROOT}
    both = {path.with_suffix(".py") for path in paths}
    both |= {path / "__init__.py" for path in paths}
    return frozenset(path for path in both if path.is_file())


@cache
def found(pattern: str) -> frozenset[Path]:
    """Return the files that a pattern names, those in folders included."""
    hits = [hit for hit in ROOT.glob(pattern) if not PASSED_OVER & set(hit.parts)]
    files = {hit for hit in hits if hit.is_file()}
    for folder in (hit for hit in hits if hit.is_dir()):
        files |= {
            path
            for path in folder.rglob("*")
            if path.is_file() and not PASSED_OVER & set(path.parts)
        }
    return frozenset(files)


@cache
def content(path: Path) -> str:
    """Return the digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def digest(item: pytest.Item) -> str | None:
    """Return the digest of what a test depends on, or None where it has no mark.

    Raises:
        NothingReadError: if a pattern of its mark names no file.

    """
    marks = list(item.iter_markers("reads"))
    if not marks:
        return None
    given = getattr(item, "callspec", None)
    names = {
        name: getattr(value, "name", value)
        for name, value in (given.params if given else {}).items()
    }
    module = ".".join(item.path.relative_to(ROOT).with_suffix("").parts)
    files = set(modules(module))
    for pattern in (*ALWAYS, *(text for mark in marks for text in mark.args)):
        try:
            hits = found(pattern.format(**names))
        except KeyError as error:
            raise NothingReadError(
                f"{item.nodeid}: its mark `reads` names the parameter {error}, which the test "
                "does not have"
            ) from None
        if not hits:
            raise NothingReadError(
                f"{item.nodeid}: its mark `reads` names no file: {pattern}"
            )
        files |= hits
    # Beside the tests, and read by pytest without an import.
    files |= {
        place
        for folder in item.path.parents
        if folder.is_relative_to(ROOT) and (place := folder / "conftest.py").is_file()
    }
    lines = [f"{path.relative_to(ROOT)} {content(path)}" for path in sorted(files)]
    lines += [*platform.python_version_tuple()[:2]]
    lines += [platform.system(), platform.machine()]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def read(path: Path) -> dict[str, str]:
    """Return the digests on record, by test; none where there is no file yet.

    Raises:
        pytest.UsageError: if the file holds something else.

    """
    try:
        record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError as error:
        raise pytest.UsageError(f"{path}: not a record of tests: {error}") from None
    if not isinstance(record, dict):
        raise pytest.UsageError(f"{path}: not a record of tests: no object")
    return record


def write(path: Path, record: dict[str, str]) -> None:
    """Write the record."""
    partial = path.with_suffix(".partial")
    text = json.dumps(dict(sorted(record.items())), indent=1) + "\n"
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


class Unchanged:
    """The plugin: skips what is on record, or runs it and keeps the record."""

    def __init__(self, path: Path, *, skip: bool, keep: bool) -> None:
        self.path, self.skip, self.keep = path, skip, keep
        self.record = read(path)
        self.ended: dict[str, str | None] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Skip the marked tests that the record fits; give others their digest to report."""
        for item in items:
            try:
                now = digest(item)
            except NothingReadError as error:
                item.stash[WRONG] = str(error)
                continue
            if now is None:
                continue
            if self.skip and self.record.get(item.nodeid) == now:
                item.add_marker(pytest.mark.skip(reason=REASON))
            item.user_properties.append(("reads", now))

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Fail a test whose mark is wrong."""
        if WRONG in item.stash:
            pytest.fail(item.stash[WRONG], pytrace=False)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the digest of a test that passed, and nothing of one that did not."""
        now = dict(report.user_properties).get("reads")
        if now is None or report.skipped:
            return
        if report.failed:
            self.ended[report.nodeid] = None
        elif report.when == "call":
            self.ended.setdefault(report.nodeid, now)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the record, in the process that hears of all tests."""
        if not self.keep or hasattr(session.config, "workerinput"):
            return
        record = self.record | self.ended
        write(self.path, {name: now for name, now in record.items() if now})
