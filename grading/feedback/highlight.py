"""Syntax highlighting for Python, in time linear in the code's length.

Pygments' own rules for Python try many things at the beginning of each line: 20,000 blanks and
line ends take them seconds. Here each rule takes what it has read, or reads a few characters.
"""

from __future__ import annotations

import builtins
import keyword

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    String,
    Text,
    Whitespace,
)

_PREFIX = r"(?i:[rbuft]{0,2})"
_CONSTANTS = ("None", "True", "False")
_OPERATORS = ("and", "or", "not", "in", "is")
_IMPORTS = ("from", "import")
_KEYWORDS = sorted({*keyword.kwlist} - {*_CONSTANTS, *_OPERATORS, *_IMPORTS})


def _names(*names: str) -> words:
    return words(names, prefix=r"(?<!\.)", suffix=r"\b")


class Lexer(RegexLexer):
    """Python's words; a repetition ends in + and gives nothing back."""

    tokens = {  # noqa: RUF012 - as in Pygments
        "root": [
            (r"(\n[ \t]*+)(@\w[\w.]*+)", bygroups(Whitespace, Name.Decorator)),
            (r"\n|[ \t]++", Whitespace),
            (r"#[^\n]*+", Comment.Single),
            (_PREFIX + r'"""(?:[^"\\]|\\[\s\S]|"(?!""))*+(?:""")?', String.Double),
            (_PREFIX + r"'''(?:[^'\\]|\\[\s\S]|'(?!''))*+(?:''')?", String.Single),
            (_PREFIX + r'"(?:[^"\\\n]|\\[\s\S])*+"?', String.Double),
            (_PREFIX + r"'(?:[^'\\\n]|\\[\s\S])*+'?", String.Single),
            (r"(def)([ \t]++)(\w++)", bygroups(Keyword, Whitespace, Name.Function)),
            (r"(class)([ \t]++)(\w++)", bygroups(Keyword, Whitespace, Name.Class)),
            (_names(*_KEYWORDS), Keyword),
            (_names(*_CONSTANTS), Keyword.Constant),
            (_names(*_OPERATORS), Operator.Word),
            (_names(*_IMPORTS), Keyword.Namespace),
            (
                _names(*(name for name in dir(builtins) if name.isidentifier())),
                Name.Builtin,
            ),
            (r"\.?\d(?:[eE][-+]\d|[\w.])*+", Number),
            (r"\w++", Name),
            (r"[-+*/%@&|^~<>=!:]++", Operator),
            (r"[\s\S]", Text),
        ],
    }


_LEXER, _FORMATTER = Lexer(stripnl=False, ensurenl=False), HtmlFormatter(nowrap=True)


def coloured_code(code: str) -> Markup:
    """Return Python as HTML: escaped text in elements with a class."""
    return Markup(highlight(code, _LEXER, _FORMATTER))
