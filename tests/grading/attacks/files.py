"""Attacks by the submitted file: what each hands in, and how its grading must end.

In every notebook the first task is answered, rightly, and nothing else: so that is all that it may
earn. A function gets the class, the student's name and that notebook.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable

from tests.grading.attacks.hostile import FIRST, NAME, NOTEBOOK, Class

#: name -> what hands it in, the state that it must end in.
FILES: dict[str, tuple[Callable[[Class, str, dict], None], str]] = {}


def ends(state: str) -> Callable:
    """Register a function that hands a file in."""

    def register(function: Callable) -> Callable:
        FILES[function.__name__.replace("_", "-")] = (function, state)
        return function

    return register


def tags(cell: dict) -> dict:
    """Return what nbgrader keeps in a cell."""
    return cell["metadata"].get("nbgrader", {})


def graded(notebook: dict) -> list[dict]:
    """Return the test cells."""
    return [cell for cell in notebook["cells"] if tags(cell).get("grade")]


def solutions(notebook: dict) -> list[dict]:
    """Return the solution cells."""
    return [cell for cell in notebook["cells"] if tags(cell).get("solution")]


@ends("graded")
def tests_made_easy(course: Class, student: str, notebook: dict) -> None:
    for cell in graded(notebook):
        cell["source"] = "assert True"
    course.hand_in(student, notebook)


@ends("graded")
def tests_deleted(course: Class, student: str, notebook: dict) -> None:
    for cell in graded(notebook):
        notebook["cells"].remove(cell)
    course.hand_in(student, notebook)


@ends("graded")
def tests_above_a_fake(course: Class, student: str, notebook: dict) -> None:
    moved = graded(notebook)
    notebook["cells"] = moved + [
        cell for cell in notebook["cells"] if cell not in moved
    ]
    notebook["cells"].insert(
        0,
        {
            "cell_type": "code",
            "metadata": {},
            "execution_count": 1,
            "outputs": [],
            "source": "soft_lookup = masked_attention = local_mask = lambda *a, **k: (1, 1)",
        },
    )
    course.hand_in(student, notebook)


@ends("graded")
def tests_copied(course: Class, student: str, notebook: dict) -> None:
    for cell in graded(notebook):
        again = copy.deepcopy(cell)
        again["source"] = "100.0"
        notebook["cells"].append(again)
    course.hand_in(student, notebook)


@ends("suspect")
def tests_made_solutions(course: Class, student: str, notebook: dict) -> None:
    for cell in graded(notebook):
        tags(cell).update(solution=True, locked=False)
        cell["source"] = "100.0"
    course.hand_in(student, notebook)


@ends("suspect")
def unlocked(course: Class, student: str, notebook: dict) -> None:
    for cell in graded(notebook):
        tags(cell)["locked"] = False
        cell["source"] = "matches = lambda *a: True"
    course.hand_in(student, notebook)


@ends("suspect")
def points_raised(course: Class, student: str, notebook: dict) -> None:
    for cell in graded(notebook):
        tags(cell)["points"] = 1e9
    course.hand_in(student, notebook)


@ends("suspect")
def helpers_as_a_solution(course: Class, student: str, notebook: dict) -> None:
    for cell in notebook["cells"]:
        if tags(cell).get("grade_id") == "helpers":
            cell["source"] = "matches = close = lambda *a: True\nexplain = str"
            tags(cell).update(solution=True, locked=False)
    course.hand_in(student, notebook)


@ends("suspect")
def graded_cells_of_its_own(course: Class, student: str, notebook: dict) -> None:
    cell = copy.deepcopy(graded(notebook)[0])
    tags(cell).update(grade_id="../../gradebook", points=1000)
    cell["source"] = "1000.0"
    notebook["cells"].append(cell)
    course.hand_in(student, notebook)


@ends("suspect")
def names_swapped(course: Class, student: str, notebook: dict) -> None:
    for test, solution in zip(
        graded(notebook)[10:], solutions(notebook)[1:], strict=False
    ):
        tags(test)["grade_id"], tags(solution)["grade_id"] = (
            tags(solution)["grade_id"],
            tags(test)["grade_id"],
        )
    course.hand_in(student, notebook)


@ends("graded")
def solutions_as_text_cells(course: Class, student: str, notebook: dict) -> None:
    for cell in [*graded(notebook), *solutions(notebook)]:
        cell["cell_type"] = "markdown" if cell in graded(notebook) else "raw"
    course.hand_in(student, notebook)


@ends("suspect")
def metadata_of_other_kinds(course: Class, student: str, notebook: dict) -> None:
    values = [
        [],
        3,
        None,
        "grade",
        {"nbgrader": []},
        {"nbgrader": {"grade_id": {"a": 1}}},
        {"nbgrader": {"grade_id": ["x"]}},
        {"nbgrader": {"grade_id": None, "points": "9"}},
    ]
    for number, cell in enumerate(graded(notebook)):
        cell["metadata"] = values[number % len(values)]
    notebook["metadata"] = [{"kernelspec": 7}]
    course.hand_in(student, notebook)


@ends("graded")
def another_kernel(course: Class, student: str, notebook: dict) -> None:
    notebook["metadata"] = {
        "kernelspec": {
            "name": "bash",
            "display_name": "sh",
            "language": "bash",
            "argv": ["sh", "-c", f"touch {course.root}/executed"],
        },
        "language_info": {"name": "bash"},
        "celltoolbar": "Create Assignment",
        "widgets": {"application/vnd.jupyter.widget-state+json": {"state": {}}},
    }
    course.hand_in(student, notebook)


@ends("graded")
def outputs_forged(course: Class, student: str, notebook: dict) -> None:
    output = {
        "output_type": "display_data",
        "metadata": {},
        "data": {"text/html": "<script>alert(1)</script>", "text/plain": "5.0"},
    }
    for cell in graded(notebook):
        cell["outputs"] = [output]
    course.hand_in(student, notebook)


@ends("graded")
def odd_sources(course: Class, student: str, notebook: dict) -> None:
    values = [
        None,
        3,
        [1, None, "x = 1\n"],
        {"a": 1},
        "\ud800 = 1",
        "\x00",
        "def f(:",
        "\t\n x",
        "### BEGIN HIDDEN TESTS\n### END HIDDEN TESTS",
        "### BEGIN SOLUTION",
    ]
    for value, cell in zip(values, solutions(notebook)[1:], strict=False):
        cell["source"] = value
    notebook["cells"] += [3, None, [], {}, {"cell_type": 5, "source": 5}]
    course.hand_in(student, notebook)


@ends("graded")
def thousands_of_cells(course: Class, student: str, notebook: dict) -> None:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    notebook["cells"] += [
        {**cell, "source": f"x{number} = 1"} for number in range(1000)
    ]
    course.hand_in(student, notebook)


@ends("graded")
def keys_twice(course: Class, student: str, notebook: dict) -> None:
    text = json.dumps(notebook)
    course.hand_in(student, ('{"cells": [], "nbformat": 3, ' + text[1:]).encode())


@ends("graded")
def files_beside_it(course: Class, student: str, notebook: dict) -> None:
    course.hand_in(student, notebook)
    folder = course.root / "submitted" / student / NAME
    for name in ("torch.py", "conftest.py", "sitecustomize.py", "nbgrader_config.py"):
        (folder / name).write_text(f"open({str(course.root / 'executed')!r}, 'w')")
    (folder / "gradebook.db").write_bytes(b"x" * 1000)
    os.symlink("/etc/passwd", folder / "timestamp.txt")


@ends("failed")
def too_large(course: Class, student: str, notebook: dict) -> None:
    path = course.path(student)
    with path.open("wb") as file:
        file.write(json.dumps(notebook).encode()[:-1] + b', "more": "')
        file.truncate(200 << 20)


@ends("failed")
def nested(course: Class, student: str, notebook: dict) -> None:
    course.hand_in(
        student, b'{"nbformat": 4, "cells": ' + b"[" * 500_000 + b"]" * 500_000 + b"}"
    )


@ends("failed")
def no_unicode(course: Class, student: str, notebook: dict) -> None:
    course.hand_in(student, json.dumps(notebook).encode()[:-1] + b', "x": "\xff\xfe"}')


@ends("failed")
def numbers_of_a_million_digits(course: Class, student: str, notebook: dict) -> None:
    course.hand_in(
        student, json.dumps(notebook).encode()[:-1] + b', "x": ' + b"9" * 10**6 + b"}"
    )


@ends("failed")
def other_formats(course: Class, student: str, notebook: dict) -> None:
    notebook["nbformat"] = 5
    course.hand_in(student, notebook)


@ends("failed")
def empty(course: Class, student: str, notebook: dict) -> None:
    course.hand_in(student, b"")


@ends("failed")
def zipped(course: Class, student: str, notebook: dict) -> None:
    course.hand_in(student, b"PK\x03\x04" + bytes(1000))


@ends("failed")
def link_to_the_solutions(course: Class, student: str, notebook: dict) -> None:
    os.symlink(course.source, course.path(student))


@ends("failed")
def link_to_a_classmate(course: Class, student: str, notebook: dict) -> None:
    os.symlink(f"../../a-honest/{NAME}/{NOTEBOOK}.ipynb", course.path(student))


@ends("failed")
def folder_that_is_a_link(course: Class, student: str, notebook: dict) -> None:
    path = course.path(student)
    path.parent.rmdir()
    os.symlink(f"../a-honest/{NAME}", path.parent)


@ends("failed")
def pipe(course: Class, student: str, notebook: dict) -> None:
    os.mkfifo(course.path(student))


@ends("failed")
def a_folder(course: Class, student: str, notebook: dict) -> None:
    course.path(student).mkdir()


@ends("failed")
def another_assignment(course: Class, student: str, notebook: dict) -> None:
    for cell in notebook["cells"]:
        cell["metadata"].pop("nbgrader", None)
        cell["id"] = "x"
    course.hand_in(student, notebook)


def hand_in(course: Class, student: str, name: str) -> None:
    """Hand in an attack of this name."""
    FILES[name][0](course, student, course.notebook({FIRST: course.reference[FIRST]}))
