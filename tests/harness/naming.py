"""Which wrong answers of a bank get a message that names their mistake, and which mislead.

A wrong answer is *named* if its pattern matches a message that it gets, in words that are not the
same for any mistake (`PLAIN`), and no message by which the bank knows another mistake of its task.
Mistakes whose patterns match each other's messages are one. Other answers are only *located*. One
of these *misleads* if the message by which the bank knows it names another mistake.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from tests.harness.bank import Answer

#: What tests say of any mistake: where a result is wrong, and how.
PLAIN = re.compile(
    r"expected \S+ at index .*? entries differ\)"
    r"|(expected|has the) shape \(.*?\), (got|expected shape) \(.*?\)"
    r"|(?<!sign )is wrong\.|: wrong, first at index \[.*?\]\.|: not precise enough"
    r"|your code stopped with (an error: )?\w+",
    re.DOTALL | re.IGNORECASE,
)


@dataclass(frozen=True)
class Told:
    """A wrong answer and the messages that a student reads about it."""

    answer: Answer
    messages: tuple[str, ...]

    @cached_property
    def own(self) -> list[str]:
        """The messages by which the bank knows it."""
        return [text for text in self.messages if self.says(text)]

    @cached_property
    def telling(self) -> list[str]:
        """What these say beyond what is said of any mistake, where the pattern still matches."""
        rests = [PLAIN.sub(" … ", text) for text in self.own]
        return [rest for rest in rests if self.says(rest)]

    def says(self, text: str) -> bool:
        """Return whether the pattern matches."""
        return bool(self.answer.message.search(text))


def split(told: Iterable[Told]) -> tuple[list[Told], list[Told], list[str]]:
    """Return the named answers of one task, the located ones, and a line for each that misleads."""
    told = [one for one in told if one.own]
    named = [
        one
        for one in told
        if one.telling and not any(is_vague(one, other) for other in told)
    ]
    located = [one for one in told if one not in named]
    problems = []
    for one in located:
        for other in named:
            texts = [PLAIN.sub(" … ", text) for text in one.own]
            if any(map(other.says, texts)) and not any(map(one.says, other.telling)):
                problems.append(
                    f"{one.answer}: what it gets names {other.answer.name}: "
                    f"{' '.join(one.own[0].split())[:300]}"
                )
                break
    return named, located, problems


def is_vague(one: Told, other: Told) -> bool:
    """Return whether the pattern of one answer matches what names another mistake."""
    return any(map(one.says, other.telling)) and not any(map(other.says, one.telling))
