"""The kit says which wrong program gives exactly what came, and nothing where it isn't sure."""

import re

import pytest

from tests.tools.kit import Kit

ATTENTION = """
def reference(x, key, mask=None, temperature=1.0, first=0):
    scores = x @ key.mT / x.shape[-1]**0.5 / temperature
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return (torch.softmax(scores, -1) @ key)[..., first:, :]

def answer(x, key, mask=None, temperature=1.0, first=0):
    scores = x @ key.mT / x.shape[-1]**0.5 / temperature
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return (torch.softmax(scores, -1) @ key)[..., first:, :]

contract = _Contract(
    answer,
    reference,
    arguments=(f"x", f"key", f"mask", f"temperature", f"first"),
    results=(f"output",),
    gradients=(f"x", f"key"),
)
x, key = _kit_normal(1, (2, 4, 3), (2, 5, 3))
mask = torch.tensor([True, True, False, True, True])
contract.case(f"Plain", x, key, None, 2.0)
contract.case(f"Masked", x, key, mask, 2.0)
contract.case(f"Two left out", x, key, mask, 2.0, 2)
contract.again()
"""
HEAD, TAIL = ATTENTION.split("def answer", 1)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            " / x.shape[-1]**0.5",
            "",
            "Plain.*: output: .* Just this comes if a division "
            "\\(of a product of matrices and a number\\) is left out.$",
        ),
        ("scores, -1)", "scores, -2)", "the softmax .* runs along another axis"),
        ("~mask", "mask", "Masked.* True and False of mask change places"),
        (
            "if mask is not None",
            "if False",
            "Masked.* differed only in mask. Has that no effect",
        ),
        ("/ temperature", "/ temperature**2", "the square of temperature is used"),
        ("/ temperature", "* temperature", "1 / temperature is used"),
        ("first:", "first + 1:", "first counts as one more than it is"),
        (
            "-1) @ key)",
            "-1).detach() @ key + 0 * x.sum())",
            "gradient of x: .* the result "
            "of a product of matrices \\(of x and key\\) is cut off",
        ),
        (
            "x @ key.mT",
            "x @ key.detach().mT",
            "gradient of key: .* key is cut off \\(detach"
            "\\) where it goes into a product of matrices \\(of x and key\\)",
        ),
        ("-1) @ key)", "-1) @ key * 1.5)", "Every number is the right one times one"),
        (
            "torch.softmax(scores, -1)",
            "scores.exp()",
            "Each row is the right one times a factor of its own",
        ),
        ("-1) @ key)", "-1) @ -key)", "The sign of every number is the opposite"),
        ("-1) @ key)", "-1) @ key + 1)", "One and the same number is missing"),
        ("-1) @ key)", "-1) @ key).roll(1, 1)", "one place too late along axis 1"),
        (
            "(torch.softmax(scores, -1) @ key)",
            "(torch.softmax(scores, -1) @ key * (x[..., :1] > 0))",
            "Some rows come as 0, and the others are right",
        ),
        ("-1) @ key)", "-1) @ key).sin()", "wrong, first at index .0, 0, 0..$"),
    ],
)
def test_the_wrong_program_is_named(old: str, new: str, says: str) -> None:
    """In words that a student is told, without a number that came or must come."""
    assert old in TAIL
    source = HEAD + "def answer" + TAIL.replace(old, new, 1)
    message, told = Kit().run(source)
    assert re.search(says, message), message
    assert told == message


WEIGHTS = """
class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Parameter(torch.zeros(3, 3))
        self.b = torch.nn.Parameter(torch.zeros(3, 3))
    def forward(self, x):
        return {answer}

def reference(state, x):
    return (x @ state["a"]).relu() @ state["b"]

contract = _Contract(
    make=Layer, reference=reference,
    state=_kit_state(3, {{f"a": (3, 3), f"b": (3, 3)}}),
    arguments=(f"x",), results=(f"y",), gradients=(f"x",),
)
contract.case(f"Rows", _kit_normal(1, (4, 3)))
"""


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("(x @ self.b).relu() @ self.a", "Just this comes if a and b change places"),
        ("(x @ self.a.mT).relu() @ self.b", "Just this comes if a is transposed"),
        ("x @ self.a @ self.b", "relu .*is left out"),
        ("(x @ self.a).relu() @ self.b", "^$"),
    ],
)
def test_weights_are_twins_as_well(answer: str, says: str) -> None:
    """In float32 or float64, as the module is."""
    message, told = Kit().run(WEIGHTS.format(answer=answer))
    assert re.search(says, message), message
    assert told == message


PLAIN = """
def reference(words, most=3, keep=1):
    return [len(w) for w in words][keep:most]

contract = _Contract(
    {answer}, reference, arguments=(f"words", f"most", f"keep"), results=()
)
contract.case(f"Words", ["a", "bcd", "ef", "ghij", "k"], 3, 1)
contract.case(f"None kept", ["a", "bcd", "ef", "ghij", "k"], 4, 0)
"""


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            "lambda words, most=3, keep=1: [len(w) for w in words][(keep or 1):most]",
            "None kept.* keep=0 counts as not given",
        ),
        (
            "lambda words, most=3, keep=1: [len(w) for w in words][::-1][keep:most]",
            "words is read in the opposite order",
        ),
        (
            "lambda words, most=3, keep=1: [len(w) for w in words][keep:most + 1]",
            "most counts as one more than it is",
        ),
    ],
)
def test_lists_have_twins(answer: str, says: str) -> None:
    """What comes need not be a tensor."""
    message, told = Kit().run(PLAIN.format(answer=answer))
    assert re.search(says, message), message
    assert told == message


ENTRIES = """
def reference(heads, x):
    return x @ heads[f"W_q"] @ heads[f"W_k"]

contract = _Contract(
    {answer}, reference, arguments=(f"heads", f"x"), results=(f"scores",)
)
a, b, x = _kit_normal(1, (3, 3), (3, 3), (2, 3))
contract.case(f"Any", {{f"W_q": a, f"W_k": b}}, x)
"""


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            'lambda heads, x: x @ heads["W_k"] @ heads["W_q"]',
            "W_q and W_k change places",
        ),
        ('lambda heads, x: x @ heads["W_q"] @ heads["W_k"]', "^$"),
    ],
)
def test_entries_of_a_dictionary_change_places(answer: str, says: str) -> None:
    """They are told by their names."""
    message, told = Kit().run(ENTRIES.format(answer=answer))
    assert re.search(says, message), message
    assert told == message


MASKS = """
def reference(x, mask):
    mask = mask.expand_as(x)
    return (x * mask).sum(-1) / mask.sum(-1)

contract = _Contract(
    {answer}, reference, arguments=(f"x", f"mask"), results=(f"mean",)
)
x = _kit_normal(1, (2, 3, 4, 5))
mask = torch.ones(2, 3, 4, 5, dtype=torch.bool).tril()
contract.case(f"Whole", x, mask)
contract.case(f"Form", x, mask[{form}])
"""


@pytest.mark.parametrize(
    ("form", "answer", "says"),
    [
        (
            "..., :1",
            "lambda x, mask: (x * mask).sum(-1) / mask.sum(-1)",
            "With mask spelt out along axis 3, which has the length 1",
        ),
        (
            "0, 0",
            "lambda x, mask: reference(x, mask if mask.dim() > 2 else mask.mT[:, None])",
            "With more axes in front of those of mask, of length 1, it is right",
        ),
        (
            ":, :1, :1",
            "lambda x, mask: reference(x, mask if mask.shape == x.shape else mask | True)",
            "With mask spelt out to its full size it is right",
        ),
        ("..., :1", "lambda x, mask: reference(x, mask)", "^$"),
        (
            "..., :1",
            "lambda x, mask: reference(x, mask) + mask.all()",
            "Form((?!spelt|axes in front).)*$",
        ),
    ],
)
def test_a_mask_that_is_right_spelt_out(form: str, answer: str, says: str) -> None:
    """It may be broadcast, and what is wrong may have nothing to do with that."""
    message, told = Kit().run(MASKS.format(answer=answer, form=form))
    assert re.search(says, message), message
    assert told == message


ORDER = """
contract = _Contract(
    {answer},
    lambda heads, x: x @ heads[f"a"] @ heads[f"b"],
    arguments=(f"heads", f"x"),
    results=(f"scores",),
)
a, b, x = _kit_normal(1, (3, 3), (3, 3), (2, 3))
contract.case(f"First", {{f"a": a, f"b": b}}, x)
contract.case(f"Another order", {{f"b": b, f"a": a}}, x)
"""


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            "lambda heads, x: x @ list(heads.values())[0] @ list(heads.values())[1]",
            "Another order.*With the entries of heads in another order it is right: "
            "their order has an effect, and the names alone must count",
        ),
        ('lambda heads, x: x @ heads["b"] @ heads["a"]', "First.* change places"),
        ('lambda heads, x: x @ heads["a"] @ heads["b"]', "^$"),
    ],
)
def test_entries_that_are_taken_by_their_place(answer: str, says: str) -> None:
    """And not by their names."""
    message, told = Kit().run(ORDER.format(answer=answer))
    assert re.search(says, message), message
    assert told == message


ONE = """
def reference(x, y):
    pairs = zip(x, y, strict=True)
    return torch.stack([torch.outer(a, b) for a, b in pairs])

contract = _Contract(
    {answer}, reference, arguments=(f"x", f"y"), results=(f"product",)
)
contract.case(f"Two", *_kit_normal(1, (2, 3), (2, 4)))
contract.case(f"One", *_kit_normal(1, (1, 3), (1, 4)))
contract.case(f"One feature", *_kit_normal(1, (2, 1), (2, 4)))
"""


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            "lambda x, y: reference(x, y) * (1 + (len(x) == 1))",
            "One \\(.*With two entries along axis 0 of x and axis 0 of y, in the place of "
            "one, it is right: what becomes of an axis of length 1 in your code, or is one entry a "
            "case of its own there\\?$",
        ),
        (
            "lambda x, y: reference(x, y).squeeze(-2)",
            "One feature.*squeezed away, or never made\\? With two entries along axis 1 of "
            "x, in the place of one, it is right.$",
        ),
        (
            "lambda x, y: reference(x, y) + 0 * x.squeeze(-1)[:, :1, None]",
            "One feature.*With two entries along axis 1 of x, in the place of one, it is "
            "right: is an axis of length 1 squeezed away, taken for another one, or a case "
            "of its own\\?$",
        ),
        (
            "lambda x, y: reference(x, y).reshape(2, *x.shape[1:], *y.shape[1:])",
            "One \\(.*with an error: RuntimeError. With two entries along axis 0 of x and",
        ),
        (
            "lambda x, y: reference(x, y) * (1 + (x == x[:1]).all())",
            "One \\(((?!two entries).)*$",
        ),
        ("reference", "^$"),
    ],
)
def test_what_is_wrong_where_there_is_one(answer: str, says: str) -> None:
    """Two in its place are right, alike as they are."""
    message, told = Kit().run(ONE.format(answer=answer))
    assert re.search(says, message), message
    assert told == message


EARLIER = """
def reference(labels, ignore=-100):
    return [x for row in labels.tolist() for x in row if x != ignore]

contract = _Contract(
    lambda labels, ignore=-100: [
        x for row in labels.tolist() for x in row if x != ignore {answer}
    ],
    reference,
    arguments=(f"labels", f"ignore"),
    results=(),
)
labels = torch.tensor([[4, 1, -1], [2, -1, 3]])
for ignore in {ignored}:
    contract.case(f"Ignored", labels, ignore)
"""


@pytest.mark.parametrize(
    ("ignored", "answer", "says"),
    [
        ("(-1,)", "or True", "Just this comes if ignore is not used"),
        ("(2, -1)", "or ignore < 0", "Ignored((?!Just this).)*$"),
        ("(2, -1)", "", "^$"),
    ],
)
def test_a_twin_is_what_earlier_calls_were_right_with(
    ignored: str, answer: str, says: str
) -> None:
    """A program that is wrong there is not the one that was handed in."""
    message, told = Kit().run(EARLIER.format(ignored=ignored, answer=answer))
    assert re.search(says, message), message
    assert told == message


TOP = """
def reference(x, mask):
    top = x.masked_fill(~mask, float("-inf")).amax(-1, keepdim=True)
    powers = (x - top).clamp(max=0.0).exp() * mask
    total = powers.sum(-1, keepdim=True)
    return powers / total.masked_fill(total == 0, 1.0)

contract = _Contract(
    lambda x, mask: {answer}, reference, arguments=(f"x", f"mask"), results=(f"y",)
)
x = _kit_normal(1, (3, 4))
mask = torch.tensor([True, False, True, True])
contract.case(f"Plain", x, mask)
contract.case(f"A large one that the mask takes out", x + 900.0 * ~mask, mask)
"""


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            "((x - x.amax(-1, keepdim=True)).exp() * mask).nan_to_num() / "
            "((x - x.amax(-1, keepdim=True)).exp() * mask).sum(-1, True).clamp(min=1e-200)",
            "A large .* if a maximum is taken over what a mask takes out, too",
        ),
        ("reference(x, mask)", "^$"),
    ],
)
def test_a_maximum_of_all_is_no_mask_that_is_left_out(answer: str, says: str) -> None:
    """The mask of the numbers themselves is there."""
    message, told = Kit().run(TOP.format(answer=answer))
    assert re.search(says, message), message
    assert told == message


COINCIDENCE = """
contract = _Contract(
    lambda a, b: {answer}, lambda a, b: a * b, arguments=(f"a", f"b"), results=(f"c",)
)
contract.case(f"Zeros", torch.zeros(3).double(), torch.ones(3).double())
contract.case(f"Any", *_kit_normal(1, (3,), (3,)))
"""


def test_what_many_programs_give_is_laid_at_no_door() -> None:
    """Where more than two twins give it, none is named."""
    message, _ = Kit().run(COINCIDENCE.format(answer="torch.zeros_like(a) + 1"))
    assert message.startswith("Zeros")
    assert "Just this comes" not in message


def test_a_long_reference_does_not_hold_grading_up() -> None:
    """The search ends after a number of calls of PyTorch that is the same everywhere."""
    kit = Kit()
    kit.run(
        """
def reference(x):
    for _ in range(3000):
        x = x * 1.0001 + 0.1
        kit_calls.append(1)
    return x
kit_calls = []
contract = _Contract(lambda x: x.sin(), reference, arguments=(f"x",), results=(f"y",))
contract.case(f"Any", _kit_normal(1, (3,)))
"""
    )
    calls = len(kit.names["kit_calls"]) / 3000
    assert 3 < calls < 30
