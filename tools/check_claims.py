"""Compare claims, their marks in the text and their records: one line for each problem.

    python -m tools.check_claims             part of make check and make test: lists stale records
    python -m tools.check_claims --strict    part of make release: a stale record is a problem

A mark is {claim}`1-bottleneck-width` in a cell's text or in a figure's caption. Where no role can
stand, in alternative text or a printed line, the cell's metadata name the claim: "claims": [...];
a quiz names it by its option `:claims:`.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from book.claims import Claim, declared, read
from grading.course import notebooks
from grading.course.notebooks import ROOT, Cell
from tools.fingerprint import fingerprint

MARK = re.compile(r"\{claim\}`([^`]*)`")
QUIZ_OPTION = re.compile(r"^:claims:(.*)$", re.MULTILINE)
#: A chapter that has claims has at least so many.
FEWEST = 8


@dataclass
class Findings:
    """What is wrong now, and what is only out of date."""

    problems: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)


def marks(cell: Cell) -> list[str]:
    """Return the ids that a cell marks, in its text, its caption, its quizzes or its metadata."""
    found = list(map(str, cell.metadata.get("claims", [])))
    for text in texts(cell):
        found += MARK.findall(text)
    if cell.kind == "markdown":
        for option in QUIZ_OPTION.findall(cell.source):
            found += option.replace(",", " ").split()
    return found


def texts(cell: Cell) -> Iterator[str]:
    """Yield what a cell says to its reader: its text, or its figure's caption and description."""
    if cell.kind == "markdown":
        yield cell.source
    else:
        about = cell.metadata.get("mystnb", {})
        yield str(about.get("figure", {}).get("caption", ""))
        yield str(about.get("image", {}).get("alt", ""))


def plain(text: str) -> str:
    """Return text without marks, emphasis, line breaks and capitals, to be compared."""
    text = re.sub(r"\s*" + MARK.pattern, "", text)
    return " ".join(re.sub(r"[*\\]", "", text).split()).casefold()


def modules(root: Path) -> list[ModuleType]:
    """Return the modules of a course that declare claims."""
    found = []
    for path in sorted((root / "book" / "claims").glob("chapter_*.py")):
        name = f"book.claims.{path.stem}"
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found.append(module)
    return found


def check(root: Path = ROOT) -> Findings:
    """Return what is wrong, or stale, with a course's claims, marks and records."""
    found = Findings()
    pages = {
        path.stem: [(cell, marks(cell)) for cell in notebooks.cells(path)]
        for path in sorted((root / "book").glob("*.ipynb"))
    }
    known: set[str] = set()
    for module in modules(root):
        file = f"book/claims/{module.__name__.rpartition('.')[2]}.py"
        try:
            claims = declared(module)
        except ValueError as error:
            found.problems.append(f"{file}: {error}")
            continue
        known |= {one.id for one in claims}
        if module.CHAPTER not in pages:
            found.problems.append(
                f"{file}: CHAPTER: no notebook book/{module.CHAPTER}.ipynb"
            )
            continue
        if len(claims) < FEWEST:
            found.problems.append(
                f"{file}: {len(claims)} claims; a chapter that has any has at least {FEWEST}"
            )
        for one in claims:
            found.problems += on_page(one, file, pages[module.CHAPTER])
        compare(found, root, module, claims)
    for page, cells in pages.items():
        for cell, ids in cells:
            found.problems += [
                f"book/{page}.ipynb: {cell}: marks claim {id!r}, which book/claims/ does not have"
                for id in ids
                if id not in known
            ]
    return found


def on_page(
    one: Claim, file: str, cells: list[tuple[Cell, list[str]]]
) -> Iterator[str]:
    """Yield what is wrong with a claim's mark, and with the words beside it."""
    marked = [cell for cell, ids in cells if one.id in ids]
    words = plain(one.paraphrase or one.sentence).rstrip(".")
    if not marked:
        yield f"{file}: claim {one.id} is marked nowhere in its chapter"
    elif not any(words in plain(text) for cell in marked for text in texts(cell)):
        yield (
            f"book/{marked[0].path.name}: {marked[0]}: marks claim {one.id} but does not say "
            f"{one.paraphrase or one.sentence!r}; change one of the two, or name the page's "
            "words in paraphrase="
        )


def compare(
    found: Findings, root: Path, module: ModuleType, claims: list[Claim]
) -> None:
    """Compare a chapter's claims with its record."""
    path = f"book/claims/{module.CHAPTER}.json"
    recorded = {
        part["id"]: part for part in read(module.CHAPTER, root / "book" / "claims")
    }
    again = "run `make claims CLAIM={}`"
    for one in claims:
        part = recorded.pop(one.id, None)
        hint = again.format(one.id)
        if part is None:
            found.problems.append(f"{path}: has no claim {one.id}: {hint}")
            continue
        if not part["holds"]:
            found.problems.append(
                f"{path}: claim {one.id} does not hold: effect {part['effect']}, interval "
                f"{part['interval']}, threshold {part['threshold']}"
            )
        if part.get("threshold", {}) != one.threshold:
            found.problems.append(
                f"{path}: claim {one.id} was recorded for another threshold, "
                f"{part.get('threshold')}, than {one.threshold}: {hint}"
            )
        if part["code"] != fingerprint(module.__name__, one.run.__name__, root):
            found.stale.append(
                f"{path}: claim {one.id} is stale: its code has changed: {hint}"
            )
        elif (part["sentence"], part["control"]) != (one.sentence, one.control):
            found.stale.append(
                f"{path}: claim {one.id} is stale: its words have changed: {hint}"
            )
    found.problems += [
        f"{path}: has claim {id}, which is not declared: run `make claims`"
        for id in recorded
    ]
    found.stale += late(root, module, path)


def late(root: Path, module: ModuleType, path: str) -> Iterator[str]:
    """Yield the claims whose threshold was not committed before their record was.

    The commit that last changed the record must find the same thresholds in the one before it; a
    record that is not committed yet, in the last commit.
    """
    if not (root / path).exists():
        return
    file = f"book/claims/{module.__name__.rpartition('.')[2]}.py"
    changed = git(root, "status", "--porcelain", "--", path)
    commit = git(root, "log", "-1", "--format=%H", "--", path)
    before = "HEAD" if changed or not commit else f"{commit.strip()}^"
    source = git(root, "show", f"{before}:{file}")
    if source is None:
        yield (
            f"{path}: no history shows whether the thresholds came before the record (is this "
            "a shallow clone, or a squashed commit?)"
        )
        return
    earlier = thresholds(source)
    for part in read(module.CHAPTER, (root / path).parent):
        if not part.get("exact") and earlier.get(part["id"]) != part["threshold"]:
            yield (
                f"{path}: claim {part['id']}: its threshold was not committed before its "
                "record: commit the declaration, then run `make claims` again"
            )


def git(root: Path, *command: str) -> str | None:
    """Return what git prints, or None where it fails."""
    done = subprocess.run(
        ["git", *command], cwd=root, capture_output=True, encoding="utf-8", check=False
    )
    return None if done.returncode else done.stdout


def thresholds(source: str) -> dict[str, dict]:
    """Return the thresholds that a module's source declares, by claim, without running it."""
    found = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "claim":
            given = {
                word.arg: ast.literal_eval(word.value)
                for word in node.keywords
                if word.arg in ("id", "at_least", "at_most", "holds")
            }
            name = given.pop("id")
            found[name] = {"holds": "interval"} | given
    return found


def main(arguments: list[str] | None = None) -> int:
    """Print the problems and what is stale; 1 if there are problems (strict: or stale records)."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.check_claims", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--strict", action="store_true", help="stale records fail, too")
    parser.add_argument("--root", type=Path, default=ROOT, help="the course's folder")
    options = parser.parse_args(arguments)
    found = check(options.root.resolve())
    for line in found.problems + found.stale:
        print(line, file=sys.stderr)
    print(f"claims: {len(found.problems)} problems, {len(found.stale)} stale")
    return 1 if found.problems or (options.strict and found.stale) else 0


if __name__ == "__main__":
    sys.exit(main())
