"""Grades a class's notebooks with nbgrader: make grade ASSIGNMENT=02-self-attention.

    python -m tools.grade ASSIGNMENT

Reads submitted/<student>/<assignment>/<notebook>.ipynb. Writes autograded/, feedback/, gradebook.db
and grades.csv beside it, and prints a table. A notebook that could not be graded is *failed* and
one that was not handed in is *missing*: neither is a zero, and neither gets a score in grades.csv.

This runs students' code with your rights, on this machine: grade only people whom you trust.
"""

from __future__ import annotations

import argparse
import csv
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from tools import exercises, notebooks
from tools.notebooks import ROOT, SEPARATOR

#: What nbgrader reads names from, or writes unquoted into its CSV file.
FORBIDDEN = set('+,"\n\r')


class GradingError(RuntimeError):
    """Something that a teacher can put right; the message says how."""


@dataclass
class Result:
    """One student's grade: `state` is graded, missing or failed; points are by task."""

    student: str
    state: str
    points: dict[str, float] = field(default_factory=dict)
    cells: dict[str, float] = field(default_factory=dict)
    reason: str = ""

    @property
    def total(self) -> float:
        """The sum over the tasks."""
        return sum(self.points.values())


def find_assignment(root: Path, wanted: str) -> str:
    """Return the name of the assignment that a teacher means by it or by its beginning.

    Raises:
        GradingError: if there is no such assignment, or more than one.

    """
    known = exercises.assignments(root)
    found = [name for name in known if name == wanted] or [
        name for name in known if wanted and name.startswith(wanted)
    ]
    if len(found) != 1:
        what = f"no assignment is called {wanted!r}" if wanted else "name an assignment"
        if len(found) > 1:
            what = f"{wanted!r} may be {' or '.join(found)}"
        raise GradingError(
            f"{what}. Known: {', '.join(known) or 'none'}. "
            f"For example: make grade ASSIGNMENT={(known or ['02-self-attention'])[0]}"
        )
    return found[0]


def submissions(root: Path, assignment: str) -> dict[str, str]:
    """Return every student of submitted/ with the reason why there is nothing to grade, or "".

    Raises:
        GradingError: if nobody handed anything in, or a name would break nbgrader's files.

    """
    folder = root / "submitted"
    names = [path.name for path in notebooks.notebooks_in(root / "solutions" / assignment)]
    layout = f"submitted/<student>/{assignment}/{names[0]}"
    if not folder.is_dir():
        raise GradingError(f"there is no folder submitted/. Put each notebook at {layout}")
    students = sorted(
        path.name for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")
    )
    if not students:
        raise GradingError(f"submitted/ is empty. Put each notebook at {layout}")
    for student in students:
        if FORBIDDEN & set(student):
            raise GradingError(
                f"submitted/{student}: rename the folder: nbgrader's files break at a plus sign, "
                "a comma, a quotation mark or a line break in a student's name"
            )
    reasons = {}
    for student in students:
        there = folder / student / assignment
        missing = [name for name in names if not (there / name).is_file()]
        other = [path.name for path in there.glob("*.ipynb")] if there.is_dir() else []
        reasons[student] = ""
        if not there.is_dir():
            reasons[student] = "nothing handed in"
        elif missing:
            extra = f", only {', '.join(sorted(other))}" if other else ""
            reasons[student] = f"no {missing[0]}{extra}"
    if all(reasons.values()):
        looked = "; ".join(f"{student}: {reason}" for student, reason in reasons.items())
        raise GradingError(
            f"nobody handed in {assignment} ({looked}). Put each notebook at {layout}"
        )
    return reasons


def run(root: Path, step: str, *arguments: str) -> None:
    """Run a step of nbgrader that must succeed.

    Raises:
        GradingError: with nbgrader's own words.

    """
    result = exercises.nbgrader(root, *arguments)
    if result.returncode:
        raise GradingError(f"{step} failed:\n{exercises.complaint(result.stderr)}")


def autograde(root: Path, assignment: str, students: list[str]) -> dict[str, str]:
    """Run the notebooks of the class; return whose run failed, with nbgrader's words.

    Some notebooks end nbgrader's run of the whole class. Who has no result after it is run alone.
    """
    folders = [root / room / student / assignment
               for room in ("autograded", "feedback") for student in students]
    for folder in folders:
        if folder.exists():  # of an earlier run: it must not pass for a result of this one
            shutil.rmtree(folder)
    print(f"grading {len(students)} notebooks", flush=True)
    exercises.nbgrader(root, "autograde", assignment, "--force")
    failed = {}
    for student in students:
        if (root / "autograded" / student / assignment).is_dir():
            continue
        print(f"grading {student} alone", flush=True)
        result = exercises.nbgrader(
            root, "autograde", assignment, "--student", student, "--force"
        )
        if result.returncode:
            lines = exercises.complaint(result.stderr).strip().splitlines()
            errors = [line for line in lines if re.match(r"\s*[\w.]*(Error|Exception)\b", line)]
            failed[student] = (errors or lines)[-1].strip()
    return failed


def read_grades(root: Path, assignment: str, reasons: dict[str, str], failed: dict[str, str]
                ) -> list[Result]:
    """Return each student's points from the gradebook."""
    from nbgrader.api import Gradebook, MissingEntry

    results = []
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        known = {student.id for student in gradebook.students}
        for student in sorted(known | reasons.keys()):
            reason = reasons.get(student, "nothing handed in")
            if reason:
                results.append(Result(student, "missing", reason=reason))
                gradebook.update_or_create_student(student)
                continue
            result = Result(student, "graded")
            try:
                submission = gradebook.find_submission(assignment, student)
            except MissingEntry:
                submission = None
            grades = [grade for nb in submission.notebooks for grade in nb.grades] if (
                submission is not None) else []
            if student in failed or not grades or any(g.auto_score is None for g in grades):
                reason = failed.get(student, "nbgrader gave no score")
                results.append(Result(student, "failed", reason=reason))
                continue
            for grade in grades:
                task = grade.name.partition(SEPARATOR)[0]
                result.cells[grade.name] = grade.score
                result.points[task] = result.points.get(task, 0.0) + grade.score
            results.append(result)
    return results


def export(root: Path, assignment: str, results: list[Result]) -> Path:
    """Write grades.csv by nbgrader's exporter, with a state, and no score where there is none."""
    target = root / "grades.csv"
    states = {result.student: result.state for result in results}
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "grades.csv"
        run(root, "the export", "export", "--to", str(made), "--assignment", f"['{assignment}']")
        with made.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    for row in rows:
        row["state"] = states.get(row["student_id"], "missing")
        if row["state"] != "graded":
            row["raw_score"] = row["score"] = ""  # nbgrader writes 0.0, as for a real zero
    partial = target.with_suffix(".partial")
    with partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    partial.replace(target)
    return target


def table(results: list[Result], most: dict[str, float]) -> str:
    """Return the grades as text: a row for each student, a column for each task."""
    tasks = list(most)
    lines = [["student", "state", *tasks, "total"]]
    for result in results:
        points = [f"{result.points[task]:g}" if task in result.points else "-" for task in tasks]
        total = f"{result.total:g}" if result.state == "graded" else "-"
        lines.append([result.student, result.state, *points, total])
    lines.append(["of", "", *(f"{value:g}" for value in most.values()), f"{sum(most.values()):g}"])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    text = [
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    text += [
        f"{result.state}: {result.student}: {result.reason}" for result in results if result.reason
    ]
    return "\n".join(text)


def grade(root: Path, wanted: str) -> list[Result]:
    """Grade an assignment's submissions, make feedback and grades.csv, and print a table.

    Raises:
        GradingError: if there is nothing to grade, or a step of nbgrader fails.

    """
    assignment = find_assignment(root, wanted)
    reasons = submissions(root, assignment)
    most: dict[str, float] = {}
    for path in notebooks.notebooks_in(root / "solutions" / assignment):
        for cell in notebooks.cells(path):
            if cell.is_test:
                task = cell.grade_id.partition(SEPARATOR)[0]
                most[task] = most.get(task, 0.0) + float(cell.nbgrader.get("points") or 0)
    # Puts the tests into the gradebook; the release notebook that it also makes is not needed.
    with tempfile.TemporaryDirectory() as scratch:
        run(
            root, "reading the tests", "generate_assignment", assignment, "--force",
            f"--CourseDirectory.release_directory={scratch}/release",
        )
    there = [student for student, reason in reasons.items() if not reason]
    failed = autograde(root, assignment, there)
    results = read_grades(root, assignment, reasons, failed)
    if any(result.state == "graded" for result in results):
        print("writing feedback", flush=True)
        run(root, "the feedback", "generate_feedback", assignment, "--force")
    target = export(root, assignment, results)
    print(f"\n{table(results, most)}\n")
    print(f"grades: {target.relative_to(root)}")
    print(f"feedback: feedback/<student>/{assignment}/")
    return results


def main(arguments: list[str] | None = None) -> int:
    """Grade; 1 if nothing could be graded or if a submission failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.grade", description=__doc__)
    parser.add_argument("assignment", nargs="?", default="", help="its name, or how it begins")
    parser.add_argument("--root", type=Path, default=ROOT, help="the course's folder")
    options = parser.parse_args(arguments)
    try:
        results = grade(options.root.resolve(), options.assignment)
    except GradingError as error:
        print(f"make grade: {error}", file=sys.stderr)
        return 1
    return 1 if any(result.state == "failed" for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
