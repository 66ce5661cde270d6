"""Text of a student's can do nothing where it is shown."""

from __future__ import annotations

from grading.course import text


def test_output_is_plain_and_bounded() -> None:
    """No control characters for a teacher's terminal, and not more than a page."""
    assert (
        text.clean("a\x1b[31mb\x00\n\té") == "a\N{REPLACEMENT CHARACTER}[31mb"
        "\N{REPLACEMENT CHARACTER}\n\té"
    )
    assert len(text.clean("x" * 10**6)) <= text.MOST + 1
