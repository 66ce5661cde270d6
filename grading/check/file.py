"""Compares a student's notebook file with the release: which assignment, which cells differ.

Nothing is run here.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from grading.check import execution
from grading.course.handed_in import MAX_BYTES, SubmissionError, parse
from grading.course.notebooks import SEPARATOR, NotebookError, notebooks_in
from grading.course.submission import Form, Rebuilt, load, tags_of, text_of
from grading.feedback import words

#: Bytes of outputs in the file from which on they are worth a word.
BIG_OUTPUTS = 2_000_000

#: Findings that cost points or hold up the grading; the others are for information.
TO_MEND = {"duplicated", "missing", "re-tagged", "unknown", "re-typed"}


class CheckError(NotebookError):
    """The check can't be done; the message says what to do."""


@dataclass(frozen=True)
class Item:
    """One thing to tell: what is so, what to do, and whether it has to be mended."""

    what: str
    advice: str = ""
    mend: bool = True

    def __str__(self) -> str:
        return f"{self.what[:1].upper()}{self.what[1:]}. {self.advice}".strip()


@dataclass
class Looked:
    """What a file's look shows; `form` and `rebuilt` are None if it can't be run."""

    title: str
    path: Path
    items: list[Item] = field(default_factory=list)
    form: Form | None = None
    rebuilt: Rebuilt | None = None


def find(path: Path) -> Path:
    """Return the notebook at a path: itself, or the only one in that folder.

    Raises:
        CheckError: if there is none, or more than one.

    """
    if path.is_dir():
        found = notebooks_in(path)
        if len(found) != 1:
            names = ", ".join(one.name for one in found[:8])
            raise CheckError(
                f"{path} holds {len(found)} notebooks{f' ({names})' if names else ''}: give the "
                "one to check, as in: python -m grading check "
                f"{found[0] if found else path / 'name.ipynb'}"
            )
        return found[0]
    if not path.exists():
        raise CheckError(
            f"there is no {path}. Give the notebook or its folder, for example: "
            "python -m grading check exercises/02-self-attention"
        )
    return path


def look(notebook: Path, root: Path) -> Looked:
    """Look at a notebook's file, without running anything.

    Raises:
        CheckError: if it belongs to no assignment.

    """
    size = notebook.stat().st_size
    if size > MAX_BYTES:
        too_large = Item(
            f"the file has {size / 2**20:.0f} MiB, and at most {MAX_BYTES / 2**20:.0f} are read",
            "Clear the outputs: in JupyterLab, Edit, Clear Outputs of All Cells. Then save.",
        )
        return Looked(notebook.stem, notebook, [too_large])
    data = notebook.read_bytes()
    try:
        cells = parse(data, notebook.name)
    except SubmissionError as error:
        return Looked(notebook.stem, notebook, [Item(str(error))])
    release = _released(notebook, cells, root)
    items = []
    if release.name != notebook.name:
        items.append(
            Item(
                f"the file is called {notebook.name}",
                f"Name it {release.name}: the grader looks for that name.",
            )
        )
    form, lost = _form(release, notebook, cells)
    looked = Looked(words.title(form), notebook, items)
    try:
        rebuilt = form.rebuild(data)
    except SubmissionError as error:
        items.append(Item(str(error)))
        return looked
    items += lost + [
        Item(*words.finding(str(found)), mend=found.kind in TO_MEND)
        for found in rebuilt.findings
    ]
    items += _file_items(data, cells)
    looked.form, looked.rebuilt = form, rebuilt
    return looked


def _ids(cells: list[dict]) -> list[str]:
    """Return the grade_ids of a notebook's cells."""
    return [
        name for cell in cells if isinstance(name := tags_of(cell).get("grade_id"), str)
    ]


def _released(notebook: Path, cells: list[dict], root: Path) -> Path:
    """Return the released notebook that a notebook comes from: of its name, or of its cells."""
    released = notebooks_in(root / "exercises") if (root / "exercises").is_dir() else []
    for path in released:
        if path.name == notebook.name:
            return path
    ids = set(_ids(cells))
    alike = {path: len(ids & set(_ids(_cells_of(path)))) for path in released}
    best = max(alike, key=alike.__getitem__, default=None)
    if best is None or alike[best] * 2 < max(1, len(ids)):
        known = ", ".join(path.name for path in released) or "none"
        raise CheckError(
            f"{notebook.name} is no notebook of this course. Known: {known}. Hand in the notebook "
            "that was handed out, with your answers in it"
        )
    return best


def _cells_of(path: Path) -> list[dict]:
    """Return the cells of a file, none if it is no notebook."""
    try:
        return parse(path.read_bytes(), path.name)
    except SubmissionError:
        return []


def _form(release: Path, notebook: Path, cells: list[dict]) -> tuple[Form, list[Item]]:
    """Return the assignment as handed out, and what was found on the way there.

    Students often work in the released file itself. Then the version in git is taken, and without
    one their own file, of which the checksums tell which locked cells were changed.
    """
    copies = (
        []
        if release.exists() and release.samefile(notebook)
        else [release.read_bytes()]
    )
    for copy in [*copies, *_versions(release)]:
        try:
            found = parse(copy, release.name)
        except SubmissionError:
            continue
        if _ids(found) and not _lost(found) and not _changed(found):
            return _load(copy, release.name), []
    items = [
        Item(*words.finding(f"edited: {name}: -"), mend=False)
        for name in _changed(cells)
    ]
    items += [Item(*words.finding(f"missing: {name}: -")) for name in _lost(cells)]
    return _load(_only_last(notebook.read_bytes(), _ids(cells)), release.name), items


def _load(data: bytes, name: str) -> Form:
    """Return an assignment as students have it: tests without their hidden parts."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / name
        copy.write_bytes(data)
        return load(copy, copy)


def _versions(path: Path) -> list[bytes]:
    """Return a file as git has it: as it was published, and as it was last committed."""
    found = []
    for version in ("@{upstream}", "HEAD"):
        try:
            done = subprocess.run(
                ["git", "show", f"{version}:./{path.name}"],
                cwd=path.parent,
                capture_output=True,
                timeout=20,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return []
        if done.returncode == 0:
            found.append(done.stdout)
    return found


def _changed(cells: list[dict]) -> list[str]:
    """Return the locked cells that nbgrader's checksum tells were changed."""
    from nbformat import from_dict
    from nbgrader.utils import compute_checksum

    return [
        str(tags["grade_id"])
        for cell in cells
        if (tags := tags_of(cell)).get("locked")
        and tags.get("checksum")
        and tags.get("grade_id")
        and tags["checksum"]
        != compute_checksum(
            from_dict({**cell, "source": text_of(cell), "metadata": {"nbgrader": tags}})
        )
    ]


def _lost(cells: list[dict]) -> list[str]:
    """Return cells that must have been there: answers without tests, tests without an answer."""
    names = set(_ids(cells))
    tested = {words.task_of(name) for name in names if SEPARATOR in name}
    # An answer that a person grades (solution and grade) has no tests.
    answers = {
        tags["grade_id"]
        for cell in cells
        if (tags := tags_of(cell)).get("solution")
        and not tags.get("grade")
        and isinstance(tags.get("grade_id"), str)
    }
    return [
        *sorted(tested - names),
        *(f"{name}{SEPARATOR}…" for name in sorted(answers - tested)),
    ]


def _only_last(data: bytes, names: list[str]) -> bytes:
    """Return a notebook in which the last of several cells with one grade_id keeps it."""
    notebook = json.loads(data.decode("utf-8-sig"))
    left = {name: names.count(name) for name in names}
    for cell in notebook["cells"]:
        name = tags_of(cell).get("grade_id") if isinstance(cell, dict) else None
        if isinstance(name, str):
            left[name] -= 1
            if left[name]:
                cell["metadata"] = {}
    return json.dumps(notebook).encode()


def _file_items(data: bytes, cells: list[dict]) -> list[Item]:
    """Return what is to be said about the kernel and the outputs in the file."""
    items = []
    metadata = json.loads(data.decode("utf-8-sig")).get("metadata")
    spec = metadata.get("kernelspec") if isinstance(metadata, dict) else None
    name = spec.get("name") if isinstance(spec, dict) else None
    language = spec.get("language", "python") if isinstance(spec, dict) else "python"
    if language != "python":
        items.append(
            Item(
                f"the notebook's kernel is {str(name)[:40]}, for {str(language)[:40]}",
                "Choose Kernel, Change Kernel, Python 3 in JupyterLab, and save.",
            )
        )
    elif name not in (None, execution.KERNEL):
        items.append(
            Item(
                f"the notebook's kernel is called {str(name)[:40]}",
                f"It is checked and graded with {execution.KERNEL}: what you "
                "installed for the other "
                "one may be missing there.",
                mend=False,
            )
        )
    sizes = [len(json.dumps(cell.get("outputs") or [])) for cell in cells]
    if sum(sizes) > BIG_OUTPUTS:
        items.append(
            Item(
                f"the outputs in the file take {sum(sizes) / 1e6:.1f} MB",
                "Grading makes them anew. Clear them before you hand in: Edit, "
                "Clear Outputs of All "
                "Cells.",
                mend=False,
            )
        )
    return items
