"""Removes values from a test's message, so that hidden inputs do not leak: its author's words stay.

A value in a message may be what a hidden test expects, or what a submission made of its input: a
number, a text, a name, how long something is. So each f-string of a test and of a released helper
is noted as it is made, with its text and with "…" in the place of its values. Shapes and indices
of small numbers stay, data types, and the names of types.
"""

from __future__ import annotations

import ast
import builtins
import functools
import sys
import types
from collections.abc import Iterator

from grading.course.states import HOLE

#: What a message calls the type of an object whose class is a submission's own.
FOREIGN = "object of a class of your own"

#: The name that tests have for `Texts.join`: no Python can name it.
JOIN = "<f-string>"
#: The largest number in a shape or index that is told, and how many of them.
LARGEST, MOST = 50, 5
#: An interpolated value that follows one of these words is a place, and no value.
PLACES = ("shape ", "index ", "axis ", "dimension ")
#: Characters of a text that is looked for in a message that was put together otherwise.
SHORTEST = 8
#: Characters of such a message, and how many pieces an author puts together: with many of them a
#: submission could spell.
LONGEST, MOST_PIECES = 10_000, 20
#: How many f-strings of a test are noted.
MOST_NOTED = 20_000

CONVERSIONS = {-1: lambda value: value, 115: str, 114: repr, 97: ascii}
NAMES = frozenset(
    {
        *(name for name in dir(builtins) if isinstance(getattr(builtins, name), type)),
        "NoneType",
        "ellipsis",
        "function",
        "method",
        "builtin_function_or_method",
        "generator",
        "module",
        "partial",
        "deque",
        "OrderedDict",
        "Counter",
        "Tensor",
        "Size",
        "dtype",
        "ndarray",
        "namedtuple",
        FOREIGN,
    }
)


def torch() -> types.ModuleType | None:
    """Return PyTorch where it is loaded: without it no value is of its types."""
    return sys.modules.get("torch")


@functools.cache
def layers(nn: types.ModuleType) -> frozenset[str]:
    """Return the names of the types in torch.nn."""
    return frozenset(name for name, one in vars(nn).items() if isinstance(one, type))


def is_torchs(kind: type, name: str) -> bool:
    """Tell whether a type is PyTorch's own of this name."""
    return torch() is not None and kind is getattr(torch(), name)


def is_type(text: str) -> bool:
    """Tell whether a text is the name of a type that everybody knows."""
    return text in NAMES or (torch() is not None and text in layers(torch().nn))


class Noted(ast.NodeTransformer):
    """Has each f-string of some code made by `Texts.join`."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.Call:
        """Hand on the parts: a text, or a value with how it is written and whether it's a size."""
        self.generic_visit(node)
        parts = [
            part
            if isinstance(part, ast.Constant)
            else ast.Tuple(
                [
                    part.value,
                    ast.Constant(part.conversion),
                    part.format_spec or ast.Constant(""),
                    ast.Constant(is_size(part.value)),
                ],
                ast.Load(),
            )
            for part in node.values
        ]
        call = ast.Call(ast.Name(JOIN, ast.Load()), parts, [])
        return ast.fix_missing_locations(ast.copy_location(call, node))


def is_size(node: ast.expr) -> bool:
    """Tell whether an expression asks for a shape: `tuple(x.shape)`, `x.dim()`."""
    return any(
        isinstance(part, ast.Attribute) and part.attr in ("shape", "ndim", "dim")
        for part in ast.walk(node)
    )


def noted(tree: ast.Module) -> ast.Module:
    """Return code whose f-strings are noted; a docstring stays one."""
    return Noted().visit(tree)


def constants(tree: ast.AST) -> Iterator[str]:
    """Yield the texts in some code."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value
        ):
            yield node.value


def words(tree: ast.Module, hidden: frozenset[int] = frozenset()) -> frozenset[str]:
    """Return the texts in a test that are its author's words for students.

    Of lines that students don't see only what stands in a message: others may hold data.

    Args:
        tree: the test, before its f-strings are noted.
        hidden: the numbers of its hidden lines.

    """
    found: set[str] = set()
    for statement in tree.body:
        if statement.lineno not in hidden:
            found.update(constants(statement))
            continue
        for node in ast.walk(statement):
            said = (
                node.msg
                if isinstance(node, ast.Assert)
                else (node.exc if isinstance(node, ast.Raise) else None)
            )
            found.update(constants(said) if said is not None else ())
    return frozenset(found)


class Texts:
    """The texts of one submission's tests, each with what may be told of it."""

    def __init__(self) -> None:
        self.words: set[str] = set()
        self.made: dict[str, str] = {}

    def join(self, *parts: object) -> str:
        """Return an f-string's text, and note what may be told of it."""
        text, told = "", ""
        for part in parts:
            if type(part) is str:
                text, told = text + part, told + part
                continue
            value, conversion, spec, size = part
            if type(value) is not str or conversion != -1 or spec:
                written = format(CONVERSIONS[conversion](value), spec)
            else:
                written = value
            told += self.shown(value, written, size or text.endswith(PLACES))
            text += written
        if len(self.made) < MOST_NOTED:
            self.made[text] = told
            if text[:1].isspace() or text[-1:].isspace():
                self.made.setdefault(text.strip(), told.strip())
        return text

    def shown(self, value: object, written: str, size: bool) -> str:
        """Return what may be told of a value in a message."""
        kind = type(value)
        if kind is str:
            if (told := self.made.get(value)) is not None:
                return told
            return written if self.is_known(value) else HOLE
        if value is None or is_torchs(kind, "dtype") or (size and is_small(value)):
            return written
        if (
            kind in (list, tuple)
            and value
            and all(type(part) is str for part in value[:MOST])
        ):
            known = [
                repr(part) if self.is_known(part) else HOLE for part in value[:MOST]
            ]
            return f"[{', '.join(known)}{', ' + HOLE if len(value) > MOST else ''}]"
        return HOLE

    def is_known(self, text: str) -> bool:
        """Tell whether a text is the author's, or the name of a type."""
        return text in self.words or is_type(text) or not text

    def told(self, message: str) -> str:
        """Return what may be told of a message."""
        if message in self.made or self.is_known(message):
            return self.made.get(message, message)
        message = message[:LONGEST]
        pieces = [
            text
            for text in (*self.made, *self.words)
            if len(text) >= SHORTEST and text in message
        ]
        return self._covered(message, sorted(pieces, key=len, reverse=True))

    def _covered(self, message: str, pieces: list[str]) -> str:
        """Return the known pieces of a message, and holes between them; of too many, a hole."""
        found = [(message, False)]
        for piece in pieces:
            found = [
                part
                for text, known in found
                for part in ([(text, known)] if known else self._split(text, piece))
            ]
            if sum(known for _, known in found) > MOST_PIECES:
                return HOLE
        return "".join(
            text if known or not text.strip() else HOLE for text, known in found
        )

    def _split(self, text: str, piece: str) -> list[tuple[str, bool]]:
        """Return what stands between the places of a piece, and what may be told of it there."""
        parts = [(self.made.get(piece, piece), True)] * (2 * text.count(piece) + 1)
        parts[::2] = [(part, False) for part in text.split(piece)]
        return parts


def is_small(value: object) -> bool:
    """Tell whether a value is a number of a shape or an index, or a few of them."""
    if type(value) in (list, tuple) or is_torchs(type(value), "Size"):
        return len(value) <= MOST and all(
            type(part) is int and is_small(part) for part in value
        )
    return type(value) is int and 0 <= value < LARGEST
