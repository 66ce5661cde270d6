"""The library is what the chapters' tagged cells say, and a difference is named."""

import shutil
from pathlib import Path

import nbformat
import pytest

from tools import export_library

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def small(tmp_path):
    """A course of one chapter that exports two cells to one module and one to another."""
    (tmp_path / "transformer").mkdir()
    (tmp_path / "transformer" / "__init__.py").write_text("", encoding="utf-8")
    (tmp_path / "book").mkdir()
    (tmp_path / "pyproject.toml").write_text(
        '[tool.course.library]\n"book/02-x.ipynb" = "attention"\n', encoding="utf-8"
    )
    v4 = nbformat.v4
    cells = [
        v4.new_code_cell("import torch", metadata={"tags": ["export"]}),
        v4.new_code_cell("print('not exported')"),
        v4.new_code_cell("def f():\n    return 1", metadata={"tags": ["export"]}),
        v4.new_code_cell("def g():\n    return 2", metadata={"tags": ["export:model"]}),
    ]
    nbformat.write(v4.new_notebook(cells=cells), tmp_path / "book" / "02-x.ipynb")
    assert export_library.main(["--root", str(tmp_path)]) == 0
    return tmp_path


def test_the_committed_library_is_what_the_chapters_export():
    assert export_library.differences(ROOT) == []


def test_export_keeps_order_and_leaves_the_rest_out(small):
    text = (small / "transformer" / "attention.py").read_text(encoding="utf-8")
    assert "book/02-x.ipynb" in text.splitlines()[0]
    assert text.index("import torch") < text.index("def f")
    assert "not exported" not in text
    assert "def g" not in text
    assert "def g" in (small / "transformer" / "model.py").read_text(encoding="utf-8")


def test_a_module_that_names_its_folder_is_written_there(small, capsys):
    settings = small / "pyproject.toml"
    text = settings.read_text(encoding="utf-8").replace('"attention"', '"book/mine"')
    settings.write_text(text, encoding="utf-8")
    (small / "transformer" / "attention.py").unlink()
    assert export_library.main(["--root", str(small)]) == 0
    mine = small / "book" / "mine.py"
    assert "def f" in mine.read_text(encoding="utf-8")
    assert export_library.differences(small) == []
    mine.write_text(
        mine.read_text(encoding="utf-8").replace("return 1", "return 3"),
        encoding="utf-8",
    )
    assert export_library.main(["--check", "--root", str(small)]) == 1
    assert "book/mine.py" in capsys.readouterr().err


def test_an_edited_module_is_named_with_line_and_cell(small, capsys):
    path = small / "transformer" / "attention.py"
    path.write_text(
        path.read_text(encoding="utf-8").replace("return 1", "return 3"),
        encoding="utf-8",
    )
    assert export_library.main(["--check", "--root", str(small)]) == 1
    message = capsys.readouterr().err
    cell = nbformat.read(small / "book" / "02-x.ipynb", as_version=4).cells[2]
    assert "transformer/attention.py" in message
    assert f"cell {cell.id}" in message
    assert "make library" in message


def test_a_changed_chapter_is_noticed(small):
    path = small / "book" / "02-x.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[2].source = "def f():\n    return 5"
    nbformat.write(notebook, path)
    assert len(export_library.differences(small)) == 1


def test_a_module_without_a_chapter_is_noticed(small):
    shutil.copy(small / "transformer" / "model.py", small / "transformer" / "stray.py")
    assert "stray.py: no chapter exports this module" in "".join(
        export_library.differences(small)
    )


def test_a_missing_chapter_is_named(small):
    (small / "book" / "02-x.ipynb").unlink()
    with pytest.raises(SystemExit, match=r"book/02-x\.ipynb: no such file"):
        export_library.main(["--root", str(small)])
