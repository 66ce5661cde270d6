"""Write the cells tagged ``export`` of each chapter to its module: ``make library``.

pyproject.toml's table ``[tool.course.library]`` says which chapter becomes which module of
``transformer/``, or, where it has a folder, "book/one_block", of the course. A cell tagged
``export:<module>`` goes to that module instead.
"""

import argparse
import sys
import tomllib
from pathlib import Path

import nbformat
from nbconvert.exporters import TemplateExporter
from traitlets.config import Config

from grading.course import files

ROOT = Path(__file__).resolve().parent.parent

# nbconvert's template language; the cells arrive already chosen, in order.
TEMPLATE = """\
# Exported from {{ resources.chapters | join(" and ") }} by `make library`.
# Edit the chapter, not this file.
{% for cell in nb.cells %}
{{ "" if loop.first else "\\n\\n" }}{{ cell.source.strip() }}
{%- endfor %}
"""


def module_of(cell, default):
    """Return the module a cell is exported to, or None."""
    for tag in cell.get("metadata", {}).get("tags", []):
        if tag == "export":
            return default
        if tag.startswith("export:"):
            return tag.removeprefix("export:")
    return None


def collect(root):
    """Return {module: (chapters, cells)} from the chapters that pyproject.toml names."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    modules = {}
    for chapter, default in sorted(settings["tool"]["course"]["library"].items()):
        path = root / chapter
        if not path.exists():
            raise SystemExit(
                f"pyproject.toml [tool.course.library] names {chapter}: no such file."
            )
        for cell in nbformat.read(path, as_version=4).cells:
            module = module_of(cell, default)
            if module is None:
                continue
            if cell.cell_type != "code":
                raise SystemExit(
                    f"{chapter}, cell {cell.id}: tagged export, but not a code cell."
                )
            chapters, cells = modules.setdefault(module, ([], []))
            if chapter not in chapters:
                chapters.append(chapter)
            cells.append(cell)
    return modules


def render(chapters, cells):
    """Return the text of one module."""
    exporter = TemplateExporter(config=Config(), raw_template=TEMPLATE)
    notebook = nbformat.v4.new_notebook(cells=cells)
    body, _ = exporter.from_notebook_node(notebook, resources={"chapters": chapters})
    return body.strip() + "\n"


def path_of(root, module):
    """Return where a module is written: in transformer/, unless it names its folder."""
    folder = root if "/" in module else root / "transformer"
    return folder / f"{module}.py"


def library(root):
    """Return {path: text} for every module of the library."""
    return {
        path_of(root, module): render(*parts) for module, parts in collect(root).items()
    }


def differences(root):
    """Return one line for each module that differs from its chapter's tagged cells."""
    wanted = library(root)
    parts = {path_of(root, module): found for module, found in collect(root).items()}
    problems = []
    for path, text in wanted.items():
        name = path.relative_to(root)
        if not path.exists():
            problems.append(f"{name}: missing; run `make library`.")
            continue
        have = path.read_text(encoding="utf-8")
        if have != text:
            pairs = zip(have.splitlines(), text.splitlines(), strict=False)
            shorter = min(len(have.splitlines()), len(text.splitlines()))
            line = next((n for n, (a, b) in enumerate(pairs, 1) if a != b), shorter + 1)
            chapters, cells = parts[path]
            problems.append(
                f"{name}, line {line}: differs from the cells tagged `export` in "
                f"{' and '.join(chapters)} ({cell_at(cells, text, line)}). Edit the chapter, "
                "then run `make library`."
            )
    for path in sorted((root / "transformer").glob("*.py")):
        if path not in wanted and path.name != "__init__.py":
            problems.append(
                f"{path.relative_to(root)}: no chapter exports this module."
            )
    return problems


def cell_at(cells, text, line):
    """Name the exported cell that ``line`` of the module's right ``text`` comes from."""
    before = "\n".join(text.splitlines()[:line])
    current = cells[0]
    for cell in cells:
        if cell.source.strip().splitlines()[0] in before.splitlines():
            current = cell
    return f"cell {current.id}"


def main(argv=None):
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="compare only; fail on a difference"
    )
    parser.add_argument("--root", type=Path, default=ROOT)
    args = parser.parse_args(argv)
    if args.check:
        problems = differences(args.root)
        for problem in problems:
            print(problem, file=sys.stderr)
        return 1 if problems else 0
    for path, text in library(args.root).items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            files.write(path, text)
            print(f"wrote {path.relative_to(args.root)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
