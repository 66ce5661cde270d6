"""Grades one submission inside Gradescope: reads submission/, writes results/results.json.

    python -m grading.lms.gradescope.grade --autograder /autograder

The same tests and the same two processes as everywhere. Gradescope starts a fresh container for
each submission; where it lets bubblewrap make a sandbox in there, the student's code runs in
that. Where it doesn't, the code runs as another user, who can't read the tests, and the log says
so.

Only a graded submission gets a results.json. A failed or a suspect one gets none: Gradescope then
shows that the autograder did not finish, and no points. The reason is in the log, for instructors.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

from grading.course import files, submission
from grading.course.handed_in import SubmissionError
from grading.course.notebooks import BEGIN_HIDDEN
from grading.course.states import Result, State, failed
from grading.course.submission import Form
from grading.feedback import words
from grading.feedback.error_text import Rule
from grading.lms.files import filenames
from grading.lms.files.archive import Source, Unreadable
from grading.lms.outcome import Problem
from grading.run import pipeline, pool
from grading.run.pool import PoolError

#: Gradescope ends a container after ten minutes: two passes, and the cell that runs then.
TIMES = pipeline.Times(submission=240.0)
#: Seconds for the submission as a whole, which leave some to say so.
DEADLINE = 570.0
#: Makes the engine, in the process that grades.
ENGINE = "grading.lms.gradescope.runner:make"


def find_notebook(folder: Path, wanted: str) -> bytes:
    """Return the submitted notebook.

    Raises:
        SubmissionError: if there is none, or several.

    """
    with Source(folder) as source:
        found = [e for e in source.entries() if e.name.casefold().endswith(".ipynb")]
        named = [
            entry for entry in found if filenames.same_notebook(entry.name, wanted)
        ] or found
        if len(named) != 1:
            listed = ", ".join(entry.name for entry in named[:5]) or "none"
            raise SubmissionError(
                f"expected one notebook, {wanted}, and found {len(named)}: {listed}"
            )
        try:
            return source.read(named[0])
        except Unreadable as error:
            raise SubmissionError(f"{wanted}: {error}") from None


def tests(form: Form, result: Result, rule: Rule, visibility: str) -> list[dict]:
    """Return one entry for each test cell: its points, and what a student may read about it.

    `visibility` is that of tests with hidden parts.
    """
    titles = words.titles(form)
    entries = []
    for cell in form.cells:
        if not cell.is_graded:
            continue
        points = result.points.get(cell.grade_id) or 0.0
        task = words.task_of(cell.grade_id)
        entry = {
            "name": f"{titles.get(task, task)}: {words.aspect_of(cell.grade_id)}",
            "number": cell.grade_id,
            "score": points,
            "max_score": cell.points,
            "status": "passed" if points >= cell.points else "failed",
            "visibility": visibility if BEGIN_HIDDEN in cell.source else "visible",
        }
        error = result.messages.get(cell.grade_id, "")
        if error:
            shown = rule.of_test(cell.grade_id, result)
            entry["output"] = (
                f"{shown.kind}: {shown.text}" if shown.kind else shown.text
            )
        elif result.points.get(cell.grade_id) is None:
            entry["output"] = "A person grades this."
        entries.append(entry)
    return entries


def results(
    form: Form,
    result: Result,
    rule: Rule,
    seconds: float,
    visibility: str = "visible",
) -> dict:
    """Return results.json of a graded submission."""
    notes = [" ".join(words.finding(note)) for note in result.notes]
    stopped = [f"Your code {reason}." for reason in result.stops]
    output = "\n\n".join([*stopped, *notes]) or "Graded."
    return {
        "score": round(sum(points or 0.0 for points in result.points.values()), 6),
        "execution_time": round(seconds, 1),
        "output": output,
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {"state": str(result.state), "sandboxed": result.sandboxed},
        "tests": tests(form, result, rule, visibility),
    }


def unreadable(form: Form, reason: str) -> dict:
    """Return results.json of a submission that can't be read, where that counts as nothing."""
    most = sum(form.most.values())
    return {
        "score": 0.0,
        "output": f"Not graded: {reason}",
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [
            {
                "name": "Your file",
                "score": 0.0,
                "max_score": most,
                "status": "failed",
                "output": reason,
                "visibility": "visible",
            }
        ],
    }


def grade(place: Path) -> int:
    """Grade the submission in Gradescope's folders; return the exit status."""
    started = time.monotonic()
    source = place / "source" / "assignment"
    settings = json.loads((source / "settings.json").read_text(encoding="utf-8"))
    target = place / "results" / "results.json"
    target.unlink(missing_ok=True)
    form = submission.load(source / "release.ipynb", source / "source.ipynb")
    form = form.drawn(settings.get("seeds", {}))
    try:
        data = find_notebook(place / "submission", settings["notebook"])
        form.rebuild(data)
    except (SubmissionError, Problem) as error:
        print(f"failed: {error}", file=sys.stderr)
        if not settings["zero_for_unreadable"]:
            return 1
        files.write(target, json.dumps(unreadable(form, str(error)), indent=1))
        return 0
    try:
        result = measured(form, data, source)
    except PoolError as error:
        print(f"failed: {error}", file=sys.stderr)
        return 1
    for line in (*result.reasons, *result.notes):
        print(line)
    digest = hashlib.sha256(data).hexdigest()
    if result.state is State.SUSPECT and digest in settings["cleared"]:
        print("suspect, and cleared by a person: its points are sent")
        result = replace(result, state=State.GRADED)
    if result.state is not State.GRADED:
        print(
            f"{result.state}: no points are sent; a person must look at it",
            file=sys.stderr,
        )
        if result.state is State.SUSPECT:
            print(
                f"To send them, make the zip again with --cleared {digest}, upload it, "
                "and rerun the autograder for this submission.",
                file=sys.stderr,
            )
        return 1
    rule = Rule(form)
    seconds = time.monotonic() - started
    found = results(form, result, rule, seconds, settings["visibility"])
    files.write(target, json.dumps(found, indent=1))
    return 0


def measured(form: Form, data: bytes, place: Path) -> Result:
    """Return the result of a submission, graded in a process that this one watches.

    Args:
        form: the assignment.
        data: the notebook.
        place: the folder with the tests.

    Raises:
        PoolError: if there is no engine that keeps the tests from the student's code.

    """
    settings = {
        "form": form,
        "factory": ENGINE,
        "options": {"place": place},
        "times": TIMES,
        "sums": {},  # of a graded notebook, which nobody reads here
    }
    process = pool.start("grading.run.pipeline:handler", settings)
    try:
        answer = process.ask({"student": "", "data": data}, DEADLINE)
    finally:
        process.kill()
    if "lost" in answer:
        return failed("", answer["lost"])
    return Result.from_json(answer["result"])


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="grading.lms.gradescope.grade")
    parser.add_argument("--autograder", type=Path, default=Path("/autograder"))
    return grade(parser.parse_args(arguments).autograder.resolve())


if __name__ == "__main__":
    sys.exit(main())
