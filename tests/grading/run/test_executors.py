"""The same jobs done by processes, by threads of an engine, and by a Dask cluster of two workers.

The cluster is a real one: a scheduler and two workers, each a process that may be killed.
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grading.__main__ import main
from grading.run import executors
from grading.run.executors import open_executor
from grading.run.pool import PoolError, Step
from grading.sandbox.bubblewrap import SandboxMissing
from grading.sandbox.worker import Worker
from tests.grading import fakes, helpers, servers
from tests.harness import sample

HANDLER = "tests.grading.run.test_executors:Jobs"
THREADS = "tests.grading.run.test_executors:make_threads"
FAKE = ["--engine", "tests.grading.fakes:make"]


class Jobs:
    """A handler: a job says what it does."""

    def __init__(
        self, factor: int = 1, start: str = "", stubborn: bool = False
    ) -> None:
        self.factor, self.stubborn = factor, stubborn
        if start:
            raise RuntimeError(start)

    def __enter__(self) -> Jobs:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to end."""

    def __call__(self, job: dict, step: Step) -> dict:
        """Answer; or note that it began, and kill this process or the engine's worker."""
        if job["do"] == "hang":
            time.sleep(600)
        for name in job.get("steps", ()):
            if self.stubborn or name not in job.get("stuck", ()):
                with step(name, 2.0):
                    exec(fakes.NATIVE if name in job["sticks"] else "")
        if "log" in job:
            with open(job["log"], "a", encoding="utf-8") as file:
                file.write(f"{os.getpid()} {os.getppid()}\n")
            tries = len(tried(Path(job["log"])))
            if tries <= job["deaths"]:
                os.kill(
                    os.getppid() if job["do"] == "kill the worker" else os.getpid(), 9
                )
                time.sleep(600)
        return {
            "got": self.factor * job.get("value", 0),
            "bytes": len(job.get("data", b"")),
            "parent": os.getppid(),
            "by": os.getpid(),
            "stuck": job.get("stuck"),
        }


def tried(log: Path) -> list[list[str]]:
    """Return the process that tried the job and that process's parent, for each try."""
    return [line.split() for line in log.read_text(encoding="utf-8").splitlines()]


def make_threads() -> concurrent.futures.Executor:
    """Return an engine of the standard library."""
    return concurrent.futures.ThreadPoolExecutor(2)


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """Start a Dask scheduler and two workers; return the scheduler's address."""
    with servers.dask_cluster(2) as address:
        yield address


def load(job: dict) -> dict:
    """Put bytes into a job when it is sent."""
    return {**job, "data": bytes(job["value"])}


def run(
    spec: str, jobs: list[dict], deadline: float = 60.0, **settings: object
) -> dict[int, dict]:
    """Return the answers by the number of the job; each comes once."""
    with open_executor(spec, 2) as executor:
        pairs = list(
            executor.run(jobs, HANDLER, settings, deadline=deadline, load=load)
        )
    assert len(pairs) == len(dict(pairs))
    return dict(pairs)


@pytest.fixture(params=["local", THREADS, "dask"])
def spec(request: pytest.FixtureRequest) -> str:
    """Each kind of executor."""
    return (
        request.getfixturevalue("cluster") if request.param == "dask" else request.param
    )


def test_every_executor_gives_the_same_answers(spec: str) -> None:
    """Settings and bytes arrive, each job is done once, by two warm processes that stay."""
    found = run(
        spec, [{"do": "answer", "value": value} for value in range(12)], factor=3
    )
    assert {n: (a["got"], a["bytes"]) for n, a in found.items()} == {
        n: (3 * n, n) for n in range(12)
    }
    processes = {answer["by"] for answer in found.values()}
    assert 1 <= len(processes) <= 2
    assert os.getpid() not in processes
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{process}").exists() for process in processes):
        assert time.monotonic() < deadline, "the processes end with the executor"
        time.sleep(0.05)


def test_other_settings_mean_other_processes(spec: str) -> None:
    """A process that is warm for one assignment does not grade the next."""
    jobs = [{"do": "answer", "value": 5}]
    assert run(spec, jobs, factor=1)[0]["got"] == 5
    assert run(spec, jobs, factor=2)[0]["got"] == 10


def test_two_machines_are_used(cluster: str) -> None:
    """Both Dask workers take part."""
    from distributed import Client

    found = run(cluster, [{"do": "answer", "value": value} for value in range(12)])
    with Client(cluster, set_as_default=False) as client:
        workers = set(client.run(os.getpid).values())
    assert {answer["parent"] for answer in found.values()} == workers
    assert len(workers) == 2


def test_the_grader_keeps_no_jobs_that_are_done(cluster: str) -> None:
    """A client of Dask keeps its last messages, and submissions lie in them: not a thousand."""
    jobs = [{"do": "answer", "value": 100_000} for _ in range(40)]
    with open_executor(cluster, 2) as executor:
        done = list(executor.run(jobs, HANDLER, {}, deadline=60, load=load))
        comm = executor.engine.client.scheduler_comm
        assert len(done) == len(jobs)
        assert 0 < len(comm.recent_message_log) < len(jobs) / 2


@pytest.mark.parametrize("deaths", [1, 9])
def test_a_death_is_tried_once_more(spec: str, deaths: int, tmp_path: Path) -> None:
    """Once is forgiven, twice is not; nobody else notices."""
    jobs = [{"do": "answer", "value": value} for value in range(8)]
    jobs[2] |= {"do": "die", "log": str(tmp_path / "log"), "deaths": deaths}
    found = run(spec, jobs)
    assert len(tried(tmp_path / "log")) == 2
    assert {n: a["got"] for n, a in found.items() if n != 2} == {
        n: n for n in range(8) if n != 2
    }
    if deaths == 1:
        assert found[2]["got"] == 2
    else:
        assert found[2]["lost"] == "the grading process ended (SIGKILL)"


@pytest.mark.parametrize("deaths", [1, 9])
def test_a_dask_worker_killed_in_the_middle(
    cluster: str, deaths: int, tmp_path: Path
) -> None:
    """kill -9 of a worker: its job is tried on another, once; all others are done."""
    servers.wait_for_workers(cluster, 2)
    jobs = [{"do": "answer", "value": value} for value in range(16)]
    jobs[3] |= {"do": "kill the worker", "log": str(tmp_path / "log"), "deaths": deaths}
    found = run(cluster, jobs)
    assert {n: a["got"] for n, a in found.items() if n != 3} == {
        n: n for n in range(16) if n != 3
    }
    processes, workers = zip(*tried(tmp_path / "log"), strict=True)
    assert len(set(processes)) == len(set(workers)) == 2
    if deaths == 1:
        assert found[3]["got"] == 3
    else:
        assert found[3]["lost"].startswith(
            "the worker that graded it was lost (ConnectionError"
        )
    # The second try may have met the worker that was started in the first one's place.
    killed = {*processes, *workers[: min(deaths, 2)]}
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{process}").exists() for process in killed):
        assert time.monotonic() < deadline, "workers that are killed end, with theirs"
        time.sleep(0.05)


def test_a_job_that_hangs_is_given_up(spec: str) -> None:
    """At its deadline, and it isn't tried again."""
    jobs = [
        {"do": "answer", "value": 1},
        {"do": "hang", "value": 2},
        {"do": "answer", "value": 3},
    ]
    found = run(spec, jobs, deadline=6)
    assert found[1] == {"lost": "grading took longer than 6 s"}
    assert (found[0]["got"], found[2]["got"]) == (1, 3)


def test_a_job_leaves_out_where_it_got_stuck(spec: str) -> None:
    """In native code, one step after the other: all else is done, and nobody else notices."""
    jobs = [{"do": "answer", "value": value} for value in range(3)]
    jobs[1] |= {"steps": ["a", "b", "c", "d"], "sticks": ["b", "d"]}
    found = run(spec, jobs)
    assert {n: (a["got"], a["stuck"]) for n, a in found.items()} == {
        0: (0, None),
        1: (1, ["b", "d"]),
        2: (2, None),
    }


def test_all_tries_of_a_stuck_job_have_one_deadline(spec: str) -> None:
    """However many steps it gets stuck in."""
    steps = [str(number) for number in range(99)]
    jobs = [{"do": "answer", "value": 1, "steps": steps, "sticks": steps}]
    found = run(spec, [*jobs, {"do": "answer", "value": 3}], deadline=9)
    assert found[0] == {"lost": "grading took longer than 9 s"}
    assert found[1]["got"] == 3


def test_a_step_that_can_not_be_left_out_ends_the_job(spec: str) -> None:
    """It is not tried again and again."""
    jobs = [{"do": "answer", "value": 1, "steps": ["a"], "sticks": ["a"]}]
    assert run(spec, jobs, stubborn=True)[0] == {
        "lost": "grading can't leave out the step 'a'"
    }


def test_what_can_not_start_says_why(spec: str) -> None:
    """The handler's own words arrive, as an error of the run."""
    with pytest.raises(PoolError, match="bubblewrap is not installed"):
        run(spec, [{"do": "answer", "value": 1}], start="bubblewrap is not installed")


def test_another_version_on_a_worker_is_refused(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two versions of the tests in one gradebook would be unfair."""
    if spec != "local":
        if spec == THREADS:
            own = executors.version()
            monkeypatch.setattr(executors, "version", iter(["another", own]).__next__)
        else:
            monkeypatch.setattr(executors, "version", lambda: "another")
        with pytest.raises(PoolError, match="another version of the course's grader"):
            run(spec, [{"do": "answer", "value": 1}])
    else:  # the same files
        assert executors.version() == executors.version.__wrapped__()


def test_a_wrong_name_says_what_is_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    """No traceback for a typing mistake, for a missing package, or where nobody answers."""
    for wrong in ("dask", "here:there", "os:nothing"):
        with (
            pytest.raises(
                PoolError, match="expected local, the address of a Dask scheduler"
            ),
            open_executor(wrong, 1),
        ):
            pass
    monkeypatch.setattr(executors, "CONNECT_SECONDS", 1.0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"dask:tcp://127.0.0.1:{free.getsockname()[1]}"
        with (
            pytest.raises(PoolError, match="no Dask scheduler answers there"),
            open_executor(nobody, 1),
        ):
            pass
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(PoolError, match="make env EXTRAS=grade"),
        open_executor("tcp://127.0.0.1:8786", 1),
    ):
        pass


def rows(root: Path) -> list[str]:
    """Return the lines of grades.csv."""
    return (root / "grades.csv").read_text(encoding="utf-8").splitlines()


def test_a_class_has_the_same_grades_by_each_executor(
    cluster: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """The command line, the gradebook and the files; also for what can't be graded."""
    tables = []
    for number, executor in enumerate(("local", THREADS, f"dask:{cluster}")):
        root = helpers.make_course(tmp_path / str(number))
        for student, answers in (
            ("s1", helpers.RIGHT),
            ("s2", helpers.WRONG),
            ("s3", {}),
        ):
            helpers.hand_in(root, student, helpers.fill(answers))
        helpers.hand_in(root, "s4", "{")
        (root / "submitted" / "s5").mkdir()
        arguments = [
            "run",
            "90",
            "--root",
            str(root),
            "--jobs",
            "2",
            "--executor",
            executor,
        ]
        assert main([*arguments, *FAKE]) == 1, "s4 failed"
        tables.append(rows(root))
        for student, count in (("s1", 1), ("s3", 1), ("s4", 0)):
            folder = root / "autograded" / student / sample.NAME
            assert len(list(folder.glob("*.ipynb"))) == count
    assert tables[0] == tables[1] == tables[2]
    assert [row.split(",")[3] for row in tables[0][1:]] == [
        "s1",
        "s2",
        "s3",
        "s4",
        "s5",
    ]
    assert main([*arguments[:-1], "nonsense", *FAKE, "--force"]) == 2
    assert "expected local, the address of a Dask scheduler" in capsys.readouterr().err


def test_a_class_in_sandboxes_beside_dask_workers(cluster: str, tmp_path: Path) -> None:
    """The real engine, with torch and bubblewrap; one submission kills what it can reach."""
    try:
        Worker(preload=()).close()
    except SandboxMissing as missing:
        pytest.skip(str(missing).splitlines()[0])
    root = helpers.make_course(tmp_path / "course")
    killer = "import os, signal\nfor number in range(1, 9999):\n  os.kill(number, 9)"
    helpers.hand_in(root, "s1", helpers.fill(helpers.RIGHT))
    helpers.hand_in(root, "s2", helpers.fill({**helpers.RIGHT, "double": killer}))
    helpers.hand_in(root, "s3", helpers.fill(helpers.RIGHT))
    before = set(servers.wait_for_workers(cluster, 2))
    assert main(["run", "90", "--root", str(root), "--executor", cluster]) == 0
    assert set(servers.wait_for_workers(cluster, 2)) == before
    lines = [row.split(",") for row in rows(root)]
    score = {line[3]: line[lines[0].index("score")] for line in lines[1:]}
    assert (score["s1"], score["s3"]) == ("6.0", "6.0")
    assert float(score["s2"]) < 6
    graded = root / "autograded" / "s1" / sample.NAME / "sample.ipynb"
    assert json.loads(graded.read_text(encoding="utf-8"))["cells"]
