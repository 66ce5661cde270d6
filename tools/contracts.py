"""Writes the contracts of the assignments, and their kit, into the notebooks of solutions/.

    python -m tools.contracts            write
    python -m tools.contracts --check    compare only; 1 if a notebook is not what it says

`solutions/<assignment>/contract.py` has a part for each test cell that it makes:

    # %% masked-attention--contract | points: 3

What stands below, up to the next part, is the cell's text, under a title (tools/folding.py). A
cell that isn't there yet comes last among its task's. The kit (solutions/kit.py and twins.py, from
`# %% kit` on) goes in hidden lines above the first of the parts, and behind it what stands below
`# %% shared`: definitions that several parts use. A part never uses another part's: where its
task isn't solved, its cell stops before them. Imports above are for editors and linters only.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import nbformat

from grading.course import files
from grading.course.notebooks import ROOT, SEPARATOR, notebooks_in
from tools.folding import titled

HEAD = re.compile(
    r"^# %% (?P<name>[a-z0-9-]+)(?: \| points: (?P<points>[\d.]+))?$", re.MULTILINE
)
KIT, CONTRACT = ("kit.py", "twins.py"), "contract.py"
#: Parts that are no test cells.
KIT_PART, SHARED = "kit", "shared"


class ContractError(ValueError):
    """A contract or a kit that can't be written; the message names the file."""


@dataclass(frozen=True)
class Part:
    """A test cell: its name, its points, its text."""

    name: str
    points: float
    text: str


def parts(path: Path) -> list[Part]:
    """Return the parts of a file, the kit and what is shared included.

    Raises:
        ContractError: if it has none, or one has no points and is no kit, or shared.

    """
    text = path.read_text(encoding="utf-8")
    heads = list(HEAD.finditer(text))
    if not heads:
        raise ContractError(f"{path}: no part; one begins with `# %% <name>`")
    ends = [head.start() for head in heads[1:]] + [len(text)]
    found = []
    for head, end in zip(heads, ends, strict=True):
        if (head["points"] is None) != (head["name"] in (KIT_PART, SHARED)):
            raise ContractError(
                f"{path}: {head['name']}: say its points: `# %% {head['name']} | points: 3`; "
                f"`{KIT_PART}` and `{SHARED}` have none"
            )
        body = text[head.end() : end].strip("\n")
        found.append(Part(head["name"], float(head["points"] or 0), body))
    return found


def kit(solutions: Path) -> list[str]:
    """Return the kit, file by file, as it goes into hidden lines."""
    return [part.text for name in KIT for part in parts(solutions / name)]


def hidden(solutions: Path, own: list[Part]) -> str:
    """Return the kit and what an assignment's parts share, as hidden lines."""
    texts = [*kit(solutions), *(part.text for part in own if part.name == SHARED)]
    body = "\n\n\n".join(texts)
    return f"### BEGIN HIDDEN TESTS\n{body}\n\n\n### END HIDDEN TESTS\n"


def made(folder: Path) -> tuple[Path, str]:
    """Return the notebook of an assignment, and the text of its file with the contract in it.

    Raises:
        ContractError: if a part belongs to no task.

    """
    (path,) = notebooks_in(folder)
    notebook = nbformat.read(path, as_version=4)
    own = parts(folder / CONTRACT)
    above = hidden(folder.parent, own)
    for part in own:
        if part.name == SHARED:
            continue
        cell = find(notebook, part, folder)
        text, above = above + part.text, ""
        cell.source = titled(text, part.name, part.points)
        points = part.points
        cell.metadata.nbgrader["points"] = int(points) if points % 1 == 0 else points
    return path, nbformat.writes(notebook) + "\n"


def find(notebook: nbformat.NotebookNode, part: Part, folder: Path) -> dict:
    """Return the cell of a part, a new one behind its task's other tests if there is none.

    Raises:
        ContractError: if there is no such task.

    """
    names = [
        cell.metadata.get("nbgrader", {}).get("grade_id", "") for cell in notebook.cells
    ]
    if part.name in names:
        return notebook.cells[names.index(part.name)]
    task = part.name.partition(SEPARATOR)[0]
    own = [
        place
        for place, name in enumerate(names)
        if name.partition(SEPARATOR)[0] == task and name != ""
    ]
    if not own or task == part.name:
        raise ContractError(
            f"{folder / CONTRACT}: {part.name}: a part is called <task>--<aspect>, after a "
            f"task of the notebook"
        )
    cell = nbformat.v4.new_code_cell(id=part.name)
    cell.metadata["nbgrader"] = {
        "grade": True,
        "grade_id": part.name,
        "locked": True,
        "points": part.points,
        "schema_version": 3,
        "solution": False,
        "task": False,
    }
    notebook.cells.insert(own[-1] + 1, cell)
    return cell


def folders(root: Path) -> list[Path]:
    """Return the assignments that have a contract."""
    return sorted(path.parent for path in (root / "solutions").glob(f"*/{CONTRACT}"))


def differences(root: Path = ROOT) -> list[str]:
    """Return a line for each notebook that is not what its contract and the kit say."""
    advice = "edit the contract, then run `python -m tools.contracts`"
    problems = []
    for folder in folders(root):
        try:
            path, text = made(folder)
        except ContractError as error:
            problems.append(str(error))
            continue
        if path.read_text(encoding="utf-8") != text:
            problems.append(f"{path}: not what {folder / CONTRACT} says: {advice}")
    return problems


def main(arguments: list[str] | None = None) -> int:
    """Write or compare; 1 if anything differs or can't be made."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.contracts", description=__doc__
    )
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("--root", type=Path, default=ROOT, help="the course's folder")
    args = parser.parse_args(arguments)
    root = args.root.resolve()
    if args.check:
        problems = differences(root)
        print("\n".join(problems) or "notebooks are what their contracts say")
        return 1 if problems else 0
    try:
        for folder in folders(root):
            path, text = made(folder)
            if path.read_text(encoding="utf-8") != text:
                files.write(path, text)
                print(f"{path.relative_to(root)}: changed")
    except ContractError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
