"""Exceptions of one process in the other: by builtin class, with their plain arguments."""

from __future__ import annotations

import builtins

from grading.wire.channel import WireError

LONGEST_TEXT = 10_000


def describe_error(error: BaseException) -> dict:
    """Return an exception's name, the builtin class that it is, and its plain arguments."""
    bases = [
        kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"
    ]
    arguments = getattr(error, "args", ())
    plain = (
        isinstance(arguments, tuple)
        and len(arguments) < 8
        and all(type(part) in (str, int, float) for part in arguments)
    )
    try:
        text = (
            [_bounded(part) for part in arguments]
            if (plain)
            else [str(error)[:LONGEST_TEXT]]
        )
    except Exception as other:
        text = [f"(an error whose text can't be made: {type(other).__name__})"]
    return {"name": type(error).__name__[:200], "bases": bases, "arguments": text}


def _bounded(part: str | float) -> str | int | float:
    """Return an error's argument in a size that a message takes."""
    if type(part) is str:
        return part[:LONGEST_TEXT]
    return (
        f"{part:#x}"[:LONGEST_TEXT]
        if type(part) is int and abs(part) >= 1 << 63
        else part
    )


def error_class(bases: tuple[str, ...]) -> type[Exception]:
    """Return the first builtin class of exceptions among the names of an error's classes.

    The name of a class of the submission's own could carry what a test passed to its page.
    """
    for base in bases:
        kind = getattr(builtins, base, None)
        if isinstance(kind, type) and issubclass(kind, Exception):
            return kind
    return Exception


def make_error(info: object) -> Exception:
    """Return the exception that the other side raised, as an instance of a class of this one."""
    try:
        name, arguments = info["name"], info["arguments"]
        if not (
            isinstance(name, str)
            and all(type(a) in (str, int, float) for a in arguments)
        ):
            raise TypeError
        kind = error_class(tuple(str(base) for base in info["bases"][:50]))
    except (TypeError, KeyError, ValueError):
        raise WireError("an error that can't be read") from None
    try:
        return kind(*arguments)
    except TypeError:
        return error_class(("ValueError",))(*arguments)
