"""What the kit asks beside a contract's own cases: each of them once more, and calls at random."""

from __future__ import annotations

import re

import pytest

from tests.tools.kit import Kit

KEPT = """
kept = {{}}
def answer(x, scale=1.0):
    {answer}
contract = _Contract(
    answer, lambda x, scale=1.0: 2 * scale * x, (f"x", f"scale"), results=(f"twice",)
)
a, b, c = _kit_normal(1, (2, 3), (2, 3), (5, 4))
contract.case(f"Numbers", a)
contract.case(f"float32", b.float(), 2.0, tol=1e-4)
contract.case(f"Other sizes", c, 3.0)
contract.drawn(1, lambda d: (d.numbers(3, 2), d.whole(4, 9)), count=6)
contract.again()
"""

#: What an answer does wrong that no case alone shows, and what its author must read.
SLIPS = {
    # Right at first, and for the first call always: all the others change with the calls.
    "n = kept['n'] = kept.get('n', 0) + 1; return 2 * scale * x + (n > 5 and len(x) == 5)": (
        "isn't after others.*Other sizes"
    ),
    # A table is made in the data type of the first call of its kind, and of the last one.
    "table = kept.setdefault(scale, torch.full((), 0.1 * scale, dtype=x.dtype)); "
    "return 20 * (x * table.to(x.dtype))": "at random.*seven digits",
    "table = torch.full((), 0.1 * scale, dtype=x.dtype)\n"
    "    if len(x) == 5: table, kept['t'] = kept.get('t', table), table\n"
    "    return 20 * (x * table.to(x.dtype))": "isn't after others.*seven digits",
    # What is kept is handed out, and its owner writes into it.
    "key = (scale, *x.shape, x.dtype); "
    "kept.setdefault(key, x + x if scale == 1.0 else 2 * scale * x); "
    "return kept[key] if scale == 3.0 else 2 * scale * x": "isn't after others",
    # Sizes of one case alone, laid out otherwise.
    "return 2 * scale * (x.view(-1).view(x.shape) if len(x) == 5 else x)": (
        "Other sizes.*use reshape where you use view"
    ),
    "return 2 * scale * (x.as_strided(x.shape, (4, 1)) if len(x) == 5 else x)": (
        "Other sizes.*slice or a transpose of another one"
    ),
}


@pytest.mark.parametrize("answer", SLIPS)
def test_each_case_is_asked_once_more(answer: str) -> None:
    """With arguments laid out otherwise, after float32, when what came is overwritten."""
    message, told = Kit().run(KEPT.format(answer=answer))
    assert message
    assert re.search(SLIPS[answer], message), message
    assert told == message


def test_who_keeps_with_care_passes() -> None:
    """What is kept is right for each call, and nobody else has it."""
    careful = (
        "key = (scale, x.dtype); kept.setdefault(key, torch.tensor(2 * scale, dtype=x.dtype)); "
        "return kept[key] * x"
    )
    assert Kit().run(KEPT.format(answer=careful)) == ("", "")


DRAWN = """
seen = []
def answer(x, much=False, width=1):
    seen.append((tuple(x.shape), much, width))
    return {answer}
contract = _Contract(
    answer, lambda x, much, width: 3 * x if much else 2 * x + 0 * width,
    (f"x", f"much", f"width"), results=(f"the result",), gradients=(f"x",),
)
contract.drawn(4, lambda d: (
    d.numbers(d.whole(1, 6), d.whole(1, 6)), d.one(True, False), d.whole(0, 7)
), count=40)
contract.again()
"""


def drawn(answer: str, seed: int = 5) -> tuple[str, list]:
    """Return the message of calls drawn at random, and the calls."""
    kit = Kit()
    kit.names["course_seed"] = seed
    message, told = kit.run(DRAWN.format(answer=answer))
    assert told == message
    return message, kit.names["seen"]


RIGHT = "3 * x if much else 2 * x"


def test_calls_are_drawn_by_the_secret_with_ends_and_choices() -> None:
    """Another secret draws others; sizes of 1 and the largest come, and both flags."""
    message, seen = drawn(RIGHT)
    assert message == ""
    assert drawn(RIGHT)[1] == seen
    assert drawn(RIGHT, seed=6)[1] != seen
    shapes = [shape for shape, _, _ in seen]
    assert {1, 6} <= {shape[0] for shape in shapes}
    assert {much for _, much, _ in seen} == {True, False}
    draw = Kit().names["_Draw"](3)
    sizes = [draw.whole(1, 10**6) for _ in range(60)]
    assert {1, 10**6} < set(sizes) <= set(range(1, 10**6 + 1))


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("3 * x if much or width == 0 else 2 * x", "much=False, width=0"),
        ("3 * x if much and width != 7 else 2 * x", "much=True"),
        (f"({RIGHT}) * (2 if x.shape[0] == 6 else 1)", r"x \(6, 1\)"),
        (f"({RIGHT}) if len(x) != 1 else ({RIGHT}).squeeze(0)", r"x \(1, 1\)"),
        (f"torch.where(x == 0, 1.0, {RIGHT})", "wrong"),
        (f"torch.where(x == 2, 1.0, {RIGHT})", "wrong"),
        (f"torch.where(x.abs() > 500, 500.0, {RIGHT})", "wrong"),
    ],
)
def test_a_special_case_is_met_and_told(answer: str, says: str) -> None:
    """The smallest call that shows it, with its sizes and its choices."""
    message, _ = drawn(answer)
    assert message.startswith("A call drawn at random"), message
    assert re.search(says, message), message


REFILLED = """
kept = {{}}
def answer(x, parts):
    key = {key}
    return kept.setdefault(key, (x + sum(parts), x, parts))[0].clone()
contract = _Contract(
    answer,
    lambda x, parts: x + sum(parts),
    (f"x", f"parts"),
    results=(f"the sum",),
    gradients=(f"x",),
)
a, b, c = _kit_normal(1, (2, 3), (2, 3), (2, 3))
contract.case(f"Numbers", a, [b])
contract.case(f"Others", {others})
contract.again()
"""


@pytest.mark.parametrize("others", ["c, [b]", "a, [c]"])
def test_what_is_kept_by_its_holder_is_found(others: str) -> None:
    """A tensor is changed in place, or a list gets another entry."""
    code = REFILLED.format(key="id(x), id(parts), x.requires_grad", others=others)
    message, told = Kit().run(code)
    assert "Others" in message
    assert "hold something else by now" in message
    assert told == message


def test_a_result_kept_from_before_gradients_is_not_called_cut_off() -> None:
    """What is kept by numbers has no gradient: calls without any came before."""
    code = REFILLED.format(key="str((x.tolist(), parts))", others="c, [b]")
    message, told = Kit().run(code)
    assert "right where no other call came before" in message
    assert "cut off" not in message
    assert told == message
