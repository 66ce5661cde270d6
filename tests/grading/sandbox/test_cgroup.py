"""A worker's share of the machine: a processor, and a control group where one can be made."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from grading.sandbox import cgroup
from grading.sandbox.worker import WorkerBroken
from tests.grading.conftest import ask
from tests.grading.sandbox.test_worker_attacks import assert_as_new

#: Where control groups of version 2 are beside those of version 1: there they have no controllers.
HYBRID = cgroup.ROOT / "unified"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Make folders like control groups, one below the other; each is given as words.

    Of the kernel's rules there is one: a group that is "busy", since it holds processes, gives
    those below it no controllers that they have not.
    """
    write = Path.write_text

    def rule(path: Path, text: str, **options: object) -> int:
        if path.name != "cgroup.subtree_control" or not text.startswith("+"):
            return write(path, text, **options)
        if (path.parent / "busy").exists():
            raise OSError(errno.EBUSY, "Device or resource busy")
        return write(path, f"{path.read_text()} {text[1:]}", **options)

    def make(*levels: str) -> Path:
        folder = tmp_path / "cgroup"
        for number, words in enumerate(levels):
            folder = folder / f"level-{number}" if number else folder
            folder.mkdir()
            if "busy" in words:
                (folder / "busy").touch()
            enabled = words.replace("busy", "").replace("bare", "")
            write(
                folder / "cgroup.controllers",
                "" if "bare" in words else "cpu io memory pids\n",
            )
            write(folder / "cgroup.subtree_control", enabled)
        return folder

    monkeypatch.setattr(Path, "write_text", rule)
    return make


def made(here: Path) -> Path | None:
    """Return where a process in this folder makes a group."""
    root = next(folder for folder in (here, *here.parents) if folder.name == "cgroup")
    group = cgroup.group(root, f"3:cpu:/elsewhere\n0::/{here.relative_to(root)}\n")
    return group.folder.parent if group is not None else None


def test_a_group_is_made_below_the_graders_own(tree):
    here = tree("cpu memory pids", "")
    assert made(here) == here
    assert (here / "cgroup.subtree_control").read_text().split() == ["memory", "pids"]


def test_or_below_one_above_it_that_has_the_controllers(tree):
    here = tree("cpu memory pids", "memory pids busy", "cpu busy", "busy")
    assert made(here) == here.parent.parent


@pytest.mark.parametrize(
    "levels", [("bare",), ("busy", "busy"), ("bare", "memory busy", "busy")]
)
def test_where_none_can_be_made_there_is_none(tree, levels):
    assert made(tree(*levels)) is None


def test_nothing_above_the_root_or_outside_of_the_container_is_tried(tree):
    here = tree("memory pids", "busy")
    assert cgroup.group(here, "0::/\n") is None
    assert cgroup.group(here.parent, "0::/../../other\n") is None
    assert cgroup.group(here / "nothing", "0::/\n") is None


def test_a_group_limits_memory_swap_and_processes(tree):
    here = tree("memory pids")
    group = cgroup.group(here, "0::/\n")
    (group.folder / "memory.swap.max").write_text("max")
    group.limit(1 << 30, 32)
    found = {path.name: path.read_text() for path in group.folder.iterdir()}
    assert found == {
        "memory.max": str((1 << 30) + cgroup.BYTES_BESIDE),
        "memory.swap.max": "0",
        "pids.max": str(32 + cgroup.PROCESSES_BESIDE),
    }
    assert group.killed == 0
    (group.folder / "memory.events").write_text("low 0\noom 2\noom_kill 1\n")
    assert group.killed == 1


def test_groups_of_a_dead_grader_are_removed_and_no_others(tree):
    here = tree("memory pids")
    first = cgroup.group(here, "0::/\n")
    dead, other = here / f"grading-{2**22 + 1}-1", here / "grading"
    dead.mkdir()
    other.mkdir()
    second = cgroup.group(here, "0::/\n")
    assert first.folder.exists()
    assert second.folder.exists()
    assert other.exists()
    assert not dead.exists()
    second.remove()
    assert not second.folder.exists()


def test_a_worker_whose_group_can_not_be_entered_works_without(
    workers, monkeypatch, tmp_path
):
    (tmp_path / "group" / "cgroup.procs").mkdir(parents=True)
    group = cgroup.Group(tmp_path / "group")
    monkeypatch.setattr(cgroup, "group", lambda: group)
    monkeypatch.setattr(cgroup.Group, "holds", False)
    worker = workers()
    assert worker._group is None
    assert ask(worker, "echo", 1)[0] == [1]


def test_a_group_that_takes_no_limit_is_no_group(workers, monkeypatch, tmp_path):
    """Better no worker than one without limits where they are expected."""
    monkeypatch.setattr(cgroup, "group", lambda: cgroup.Group(tmp_path / "nothing"))
    monkeypatch.setattr(cgroup.Group, "holds", True)
    with pytest.raises(WorkerBroken, match="control group takes no limit"):
        workers()


def test_a_worker_lives_in_its_group_and_is_ended_with_it(workers, monkeypatch):
    folder = HYBRID / f"grading-{os.getpid()}-test"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(
            f"no control group without controllers can be made: {error.strerror}"
        )
    monkeypatch.setattr(cgroup, "group", lambda: cgroup.Group(folder))
    monkeypatch.setattr(cgroup.Group, "limit", lambda *_: None)
    worker = workers()
    with worker.session("attacks:loop"):
        inside = (folder / "cgroup.procs").read_text().split()
        assert str(worker._process.pid) in inside
        assert len(inside) > 2
    worker.close()
    assert not folder.exists()


def test_memory_that_no_process_shows_is_limited_by_the_group(workers):
    worker = workers(memory_bytes=64 << 20, file_bytes=200 << 20)
    if worker._group is None:
        pytest.skip("no control group with the memory controller can be made here")
    _, end = ask(worker, "attacks_neighbours:hidden_memory", 190 << 20)
    assert (end.signal, end.limit, end.left) == (9, "memory", ())
    assert_as_new(worker)


def test_workers_claim_different_processors_and_give_them_back(monkeypatch):
    monkeypatch.setattr(
        os, "sched_getaffinity", lambda _: {9001, 9002}
    )  # which nobody has
    (first, one), (second, other), (third, none) = (cgroup.core() for _ in range(3))
    assert {first, second} == {9001, 9002}
    assert none is None
    assert third in {9001, 9002}
    other.close()
    again, claim = cgroup.core()
    assert again == second
    one.close()
    claim.close()


def test_a_worker_gives_its_processor_back(workers, monkeypatch):
    given = []
    claim = cgroup.core
    monkeypatch.setattr(cgroup, "core", lambda: given.append(claim()) or given[-1])
    worker = workers()
    ((core, held),) = given
    assert ask(worker, "attacks_neighbours:ordinary")[0][0] == [core]
    worker.close()
    assert held is None or held.fileno() == -1
