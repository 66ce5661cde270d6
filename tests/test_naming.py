"""Which wrong answers count as named, which as located, and which mislead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.harness import naming
from tests.harness.bank import Answer


def told(name: str, pattern: str, *messages: str) -> naming.Told:
    """Return an answer to some task, with what a student reads about it."""
    compiled = re.compile(pattern, re.IGNORECASE)
    answer = Answer(Path("bank.py"), 1, "task", name, False, "", compiled)
    return naming.Told(answer, messages)


def names(found: list[naming.Told]) -> list[str]:
    """Return the names of answers."""
    return [one.answer.name for one in found]


PLAIN = "output: expected 0.5 at index [0, 1], got 1.5 (3 of 4 entries differ)."


def test_a_pattern_that_only_its_mistake_gets_names_it() -> None:
    """Two answers that match each other's messages make one mistake."""
    found = [
        told("scale", "scale is missing", "output: the scale is missing. Divide."),
        told("root", "the scale", "output: the scale is missing. Divide."),
        told("mask", "inverted", "output: the mask is inverted."),
    ]
    named, located, problems = naming.split(found)
    assert names(named) == ["scale", "root", "mask"]
    assert not located
    assert not problems


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("expected", PLAIN),
        ("differ", PLAIN),
        ("wrong", "No mask (x (2, 3)): the output: wrong, first at index [0]."),
        ("shape", "output: expected shape (2, 3), got (3, 2)."),
        ("stopped", "One key: your code stopped with an error: RuntimeError."),
    ],
)
def test_what_is_said_of_any_mistake_names_none(pattern: str, message: str) -> None:
    """Where a result is wrong is no name, even where only one answer gets it."""
    named, located, problems = naming.split([told("x", pattern, message)])
    assert not named
    assert names(located) == ["x"]
    assert not problems


def test_a_pattern_that_matches_another_name_is_too_vague() -> None:
    """It counts as located, though its own message would name it."""
    found = [
        told("vague", "mask", "output: the mask is inverted."),
        told("other", "no effect", "output: the mask has no effect."),
    ]
    named, located, problems = naming.split(found)
    assert names(named) == ["other"]
    assert names(located) == ["vague"]
    assert not problems


def test_a_located_answer_that_gets_the_name_of_another_misleads() -> None:
    """The bank asks for little, and the message says something false."""
    found = [
        told("kept", "entries differ", f"{PLAIN} Is the mask inverted?"),
        told("inverted", "mask inverted", "weights: Is the mask inverted?"),
    ]
    named, located, (problem,) = naming.split(found)
    assert names(named) == ["inverted"]
    assert names(located) == ["kept"]
    assert "what it gets names inverted" in problem
