"""Rebuilds a submitted notebook from the release version.

Nothing that a student could have changed decides which tests run: the cells, their order, points
and tests are those of the release and source notebooks. From the submitted file comes code that
runs in the student's own process only: the text of the solution cells, found by grade_id, and
the cells that the student added or edited between them (an import, a helper function).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from grading.course import draws, notebooks
from grading.course import release as releases
from grading.course.bindings import inner_parts, offered_names
from grading.course.handed_in import SubmissionError, check_size, parse
from grading.course.notebooks import Cell, NotebookError

#: What nbgrader keeps about a cell that decides how it is graded.
TAGS = ("grade", "solution", "locked", "points")


@dataclass(frozen=True)
class Finding:
    """Something in a submission that isn't as released.

    `kind` is one word; `severity` is "suspect" where it hardly happens by accident, "look" where a
    person may want to see the code, else "note".
    """

    kind: str
    cell: str
    detail: str
    severity: str = "note"

    def __str__(self) -> str:
        return (
            f"{self.kind}: {self.cell}: {self.detail}"
            if self.cell
            else (f"{self.kind}: {self.detail}")
        )


@dataclass(frozen=True)
class RebuiltCell:
    """One cell of a rebuilt notebook.

    `role` is one of
      text      Markdown of the release
      setup     code of the release above the first task: runs on both sides
      given     locked code of the release: runs on both sides
      demo      other code of the release, such as a figure: runs in the student's process
      extra     code that the student added, or edited: runs in the student's process
      solution  the student's answer: runs in the student's process
      test      a test cell: runs on the trusted side; `source` has the hidden tests, too

    `owns` is what the reference solution of a solution cell offers to tests: see `offered_names`.
    `drawn` is a test cell as it is executed, where its hidden inputs are drawn from a secret.
    """

    role: str
    source: str
    cell_type: str = "code"
    grade_id: str = ""
    points: float = 0.0
    cell_id: str = ""
    metadata: dict = field(default_factory=dict)
    unchanged: bool = False
    owns: tuple[str, ...] = ()
    drawn: str = ""

    @property
    def is_graded(self) -> bool:
        """Whether nbgrader keeps points for it."""
        tags = self.metadata.get("nbgrader") or {}
        return bool(tags.get("grade") or tags.get("task"))


@dataclass(frozen=True)
class Rebuilt:
    """A submission as it will be graded, and how the submitted file differed from the release."""

    cells: tuple[RebuiltCell, ...]
    findings: tuple[Finding, ...]


def text_of(cell: dict) -> str:
    """Return the text of a submitted cell with plain line ends; "" if it has none."""
    source = cell.get("source")
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    if not isinstance(source, str):
        return ""
    # Text that is no Unicode (half a surrogate pair) could not be sent or stored.
    source = source.encode("utf-8", "replace").decode("utf-8")
    return source.replace("\r\n", "\n").replace("\r", "\n")


def tags_of(cell: dict) -> dict:
    """Return what nbgrader keeps about a submitted cell, {} if nothing or nonsense."""
    metadata = cell.get("metadata")
    found = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}


@dataclass(frozen=True)
class Form:
    """An assignment as it is graded: the release's cells, and the tests of the source notebook.

    `draw` tells by which secret hidden inputs are drawn, "" for those of the repository. `earlier`
    has the points of graded cells in releases before this one, where they were others: students
    who began then hand in those.
    """

    name: str
    cells: tuple[RebuiltCell, ...]
    released: dict[str, str]
    fingerprint: str
    draw: str = ""
    earlier: dict[str, list[float]] = field(default_factory=dict)

    @property
    def most(self) -> dict[str, float]:
        """The points of each graded cell."""
        return {cell.grade_id: cell.points for cell in self.cells if cell.is_graded}

    @property
    def texts_and_points(self) -> dict[str, tuple[str, float | None]]:
        """What the gradebook has of each cell with a name."""
        most = self.most
        return {
            cell.grade_id: (cell.source, most.get(cell.grade_id))
            for cell in self.cells
            if cell.grade_id
        }

    def drawn(self, seeds: Mapping[str, int], draw: str = "") -> Form:
        """Return the form with hidden inputs drawn by these numbers: see `grading.course.draws`."""
        if not seeds:
            return self
        cells = tuple(
            replace(cell, drawn=draws.draw(cell.source, seeds[cell.grade_id]))
            if cell.role == "test"
            else cell
            for cell in self.cells
        )
        text = "\0".join([self.fingerprint, *(cell.drawn for cell in cells)])
        fingerprint = hashlib.sha256(text.encode()).hexdigest()
        return replace(self, cells=cells, fingerprint=fingerprint, draw=draw)

    def rebuild(self, data: bytes) -> Rebuilt:
        """Return the submission in these bytes as it will be graded.

        Raises:
            SubmissionError: if it is no notebook, or no notebook of this assignment.

        """
        submitted = _Submitted(self, parse(data, self.name))
        if not submitted.slots:
            raise SubmissionError(
                f"{self.name} holds no cell of this assignment: hand in the notebook that was "
                "handed out, with your answers in it"
            )
        check_size(self.name, submitted.texts())
        cells: list[RebuiltCell] = []
        started = False
        for cell in self.cells:
            if cell.grade_id and not started:
                started = True
                cells += submitted.extras.get("", [])
            if cell.role == "solution":
                cells += submitted.answers(cell)
            elif cell.role != "demo" or text_key(cell.source) in submitted.plain:
                cells.append(cell)
            if cell.grade_id:
                cells += submitted.extras.get(cell.grade_id, [])
        return Rebuilt(tuple(cells), tuple(submitted.findings))


def text_key(source: str) -> str:
    """Return what stays of a text when blank ends are ignored."""
    return "\n".join(line.rstrip() for line in source.strip().splitlines())


class _Submitted:
    """A submission's cells, sorted by the released cell that they belong to."""

    def __init__(self, form: Form, cells: list[dict]) -> None:
        self.form = form
        self.known = {cell.grade_id: cell for cell in form.cells if cell.grade_id}
        self.by_id = {
            cell.cell_id: cell.grade_id for cell in self.known.values() if cell.cell_id
        }
        self.slots: dict[str, list[dict]] = {}
        self.extras: dict[str, list[RebuiltCell]] = {}
        self.plain: set[str] = set()
        self.findings: list[Finding] = []
        released = {
            text_key(cell.source)
            for cell in form.cells
            if cell.role in ("setup", "demo")
        }
        anchor = ""
        for cell in cells:
            name = self._name(cell)
            if name:
                self.slots.setdefault(name, []).append(cell)
                anchor = name
            elif cell.get("cell_type") == "code" and text_of(cell).strip():
                if text_key(text_of(cell)) in released:
                    self.plain.add(text_key(text_of(cell)))
                    continue
                extra = RebuiltCell("extra", text_of(cell))
                self.extras.setdefault(anchor, []).append(extra)
        self._compare()

    def texts(self) -> list[str]:
        """Return the code that the student wrote, by cell."""
        found = [cell.source for cells in self.extras.values() for cell in cells]
        for cell in self.form.cells:
            if cell.role == "solution":
                found += [text_of(part) for part in self.slots.get(cell.grade_id, [])]
        return found

    def _name(self, cell: dict) -> str:
        """Return which released cell it is, "" if none."""
        tags = tags_of(cell)
        name = tags.get("grade_id")
        if isinstance(name, str) and name in self.known:
            return name
        if name and tags.get("grade"):
            begun_then = tags.get("points") in self.form.earlier.get(str(name), ())
            self.findings.append(
                Finding("outdated", name, "a test of an earlier release")
                if begun_then
                else Finding(
                    "unknown",
                    str(name)[:60],
                    "a graded cell that the assignment hasn't",
                    "suspect",
                )
            )
        # Some editors drop what nbgrader keeps in a cell, but not the cell's id.
        by_id = cell.get("id")
        return self.by_id.get(by_id, "") if isinstance(by_id, str) and not name else ""

    def _compare(self) -> None:
        """Note how the cells differ from the released ones."""
        order = list(self.known)
        seen = [order.index(name) for name in self.slots]
        for position, name in enumerate(self.slots):
            if any(before > seen[position] for before in seen[:position]):
                self.findings.append(
                    Finding("moved", name, "graded at its released place")
                )
        for name, released in self.known.items():
            found = self.slots.get(name, [])
            if not found:
                text = "the released text is used"
                self.findings.append(Finding("missing", name, text))
                continue
            if len(found) > 1:
                self.findings.append(Finding("duplicated", name, f"{len(found)} cells"))
            for cell in found:
                self._compare_cell(name, released, cell)
        for name in [
            cell.grade_id for cell in self.form.cells if cell.role == "solution"
        ]:
            self._look(name, [text_of(cell) for cell in self.slots.get(name, [])])
        # A copy of a released cell, whose tags some editors drop, is none of the student's words.
        released = {text_key(text) for text in self.form.released.values()}
        for anchor, cells in self.extras.items():
            own = [c.source for c in cells if text_key(c.source) not in released]
            self._look(f"after {anchor}", own)
            place = f"after {anchor}" if anchor else "at the start"
            text = (
                f"{len(cells)} code cell{'s' if len(cells) > 1 else ''} added or edited"
            )
            self.findings.append(Finding("extra", place, text))

    def _look(self, place: str, texts: list[str]) -> None:
        """Note words that few answers need. They are no proof: a comment may hold them."""
        if words := sorted({word for text in texts for word in inner_parts(text)}):
            text = f"names what belongs to the grader: {', '.join(words[:5])[:120]}"
            self.findings.append(Finding("inner", place, text, "look"))

    def _compare_cell(self, name: str, released: RebuiltCell, cell: dict) -> None:
        """Note how one submitted cell differs from the released one."""
        tags, wanted = tags_of(cell), released.metadata.get("nbgrader") or {}
        if not tags:
            self.findings.append(Finding("untagged", name, "found by its cell id"))
        changed = [tag for tag in TAGS if tags and tags.get(tag) != wanted.get(tag)]
        if changed == ["points"] and tags.get("points") in self.form.earlier.get(
            name, ()
        ):
            text = "points of an earlier release; the present ones count"
            self.findings.append(Finding("outdated", name, text))
        elif changed:
            self.findings.append(
                Finding(
                    "re-tagged",
                    name,
                    f"{', '.join(changed)} changed in its metadata",
                    "suspect",
                )
            )
        if cell.get("cell_type") != released.cell_type:
            kind = str(cell.get("cell_type"))[:20]
            text = f"a {kind} cell, read as {released.cell_type}"
            self.findings.append(Finding("re-typed", name, text))
        if released.role != "solution" and (
            text_key(text_of(cell)) != text_key(self.form.released[name])
        ):
            self.findings.append(Finding("edited", name, "the released text is used"))

    def answers(self, cell: RebuiltCell) -> Iterator[RebuiltCell]:
        """Yield the student's cells for one solution cell, the released one if there is none.

        A cell that was split or copied runs in all its parts, in order, as in a notebook. A copy
        of the stub beside an answer is no part of it: it would take the answer's name.
        """
        stub = text_key(cell.source)
        texts = [text_of(found) for found in self.slots.get(cell.grade_id, [])]
        texts = [text for text in texts if text_key(text) != stub] or [cell.source]
        for upper in texts[:-1]:
            yield RebuiltCell("extra", upper, cell.cell_type)
        unchanged = text_key(texts[-1]) == stub
        yield replace(cell, source=texts[-1], unchanged=unchanged)


def load(release: Path, source: Path) -> Form:
    """Return how an assignment is graded.

    Args:
        release: the notebook that was handed out.
        source: the notebook with solutions and hidden tests.

    Raises:
        NotebookError: if the two don't belong together.

    """
    full = {cell.grade_id: cell for cell in notebooks.cells(source) if cell.grade_id}
    cells: list[RebuiltCell] = []
    released: dict[str, str] = {}
    started = False
    for cell in notebooks.cells(release):
        made = _released_cell(cell, full, started)
        started = started or made.role == "solution"
        if cell.grade_id:
            if cell.grade_id in released:
                raise NotebookError(f"{release}: {cell}: two cells have this grade_id")
            released[cell.grade_id] = cell.source
        cells.append(made)
    lost = [name for name in full if name not in released]
    if lost:
        raise NotebookError(
            f"{release}: {', '.join(lost)} missing: run `make exercises`"
        )
    text = "\0".join(f"{c.role}\0{c.grade_id}\0{c.points}\0{c.source}" for c in cells)
    fingerprint = hashlib.sha256(text.encode()).hexdigest()
    earlier = releases.earlier_points(source.parent.parent).get(source.parent.name, {})
    return Form(release.name, tuple(cells), released, fingerprint, earlier=earlier)


def _released_cell(cell: Cell, full: dict[str, Cell], started: bool) -> RebuiltCell:
    """Return how a cell of the release notebook is graded."""
    text, points = cell.source, float(cell.nbgrader.get("points") or 0)
    if cell.grade_id and cell.grade_id not in full:
        raise NotebookError(
            f"{cell.path}: {cell}: not in solutions/: run `make exercises`"
        )
    owns: tuple[str, ...] = ()
    if cell.is_solution:
        role = "solution"
        if cell.kind == "code":
            owns = tuple(sorted(_offered(full[cell.grade_id])))
    elif cell.is_test:
        role = "test"
        visible, _ = notebooks.split_hidden(full[cell.grade_id])
        if text_key(visible) != text_key(text):
            raise NotebookError(
                f"{cell.path}: {cell}: not what solutions/ makes: run `make exercises`"
            )
        text = full[cell.grade_id].source
    elif cell.kind != "code":
        role = "text"
    elif cell.grade_id:
        role = "given"
    else:
        role = "demo" if started else "setup"
    return RebuiltCell(
        role,
        text,
        cell.kind,
        cell.grade_id,
        points,
        cell.data.get("id", ""),
        cell.metadata,
        owns=owns,
    )


def _offered(cell: Cell) -> set[str]:
    """Return what a solution cell of the source notebook offers to tests."""
    try:
        return offered_names(cell.source)
    except SyntaxError as error:
        raise NotebookError(f"{cell.path}: {cell}: {error}") from None


def fingerprint(form: Form, data: bytes) -> str:
    """Return what tells one file graded by one set of tests from every other."""
    return hashlib.sha256(form.fingerprint.encode() + b"\0" + data).hexdigest()
