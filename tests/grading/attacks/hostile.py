"""A class of a real assignment in which attackers sit between honest students."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from grading.course import notebooks
from grading.course.states import Result
from grading.run import batch
from grading.run.pipeline import Times
from grading.run.preparation import Options
from tests.grading import quick
from tests.test_class_graded import make_course

NAME, NOTEBOOK = "02-self-attention", "self-attention"
HIDDEN = "### BEGIN HIDDEN TESTS\n"
#: What a student of the class with nothing but this task right deserves.
FIRST = "soft-lookup"
#: What is left of the assignment: functions of tensors, of an optional mask, of numbers, which call
#: each other, and a module.
TASKS = (FIRST, "masked-attention", "local-mask", "cosine-attention")


@dataclass
class Secret:
    """What stands in the hidden tests of this class only: a text, and numbers that are expected."""

    token: str = field(default_factory=lambda: f"canary-{secrets.token_hex(12)}")
    numbers: str = field(
        default_factory=lambda: str(
            [int.from_bytes(secrets.token_bytes(6)) / 1e9 for _ in range(3)]
        )
    )

    @property
    def lines(self) -> str:
        """Return lines for a hidden test."""
        return (
            f'secret = "{self.token}"\n'
            f"secret_numbers = torch.tensor({self.numbers}, dtype=torch.float64)\n"
        )

    @property
    def parts(self) -> list[bytes]:
        """Return the bytes by which the text and the numbers would show in a memory."""
        import numpy

        return [self.token.encode(), numpy.array(json.loads(self.numbers)).tobytes()]

    def fill(self, text: str) -> str:
        """Give an attack what it needs to know a secret when it sees one, but not the secret."""
        digests = {hashlib.sha256(part).hexdigest() for part in self.parts}
        starts = [(part[:9], len(part)) for part in self.parts]
        return text.replace("DIGESTS", repr(digests)).replace("STARTS", repr(starts))


class Class:
    """A course's folder with one assignment, and who handed in what."""

    def __init__(self, root: Path) -> None:
        root.mkdir()
        make_course(root, NAME)
        for path in root.glob(f"*/{NAME}/{NOTEBOOK}.ipynb"):
            whole = notebooks.read(path)
            whole["cells"] = list(of_tasks(whole["cells"]))
            path.write_text(json.dumps(whole), encoding="utf-8")
        self.root, self.secret = root, Secret()
        self.source = root / "solutions" / NAME / f"{NOTEBOOK}.ipynb"
        self.release = notebooks.read(root / "exercises" / NAME / f"{NOTEBOOK}.ipynb")
        solved = notebooks.read(self.source)
        self.reference = {
            cell["metadata"]["nbgrader"]["grade_id"]: re.sub(
                r"(?m)^ *### (BEGIN|END) SOLUTION\n?",
                "",
                notebooks.joined(cell["source"]),
            )
            for cell in solved["cells"]
            if cell["metadata"].get("nbgrader", {}).get("solution")
        }
        for cell in solved["cells"]:
            text = notebooks.joined(cell["source"])
            cell["source"] = text.replace(HIDDEN, HIDDEN + self.secret.lines)
        self.source.write_text(json.dumps(solved), encoding="utf-8")
        self.count = 0
        self.results: dict[str, Result] = {}
        self.share = 1.0

    def path(self, student: str) -> Path:
        """Return where a student's notebook belongs, in a folder that is there."""
        path = self.root / "submitted" / student / NAME / f"{NOTEBOOK}.ipynb"
        path.parent.mkdir(parents=True)
        return path

    def notebook(self, answers: dict[str, str], first: str = "") -> dict:
        """Return the release with answers in it, and code of the student's own at the start."""
        made = json.loads(json.dumps(self.release))
        for cell in made["cells"]:
            name = cell["metadata"].get("nbgrader", {}).get("grade_id")
            if name in answers:
                cell["source"] = answers[name]
        if first:
            made["cells"].insert(
                1,
                {
                    "cell_type": "code",
                    "id": "first",
                    "metadata": {},
                    "execution_count": None,
                    "outputs": [],
                    "source": first,
                },
            )
        return made

    def hand_in(self, student: str, content: dict | bytes) -> None:
        """Write a notebook."""
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.path(student).write_bytes(data)

    def attack(self, student: str, text: str, only: str = "") -> None:
        """Hand in a notebook whose functions call an attack; only: those of one task."""
        text = self.secret.fill(text).replace("COURSE", str(self.root).encode().hex())
        answers = {
            name: calls(source, "attack" if only in ("", name) else "str")
            for name, source in self.reference.items()
        }
        self.hand_in(
            student,
            self.notebook(answers, f"import torch\nfrom torch import nn\n{text}"),
        )

    def honest(self, student: str) -> None:
        """Hand in the reference solutions."""
        self.hand_in(student, self.notebook(self.reference))

    def grade(self, jobs: int) -> None:
        """Grade the class."""
        self.share = quick.measure()
        times = Times(submission=quick.SUBMISSION_SECONDS * self.share)
        done = batch.grade(
            self.root,
            NAME,
            Options(jobs=jobs, engine=f"{quick.__name__}:make", times=times),
        )
        self.results = done.results
        self.most = sum(done.form.most.values())
        self.tests = done.form.most

    def shown(self, student: str) -> str:
        """Return all that a student gets."""
        folder = self.root / "feedback" / student
        return "\n".join(
            path.read_text(encoding="utf-8")
            for path in folder.rglob("*")
            if path.is_file()
        )

    def printed(self, student: str) -> str:
        """Return what a student's code printed, or said in errors."""
        path = self.root / "autograded" / student / NAME / f"{NOTEBOOK}.ipynb"
        if not path.exists():
            return ""
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        return json.dumps(
            [cell.get("outputs", []) for cell in cells], ensure_ascii=False
        )

    def check_honest(self, student: str) -> None:
        """Assert that an honest student has all points, and nobody wonders about anything."""
        result = self.results[student]
        found = str(result.state), result.reasons
        assert found == ("graded", []), f"{student}: {found}"
        assert result.total == self.most, (student, result.messages)

    def check_shown(self, student: str) -> None:
        """Assert that what a student gets tells nothing, and does no harm to who reads it."""
        shown = self.shown(student)
        assert shown, f"{student} gets no feedback"
        assert len(shown.encode()) < 2_000_000
        for secret in (
            self.secret.token,
            self.secret.numbers,
            str(self.root),
            "BEGIN SOLUTION",
            "BEGIN HIDDEN",
            "secret_numbers",
        ):
            assert secret not in shown, secret
        for harm in (
            r"<script(?![^>]*type=.application/json)",
            r"<img",
            r"\bon\w+\s*=\s*[\"']",
            "\x1b",
            "\x00",
            "\u202e",
        ):
            assert not re.search(harm, shown), harm
        assert self.secret.token not in self.printed(student)


def of_tasks(cells: list[dict]) -> Iterator[dict]:
    """Yield the cells without the sections of tasks that are not among TASKS."""
    keeps = True
    for cell in cells:
        title = re.match("## Task [0-9]", notebooks.joined(cell["source"]))
        if title or cell["id"] == "text-points-so-far":
            keeps = not title or cell["id"].removeprefix("text-") in TASKS
        if keeps:
            yield cell


def calls(source: str, function: str) -> str:
    """Return a cell in which every function and class of a cell is a call of one function."""
    made = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            made.append(
                f"class {node.name}(nn.Module):\n"
                "    def forward(self, *args, **options):\n"
                f"        return {function}('{node.name}', args, options)"
            )
        elif isinstance(node, ast.FunctionDef):
            made.append(
                f"def {node.name}(*args, **options):\n"
                f"    return {function}('{node.name}', args, options)"
            )
    return "\n".join(made)
