"""Static rules for the notebooks of the course: one line for each problem, with file and cell.

    python -m tools.check_notebooks

Chapters (book/) carry no outputs, and each figure has a name, a caption and an alternative text.
Source notebooks (solutions/) were run once, top to bottom, without an error or a warning, and have
the form that nbgrader and the answer harness need. exercises/ and transformer/ are what their
programs make.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from grading.course import notebooks
from grading.course.notebooks import ROOT, Cell, NotebookError
from tools import exercises, source_notebooks
from tools.source_notebooks import Problems, output_text

#: As wide as the formatter writes code (pyproject.toml) and the site shows it.
COLUMNS = 88

#: Calls of this module draw; `plt.rcParams` and the like are no calls.
PLOTTING_MODULES = {"matplotlib.pyplot"}
NOT_DRAWING = {
    "close",
    "rc",
    "set_theme",
    "set_style",
    "set_palette",
    "color_palette",
    "get_cmap",
}

LOCAL_PATH = re.compile(
    r"(?<![\w.~/:-])/(?:home|Users|root|tmp|work|mnt|private/var)/\w|\b[A-Z]:\\\w"
)
IMAGE = re.compile(r"!\[(?P<alt>[^\]]*)\]\(")
HTML_IMAGE = re.compile(r"<img\b[^>]*>", re.IGNORECASE)
HTML_ALT = re.compile(r"""\balt\s*=\s*("[^"]*\w[^"]*"|'[^']*\w[^']*')""", re.IGNORECASE)
DIRECTIVE = re.compile(
    r"^(`{3,}|:{3,})\{(image|figure)\}(.*?)^\1\s*$", re.MULTILINE | re.DOTALL
)
FENCED = re.compile(r"^(`{3,}|~{3,}).*?^\1\s*$", re.MULTILINE | re.DOTALL)


# Every notebook


def well_formed(notebook: dict, cells: list[Cell]) -> Problems:
    """Format 4.5, a cell id each, the course's kernel, and no trace of an editor."""
    if (notebook.get("nbformat"), notebook.get("nbformat_minor", 0)) < (4, 5):
        yield None, "expected notebook format 4.5 or newer"
    seen: dict[str, Cell] = {}
    for cell in cells:
        name = cell.data.get("id")
        if not name:
            yield cell, "has no cell id"
        elif name in seen:
            yield cell, f"has the cell id of cell {seen[name].index + 1}"
        else:
            seen[name] = cell
        if cell.kind == "raw":
            yield cell, "is a raw cell; use Markdown"
    metadata = notebook.get("metadata", {})
    if metadata.get("kernelspec", {}).get("name") != "python3":
        yield None, "expected the kernel python3 in its metadata"
    if "jupytext" in metadata or any("jupytext" in cell.metadata for cell in cells):
        yield None, "holds metadata of jupytext; remove them"


def no_local_paths(notebook: dict, cells: list[Cell]) -> Problems:
    """No path of the machine that wrote or ran the notebook."""
    for cell in cells:
        texts = [cell.source, *map(output_text, cell.outputs)]
        if found := next(filter(None, map(LOCAL_PATH.search, texts)), None):
            yield (
                cell,
                f"holds a path of one machine: {found.string[found.start() :][:40]!r}",
            )


def narrow(notebook: dict, cells: list[Cell]) -> Problems:
    """Code no wider than the page's column, where a wider line would have to be scrolled."""
    for cell in cells:
        if cell.kind == "code":
            for number, line in enumerate(cell.source.split("\n"), 1):
                if len(line) > COLUMNS:
                    yield (
                        cell,
                        f"line {number} has {len(line)} columns; at most {COLUMNS}",
                    )


def one_title(notebook: dict, cells: list[Cell]) -> Problems:
    """One heading of the first level."""
    titles = [
        cell
        for cell in cells
        if cell.kind == "markdown"
        for _ in re.findall(r"^#\s+\S", FENCED.sub("", cell.source), re.MULTILINE)
    ]
    if not titles:
        yield None, "has no title: one heading `# …` is expected"
    for cell in titles[1:]:
        yield cell, "holds a second heading `# …`; a page has one title"


def images_described(notebook: dict, cells: list[Cell]) -> Problems:
    """An alternative text for each image in Markdown."""
    for cell in cells:
        if cell.kind != "markdown":
            continue
        for directive in DIRECTIVE.finditer(cell.source):
            if not re.search(r"^:alt:\s*\S", directive.group(3), re.MULTILINE):
                yield cell, f"{{{directive.group(2)}}} without :alt:"
        text = FENCED.sub("", cell.source)
        for image in IMAGE.finditer(text):
            if not image.group("alt").strip():
                yield cell, "image without alternative text: write ![what it shows](…)"
        for image in HTML_IMAGE.finditer(text):
            if not HTML_ALT.search(image.group()):
                yield cell, "<img> without alternative text"


# Chapters


def no_outputs(notebook: dict, cells: list[Cell]) -> Problems:
    """Chapters are stored without what the build makes."""
    for cell in cells:
        if cell.outputs:
            yield cell, "has outputs; clear them, the build makes them"
        elif cell.data.get("execution_count") is not None:
            yield cell, "has an execution count; clear it"


def figures_described(notebook: dict, cells: list[Cell]) -> Problems:
    """A name, a caption and an alternative text for each cell that draws."""
    drawing = Drawing()
    for cell in cells:
        if cell.kind != "code":
            continue
        about = cell.metadata.get("mystnb", {})
        draws = drawing.is_drawn_by(cell) and not {"remove-cell", "remove-output"} & {
            *cell.metadata.get("tags", [])
        }
        if not (draws or "figure" in about or "image" in about):
            continue
        alt = str(about.get("image", {}).get("alt", "")).strip()
        figure = about.get("figure", {})
        # A live figure is no image of the notebook's: book.live asks for its text.
        if not alt and not calls(cell, "live_figure"):
            yield cell, "figure without alternative text: metadata mystnb.image.alt"
        elif alt == str(figure.get("caption", "")).strip():
            yield (
                cell,
                "the figure's alternative text repeats its caption; say what one sees",
            )
        if not str(figure.get("caption", "")).strip():
            yield cell, "figure without caption: metadata mystnb.figure.caption"
        if not str(figure.get("name", "")).startswith("fig-"):
            yield cell, "figure without a name fig-…: metadata mystnb.figure.name"


def calls(cell: Cell, name: str) -> bool:
    """Return whether a cell calls a function by this name; asked of cells that parse."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == name
        for node in ast.walk(ast.parse(cell.source))
    )


class Drawing:
    """Tells which cells of one notebook draw, by the names that they import and call."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.functions: set[str] = set()

    def is_drawn_by(self, cell: Cell) -> bool:
        """Return whether running the cell draws; cells must be asked in order."""
        try:
            tree = ast.parse(cell.source)
        except SyntaxError:
            return False  # IPython's own syntax, or an error that executing the chapter shows
        definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        for node in ast.walk(tree):
            self._note_import(node)
        drawn = False
        for statement in tree.body:
            if not isinstance(statement, definitions):
                drawn = self._draws(statement) or drawn
            elif self._draws(statement):
                self.functions.add(statement.name)
        return drawn

    def _note_import(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name in PLOTTING_MODULES:
                    self.modules.add(name.asname or name.name.split(".")[0])
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                known = name.asname or name.name
                if f"{node.module}.{name.name}" in PLOTTING_MODULES:
                    self.modules.add(known)
                elif node.module == "book.figures" or node.module in PLOTTING_MODULES:
                    self.functions |= {known} - NOT_DRAWING

    def _draws(self, node: ast.AST) -> bool:
        for call in ast.walk(node):
            if not isinstance(call, ast.Call):
                continue
            called = call.func
            if isinstance(called, ast.Name) and called.id in self.functions:
                return True
            if (
                isinstance(called, ast.Attribute)
                and isinstance(called.value, ast.Name)
                and called.value.id in self.modules
                and called.attr not in NOT_DRAWING
            ):
                return True
        return False


# Source notebooks


# All of them

Rule = Callable[[dict, list[Cell]], Problems]
EVERYWHERE: list[Rule] = [
    well_formed,
    no_local_paths,
    narrow,
    one_title,
    images_described,
]
RULES: dict[str, list[Rule]] = {
    "book": [*EVERYWHERE, no_outputs, figures_described],
    "solutions": [
        *EVERYWHERE,
        source_notebooks.run_once,
        source_notebooks.graded_as_meant,
        source_notebooks.stands_alone,
        source_notebooks.names_apart,
        source_notebooks.given_kept,
        source_notebooks.folded,
    ],
    "exercises": EVERYWHERE,
}


def check_notebook(path: Path, rules: list[Rule]) -> list[str]:
    """Return a line for each rule that a notebook breaks, and each cell where it does."""
    try:
        notebook = notebooks.read(path)
        cells = list(notebooks.cells(path, notebook))
        return [
            f"{path}: {cell}: {problem}" if cell is not None else f"{path}: {problem}"
            for rule in rules
            for cell, problem in rule(notebook, cells)
        ]
    except NotebookError as error:
        return [str(error)]


def check(root: Path = ROOT, generated: bool = True) -> list[str]:
    """Return a line for each problem in a course's notebooks, and in what is made from them.

    Args:
        root: the course's folder.
        generated: also compare exercises/ and the library with what their programs make.

    """
    problems = []
    for room, rules in RULES.items():
        for path in notebooks.notebooks_in(root / room):
            problems += check_notebook(path, rules)
    problems = [problem.replace(f"{root}/", "") for problem in problems]
    if generated:
        problems += exercises.check(root)
        library = [
            sys.executable,
            "-m",
            "tools.export_library",
            "--check",
            "--root",
            str(root),
        ]
        result = subprocess.run(
            library, cwd=ROOT, capture_output=True, encoding="utf-8", check=False
        )
        lines = (result.stdout + result.stderr).strip().splitlines()
        problems += (lines or ["make library failed"]) if result.returncode else []
    return problems


def main(arguments: list[str] | None = None) -> int:
    """Print a line for each problem; 1 if there is any."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.check_notebooks", description=__doc__
    )
    parser.add_argument("--root", type=Path, default=ROOT, help="the course's folder")
    args = parser.parse_args(arguments)
    root = args.root.resolve()
    problems = check(root)
    if not any(notebooks.notebooks_in(root / room) for room in RULES):
        problems.append(f"{root}: no notebooks there")
    for problem in problems:
        print(problem, file=sys.stderr)
    counts = ", ".join(
        f"{len(notebooks.notebooks_in(root / room))} in {room}/" for room in RULES
    )
    print(f"notebooks: {counts}: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
