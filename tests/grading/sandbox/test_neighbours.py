"""One submission and the others on the machine: no quota, lock, memory or processor is theirs."""

from __future__ import annotations

from errno import EACCES, EPERM

import pytest

from tests.grading.conftest import ask
from tests.grading.sandbox.test_worker_attacks import assert_as_new

MIB = 1 << 20


def test_nothing_that_others_need_can_be_held(worker):
    found, _ = ask(worker, "attacks_neighbours:quotas")
    assert found.pop("shared zeros") == EACCES
    assert set(found.values()) == {EPERM}, found
    assert_as_new(worker)


def test_ordinary_programs_work(worker):
    (cores, nice), end = ask(worker, "attacks_neighbours:ordinary")
    assert len(cores) == 1
    assert nice > 0
    assert (end.code, end.limit, end.output) == (0, None, "")


@pytest.mark.parametrize(
    ("attack", "limit"),
    [
        ("hidden_memory", "memory"),
        ("full_sockets", "sockets"),
        ("many_descriptors", "files"),
    ],
)
def test_memory_of_the_kernel_and_of_nobody_is_counted(workers, attack, limit):
    # Two files of 47 MiB are 13 MiB more than a session may have: 64, and COUNT_SLACK, and what the
    # warm process has reserved and not filled, a MiB or more.
    worker = workers(memory_bytes=64 * MIB, file_bytes=48 * MIB, wall_seconds=60.0)
    _, end = ask(worker, f"attacks_neighbours:{attack}", 47 * MIB)
    assert (end.signal, end.limit, end.left) == (9, limit, ())
    assert_as_new(worker)
