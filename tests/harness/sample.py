"""A tiny made-up assignment and its bank, for the tests of the test machinery itself."""

from __future__ import annotations

import json
from pathlib import Path

from tests.harness.bank import parse

NAME = "90-sample"

DOUBLE = '''def double(x):
    """Return 2x."""
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION'''

DOUBLE_SMALL = """assert double(3) == 6, f"double(3) is 6, got {double(3)}: is it x + 2?"
### BEGIN HIDDEN TESTS
assert double(-1) == -2, f"double(-1) is -2, got {double(-1)}: a sign was lost"
### END HIDDEN TESTS"""

DOUBLE_ZERO = (
    'assert double(0) == 0, f"double(0) is 0, got {double(0)}: something is added"'
)

TOTAL = '''def total(values):
    """Return the sum of the doubled values."""
    ### BEGIN SOLUTION
    return sum(double(value) for value in values)
    ### END SOLUTION'''

TOTAL_PLAIN = """_got = total([1, 2])
assert _got == 6, f"the sum of 2 and 4 is 6, got {_got}: were the values doubled?"
### BEGIN HIDDEN TESTS
assert total([]) == 0, f"the sum of nothing is 0, got {total([])}"
### END HIDDEN TESTS"""

BANK = {
    "double": """# %% right: add
def double(x):
    return x + x


# %% right: shift
# -     return 2 * x
# +     return 2 * (x + 1) - 2

# %% wrong: plus_two | says: x \\+ 2
# adds two
# -     return 2 * x
# +     return x + 2

# %% wrong: sign, of: add | says: sign was lost
# -     return x + x
# +     return abs(x + x)
""",
    "total": """# %% right: loop
def total(values):
    result = 0
    for value in values:
        result += double(value)
    return result


# %% right: late
# -     return sum(double(value) for value in values)
# +     return double(sum(values))

# %% wrong: single | says: doubled
# not doubled
# -     return sum(double(value) for value in values)
# +     return sum(values)

# %% wrong: first | says: sum of 2 and 4|only the first
# -     return sum(double(value) for value in values)
# +     return double(values[0])
""",
}


#: What passes the visible tests of `double` and loses more than half of its points.
LISTED = """[[warned]]
task = "double"
answer = "sign"
words = "Mind the sign."
"""


def sources(task: str) -> dict[str, str]:
    """Return the bank's answers to a task by name."""
    reference = {"double": DOUBLE, "total": TOTAL}[task]
    return {
        answer.name: answer.source
        for answer in parse(Path(f"{task}.py"), BANK[task], reference)
    }


def graded(grade_id: str, source: str, points: float) -> dict:
    """Return a test cell."""
    metadata = {"grade": True, "solution": False, "locked": True, "points": points}
    return code(source, grade_id, **metadata)


def solution(grade_id: str, source: str) -> dict:
    """Return a solution cell."""
    return code(source, grade_id, grade=False, solution=True, locked=False)


def code(source: str, grade_id: str = "", **nbgrader: object) -> dict:
    """Return a code cell, with nbgrader's metadata where there is a grade_id."""
    metadata: dict = {}
    if grade_id:
        metadata["nbgrader"] = {
            "grade_id": grade_id,
            "schema_version": 3,
            "task": False,
            **nbgrader,
        }
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": metadata,
        "outputs": [],
        "source": source,
    }


def markdown(source: str) -> dict:
    """Return a Markdown cell."""
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def notebook(cells: list[dict], executed: bool = False) -> dict:
    """Return a notebook of these cells, with ids, and executed in order if asked."""
    count = 0
    for index, cell in enumerate(cells):
        cell["id"] = f"cell-{index}"
        if executed and cell["cell_type"] == "code":
            count += 1
            cell["execution_count"] = count
    return {
        "cells": cells,
        "metadata": {
            "kernelspec": {
                "display_name": "Python 3 (ipykernel)",
                "language": "python",
                "name": "python3",
            },
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def source_notebook() -> dict:
    """Return the sample's source notebook, as if executed."""
    return notebook(
        [
            markdown("# Sample"),
            code("import math"),
            markdown("## Task 1\n\nMind the sign."),
            solution("double", DOUBLE),
            graded("double--small", DOUBLE_SMALL, 2),
            graded("double--zero", DOUBLE_ZERO, 1),
            markdown("## Task 2"),
            solution("total", TOTAL),
            graded("total--plain", TOTAL_PLAIN, 3),
        ],
        executed=True,
    )


def write(path: Path, content: dict | str) -> Path:
    """Write a notebook or a text, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, dict):
        content = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    path.write_text(content, encoding="utf-8")
    return path


def make(root: Path) -> Path:
    """Write the sample assignment and its bank below a folder; return the assignment's folder."""
    folder = root / "solutions" / NAME
    write(folder / "sample.ipynb", source_notebook())
    for task, text in BANK.items():
        write(root / "answers" / NAME / f"{task}.py", text)
    write(root / "answers" / f"{NAME}.equal.toml", LISTED)
    return folder
