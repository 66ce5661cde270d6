"""A reader's own lines in a chapter: say at once whether they do what was asked."""

from __future__ import annotations

from collections.abc import Callable


def your_turn(check: Callable[[Callable], None], answer: Callable) -> None:
    """Run ``check(answer)`` and print what came of it; nothing is raised.

    ``check`` raises AssertionError with a message where the answer is wrong. An answer that still
    raises NotImplementedError is called unwritten, any other error is named.
    """
    try:
        check(answer)
    except NotImplementedError:
        print(f"Your turn: write {answer.__name__}, then run this cell again.")
    except AssertionError as error:
        print(f"Not yet: {error}")
    except Exception as error:
        print(f"Not yet: {answer.__name__} raised {type(error).__name__}: {error}")
    else:
        print(f"Right: {answer.__name__} does it.")
