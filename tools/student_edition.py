"""Write what students get of the course into a folder: `make student-edition OUT=folder`.

The course's repository holds the solutions and the hidden tests, in its history as well. Students
get this folder instead: the exercises, the chapters and what they import, and what checks a
notebook. It is made anew each time; a `.git` in it is kept, so that it can be a repository of its
own:

    git clone YOUR-STUDENT-REPOSITORY ../students
    make student-edition OUT=../students
    cd ../students && git add --all && git commit -m "Exercises" && git push
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbgrader.utils import compute_checksum

from grading.course.notebooks import (
    BEGIN_HIDDEN,
    BEGIN_SOLUTION,
    END_HIDDEN,
    END_SOLUTION,
    ROOT,
    cells,
    notebooks_in,
    regions,
)
from grading.lms.gradescope.autograder import modules

#: Folders that are copied, and single files.
ROOMS = ("exercises", "transformer", "translator", "models", "book")
FILES = ("LICENSE", "constraints.txt", "tools/bootstrap.py")
#: Programs that come with all modules of the course that they import.
PROGRAMS = ("grading.check.findings", "grading.check.validate", "tools.lab")
#: Of book/: the chapters, what they import and show, and what they cite. The rest makes the site.
BOOK = {".ipynb", ".py", ".bib", ".svg", ".json"}
#: What a run leaves behind.
LEFT = {"__pycache__", ".ipynb_checkpoints", "_ext", "_templates"}
#: Sections of requirements.txt that students need, and single packages of others.
SECTIONS, PACKAGES = {"", "do", "translate"}, {"nbgrader", "uv"}
#: What every answer cell holds as it is released.
STUB = "raise NotImplementedError"
#: Tells an edition from other folders.
MARK = ".student-edition"
#: So many lines of a solution in a row are an answer: a shorter piece may stand in any program.
RUN = 3


class EditionError(RuntimeError):
    """The edition can't be written; the message says why."""


def write(root: Path, out: Path) -> list[str]:
    """Write the edition, whole or not at all; return the names of its files.

    Raises:
        EditionError: if the folder holds something else, or an answer would get into it.

    """
    check_place(root, out)
    if edited := edited_exercises(root):
        raise EditionError(
            "nothing was written: exercises/ is not what solutions/ makes. Keep your own work "
            "elsewhere and run `make exercises`:\n" + "\n".join(edited)
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=".student-edition-", dir=out.parent
    ) as scratch:
        made, old = Path(scratch, "made"), Path(scratch, "old")
        fill(root, made)
        leaks = find_answers(root, made)
        if leaks:
            raise EditionError(
                "nothing was written: answers would be in it:\n" + "\n".join(leaks)
            )
        names = sorted(
            p.relative_to(made).as_posix() for p in made.rglob("*") if p.is_file()
        )
        made.chmod(0o755)
        if out.exists():
            out.rename(old)
            if (old / ".git").exists():
                (old / ".git").rename(made / ".git")
        made.rename(out)
    return names


def check_place(root: Path, out: Path) -> None:
    """Raise EditionError unless a folder is free, or holds an earlier edition."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise EditionError(f"{out} is no folder")
    inside = [room for room in ROOMS if out.is_relative_to(root / room)]
    if inside or root.is_relative_to(out):
        raise EditionError(f"{out} is a folder of the course itself: name another one")
    held = {path.name for path in out.iterdir()} - {".git"} if out.exists() else set()
    if held and MARK not in held:
        raise EditionError(
            f"{out} holds other files ({', '.join(sorted(held)[:5])}): name an "
            "empty folder, or one with an earlier edition"
        )
    if (out / ".git").exists() and (known := commits_with_answers(out)):
        raise EditionError(
            f"{out} is a repository whose history holds {', '.join(known)}: whoever clones it gets "
            "that, too. Name a folder with a repository of its own"
        )


def commits_with_answers(out: Path) -> list[str]:
    """Return the rooms that students don't get and a repository knows, in any commit of it.

    Raises:
        EditionError: if git can't tell.

    """
    found = []
    for room in ("solutions", "tests"):
        done = subprocess.run(
            ["git", "rev-list", "--all", "--max-count=1", "--", room],
            cwd=out,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise EditionError(
                f"{out}: git cannot read its history: {done.stderr.strip()}"
            )
        found += [f"{room}/"] if done.stdout.strip() else []
    return found


def edited_exercises(root: Path) -> list[str]:
    """Return a line for each exercise with something in it that nbgrader did not write."""
    problems = []
    for path in notebooks_in(root / "exercises"):
        source = root / "solutions" / path.relative_to(root / "exercises")
        known = (
            {cell.data.get("id") for cell in cells(source)}
            if source.exists()
            else set()
        )
        for cell in cells(path):
            data = nbformat.from_dict({**cell.data, "source": cell.source})
            answered = cell.is_solution and STUB not in cell.source
            checksum = cell.nbgrader.get("checksum")
            if (
                cell.data.get("id") not in known
                or cell.outputs
                or answered
                or (checksum and compute_checksum(data) != checksum)
            ):
                problems.append(f"  {path.relative_to(root)}: {cell}")
    return problems


def course_files(root: Path, room: str) -> list[Path]:
    """Return the files of a room: those that git tracks, or all where there is no repository.

    Of exercises/, notebooks that have a source; a class list beside them goes nowhere.
    """
    if (root / ".git").exists():
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--", room],
            cwd=root,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        found = [root / name for name in listed.split("\0") if name]
    else:
        found = list((root / room).rglob("*"))
    if room == "exercises":
        found = [
            path
            for path in found
            if (root / "solutions" / path.relative_to(root / room)).is_file()
        ]
    return sorted(found)


def fill(root: Path, made: Path) -> None:
    """Copy everything into a new folder."""
    for room in ROOMS:
        for path in course_files(root, room):
            inside = path.relative_to(root)
            hidden = any(part.startswith(".") for part in inside.parts)
            if (
                path.is_symlink()
                or not path.is_file()
                or hidden
                or LEFT & set(inside.parts)
            ):
                continue
            if room != "book" or path.suffix in BOOK:
                copy(path, made / inside)
    for name in FILES:
        copy(root / name, made / name)
    for name, path in modules(*PROGRAMS).items():
        copy(path, made / name)
    for path in sorted((root / "tools" / "student").rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            name = path.relative_to(root / "tools" / "student").as_posix()
            copy(path, made / (".gitignore" if name == "gitignore" else name))
    text = requirements((root / "requirements.txt").read_text(encoding="utf-8"))
    (made / "requirements.txt").write_text(text, encoding="utf-8")
    (made / MARK).write_text(
        "Made by `make student-edition`: do not edit.\n", encoding="utf-8"
    )


def copy(source: Path, target: Path) -> None:
    """Copy a file's content, for everybody to read."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(source.read_bytes())
    target.chmod(0o644)


def requirements(text: str) -> str:
    """Return the lines of requirements.txt that students need."""
    kept, section = [], ""
    for line in text.splitlines():
        if found := re.fullmatch(r"# (\w+)", line):
            section = found[1]
        if section in SECTIONS or re.split(r"[=\[]", line)[0] in PACKAGES:
            kept.append(line)
    return "\n".join(kept).rstrip() + "\n"


def answers(root: Path) -> dict[str, set[tuple[str, ...]]]:
    """Return the lines that no student gets: pieces of solutions, and of hidden tests.

    A line that the exercises show as well is no secret.
    """
    shown = {line for path in notebooks_in(root / "exercises") for line in lines(path)}
    found: dict[str, set[tuple[str, ...]]] = {}
    for path in notebooks_in(root / "solutions"):
        for cell in cells(path):
            text = [line.strip() for line in cell.source.split("\n")]
            for begin, end in (
                (BEGIN_SOLUTION, END_SOLUTION),
                (BEGIN_HIDDEN, END_HIDDEN),
            ):
                for first, last in regions(cell, begin, end):
                    block = [line for line in text[first + 1 : last] if says(line)]
                    for piece in pieces(block):
                        if not shown.issuperset(piece):
                            found.setdefault(
                                f"{path.stem}: {cell.grade_id}", set()
                            ).add(piece)
    return found


def pieces(block: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield each run of lines; a shorter block is one."""
    for start in range(max(1, len(block) - RUN + 1)):
        yield tuple(block[start : start + RUN])


def lines(path: Path) -> list[str]:
    """Return the lines of a file that say something; of a notebook, those of all its texts."""
    text = path.read_bytes().decode("utf-8", "replace")
    if path.suffix == ".ipynb":
        text = "\n".join(texts(json.loads(text)))
    return [line.strip() for line in text.splitlines() if says(line)]


def says(line: str) -> bool:
    """Return whether a line holds more than brackets and commas, which are layout."""
    return bool(re.search(r"\w", line))


def texts(value: object) -> Iterator[str]:
    """Yield every text in a notebook, outputs and metadata too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and all(isinstance(part, str) for part in value):
        yield "".join(value)
    elif isinstance(value, (list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts(part)


def find_answers(root: Path, made: Path) -> list[str]:
    """Return a line for each piece of an answer in a folder."""
    wanted = answers(root)
    problems = []
    for path in sorted(p for p in made.rglob("*") if p.is_file()):
        held = lines(path)
        there = {
            tuple(held[i : i + n]) for n in range(1, RUN + 1) for i in range(len(held))
        }
        problems += [
            f"  {path.relative_to(made)}: {where}: {' / '.join(piece)[:100]}"
            for where, all_pieces in wanted.items()
            for piece in sorted(all_pieces & there)
        ]
    return problems


def main(arguments: list[str] | None = None) -> int:
    """Write the edition, and say what is in it; 2 if that can't be done."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.student_edition", description=__doc__.splitlines()[0]
    )
    parser.add_argument("out", type=Path, nargs="?", help="the folder")
    parser.add_argument("--root", type=Path, default=ROOT, help="the course's folder")
    args = parser.parse_args(arguments)
    if args.out is None:
        print("name the folder: make student-edition OUT=../students", file=sys.stderr)
        return 2
    try:
        names = write(args.root.resolve(), args.out.absolute())
    except (EditionError, OSError) as error:
        print(f"student-edition: {error}", file=sys.stderr)
        return 2
    rooms = sorted(
        {name.partition("/")[0] + ("/" if "/" in name else "") for name in names}
    )
    print(f"{args.out}: {len(names)} files\n  {'  '.join(rooms)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
