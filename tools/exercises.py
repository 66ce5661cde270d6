"""Makes exercises/ of solutions/ by nbgrader, and says where the two disagree.

python -m tools.exercises            write exercises/
python -m tools.exercises --check    compare only; 1 if anything differs
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from grading.course.notebooks import (
    ROOT,
    Cell,
    NotebookError,
    cells,
    notebooks_in,
    read,
)
from grading.course.release import (
    EARLIER,
    GenerationError,
    assignments,
    earlier_points,
    generate,
)

#: Files that nbgrader or an editor leaves beside notebooks, and that belong to nobody.
IGNORED = {".ipynb_checkpoints", "__pycache__", ".DS_Store"}


def files(folder: Path) -> dict[str, Path]:
    """Return the files below a folder by their path in it."""
    return {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not IGNORED & set(path.relative_to(folder).parts)
    }


def differences(made: Path, kept: Path) -> list[str]:
    """Return a line for each place where the kept exercises are not the ones made.

    Notebooks are compared cell by cell, everything else byte by byte.
    """
    made_files, kept_files = files(made), files(kept)
    problems = []
    for name in sorted(made_files.keys() | kept_files.keys()):
        path = kept / name
        if name not in kept_files:
            problems.append(f"{path}: missing: run `make exercises`")
        elif name not in made_files:
            problems.append(f"{path}: comes from nothing in solutions/")
        elif path.read_bytes() != made_files[name].read_bytes():
            problems += notebook_differences(made_files[name], path)
    return problems


def notebook_differences(made: Path, kept: Path) -> list[str]:
    """Return a line for each cell of a kept notebook that is not as made."""
    advice = "exercises/ is made from solutions/: edit there, then run `make exercises`"
    if kept.suffix != ".ipynb":
        return [f"{kept}: edited; {advice}"]
    try:
        old, new = read(made), read(kept)
    except NotebookError as error:
        return [str(error)]
    problems = []
    old_cells, new_cells = list(cells(made, old)), list(cells(kept, new))
    by_id: dict[str, Cell] = {cell.data.get("id", ""): cell for cell in old_cells}
    for cell in new_cells:
        original = by_id.pop(cell.data.get("id", ""), None)
        if original is None:
            problems.append(f"{kept}: {cell}: not in solutions/; {advice}")
        elif original.data != cell.data:
            parts = [
                key
                for key in sorted(original.data.keys() | cell.data.keys())
                if original.data.get(key) != cell.data.get(key)
            ]
            problems.append(f"{kept}: {cell}: {', '.join(parts)} edited; {advice}")
    problems += [f"{kept}: {cell}: missing; {advice}" for cell in by_id.values()]
    if not problems:
        problems.append(f"{kept}: edited outside its cells, or cells moved; {advice}")
    return problems


def note_points(root: Path, name: str, new: Path, old: Path) -> None:
    """Note the points of a release's cells that are about to change, or to go.

    Students who began with that release hand in its points: they are no tampering then.
    """

    def points(folder: Path) -> dict[str, float]:
        return {
            cell.grade_id: cell.nbgrader["points"]
            for path in notebooks_in(folder)
            for cell in cells(path)
            if cell.is_test
        }

    present = points(new) if new.is_dir() else {}
    known = earlier_points(root / "solutions")
    noted = known.setdefault(name, {})
    for cell, worth in points(old).items():
        if present.get(cell) != worth and worth not in noted.get(cell, []):
            noted[cell] = sorted([*noted.get(cell, []), worth])
    if noted:
        path = root / "solutions" / EARLIER
        partial = path.with_suffix(".partial")
        partial.write_text(
            json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8"
        )
        partial.replace(path)


def write(root: Path = ROOT) -> list[str]:
    """Make exercises/ anew, one assignment's folder at a time; return the names of what changed."""
    kept = root / "exercises"
    kept.mkdir(exist_ok=True)
    changed = []
    # Beside exercises/, so that a folder comes to its place by a rename: whole, or not at all.
    with tempfile.TemporaryDirectory(prefix=".exercises-", dir=root) as scratch:
        made = Path(scratch) / "made"
        generate(made, root)
        for name in sorted(
            {path.name for path in kept.glob("[0-9]*")} | set(assignments(root))
        ):
            new, old = made / name, kept / name
            if new.is_dir() and old.is_dir() and not differences(new, old):
                continue
            changed.append(name)
            if old.exists():
                note_points(root, name, new, old)
                old.rename(Path(scratch) / f"old-{name}")
            if new.is_dir():
                new.rename(old)
    return changed


def check(root: Path = ROOT) -> list[str]:
    """Return a line for each difference between exercises/ and what solutions/ makes."""
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "made"
        try:
            generate(made, root)
        except GenerationError as error:
            return [str(error)]
        kept = Path(scratch) / "kept"
        if (root / "exercises").is_dir():
            shutil.copytree(root / "exercises", kept)
        return [
            line.replace(f"{kept}{os.sep}", f"exercises{os.sep}")
            for line in differences(made, kept)
        ]


def main(arguments: list[str] | None = None) -> int:
    """Write or compare exercises/; 1 if they differ or cannot be made."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.exercises", description=__doc__
    )
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("--root", type=Path, default=ROOT, help="the course's folder")
    args = parser.parse_args(arguments)
    root = args.root.resolve()
    if not assignments(root):
        print(f"{root / 'solutions'}: no assignment there", file=sys.stderr)
        return 1
    if args.check:
        problems = check(root)
        print("\n".join(problems) or "exercises/ is what solutions/ makes", end="\n")
        return 1 if problems else 0
    try:
        changed = write(root)
    except GenerationError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"exercises/: {', '.join(changed) or 'nothing'} changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
