"""The rules of a style sheet that pages use: the theme brings three times as many.

A browser reads all rules before it shows anything, and asks each element about many of them. A
selector is left out if it asks for a class or an id that is on no page and in no script.

The rules of a theme ask for an attribute that a script sets. Where no script runs, one of two more
style sheets has them for the theme that the device asks for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tinycss2
from sphinx.errors import ExtensionError

#: Scripts put these names together: Bootstrap's, and ours.
MADE_UP = ("bs-", "is-")
NAMES = re.compile(r'\b(?:class|id)="([^"]*)"')
WORD = re.compile(r"[\w-]+")
NAMED = re.compile(r"[.#](-?[A-Za-z_][\w-]*)")
ARGUMENTS = re.compile(r":[\w-]+\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\]]*\]")
GROUPS = {"media", "supports", "container", "layer"}
OPTIONS = {"skip_comments": True, "skip_whitespace": True}


def words(site: Path) -> set[str]:
    """Return the classes and ids on all pages, and all words of the scripts, which add some."""
    found: set[str] = set()
    for page in site.rglob("*.html"):
        for names in NAMES.findall(page.read_text(encoding="utf-8")):
            found.update(names.split())
    for script in (site / "_static").rglob("*.js"):
        if script.parent.name != "data":  # the translator's weights
            found.update(WORD.findall(script.read_text(encoding="utf-8")))
    return found


def pruned(text: str, used: set[str]) -> str:
    """Return a style sheet without the selectors that ask for a class or an id not in ``used``.

    Raises ExtensionError for a style sheet that cannot be read.
    """
    rules = tinycss2.parse_stylesheet(text, **OPTIONS)
    return "".join(_kept(rules, lambda one: one if is_used(one, used) else None))


def without_scripts(text: str, theme: str) -> str:
    """Return a style sheet's rules of a theme, and of any, for pages that name none."""
    named = re.compile(rf"""\[data-theme(?:=(["']?){theme}\1)?\]""")

    def unnamed(selector: str) -> str | None:
        changed, found = named.subn(":not([data-theme])", selector)
        return changed if found else None

    rules = tinycss2.parse_stylesheet(text, **OPTIONS)
    asked = [rule for rule in rules if named.search(rule.serialize())]
    return "".join(_kept(asked, unnamed))


def _kept(rules: list[Any], keep: Callable[[str], str | None]) -> Iterator[str]:
    for rule in rules:
        if rule.type == "error":
            raise ExtensionError(
                f"a style sheet cannot be read: {rule.message} "
                f"(line {rule.source_line} of the joined one)"
            )
        if rule.type == "qualified-rule":
            asked = selectors(tinycss2.serialize(rule.prelude))
            left = [kept for one in asked if (kept := keep(one))]
            if left:
                yield f"{','.join(left)}{{{tinycss2.serialize(rule.content)}}}"
        elif rule.lower_at_keyword in GROUPS and rule.content:
            inside = tinycss2.parse_rule_list(rule.content, **OPTIONS)
            inner = "".join(_kept(inside, keep))
            if inner:
                head = f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}"
                yield f"{head}{{{inner}}}"
        else:
            yield rule.serialize()


def is_used(selector: str, used: set[str]) -> bool:
    """Return whether all classes and ids that a selector asks for are in ``used``."""
    if "\\" in selector:  # an escaped name: rare, and kept
        return True
    names = NAMED.findall(ARGUMENTS.sub("", selector))
    return all(name in used or name.startswith(MADE_UP) for name in names)


def selectors(text: str) -> list[str]:
    """Return the selectors of a list, parted at the commas outside of brackets."""
    depth, parts = 0, [""]
    for char in text:
        depth += (char in "([") - (char in ")]")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]
