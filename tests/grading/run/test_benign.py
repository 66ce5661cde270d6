"""What honest students and their programs do to a notebook: each of these has full points."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable

import pytest

from grading.course.notebooks import joined
from grading.course.states import State
from tests.grading.attacks.hostile import Class

#: name -> what makes the file of the class, the solved notebook and the reference's texts.
BENIGN: dict[str, Callable[[Class, dict], dict | bytes]] = {}


def benign(function: Callable) -> Callable:
    """Register a way of handing in."""
    BENIGN[function.__name__.replace("_", "-")] = function
    return function


def code(source: str) -> dict:
    """Return a cell of the student's own."""
    return {
        "cell_type": "code",
        "metadata": {},
        "source": source,
        "outputs": [],
        "execution_count": None,
    }


def name_of(cell: dict) -> str:
    """Return a cell's grade_id, or ""."""
    return cell["metadata"].get("nbgrader", {}).get("grade_id", "")


def solutions(notebook: dict) -> list[dict]:
    """Return the solution cells."""
    return [
        c
        for c in notebook["cells"]
        if c["metadata"].get("nbgrader", {}).get("solution")
    ]


def around(notebook: dict, before: str, decorator: str) -> dict:
    """Put a cell at the start, and a decorator on every function of a solution cell."""
    notebook["cells"].insert(1, code(before))
    for cell in solutions(notebook):
        cell["source"] = re.sub(r"(?m)^def ", f"{decorator}\ndef ", cell["source"])
    return notebook


@benign
def warnings_on_stderr(course: Class, notebook: dict) -> dict:
    return around(
        notebook,
        """
import functools, sys, warnings
warnings.simplefilter("always")
def noisy(function):
    @functools.wraps(function)
    def call(*args, **options):
        warnings.warn("noise"); print("on stderr", file=sys.stderr)
        torch.tensor(torch.ones(1))
        return function(*args, **options)
    return call
""",
        "@noisy",
    )


@benign
def prints_and_plots(course: Class, notebook: dict) -> dict:
    return around(
        notebook,
        """
import matplotlib.pyplot as plt
def shown(function):
    def call(*args, **options):
        print(function.__name__, args, flush=True)
        return function(*args, **options)
    return call
plt.plot([1, 2]); plt.title("größe"); plt.savefig("figure.png"); plt.show(); display(plt.gcf())
""",
        "@shown",
    )


@benign
def big_output(course: Class, notebook: dict) -> dict:
    notebook["cells"].insert(
        1, code("for _ in range(50_000): print('a line of output', _)")
    )
    return notebook


@benign
def slow(course: Class, notebook: dict) -> dict:
    for cell in solutions(notebook):
        cell["source"] = "import time\ntime.sleep(0.2)\n" + cell["source"]
    return notebook


@benign
def names_in_other_languages(course: Class, notebook: dict) -> dict:
    for cell in solutions(notebook):
        cell["source"] = re.sub(r"\bscores\b", "größe_分", cell["source"])
    notebook["cells"].insert(1, code("π, длина = 3.14, 'ñandú 🎉'\nprint(π, длина)"))
    return notebook


@benign
def format_4_4(course: Class, notebook: dict) -> dict:
    notebook["nbformat_minor"] = 4
    for cell in notebook["cells"]:
        cell.pop("id", None)
    return notebook


@benign
def format_4_2_on_windows(course: Class, notebook: dict) -> bytes:
    notebook["nbformat_minor"] = 2
    for cell in notebook["cells"]:
        cell.pop("id", None)
        cell["source"] = (
            joined(cell["source"]).replace("\n", "\r\n").splitlines(keepends=True)
        )
    return (
        b"\xef\xbb\xbf" + json.dumps(notebook, indent=1).replace("\n", "\r\n").encode()
    )


@benign
def metadata_dropped_by_an_editor(course: Class, notebook: dict) -> dict:
    for cell in notebook["cells"]:
        cell["metadata"] = {"tags": ["mine"]}
    return notebook


@benign
def extra_cells(course: Class, notebook: dict) -> dict:
    cells = []
    for cell in notebook["cells"]:
        cells += [
            cell,
            code("x = 1\nx / 0  # tried something"),
            {"cell_type": "markdown", "metadata": {}, "source": "my *notes*"},
        ]
    notebook["cells"] = cells
    return notebook


@benign
def tasks_in_another_order(course: Class, notebook: dict) -> dict:
    cells, (first, *_, last) = notebook["cells"], solutions(notebook)
    one, other = cells.index(first), cells.index(last)
    cells[one], cells[other] = last, first
    return notebook


@benign
def a_cell_split_in_two(course: Class, notebook: dict) -> dict:
    for cell in solutions(notebook):
        upper = copy.deepcopy(cell)
        upper.update(id=f"upper-{name_of(cell)}", source="SPLIT = True")
        upper["metadata"] = {}
        cell["source"] = "assert SPLIT\n" + cell["source"]
        notebook["cells"].insert(notebook["cells"].index(cell), upper)
    return notebook


@benign
def helpers_of_its_own(course: Class, notebook: dict) -> dict:
    for cell in solutions(notebook):
        cell["source"] = cell["source"].replace("torch.softmax(", "my_softmax(")
    notebook["cells"].insert(
        2,
        code("""
import functools, itertools, collections, typing
import numpy as np
from dataclasses import dataclass

ROUNDS: int = 1  # a constant that a solution reads
@dataclass
class Settings:
    dim: int = -1
    names: "list[str] | None" = None
SETTINGS = Settings()

@functools.cache
def depth(n: int) -> int:
    return 0 if n == 0 else 1 + depth(n - 1)

def my_softmax(x: torch.Tensor, dim: int = SETTINGS.dim) -> torch.Tensor:
    assert depth(50) == 50 and ROUNDS == 1
    return torch.softmax(x, dim)
"""),
    )
    return notebook


@benign
def magics(course: Class, notebook: dict) -> dict:
    for cell in solutions(notebook):
        cell["source"] = "%%time\n" + cell["source"]
    notebook["cells"].insert(
        1,
        code(
            "%matplotlib inline\n%load_ext autoreload\n!pip install torch\ntorch.softmax?\n"
            "if True:\n    %timeit 1 + 1\n%time y = 3\n"
            "get_ipython().run_line_magic('matplotlib', 'inline')\nY = y"
        ),
    )
    notebook["cells"].insert(2, code("%%bash\nfor i in 1 2 3; do echo $i; done"))
    solutions(notebook)[0]["source"] += "\nassert Y == 3"
    return notebook


@benign
def objects_for_functions(course: Class, notebook: dict) -> dict:
    return around(
        notebook,
        """
class Wrapped(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function
        self.register_buffer("calls", torch.zeros(1, dtype=torch.long))
    def forward(self, *args, **options):
        self.calls += 1
        return self.function(*args, **options)
""",
        "@Wrapped",
    )


@benign
def own_tensors_in_place(course: Class, notebook: dict) -> dict:
    return around(
        notebook,
        """
import functools
def copied(function):
    @functools.wraps(function)
    def call(*args, **options):
        found = function(*args, **options)
        parts = found if isinstance(found, tuple) else (found,)
        made = tuple(part.clone() if isinstance(part, torch.Tensor) else part for part in parts)
        scratch = torch.zeros(3)
        scratch += 1; scratch[0] = 5; scratch.mul_(2)
        return made if isinstance(found, tuple) else made[0]
    return call
""",
        "@copied",
    )


@benign
def annotations_and_main(course: Class, notebook: dict) -> dict:
    for cell in solutions(notebook):
        cell["source"] = (
            "from __future__ import annotations\nimport typing as t\n"
            + cell["source"]
            + "\nif __name__ == '__main__':\n    ok: t.Final[int] = 3"
        )
    return notebook


@benign
def seeds_and_threads_of_its_own(course: Class, notebook: dict) -> dict:
    notebook["cells"].insert(
        1,
        code(
            "import random, os\ntorch.manual_seed(42); random.seed(42); np = None\n"
            "torch.set_printoptions(precision=2)\nos.makedirs('data', exist_ok=True)\n"
            "from tqdm.auto import tqdm\nfor _ in tqdm(range(3)): pass"
        ),
    )
    return notebook


@benign
def variables_named_like_the_tests(course: Class, notebook: dict) -> dict:
    notebook["cells"].insert(
        2,
        code(
            "expected = output = weights = query = key = value = mask = state = got = 'mine'"
        ),
    )
    return notebook


@pytest.fixture(scope="module")
def graded(bubblewrap: None, tmp_path_factory: pytest.TempPathFactory) -> Class:
    """A class in which everybody has all answers."""
    made = Class(tmp_path_factory.mktemp("benign") / "course")
    for name, function in BENIGN.items():
        solved = made.notebook(made.reference)
        content = function(made, solved)
        made.hand_in(f"ünï-{name}", content)
    made.grade(jobs=1)  # each process imports torch for seconds
    return made


@pytest.mark.parametrize("name", BENIGN)
def test_full_points(graded: Class, name: str) -> None:
    """Every test passes, nothing is suspect, and no limit was hit."""
    result = graded.results[f"ünï-{name}"]
    lost = {
        test: result.messages.get(test)
        for test, points in graded.tests.items()
        if result.points.get(test) != points
    }
    assert not lost
    assert (result.state, result.reasons) == (State.GRADED, [])
    graded.check_shown(f"ünï-{name}")
