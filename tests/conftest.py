"""Fixtures that several test files share: the repository's root and a real browser."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness import unchanged
from tools import chromium

ROOT = Path(__file__).resolve().parent.parent

# One thread a process: the tests run beside each other, and kernels inherit this.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# pytest keeps its rewritten tests, and what it imports of the course: each worker, and each process
# that a test starts, would compile them anew. What those write themselves the Makefile decides.
sys.dont_write_bytecode = False

CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


#: Files of more than a minute, the longest first: a worker takes a whole file at a time.
LONGEST = (
    "test_answers.py",
    "test_lab.py",
    "grading/run/test_equal.py",
    # Not among the first: its limits grow with the load, which the machine's average tells late.
    "grading/run/test_attacks_code.py",
    "tools/test_build_book.py",
    "site/test_live_maths.py",
    "grading/run/test_batch.py",
    "test_course_secret.py",
    "test_class_graded.py",
    "grading/run/test_formgrader.py",
    "grading/run/test_benign.py",
    "grading/run/test_open_tasks.py",
    "test_exercises.py",
    "grading/run/test_hangs.py",
    "benchmarks/test_grading.py",
    "grading/run/test_attacks_files.py",
    "grading/gradebook/test_postgresql.py",
    "grading/sandbox/test_worker_attacks.py",
    "test_cheats.py",
)


def without_browser(reason: str) -> None:
    """Fail where a browser must be there (CI=true), skip with the reason elsewhere."""
    if os.environ.get("CI", "").lower() in {"1", "true", "yes"}:
        pytest.fail(f"CI=true and no browser: {reason}", pytrace=False)
    pytest.skip(f"no browser: {reason}")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let marked tests be skipped that nothing has changed for: tests/harness/unchanged.py."""
    group = parser.getgroup("tests of what seldom changes")
    group.addoption(
        "--skip-unchanged",
        action="store_true",
        help="skip tests marked `reads` that tests/unchanged.json fits",
    )
    group.addoption(
        "--record-unchanged",
        action="store_true",
        help="write down in tests/unchanged.json which of them pass",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Follow the options, in each worker and in the process that hears of all tests."""
    skip, keep = (
        config.getoption(name) for name in ("--skip-unchanged", "--record-unchanged")
    )
    if skip or keep:
        plugin = unchanged.Unchanged(unchanged.FILE, skip=skip, keep=keep)
        config.pluginmanager.register(plugin)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect tests without looking for garbage, and never look through them again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files, then those that have slow tests: no worker ends alone."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    long = {ROOT / "tests" / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: (long.get(item.path, len(long)), item.path not in slow))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the tables that tests recorded, also those of parallel workers."""
    reports = [report for found in terminalreporter.stats.values() for report in found]
    tables = [
        value
        for report in reports
        if getattr(report, "when", "") == "call"
        for name, value in report.user_properties
        if name == "table"
    ]
    if tables:
        terminalreporter.section("answers")
        terminalreporter.write_line("\n\n".join(sorted(tables)))


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root folder."""
    return ROOT


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """A headless Chromium, the distribution's own or else playwright's."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError as error:
        without_browser(f"playwright is not installed ({error})")
    found = chromium.find()
    with sync_playwright() as playwright:
        try:
            launched = playwright.chromium.launch(
                executable_path=found, args=CHROMIUM_FLAGS
            )
        except Error as error:
            # Reported outside the handler: the reason is the message, not a chain of tracebacks.
            reason = str(error).strip().splitlines()[0]
            launched = None
        if launched is None:
            without_browser(f"{reason} ({chromium.INSTALL})")
        yield launched
        launched.close()
