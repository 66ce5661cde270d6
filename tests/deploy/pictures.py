"""Take the pictures of the page on learning platforms: ``python -m tests.deploy.pictures``.

A class of five hands in assignment 02, is graded for real, and a browser looks at the pages that an
instructor and a student get. Pictures go to book/assets/. It takes a minute or two.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, sync_playwright

from grading.course.layout import database_url
from grading.lms.lti.protocol import keys, platforms
from grading.lms.lti.protocol.launch import Tool
from grading.lms.lti.protocol.platforms import Configuration
from grading.lms.lti.protocol.store import Store
from grading.lms.lti.web.results import CourseResults
from tests.conftest import CHROMIUM_FLAGS
from tests.deploy.machine import NOT_COPIED, ROOT
from tests.grading.lms.lti.conftest import Pages
from tests.grading.lms.lti.stub import LEARNER, TEACHER, Stub
from tests.grading.lms.lti.test_launch import enter
from tests.harness.assignment import load
from tests.harness.bank import read_bank
from tools import chromium

ASSETS = ROOT / "book" / "assets"
ASSIGNMENT, NOTEBOOK = "02-self-attention", "self-attention.ipynb"
NAMES = {
    f"s0{number}": ("Student", word)
    for number, word in enumerate(("One", "Two", "Three", "Four", "Five"), start=1)
}


def entry(cell: dict) -> dict:
    """Return what nbgrader says of a cell."""
    return cell["metadata"].get("nbgrader", {})


def answered(leave_out: int = 0, wrong: str = "") -> dict:
    """Return the notebook with right answers: without the last few, one wrong if one is named.

    The wrong one comes from the bank of answers.
    """
    made = json.loads(
        (ROOT / "exercises" / ASSIGNMENT / NOTEBOOK).read_text(encoding="utf-8")
    )
    source = json.loads(
        (ROOT / "solutions" / ASSIGNMENT / NOTEBOOK).read_text(encoding="utf-8")
    )
    right = {
        entry(cell)["grade_id"]: cell["source"]
        for cell in source["cells"]
        if entry(cell).get("solution")
    }
    for task in list(right)[len(right) - leave_out :]:
        del right[task]
    if wrong:
        task, _, name = wrong.partition("/")
        bank, _ = read_bank(
            load(ROOT / "solutions" / ASSIGNMENT), ROOT / "tests" / "answers"
        )
        [right[task]] = [
            item.source for item in bank if (item.task, item.name) == (task, name)
        ]
    for cell in made["cells"]:
        if entry(cell).get("grade_id") in right:
            cell["source"] = right[entry(cell)["grade_id"]]
    return made


def hand_in(course: Path, student: str, notebook: dict | str) -> None:
    """Put a notebook where grading looks for it."""
    place = course / "submitted" / student / ASSIGNMENT
    place.mkdir(parents=True)
    text = notebook if isinstance(notebook, str) else json.dumps(notebook)
    (place / NOTEBOOK).write_text(text, encoding="utf-8")


def grade(course: Path) -> None:
    """Make a course with five students in all four states, and grade it."""
    for name in ("exercises", "grading", "solutions"):
        shutil.copytree(ROOT / name, course / name, ignore=NOT_COPIED)
    shutil.copyfile(ROOT / "nbgrader_config.py", course / "nbgrader_config.py")
    hand_in(course, "s01", answered(1, "soft-lookup/dot_product"))
    hand_in(course, "s02", answered())
    hand_in(course, "s03", "{")
    odd = answered(2)
    test = next(cell for cell in odd["cells"] if entry(cell).get("grade"))
    test["metadata"]["nbgrader"]["points"] = 100
    hand_in(course, "s04", odd)
    (course / "submitted" / "s05").mkdir()
    rows = ["id,first_name,last_name,email,lms_user_id"]
    rows += [
        f"{name},{first},{last},{name}@example.org,u{name[1:]}"
        for name, (first, last) in NAMES.items()
    ]
    (course / "people.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    for command in (
        ["lms", "roster", "people.csv"],
        ["run", ASSIGNMENT, "--jobs", "1"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "grading", *command],
            cwd=course,
            check=False,
            capture_output=True,
            text=True,
        )
        print(done.stdout, done.stderr, flush=True)
        if done.returncode not in (
            0,
            1,
        ):  # 1: somebody's submission failed, as it should
            raise SystemExit(f"{' '.join(command)}: status {done.returncode}")


def take(
    browser: Browser, name: str, url: str, cookies: dict[str, str], **clip: Any
) -> None:
    """Photograph the top of a page in a window 900 wide, light, twice as sharp as needed."""
    context = browser.new_context(
        viewport={"width": 900, "height": clip.pop("height", 700)},
        color_scheme="light",
        device_scale_factor=1.5,
    )
    host = urlsplit(url).hostname
    context.add_cookies(
        [
            {"name": key, "value": value, "domain": host, "path": "/"}
            for key, value in cookies.items()
        ]
    )
    page = context.new_page()
    page.goto(url)
    made = ASSETS / f".{name}.partial.png"
    page.screenshot(path=made, full_page=clip.pop("full", False))
    made.replace(ASSETS / f"{name}.png")
    context.close()
    print(f"book/assets/{name}.png", flush=True)


def pictures(browser: Browser, folder: Path) -> None:
    """Serve the tool for the graded course, and look at its pages."""
    course, stub = folder / "course", Stub()
    lti = folder / "lti"
    configuration = Configuration("http://127.0.0.1:1", (stub.platform,))
    platforms.save(lti, configuration)
    tool, book = (
        Tool(configuration, keys.load(lti), Store(lti)),
        CourseResults(database_url(course, None), course / "feedback"),
    )
    stub.set_up(tool.store)
    pages = Pages(tool, lambda _course: book)
    stub.members = [
        {
            "user_id": f"u{name[1:]}",
            "name": f"{first} {last}",
            "roles": [LEARNER],
            "email": f"{name}@example.org",
            "status": "Active",
        }
        for name, (first, last) in NAMES.items()
    ]
    try:
        teacher = enter(pages, stub, "t01", TEACHER)
        session = pages.tool.store.session(teacher.cookies["course-session"])
        answer = teacher.post(
            f"{pages.url}/roster/match", data={"csrf": session.csrf}, timeout=30
        )
        answer.raise_for_status()
        task = f"{pages.url}/assignments/{ASSIGNMENT}"
        cookies = teacher.cookies.get_dict()
        take(
            browser, "lms-roster", f"{pages.url}/roster", cookies, height=300, full=True
        )
        take(browser, "lms-publish", task, cookies, height=300, full=True)
        teacher.post(f"{task}/release", data={"csrf": session.csrf}, timeout=30)
        student = enter(pages, stub, "u01", LEARNER)
        take(
            browser,
            "lms-student",
            f"{pages.url}/",
            student.cookies.get_dict(),
            height=300,
            full=True,
        )
    finally:
        pages.close()
        stub.close()
    feedback = next((course / "feedback" / "s01" / ASSIGNMENT).glob("*.html"))
    take(browser, "lms-feedback", feedback.as_uri(), {}, height=900)


def main() -> int:
    """Command line; returns the exit status."""
    folder = Path(tempfile.mkdtemp(prefix="pictures-"))
    try:
        (folder / "course").mkdir()
        grade(folder / "course")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=chromium.find(), args=CHROMIUM_FLAGS
            )
            pictures(browser, folder)
            browser.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
