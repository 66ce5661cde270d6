"""Notebooks are what their contracts and the kit say, and no release holds either."""

import ast
import json
import re
import shutil
from pathlib import Path

import nbformat
import pytest

from grading.course.notebooks import Cell, split_hidden
from tests.tools.kit import Kit
from tools import contracts

ROOT = Path(__file__).resolve().parents[2]
NAME = "01-rnn-attention"


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course of one assignment with a contract."""
    shutil.copytree(ROOT / "solutions" / NAME, tmp_path / "solutions" / NAME)
    for kit in contracts.KIT:
        shutil.copy(ROOT / "solutions" / kit, tmp_path / "solutions")
    return tmp_path


def test_the_committed_notebooks_are_what_their_contracts_say() -> None:
    """And there are contracts."""
    assert contracts.folders(ROOT)
    assert contracts.differences(ROOT) == []


def test_an_edited_contract_is_noticed_and_written(course: Path) -> None:
    """A change of the contract, or of the kit, differs until it is written."""
    for path in (
        course / "solutions" / NAME / "contract.py",
        *(course / "solutions" / kit for kit in contracts.KIT),
    ):
        path.write_text(path.read_text() + "_edited = 1\n")
        (problem,) = contracts.differences(course)
        assert "rnn-attention.ipynb" in problem
        assert contracts.main(["--check", "--root", str(course)]) == 1
        assert contracts.main(["--root", str(course)]) == 0
        assert contracts.differences(course) == []


def test_a_new_part_becomes_the_last_cell_of_its_task(course: Path) -> None:
    """With its points; all other cells keep their place."""
    path = course / "solutions" / NAME / "contract.py"
    path.write_text(
        path.read_text() + "\n\n# %% alignment-error--more | points: 1.5\nassert 1\n"
    )
    (notebook,) = path.parent.glob("*.ipynb")
    before = [cell.id for cell in nbformat.read(notebook, 4).cells]
    assert contracts.main(["--root", str(course)]) == 0
    cells = nbformat.read(notebook, 4).cells
    after = [cell.id for cell in cells]
    place = after.index("alignment-error--more")
    assert after[place - 1] == "alignment-error--contract"
    assert after[:place] + after[place + 1 :] == before
    assert cells[place].metadata.nbgrader.points == 1.5
    title = "# @title Test alignment-error--more (1.5 points)"
    assert cells[place].source == f"{title}\nassert 1"


@pytest.mark.parametrize(
    ("head", "word"),
    [
        ("# %% nobody--contract | points: 1", "nobody"),
        ("# %% alignment-error--x", "points"),
    ],
)
def test_a_part_that_cannot_be_written_is_named(
    course: Path, capsys: pytest.CaptureFixture, head: str, word: str
) -> None:
    """Of no task, or without points."""
    path = course / "solutions" / NAME / "contract.py"
    path.write_text(path.read_text() + f"\n\n{head}\nassert 1\n")
    assert contracts.main(["--root", str(course)]) == 1
    assert word in capsys.readouterr().err


@pytest.mark.parametrize("folder", contracts.folders(ROOT), ids=lambda path: path.name)
def test_no_release_holds_a_contract_or_the_kit(folder: Path) -> None:
    """Neither the files nor a line of the kit."""
    release = ROOT / "exercises" / folder.name
    assert [path.suffix for path in release.iterdir() if path.is_file()] == [".ipynb"]
    (path,) = release.glob("*.ipynb")
    text = json.dumps(nbformat.read(path, 4).cells)
    for name in ("_Contract", "_kit_normal(", "_kit_difference"):
        assert name not in text


@pytest.mark.parametrize("folder", contracts.folders(ROOT), ids=lambda path: path.name)
def test_what_a_contract_says_to_students_is_told(folder: Path) -> None:
    """In the hidden lines a text stands in an f-string, or in the message of an assert.

    Grading tells no other text of hidden lines.
    """
    (path,) = folder.glob("*.ipynb")
    for index, data in enumerate(nbformat.read(path, 4).cells):
        cell = Cell(path, index, data)
        if "_contract.case(" not in cell.source:
            continue
        for node in ast.walk(ast.parse(split_hidden(cell)[1])):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "case":
                said = node.args[0]
                texts = said.elts if isinstance(said, ast.Tuple) else [said]
                for text in texts:
                    assert isinstance(text, ast.JoinedStr | ast.Name), ast.unparse(node)
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "id", "") == "_kit_refuses"
            ):
                assert isinstance(node.args[0], ast.JoinedStr), ast.unparse(node)


DOUBLE = """
def reference(x, mask=None):
    return 2 * x if mask is None else 2 * x * mask
def answer(x, mask=None):
    {answer}
contract = _Contract(
    answer, reference, (f"x", f"mask"), results=(f"twice",), gradients=(f"x",)
)
a, b = _kit_normal(1, (2, 3), (4, 3))
contract.case(f"No mask", a, None)
contract.case(f"Other numbers", 3 * a, None)
contract.case(f"With a mask", a, b[:2] > 0)
contract.case(f"One row", a[:1], None)
contract.case(f"Transposed", _kit_apart(b), None)
contract.again()
"""

#: What an answer does wrong, and what its author must read.
SLIPS = {
    "return 2 * x.float() if mask is None else 2 * x.float() * mask": "No mask.*data type",
    "return (2 * x.float()).double() * (1 if mask is None else mask)": "float32",
    "return 2 * x if mask is None else x.mul_(2).mul_(mask)": "With a mask.*argument x is changed",
    "return 2 * x.detach() * (1 if mask is None else mask)": "no gradient leads back from twice",
    "return 2 * x": "With a mask.*differed only in mask. Has that no effect",
    "return (2 * x if mask is None else 2 * x * mask).squeeze(0)": "One row.*shape",
    "return 2 * x.view(-1).view(x.shape) * (1 if mask is None else mask)": "Transposed.*reshape",
    "kept = globals().setdefault('kept', {}); k = x.shape, mask is None; "
    "kept.setdefault(k, 2 * x * (1 if mask is None else mask)); return kept[k]": (
        "Other numbers.*earlier call"
    ),
    "n = globals().get('calls', 0); globals()['calls'] = n + 1; "
    "return 2 * x * (1 if mask is None else mask) + (n > 9)": "first call was right",
    "return x.mul(2).mul(1 if mask is None else mask) / (x.shape[0] - 1)": "One row",
    "return [2 * x]": "twice is a list, and no tensor",
    "return (2 * x * (1 if mask is None else mask)).squeeze()": "One row.*squeezed away",
    "y = (2 * x).exp(); y.log_(); return y * (1 if mask is None else mask)": (
        "No mask.*with gradients.*changed in place"
    ),
    "if mask is not None: raise ValueError('no')\n    return 2 * x": "these arguments are legal",
    "return x.expand(5, 5)": "your code stopped with an error: RuntimeError",
    "return x * (2 if mask is None else 2 * mask) + 0 / x.detach().clamp(max=0).abs()": "NaN",
}


@pytest.mark.parametrize("answer", SLIPS)
def test_the_kit_names_the_slip(answer: str) -> None:
    """In words that grading tells, and without a number of the input."""
    message, told = Kit().run(DOUBLE.format(answer=answer))
    assert message
    assert re.search(SLIPS[answer], message), message
    assert told == message


def test_one_parameter_that_comes_each_time_with_other_data_is_noticed() -> None:
    """An earlier result has then changed, though not in its memory."""
    message, _ = Kit().run(
        "kept = nn.Parameter(torch.zeros(2, 3).double())\n"
        "def answer(x):\n    kept.data = 2 * x\n    return kept\n"
        "contract = _Contract(answer, lambda x: 2 * x, (f'x',), results=(f'twice',))\n"
        "a = _kit_normal(1, (2, 3))\n"
        "contract.case(f'Numbers', a)\n"
        "contract.case(f'Other numbers', 3 * a)\n"
        "contract.again()"
    )
    assert "changed by a later call" in message


@pytest.mark.parametrize(
    "answer",
    [
        "return (x + x) * (1 if mask is None else mask)",
        "return torch.where(mask, x + x, 0.0) if mask is not None else x * 2.0",
        "return torch.stack([row * 2 for row in x]) * (1 if mask is None else mask)",
    ],
)
def test_the_kit_passes_what_is_right(answer: str) -> None:
    """Whatever the way."""
    assert Kit().run(DOUBLE.format(answer=answer)) == ("", "")


PLAIN = """
def reference(table, skipped):
    return {{name: (2 * x, [x.numel(), 0.5]) for name, x in table.items()}}
def answer(table, skipped):
    {answer}
contract = _Contract(
    answer, reference, (f"table", f"skipped"), loose={loose}, apart=True, name=f"answer"
)
a, b = _kit_normal(1, (2, 3), (4,))
nothing = [torch.full((2,), float("nan")), float("nan"), None]
contract.case(f"Two entries", dict(a=a, b=b), nothing)
contract.case(f"Other numbers", dict(a=3 * a, b=b), nothing)
contract.case(f"Another order", dict(b=2 * b, a=a), nothing)
contract.again()
"""

#: What an answer with a plain result does wrong, and what its author must read.
PLAIN_SLIPS = {
    "return {n: (2 * x, [x.numel(), 0.5]) for n, x in sorted(table.items())}": (
        "answer: Another order: the result doesn't have the right names"
    ),
    "return {n: (2 * x, [x.numel()]) for n, x in table.items()}": "index .0, 1.*too few entries",
    "return {n: (2 * x, [4, 0.5]) for n, x in table.items()}": r"index .0, 1, 0\] is wrong",
    "return {n: (2 * x, [x.numel(), 0.5 + 1e-7]) for n, x in table.items()}": "seven digits",
    "return {n: (2 * x, [float(x.numel()), 0.5]) for n, x in table.items()}": "type float",
    "return {n: ((2 * x).float(), [x.numel(), 0.5]) for n, x in table.items()}": "data type",
    "return {n: (2 * x, (x.numel(), 0.5)) for n, x in table.items()}": "type tuple, expected list",
    "return {n: (x.mul_(2), [x.numel(), 0.5]) for n, x in table.items()}": "table is changed",
    "skipped.pop(); return {n: (2 * x, [x.numel(), 0.5]) for n, x in table.items()}": (
        "skipped is changed"
    ),
    "k = globals().setdefault('kept', {}); "
    "return {n: (k.setdefault(n, 2 * x), [x.numel(), 0.5]) for n, x in table.items()}": (
        "Other numbers: the result: .*an earlier call must give, which differed only in table"
    ),
    "return table": "type Tensor, expected tuple",
}


@pytest.mark.parametrize("answer", PLAIN_SLIPS)
def test_the_kit_names_the_slip_in_a_plain_result(answer: str) -> None:
    """Dictionaries, lists and tensors in each other; NaN in an argument is no change."""
    message, told = Kit().run(PLAIN.format(answer=answer, loose=False))
    assert re.search(PLAIN_SLIPS[answer], message), message
    assert told == message


def test_the_kit_passes_right_plain_results() -> None:
    """A tuple for a list where the contract is loose."""
    right = "return {n: (2 * x, [x.numel(), 0.5]) for n, x in table.items()}"
    assert Kit().run(PLAIN.format(answer=right, loose=False)) == ("", "")
    tuples = "return {n: [2 * x, (x.numel(), 0.5)] for n, x in table.items()}"
    assert Kit().run(PLAIN.format(answer=tuples, loose=True)) == ("", "")


BORROWED = """
contract = _Contract(
    lambda names, tensors: {answer},
    lambda names, tensors: (list(names), [x.clone() for x in tensors]),
    (f"names", f"tensors"),
    apart={apart},
)
contract.case(f"Some", ["a", "b"], [_kit_normal(1, (2,))])
contract.again()
"""


@pytest.mark.parametrize(
    ("answer", "apart", "word"),
    [
        ("(names, list(tensors))", None, "argument itself"),
        ("(list(names), list(tensors))", None, ""),
        ("(list(names), list(tensors))", True, "shares its memory"),
        ("(list(names), [x[:] for x in tensors])", True, "shares its memory"),
        ("(list(names), [x + 0 for x in tensors])", True, ""),
        ("(names, tensors)", False, ""),
    ],
)
def test_a_result_that_is_an_argument_is_told(
    answer: str, apart: bool | None, word: str
) -> None:
    """As far as the contract asks for it."""
    message, told = Kit().run(BORROWED.format(answer=answer, apart=apart))
    assert word in message if word else not message
    assert told == message


KNOWN = """
contract = _Contract(
    lambda x: {answer},
    lambda x: (2 * x, x + 1),
    (f"x",),
    results=(f"twice", f"next"),
    mistakes={{
        f"it is halved.": lambda x: (x / 2, None),
        f"it is squared.": lambda x: (x * x, x + 1),
        f"one is taken away.": lambda x: (None, x - 1),
    }},
)
contract.case(f"Twos", torch.full((3,), 2.0).double())
contract.case(f"Any", _kit_normal(1, (2, 3)))
contract.again()
"""


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("(x / 2, x + 1)", "Twos.*: twice: it is halved."),
        ("(x * x, x + 1)", "Any.*: twice: it is squared."),  # twos say nothing
        ("(2 * x, x - 1)", "Twos.*: next: one is taken away."),
        ("(3 * x, x + 1)", "Twos.*: twice: wrong"),
        ("((x / 2).float(), x + 1)", "Twos.*data type"),
        ("(x + x, 1 + x)", "^$"),
    ],
)
def test_a_known_mistake_is_named(answer: str, says: str) -> None:
    """Where it gives exactly what came, and something else than what must come."""
    message, told = Kit().run(KNOWN.format(answer=answer))
    assert re.search(says, message), message
    assert told == message


DEFAULTS = """
contract = _Contract(
    {answer},
    lambda x, factor=2, mask=None: factor * x if mask is None else factor * x * mask,
    (f"x", f"factor", f"mask"),
    results=(f"the product",),
    gradients=(f"x",),
)
a = _kit_normal(1, (2, 3))
contract.case(f"All said", a, 3, a > 0)
contract.case(f"Two left out", a)
contract.case(f"One left out", 1 - a, 2)
contract.again()
"""


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            "lambda x, factor=2, mask=None: x * factor * (1 if mask is None else mask)",
            "^$",
        ),
        (
            "lambda x, factor=1, mask=None: x * factor * (1 if mask is None else mask)",
            "Two left out.*: wrong, first at",
        ),
        (
            "lambda x, factor, mask=None: x * factor * (1 if mask is None else mask)",
            "Two left out.*stopped with an error: TypeError",
        ),
    ],
)
def test_arguments_that_are_left_out_have_their_defaults(
    answer: str, says: str
) -> None:
    """Also where gradients are asked for."""
    message, told = Kit().run(DEFAULTS.format(answer=answer))
    assert re.search(says, message), message
    assert told == message


HINTS = """
def reference(x, factor=2.0):
    return factor * x.exp()
def answer(x, factor=2.0):
    {answer}
contract = _Contract(
    answer,
    reference,
    (f"x", f"factor"),
    results=(f"the result",),
    gradients=(f"x",),
    signs={{
        f"the rows have changed places.": lambda got, want, x, factor=2.0: bool(
            (got[0].sort(0)[0] == want[0].sort(0)[0]).all()
        ),
    }},
    cuts={{
        f"the exponential is a constant.": lambda x, factor=2.0: (
            factor * x.exp().detach() + 0 * x
        ),
    }},
)
a, b = _kit_normal(1, (3, 2), (3, 40))
contract.case(f"Some", a)
nearby = {{f"right without a factor, and wrong with one.": (2 * a,)}}
contract.case(f"A factor", 2 * a, 5.0, nearby=nearby)
contract.case(f"Two factors", a, torch.tensor([[1.0], [2.0], [3.0]]).double())
contract.case(f"Long rows", b, 3.0)
contract.again()
"""

EXP = "return factor * x.exp()"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (EXP, "^$"),
        ("return 2 * x.exp().flip(0)", "^Some.*: the rows have changed places.$"),
        ("return 2 * x.exp().flip(1)", "^Some.*: the result: wrong, first at"),
        ("return 2 * x.exp()", "^A factor.*: right without a factor, and wrong with"),
        ("assert factor != 5; return 2 * x.exp()", "^A factor.*: right without a"),
        ("assert factor == 2; " + EXP, "^A factor.*: right without a factor"),
        ("assert factor == 2.5; " + EXP, "^Some.*with an error: AssertionError.$"),
        (
            "return factor * x.exp() + 0 * torch.zeros(36)[: x.shape[1]]",
            "^Long rows.*with fewer of them it doesn't. Is a table of a fixed size",
        ),
        ("return factor * x.exp().detach() + 0 * x", "x: the exponential is a const"),
        ("return factor * x.exp().detach() + x - x.detach()", "gradient of x: wrong"),
        (
            "return factor * x.exp() * (1 + 1e-7 * (x.numel() > 6))",
            "^Long rows.*seven digits or more, not to the last; other calls were right.*constant",
        ),
        (
            "return factor * x.exp() * (1 + 1e-7)",
            "^Some.*seven digits or more, not to the last. All numbers are off by the same share",
        ),
    ],
)
def test_what_a_result_shows_is_told(answer: str, says: str) -> None:
    """By a sign, a neighbouring call, gradients that are cut, or calls that were right."""
    message, told = Kit().run(HINTS.format(answer=answer))
    assert re.search(says, message), message
    assert told == message


FIRST = """
contract = _Contract(
    lambda x, y: {answer},
    lambda x, y: x * y[:, None, None],
    (f"x", f"y"),
    results=(f"the result",),
)
x, y = _kit_normal(1, (4, 3, 2), (4,))
y[0] = 1.0
contract.case(f"Four", x, y)
contract.again()
"""


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            "x * y[0]",
            "wrong further on. Is something used for all that belongs to index",
        ),
        (  # by chance: y begins with 1
            "x.clone()",
            "wrong further on. Just this comes if a multiplication .* is left out.$",
        ),
    ],
)
def test_the_first_of_the_batch_is_suspected_with_a_reason(
    answer: str, says: str
) -> None:
    """Only where it is right as well if another one comes first."""
    message, told = Kit().run(FIRST.format(answer=answer))
    assert re.search(says, message), message
    assert told == message


def test_the_first_is_not_suspected_where_it_asks_for_nothing() -> None:
    """The first part of a result may be what comes in, whatever the arguments are."""
    source = """
contract = _Contract(
    lambda x, y: torch.stack([x, x + 2 * y, x - 2 * y]),
    lambda x, y: torch.stack([x, x + 3 * y, x - 3 * y]),
    (f"x", f"y"),
    results=(f"the parts",),
)
contract.case(f"Parts", *_kit_normal(1, (4, 3), (4, 3)))
"""
    message, told = Kit().run(source)
    assert "right at index 0 of the first axis and wrong further on." in message
    assert "used for all" not in message
    assert told == message


KEEPS = {
    "by_name": "kept = {}\ndef answer(x, n):\n return x * kept.setdefault(n, len(x))",
    "in_a_part": (
        "kept = []\ndef size(x):\n kept.append(len(x))\n return kept[0]\n"
        "def answer(x, n):\n return x * [size(y) for y in (x,)][0]"
    ),
    "as_a_default": (
        "def answer(x, n, kept={}):\n return x * kept.setdefault(n, len(x))"
    ),
    "as_an_attribute": (
        "def answer(x, n):\n if not hasattr(answer, 'kept'):\n  answer.kept = [len(x)]\n"
        " return x * (answer.kept or [len(x)])[0]"
    ),
    "in_a_closure": (
        "def made():\n kept = {}\n def answer(x, n):\n"
        "  return x * kept.setdefault(n, len(x))\n return answer\nanswer = made()"
    ),
    "by_functools": (
        "import functools\nsizes = []\n@functools.cache\ndef size(n):\n"
        " return sizes[-1]\ndef answer(x, n):\n sizes.append(len(x))\n"
        " return x * size(n)"
    ),
}


@pytest.mark.parametrize("answer", KEEPS)
def test_what_a_function_keeps_is_told(answer: str) -> None:
    """It is right where it has kept nothing, in whatever it does so."""
    source = f"""
{KEEPS[answer]}
contract = _Contract(
    lambda x, n: answer(x, n), lambda x, n: x * len(x), (f"x", f"n"), results=(f"y",)
)
contract.case(f"Two", _kit_normal(1, (2, 3)), 5)
contract.case(f"Four", _kit_normal(2, (4, 3)), 5)
"""
    message, told = Kit().run(source)
    end = (
        "It is right where no other call came before, and wrong after others: "
        "something is kept between calls."
    )
    assert message.startswith("Four"), message
    assert message.endswith(end), message
    assert told == message


@pytest.mark.parametrize("answer", ["x * table[0]", "x * table[-1] * (len(x) < 3)"])
def test_a_table_that_is_filled_beforehand_is_not_kept_between_calls(
    answer: str,
) -> None:
    """A function that uses one may be wrong for another reason."""
    source = f"""
table = [2.0, 3.0]
contract = _Contract(
    lambda x: {answer}, lambda x: 3 * x, (f"x",), results=(f"y",)
)
contract.case(f"Four", _kit_normal(2, (4, 3)))
"""
    message, _ = Kit().run(source)
    assert message.startswith("Four")
    assert "kept" not in message


ASKS = """
contract = _Contract(
    lambda x: {answer},
    lambda x: 2 * x,
    (f"x",),
    results=(f"y",),
    mistakes={{f"the two is missing.": lambda x: x.clone()}},
)
contract.case((f"Small numbers", f"Are they cut off?"), _kit_normal(2, (4, 3)))
"""


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("x.clone()", "^Small numbers \\(x \\(4, 3\\)\\): y: the two is missing.$"),
        ("2 * x + x.sin()", "y: wrong, first at index .0, 0.. Are they cut off\\?$"),
        (
            "2 * x * (1 + 1e-7)",
            "seven digits or more, not to the last. Are they cut off\\?$",
        ),
        ("-2 * x", "((?!cut off).)*$"),
        ("0 * x / 0", "NaN where there must be none.$"),
        ("x[0, 5]", "IndexError.$"),
        ("2 * x[1:]", "expected shape \\(4, 3\\).$"),
        ("2 * x", "^$"),
    ],
)
def test_what_a_case_asks_is_asked_where_nothing_else_says_it(
    answer: str, says: str
) -> None:
    """A mistake that is known, an error, a shape or NaN are another matter."""
    message, told = Kit().run(ASKS.format(answer=answer))
    assert re.search(says, message), message
    assert told == message


def test_an_axis_that_has_grown_is_told() -> None:
    """As a squeeze inside leaves it."""
    source = """
contract = _Contract(
    lambda x: x / x.sum(-1).squeeze().unsqueeze(-1),
    lambda x: x / x.sum(-1, keepdim=True),
    (f"x",),
    results=(f"the share",),
)
contract.case(f"One row each", _kit_normal(1, (4, 1, 2)))
contract.again()
"""
    message, told = Kit().run(source)
    assert (
        "(4, 4, 2), expected shape (4, 1, 2). An axis of length 1 has grown" in message
    )
    assert told == message


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("int('x')", "^$"),
        ("1 / 0", "^A text: A ValueError is asked for here.*with ZeroDivisionError.$"),
        ("0", "^A text must raise ValueError; no error came.$"),
    ],
)
def test_a_check_that_is_not_there_is_told_with_its_case(
    answer: str, says: str
) -> None:
    """Also where the answer stops with another error."""
    source = f"""
def value_error(call):
    try:
        call()
    except ValueError as error:
        return str(error)
    except ArithmeticError as error:
        raise AssertionError(
            f"Your code stopped with {{type(error).__name__}}: {{error}}"
        ) from None
_kit_refuses(f"A text", lambda: {answer})
"""
    message, told = Kit().run(source)
    assert re.search(says, message), message
    assert told == message


def test_a_module_that_stops_is_asked_for_its_neighbour() -> None:
    """Also where a new module stops as well."""
    source = """
class Double(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(3))
    def forward(self, x):
        return x * self.weight + 0 * torch.zeros(36)[: len(x), None]
contract = _Contract(
    make=Double,
    state={"weight": _kit_normal(1, (3,))},
    reference=lambda state, x: x * state["weight"],
    arguments=(f"x",),
    results=(f"the product",),
)
x = _kit_normal(2, (40, 3))
contract.case(f"Few", x[:2])
contract.case(f"Many", x, nearby={f"right with a few.": (x[:7],)})
contract.again()
"""
    message, told = Kit().run(source)
    assert message.endswith(": right with a few."), message
    assert told == message


@pytest.mark.parametrize(
    ("answer", "is_told"),
    [
        ("kept.setdefault(peak, peak * share)", True),
        ("peak * share if share < 1 else peak", False),
    ],
)
def test_an_arguments_own_number_is_no_earlier_result(
    answer: str, is_told: bool
) -> None:
    """It comes where a bound is reached as well, with nothing kept."""
    message, told = Kit().run(f"""
kept = {{}}
contract = _Contract(
    lambda peak, share: {answer},
    lambda peak, share: peak * share,
    (f"peak", f"share"),
    results=(),
)
contract.case(f"The peak itself", 3.0, {0.5 if is_told else 1.0})
contract.case(f"More than the peak", 3.0, 2.0)
""")
    assert message.startswith("More than the peak"), message
    assert ("earlier call" in message) == is_told, message
    assert told == message


@pytest.mark.parametrize(
    ("forward", "says"),
    [
        ("x * self.weight if y is None else x.float() @ torch.diag(self.weight)", "^$"),
        ("x * self.weight if y is None else y @ torch.ones(7)", "With y.*RuntimeError"),
        ("x * self.weight * (1 if y is None else 2)", "With y.*wrong"),
    ],
)
def test_a_module_may_stop_in_float64_in_a_later_call(forward: str, says: str) -> None:
    """All calls are asked in float32 then, by the conventions."""
    message, told = Kit().run(f"""
class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x, y=None):
        return {forward}

contract = _Contract(
    make=Scaled,
    state={{"weight": _kit_normal(1, (3,))}},
    reference=lambda state, x, y=None: x * state["weight"],
    arguments=(f"x", f"y"),
    results=(f"the product",),
)
x, y = _kit_normal(2, (2, 3), (2, 3))
contract.case(f"Alone", x, None)
contract.case(f"With y", x, y)
contract.case(f"Alone again", -x, None)
contract.again()
""")
    assert re.search(says, message), message
    assert told == message


def test_arguments_are_refilled_with_those_of_another_result() -> None:
    """Two calls that must give the same would hide what is kept."""
    message, told = Kit().run("""
kept = {}
contract = _Contract(
    lambda x, y: kept.setdefault(id(x), (x, x + 1))[1].clone(),
    lambda x, y: x + 1,
    (f"x", f"y"),
    results=(f"z",),
)
x, y = _kit_normal(1, (3,), (3,))
contract.case(f"Any", x, y)
contract.case(f"Another y", x, -y)
contract.case(f"Another x", -x, y)
contract.again()
""")
    assert "those of an earlier call that hold something else by now" in message
    assert told == message


def test_what_was_right_once_is_no_mistake_that_is_known() -> None:
    """A later call may give by chance what the mistake gives."""
    message, told = Kit().run("""
calls = []
contract = _Contract(
    lambda x: (calls.append(1), x if len(calls) < 2 else 2 * x)[1],
    lambda x: 1 * x,
    (f"x",),
    results=(f"y",),
    views=True,
    mistakes={f"it is doubled.": lambda x: 2 * x},
)
contract.case(f"Any", _kit_normal(1, (3,)))
contract.again()
""")
    assert message.startswith("The first call was right, and the same call after")
    assert "it is doubled" not in message
    assert told == message


@pytest.mark.parametrize("folder", contracts.folders(ROOT), ids=lambda path: path.name)
def test_each_contract_is_asked_again(folder: Path) -> None:
    """Without `again()` no gradient would be looked at."""
    for part in contracts.parts(folder / contracts.CONTRACT):
        made = part.text.count("_contract = _Contract(")
        assert made == part.text.count("_contract.again()"), part.name
        assert made or "_contract" not in part.text


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("raise ValueError('shapes and dtype')", "a check of yours"),
        ("assert False, 'dtype'", "AssertionError.$"),
        ("None.shape", "Something is None"),
        ("torch.ones(2)[torch.ones(2)]", "An index holds whole numbers"),
        ("torch.ones(2).masked_fill(torch.ones(2), 0)", "a mask booleans"),
        ("torch.ones(2, dtype=int).mean()", "got whole ones"),
        ("torch.ones(2) @ torch.ones(2).double()", "Numbers of two data types meet"),
        ("torch.ones(2).softmax(axes=1)", "other arguments than it takes"),
        ("torch.ones(2, 3) @ torch.ones(2, 3)", "Shapes don't fit"),
        ("torch.ones(2, 3).view(4, 2)", "more or fewer numbers than the tensor"),
        ("torch.ones(2, 3).view(4, -1)", "more or fewer numbers than the tensor"),
        (
            "torch.ones(2, 3).T.view(6)",
            r"use reshape where you use view, or contiguous\(\)\.$",
        ),
        ("torch.nothing_of_this_shape", "AttributeError.$"),
    ],
)
def test_an_error_gets_a_reason_that_its_text_shows(code: str, says: str) -> None:
    """What PyTorch really says decides, and no word that stands there by chance."""
    message, told = Kit().run(f"""
def answer(x):
    {code}

contract = _Contract(answer, lambda x: x, (f"x",), results=(f"y",))
contract.case(f"Two", _kit_normal(1, (2,)))
""")
    assert re.search(f"stopped with an error.*{says}", message), message
    assert told == message


def test_a_view_is_told_once() -> None:
    """Also where only the call with numbers that stand apart in memory stops."""
    message, _ = Kit().run("""
def answer(x):
    return x.view(6) * 1

contract = _Contract(answer, lambda x: x.reshape(6) * 1, (f"x",), results=(f"y",))
contract.case(f"Two", _kit_normal(1, (2, 3)), gradients=False)
contract.again()
""")
    assert message.endswith("use reshape where you use view, or contiguous().")
