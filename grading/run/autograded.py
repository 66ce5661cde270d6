"""Writes the graded notebook that formgrader shows: the rebuilt cells with their outputs.

Written as plain JSON: the processes that grade start faster without nbformat and nbgrader.
"""

from __future__ import annotations

import json
from dataclasses import replace

from grading.course.submission import Form, Rebuilt, RebuiltCell
from grading.course.text import clean
from grading.run.runner import CellOutcome, TestOutcome

#: Characters of what a submission's cells print and raise, all together; of each error so many are
#: kept in any case. There may be thousands of cells.
MOST_PRINTED, SHORT = 1 << 20, 200

KERNEL = {
    "display_name": "Python 3 (ipykernel)",
    "language": "python",
    "name": "python3",
}


def checksums(form: Form) -> dict[str, str]:
    """Return nbgrader's checksum of each test cell with its hidden tests, by grade_id."""
    from nbformat.v4 import new_code_cell
    from nbgrader.utils import compute_checksum

    return {
        cell.grade_id: compute_checksum(
            new_code_cell(cell.source, metadata=cell.metadata)
        )
        for cell in form.cells
        if cell.role == "test"
    }


def notebook(
    rebuilt: Rebuilt,
    outcomes: dict[int, CellOutcome | TestOutcome],
    points: dict[str, float | None],
    sums: dict[str, str],
) -> str:
    """Return a notebook as nbgrader's autograder leaves one, as the text of its file.

    Student's output is plain text: no HTML and no script of theirs gets into the page.

    Args:
        rebuilt: the cells.
        outcomes: what became of the cells that were executed, by their index.
        points: by grade_id.
        sums: the checksums of test cells.

    """
    cells, room = [], MOST_PRINTED
    for index, cell in enumerate(rebuilt.cells):
        outcome = outcomes.get(index)
        if isinstance(outcome, CellOutcome):
            outcome = replace(
                outcome,
                output=outcome.output[:room],
                error=outcome.error[: max(room, SHORT)],
            )
            room = max(0, room - len(outcome.output) - len(outcome.error))
        metadata = {
            key: cell.metadata[key]
            for key in ("nbgrader", "deletable", "editable")
            if key in cell.metadata
        }
        if cell.grade_id in sums:
            metadata["nbgrader"] = {
                **metadata["nbgrader"],
                "checksum": sums[cell.grade_id],
            }
        made = {
            "cell_type": cell.cell_type,
            "id": cell.cell_id or f"extra-{index}",
            "metadata": metadata,
            "source": cell.source,
        }
        if cell.cell_type == "code":
            made["execution_count"] = index + 1 if index in outcomes else None
            made["outputs"] = _outputs(cell, outcome, points)
        cells.append(made)
    metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    whole = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _outputs(
    cell: RebuiltCell,
    outcome: CellOutcome | TestOutcome | None,
    points: dict[str, float | None],
) -> list[dict]:
    """Return a cell's outputs: those by which nbgrader would find the same points."""
    if outcome is None:
        if cell.role != "test":
            return []
        outcome = TestOutcome(error="NotRun: this test did not run")
    made = []
    if isinstance(outcome, CellOutcome) and outcome.output:
        text = clean(outcome.output)
        made.append({"output_type": "stream", "name": "stdout", "text": text})
    if outcome.error:
        kind, _, message = clean(outcome.error).partition(": ")
        made.append(
            {
                "output_type": "error",
                "ename": kind,
                "evalue": message,
                "traceback": [f"{kind}: {message}"],
            }
        )
    elif isinstance(outcome, TestOutcome) and points.get(cell.grade_id) != cell.points:
        data = {"text/plain": repr(points.get(cell.grade_id))}
        made.append(
            {
                "output_type": "execute_result",
                "data": data,
                "execution_count": None,
                "metadata": {},
            }
        )
    return made
