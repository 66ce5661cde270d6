"""What an error of a test says, and whose it is."""

from __future__ import annotations

import traceback
from pathlib import Path

from grading import bridge
from grading.verdict.compilation import GIVEN, TEST

#: Told of an error that a test runs into by itself, with what it got.
UNUSABLE = (
    "this test can't work with what your code returned. Has it the type and the shape that the "
    "task asks for?"
)
#: Whatever comes from a submission's process comes by way of these modules.
BRIDGE = str(Path(bridge.__file__).parent)


def is_authors(error: BaseException) -> bool:
    """Tell whether a test or a helper of the release raised an error, not what they called."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return frame is not None and frame.tb_frame.f_code.co_filename in (TEST, GIVEN)


def is_tests_own(error: BaseException) -> bool:
    """Tell whether an error arose on this side of the wall, in a test or in what it called."""
    frames = traceback.walk_tb(error.__traceback__)
    return not any(f.f_code.co_filename.startswith(BRIDGE) for f, _ in frames)


def text_of(error: BaseException) -> str:
    """Return what to tell about an exception: an assert's message, or the type and the text.

    As long as it is: what was cut off would no longer be known as a text of the test's author.
    """
    try:
        text = str(error)
    except Exception as other:
        text = f"(its text can't be made: {type(other).__name__})"
    if isinstance(error, AssertionError) and text:
        return text
    return f"{type(error).__name__}: {text}".rstrip(": ")
