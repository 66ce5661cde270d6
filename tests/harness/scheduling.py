"""Gives workers a file at a time, and lives on when one of them dies. A plugin of pytest.

xdist 3.8 hands on what a dead worker had finished, as units without a test, and starts the test
that killed it again; the others then wait for ever (pytest-dev/pytest-xdist, 1323, 1327, 1378).
A test over its time limit ends its worker, so that each such test hung the whole run.
"""

from __future__ import annotations

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController


class Scheduling(LoadScopeScheduling):
    """`--dist loadscope` that goes on without the test that ended its worker."""

    def remove_node(self, node: WorkerController) -> str | None:
        """Hand on what a worker has left; return the test that it died of, None if it was done."""
        work = self.assigned_work.pop(node)
        left = {
            scope: [name for name, done in unit.items() if not done]
            for scope, unit in work.items()
        }
        died_of = next((name for names in left.values() for name in names), None)
        for scope, names in left.items():
            unit = {name: False for name in names if name != died_of}
            if unit:
                self.workqueue[scope] = unit
        for other in self.nodes:
            self._reschedule(other)
        return died_of

    def _reschedule(self, node: WorkerController) -> None:
        """Give a worker units until it has work: with one test alone it waits for the next."""
        if node not in self.registered_collections:
            return  # it takes a dead worker's place, and is asked again when it has the tests
        super()._reschedule(node)
        while not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2:
            super()._reschedule(node)


@pytest.hookimpl
def pytest_xdist_make_scheduler(
    config: pytest.Config, log: Producer
) -> Scheduling | None:
    """Return the scheduler above where files are asked for."""
    return Scheduling(config, log) if config.getoption("dist") == "loadscope" else None


class AtOnce:
    """Names each failure when it happens: a run that is cut off has then said what it knew."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self.terminal = terminal

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write a line for a test that failed."""
        if report.failed:
            # Not `ensure_newline`: it does not know of the dots.
            self.terminal.write_line(f"\nFAILED {report.nodeid} ({report.when})")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register what names failures, but not in a worker, which has no terminal."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(AtOnce(terminal))
