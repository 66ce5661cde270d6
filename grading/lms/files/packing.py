"""Reproducible zip files, and feedback pages in them.

Moodle takes `Name_<participant>_assignfeedback_file_/<file>`. Canvas takes a file by the two
numbers in the name of the file that the student handed in, and shows it under the student's own
file name: `hw.ipynb`. So what goes to Canvas is a notebook that shows the page.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path

from grading.course.handed_in import SubmissionError
from grading.course.handed_in import read as read_file
from grading.course.states import State
from grading.gradebook.standing import Standing
from grading.lms.files.archive import name_problem
from grading.lms.files.imports import Origin
from grading.lms.files.roster import Member, clean
from grading.lms.outcome import Report, Verdict

#: The largest page that is sent.
MOST_PAGE = 8 << 20
#: The time of each file in a zip: none.
EPOCH = (1980, 1, 1, 0, 0, 0)


def make_zip(files: dict[str, bytes], executable: set[str] = frozenset()) -> bytes:
    """Return a zip with these files, in order of their names.

    Raises:
        ValueError: if a name is not a relative path.

    """
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            if name_problem(name):
                raise ValueError(f"files: expected relative paths, got {name!r}")
            info = zipfile.ZipInfo(name, EPOCH)
            info.create_system = 3
            info.external_attr = (0o100755 if name in executable else 0o100644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return made.getvalue()


def feedback(
    standings: list[Standing],
    pages: dict[str, Path],
    members: dict[str, Member],
    record: dict[str, Origin],
    layout: str,
    report: Report,
) -> dict[str, bytes]:
    """Return the pages of graded students, under the names that the LMS goes by.

    Args:
        standings: one assignment's; only who is graded gets a page.
        pages: where each student's page would be.
        members: who they are.
        record: what an import noted; Canvas's numbers are only known from it.
        layout: "moodle" or "canvas".
        report: takes a line a student.

    """
    files: dict[str, bytes] = {}
    for one in standings:
        name, problem = "", ""
        if one.state is not State.GRADED:
            kind = Verdict.SKIPPED if one.state is State.MISSING else Verdict.REFUSED
            report.add(kind, one.student, "", f"{one.state}: no feedback is sent")
            continue
        try:
            page = read_file(pages[one.student], MOST_PAGE)
        except (SubmissionError, KeyError):
            report.add(
                Verdict.REFUSED,
                one.student,
                "",
                "no page below feedback/: run the grader",
            )
            continue
        member = members.get(one.student, Member(one.student))
        if layout == "moodle":
            name, problem = moodle_name(member, pages[one.student].name)
        else:
            name, problem = canvas_name(
                record.get(one.student), pages[one.student].stem
            )
            page = as_notebook(page.decode("utf-8", "replace"))
        if not problem and name in files:
            problem = "another student has the same number"
        if problem:
            report.add(Verdict.REFUSED, one.student, "", problem)
        else:
            files[name] = page
            report.add(Verdict.SENT, one.student, name)
    return files


def moodle_name(member: Member, file: str) -> tuple[str, str]:
    """Return where Moodle looks for a student's file, and why it would not find it."""
    if not re.fullmatch(r"\d+", member.participant, re.ASCII):
        return "", (
            "the number in this assignment (Participant …) isn't known: import Moodle's "
            "zip, or give --worksheet"
        )
    # Moodle splits at underscores: the number comes after the first.
    name = "".join(
        c if c.isalnum() or c in " -.'" else " " for c in clean(member.full_name)
    )
    name = name.strip(". ")[:100].rstrip(". ") or "student"
    return f"{name}_{member.participant}_assignfeedback_file_/{file}", ""


def canvas_name(origin: Origin | None, stem: str) -> tuple[str, str]:
    """Return the name by which Canvas finds a submission, and why it would not."""
    if origin is not None and origin.kind == "group":
        return "", (
            f"{origin.owner}'s file in Canvas is {origin.prefix}'s: the feedback goes there"
        )
    if origin is None or origin.kind != "canvas" or origin.number is None:
        return "", "Canvas's number of the file isn't known: import Canvas's zip first"
    numbers = (origin.owner, str(origin.number))
    name = f"{origin.prefix}_{numbers[0]}_{numbers[1]}_{stem}-feedback.ipynb"
    passed_over = name.startswith("._") or stem.startswith("link")  # as Canvas does
    if (
        passed_over
        or canvas_numbers(name) != numbers
        or name_problem(name)
        or "/" in name
    ):
        name = f"student_{numbers[0]}_{numbers[1]}_feedback.ipynb"
    return name, ""


def canvas_numbers(name: str) -> tuple[str, ...]:
    """Return the two numbers that Canvas takes from a name: the first two parts of digits only."""
    return tuple(part for part in name.split("_") if re.fullmatch(r"[0-9]+", part))[:2]


def as_notebook(page: str) -> bytes:
    """Return a notebook that shows a page; Jupyter cleans it again before it shows it."""
    body = re.search(r"<body[^>]*>(.*)</body>", page, re.DOTALL | re.IGNORECASE)
    style = "\n".join(
        re.findall(r"<style[^>]*>.*?</style>", page, re.DOTALL | re.IGNORECASE)
    )
    html = style + (body[1] if body else page)
    cells = [
        {
            "cell_type": "code",
            "id": "feedback",
            "metadata": {},
            "execution_count": None,
            "source": "# Your feedback is shown below. There is nothing to run.",
            "outputs": [
                {
                    "output_type": "display_data",
                    "metadata": {},
                    "data": {
                        "text/html": html,
                        "text/plain": "open this file in Jupyter",
                    },
                }
            ],
        }
    ]
    whole = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return (json.dumps(whole, indent=1, ensure_ascii=False) + "\n").encode(
        "utf-8", "replace"
    )
