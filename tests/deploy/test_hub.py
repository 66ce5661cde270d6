"""A course on one machine: from a click on the platform to a grade, in a real browser."""

from __future__ import annotations

import csv
import json
import os
import sqlite3
import stat
import urllib.error
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from deploy.links import links
from tests.deploy.machine import ROOT, Machine
from tests.deploy.person import Person

pytestmark = pytest.mark.slow

ASSIGNMENT, NOTEBOOK = "02-self-attention", "self-attention.ipynb"
PLACE = f"exercises/{ASSIGNMENT}/{NOTEBOOK}"


def answered(tasks: set[str]) -> str:
    """Return the exercise with the reference solution in some of its tasks."""
    release = json.loads((ROOT / PLACE).read_text(encoding="utf-8"))
    source = json.loads(
        (ROOT / "solutions" / ASSIGNMENT / NOTEBOOK).read_text(encoding="utf-8")
    )
    right = {
        cell["metadata"]["nbgrader"]["grade_id"]: cell["source"]
        for cell in source["cells"]
        if cell["metadata"].get("nbgrader", {}).get("solution")
    }
    assert tasks <= right.keys()
    for cell in release["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") in tasks:
            cell["source"] = right[cell["metadata"]["nbgrader"]["grade_id"]]
    return json.dumps(release)


def first_tasks(count: int) -> list[str]:
    """Return the first tasks of the exercise."""
    release = json.loads((ROOT / PLACE).read_text(encoding="utf-8"))
    entries = [cell["metadata"].get("nbgrader", {}) for cell in release["cells"]]
    return [entry["grade_id"] for entry in entries if entry.get("solution")][:count]


@pytest.fixture(scope="module")
def target(machine: Machine) -> str:
    """The link to the assignment, as deploy.links builds it."""
    made = links(
        ROOT / "exercises", machine.address, f"file://{machine.state}/exercises.git"
    )
    return next(link.url for link in made if link.assignment == ASSIGNMENT)


@pytest.fixture(scope="module")
def student(machine: Machine, browse: Callable[[], Any], target: str) -> Person:
    """A student who has followed the link."""
    person = Person(machine, browse(), "s01")
    person.launch(target)
    return person


@pytest.fixture(scope="module")
def instructor(machine: Machine, browse: Callable[[], Any]) -> Person:
    """An instructor who has launched the course."""
    person = Person(machine, browse(), "t01")
    person.launch()
    return person


def test_the_link_opens_the_exercise(student: Person) -> None:
    """One click on the platform: login, server, exercises fetched, notebook open."""
    tab = student.page.locator(".lm-TabBar-tabLabel", has_text=NOTEBOOK)
    tab.first.wait_for()
    heading = student.page.locator(".jp-Notebook h1").first
    heading.wait_for()
    assert "self-attention" in heading.inner_text()
    fetched = student.home / PLACE
    assert fetched.read_bytes() == (ROOT / PLACE).read_bytes()
    inside = {path.name for path in (student.home / "exercises").iterdir()}
    assert inside - {".git"} == {
        path.name for path in (ROOT / "exercises").iterdir() if path.is_dir()
    }


def test_cells_run_in_the_courses_environment(student: Person) -> None:
    """The kernel has PyTorch, which the hub's own environment has not."""
    status, said = student.run("jupyter kernelspec list --json")
    assert status == 0
    specs = json.loads(said[said.index("{") :])["kernelspecs"]
    kernel = specs["python3"]["spec"]["argv"][0]
    status, said = student.run(f"{kernel} -c 'import torch; print(torch.__version__)'")
    assert (status, said.strip()[:4]) == (0, "2.13")


def test_a_student_sees_only_what_is_hers(
    student: Person, instructor: Person, machine: Machine
) -> None:
    """No answers, gradebook, other homes or keys; and the account is not root's."""
    secrets = machine.state / "secrets"
    for path in (
        machine.root / "solutions",
        machine.state / "course",
        instructor.home,
        machine.state / "exchange" / "inboxes",
        machine.state / "roster",
        secrets,
        machine.state / "hub.sqlite",
    ):
        assert path.exists(), path
        status, said = student.run(f"{'ls' if path.is_dir() else 'cat'} {path}")
        assert status, f"{path}: {said}"
        assert "Permission denied" in said, f"{path}: {said}"
    status, said = student.run("id -u; id -gn; umask; ulimit -u; ulimit -f; env")
    uid, group, umask, processes, blocks, *variables = said.split("\n")
    assert int(uid) >= 1000
    assert (group, umask, processes, blocks) == (
        "attention-students",
        "0077",
        "300",
        "65536",
    )
    token = (secrets / "proxy_token").read_text(encoding="ascii")
    assert not [line for line in variables if token in line]


def test_keys_are_roots_alone(machine: Machine) -> None:
    """Generated at the first start, one for each purpose, readable to nobody else."""
    found = {path.name: path for path in (machine.state / "secrets").iterdir()}
    assert found.keys() == {"cookie_secret", "proxy_token"}
    texts = {path.read_text(encoding="ascii") for path in found.values()}
    assert len(texts) == 2
    assert {len(text) for text in texts} == {64}
    assert {stat.S_IMODE(path.stat().st_mode) for path in found.values()} == {0o600}
    assert stat.S_IMODE((machine.state / "secrets").stat().st_mode) == 0o700
    assert stat.S_IMODE((machine.state / "hub.sqlite").stat().st_mode) & 0o077 == 0
    for text in texts:
        assert text not in machine.said()


def test_formgrader_is_for_instructors(student: Person, instructor: Person) -> None:
    """Instructors see the course's assignments there; students have no such page."""
    status, _ = student.fetch("formgrader")
    assert status == 404
    status, text = instructor.fetch("formgrader/api/assignments")
    assert status == 200
    assert ASSIGNMENT in {entry["name"] for entry in json.loads(text)}
    page = instructor.page.context.new_page()
    page.goto(f"{instructor.base}formgrader")
    page.get_by_role("link", name=ASSIGNMENT).first.wait_for()
    page.close()


def test_one_cannot_open_anothers_server(student: Person, instructor: Person) -> None:
    """Being logged in opens one's own server and no other; nobody is an administrator."""
    page = student.page.context.new_page()
    answer = page.goto(f"{instructor.base}api/contents")
    assert answer.status in {403, 404}
    for person in (student, instructor):
        answer = person.page.context.request.get(f"{person.machine.address}/hub/admin")
        assert answer.status == 403
    page.close()


@pytest.mark.timeout(900)
def test_from_release_to_grade(
    machine: Machine,
    student: Person,
    instructor: Person,
    browse: Callable[[], Any],
    target: str,
) -> None:
    """Released, handed in by two, one of whom cheats; collected and graded."""
    status, text = instructor.fetch(
        f"formgrader/api/assignment/{ASSIGNMENT}/release", "POST", ""
    )
    assert status == 200, text
    assert json.loads(text)["success"], text

    # A student answers two tasks, and hands in with the button of the assignment list.
    done = first_tasks(2)
    content = {
        "type": "notebook",
        "format": "json",
        "content": json.loads(answered(set(done))),
    }
    status, text = student.fetch(f"api/contents/{PLACE}", "PUT", json.dumps(content))
    assert status == 200, text
    status, text = student.fetch("assignments?course_id=attention")
    assert status == 200
    listed = {
        entry["assignment_id"]: entry["status"] for entry in json.loads(text)["value"]
    }
    assert listed == {ASSIGNMENT: "fetched"}
    status, text = student.fetch(
        f"assignments/submit?course_id=attention&assignment_id={ASSIGNMENT}", "POST", ""
    )
    assert status == 200, text
    assert json.loads(text)["success"], text

    # Another hands in a folder in the first one's name and from last year, with a link in it.
    cheat = Person(machine, browse(), "s02")
    cheat.launch(target)
    inbound = (
        machine.state / "exchange" / "inboxes" / cheat.name / "attention" / "inbound"
    )
    forged = inbound / f"{student.name}+{ASSIGNMENT}+2001-01-01 00:00:00.000000 UTC+x"
    status, said = cheat.run(
        f"mkdir '{forged}' && cp ~/{PLACE} '{forged}/{NOTEBOOK}' && "
        f"touch -d 2001-01-01 '{forged}/{NOTEBOOK}' && "
        f"ln -s /etc/passwd '{forged}/passwd' && mkfifo '{forged}/pipe' && "
        f"echo 2001-01-01 00:00:00 UTC > '{forged}/timestamp.txt' && "
        f"chmod -R a+rX '{forged}' && mkdir -m 700 '{inbound}/x+{ASSIGNMENT}+closed' && "
        f"touch '{inbound}/x+{ASSIGNMENT}+file'"
    )
    assert status == 0, said
    others = (
        machine.state / "exchange" / "inboxes" / student.name / "attention" / "inbound"
    )
    for attack in (
        f"ls {others}",
        f"touch {others}/x",
        f"touch {others.parent}/x",
        f"rmdir {inbound}",
        f"touch {machine.state}/exchange/attention/outbound/x",
    ):
        status, said = cheat.run(attack)
        assert status, f"{attack}: {said}"

    status, text = instructor.fetch(
        f"formgrader/api/assignment/{ASSIGNMENT}/collect", "POST", ""
    )
    assert status == 200, text
    assert json.loads(text)["success"], text
    submitted = machine.state / "course" / "submitted"
    assert {path.name for path in submitted.iterdir()} == {student.name, cheat.name}
    taken = submitted / cheat.name / ASSIGNMENT
    assert {path.name for path in taken.iterdir()} == {NOTEBOOK, "timestamp.txt"}
    assert not (taken / "timestamp.txt").read_text(encoding="utf-8").startswith("2001")
    assert done[0] in (submitted / student.name / ASSIGNMENT / NOTEBOOK).read_text(
        "utf-8"
    )

    # Graded as the teaching guide says, in a terminal of the instructor's server.
    status, said = instructor.run(
        f"cd ~/course && python -m grading run {ASSIGNMENT} --jobs 1"
    )
    assert status == 0, said
    points = grades(machine.state / "course" / "gradebook.db")
    assert points[cheat.name] == 0
    assert points[student.name] > 0
    status, text = instructor.fetch(f"formgrader/api/submissions/{ASSIGNMENT}")
    assert status == 200, text
    shown = {entry["student"]: entry["score"] for entry in json.loads(text)}
    assert shown == points

    # The hub's own environment has no grader: Formgrader's button refuses, and changes nothing.
    status, _ = instructor.fetch(
        f"formgrader/api/submission/{ASSIGNMENT}/{student.name}/autograde", "POST", ""
    )
    assert status == 500
    assert grades(machine.state / "course" / "gradebook.db") == points


def grades(gradebook: Path) -> dict[str, float]:
    """Return each student's points of all cells."""
    question = (
        "select submitted_assignment.student_id, sum(coalesce(grade.auto_score, 0)) "
        "from grade join submitted_notebook on grade.notebook_id = submitted_notebook.id "
        "join submitted_assignment on submitted_notebook.assignment_id = "
        "submitted_assignment.id group by 1"
    )
    with closing(sqlite3.connect(gradebook)) as book:
        return dict(book.execute(question).fetchall())


def test_the_roster_tells_who_is_who(
    machine: Machine, student: Person, instructor: Person
) -> None:
    """Students with the platform's numbers, in the form that grading/lms reads."""
    from grading.lms.files.roster import read_roster

    path = machine.state / "roster" / "roster.csv"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    roster = read_roster(path)
    assert roster.members[student.name].lms_user_id == "s01"
    assert roster.members[student.name].email == "s01@lms.example"
    assert instructor.name not in roster.members
    with path.open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(roster)
    status, said = instructor.run("cat ~/roster.csv")
    assert (status, said.split()) == (0, path.read_text(encoding="utf-8").split())


def test_a_second_start_keeps_everything(machine: Machine, student: Person) -> None:
    """After a power cut: the same keys, and the student is still logged in."""
    secrets = {
        path: path.read_bytes() for path in (machine.state / "secrets").iterdir()
    }
    machine.stop()
    machine.start()
    assert {path: path.read_bytes() for path in secrets} == secrets
    student.page.goto(f"{machine.address}/hub/home")
    student.page.get_by_role("link", name="Home").first.wait_for()
    assert os.path.exists(student.home / PLACE)


@pytest.mark.parametrize("path", ["/hub/login", "/hub/signup", "/hub/token"])
def test_there_is_no_other_way_in(machine: Machine, path: str) -> None:
    """No form with a password, no sign-up."""
    try:
        with machine.open(path) as answer:
            text = answer.read().decode()
    except urllib.error.HTTPError as error:
        text = error.read().decode()
    assert 'type="password"' not in text
