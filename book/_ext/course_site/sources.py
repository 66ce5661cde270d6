"""The ``sources`` directive: the library's public names, and where each comes from.

A docstring says "Source: Vaswani et al. (2017), section 3.2.1." Authors and year name an entry of
the bibliography, and the table links to it. What is nobody else's says "Source: this course."
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from pybtex.database import BibliographyData, parse_file
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

LIBRARY, REFERENCES = "transformer", "book/references.bib"
NAME = r"(?:van )?[A-Z][\w-]+"
PAPER = re.compile(rf"({NAME}(?:, {NAME})*)( and {NAME}| et al\.)? \((\d{{4}})\)")
TORCH = re.compile(r"\btorch(?:\.\w+)+")
OWN = "this course."


def public(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each public function and class of a module, with its source or nothing."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        known = isinstance(node, ast.FunctionDef | ast.ClassDef)
        if known and not node.name.startswith("_"):
            text = inspect.cleandoc(ast.get_docstring(node) or "")
            _, _, source = text.partition("\nSource: ")
            yield node.name, " ".join(source.split())


def library(root: Path) -> dict[str, dict[str, str]]:
    """Return {module: {name: source}}, modules in the order of the alphabet."""
    paths = sorted((root / LIBRARY).glob("*.py"))
    found = {path.stem: dict(public(path)) for path in paths}
    return {module: names for module, names in found.items() if names}


def key(match: re.Match, references: BibliographyData) -> str:
    """Return the key of the one entry with a paper's authors and year, or raise LookupError."""
    names = match[1].split(", ")
    ending = match[2] or ""
    if ending.startswith(" and "):
        names.append(ending.removeprefix(" and "))
    found = []
    for name, entry in references.entries.items():
        authors = [
            " ".join(map(str, person.rich_prelast_names + person.rich_last_names))
            for person in entry.persons["author"]
        ]
        fits = authors[: len(names)] == names and entry.fields["year"] == match[3]
        if fits and (ending == " et al." or len(authors) == len(names)):
            found.append(name)
    if len(found) != 1:
        raise LookupError(
            f"{match[0]}: expected one entry of the bibliography: {found}"
        )
    return found[0]


def linked(source: str, references: BibliographyData) -> str:
    """Return a source as Markdown, its papers as citations, PyTorch's names as code."""
    source = TORCH.sub(r"`\g<0>`", source)
    return PAPER.sub(lambda match: f"{{cite:t}}`{key(match, references)}`", source)


class Sources(SphinxDirective):
    """A table for each module of the library."""

    def run(self) -> list[nodes.Node]:
        """Return the tables; a name without a source is an error."""
        root = Path(self.env.srcdir)
        for path in (root / REFERENCES, *(root / LIBRARY).glob("*.py")):
            self.env.note_dependency(str(path))
        references = parse_file(str(root / REFERENCES))
        tables = []
        for module, names in library(root).items():
            lines = [f"| `{LIBRARY}.{module}` | source |", "| --- | --- |"]
            for name, source in names.items():
                if not source:
                    raise self.error(f"{LIBRARY}/{module}.py: {name} names no source")
                lines.append(f"| `{name}` | {linked(source, references)} |")
            table = nodes.container()
            self.state.nested_parse(lines, self.content_offset, table)
            tables.append(table)
        return tables


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("sources", Sources)
