"""Quotes text that a spreadsheet program would take for a formula."""

from __future__ import annotations

#: Characters with which a text after + or - can do something in a spreadsheet program.
ACTIVE = frozenset('()|!"=[]{}:*/^&<>%$#@;\\')


def is_formula(text: str) -> bool:
    """Tell whether a spreadsheet program might compute a text instead of showing it."""
    bare = text.lstrip()
    if not bare:
        return False
    if bare[0] in "=@\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH COMMERCIAL AT}" or (
        text[0] in "\t\r\n"
    ):
        return True
    signs = "+-\N{FULLWIDTH PLUS SIGN}\N{FULLWIDTH HYPHEN-MINUS}"
    # A digit of any script: programs read numbers in their user's own.
    return bare[0] in signs and any(c in ACTIVE or c.isdecimal() for c in bare[1:])


def guarded(text: str) -> str:
    """Return a text as it stands in a table of ours: no formula, whatever name one has chosen."""
    return f"'{text}" if is_formula(text.lstrip("'")) else text
