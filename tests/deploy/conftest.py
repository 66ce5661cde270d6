"""Fixtures: a platform, a hub on a machine of its own, and users who have logged in there."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

USERS = {
    "s01": "Learner",
    "s02": "Learner",
    "s03": "Learner",
    "t01": "Instructor",
    "m01": "Mentor",
}


@pytest.fixture(scope="package")
def machine() -> Iterator[object]:
    """A running hub; where it can't run, fails with COURSE_HUB=1, skips with the reason else."""
    from tests.deploy.machine import Machine, missing
    from tests.deploy.platform import Platform

    if reason := missing():
        if os.environ.get("COURSE_HUB") == "1":
            pytest.fail(f"COURSE_HUB=1 and no hub: {reason}", pytrace=False)
        pytest.skip(f"no hub: {reason}")
    platform = Platform(USERS)
    folder = Path(tempfile.mkdtemp(prefix="hub-"))
    made = Machine(folder, platform)
    try:
        made.start()
        yield made
    finally:
        made.stop()
        platform.close()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="package")
def browse(browser: object) -> Iterator[Callable[[], object]]:
    """A function that opens a page in a browser of its own; all are closed at the end."""
    contexts = []

    def make() -> object:
        context = browser.new_context(ignore_https_errors=True, reduced_motion="reduce")
        context.set_default_timeout(90_000)
        contexts.append(context)
        return context.new_page()

    yield make
    for context in contexts:
        context.close()
