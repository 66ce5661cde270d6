"""The build, on a small book with the real configuration: strict, parallel, cached."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from jupyter_cache.cache.main import JupyterCacheBase

from tools import build_book

ROOT = Path(__file__).resolve().parents[2]
V4 = nbformat.v4
pytestmark = pytest.mark.slow


def write_notebook(path, *sources, metadata=None):
    cells = [V4.new_markdown_cell(f"# {path.stem}")]
    cells += [V4.new_code_cell(source, metadata=metadata or {}) for source in sources]
    notebook = V4.new_notebook(cells=cells, metadata={"kernelspec": {
        "display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}})
    nbformat.write(notebook, path)


@pytest.fixture
def small(tmp_path):
    """A course whose book is a landing page and two notebooks, a.ipynb and b.ipynb."""
    for name in ("_config.yml", "requirements.txt", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "book", tmp_path / "book",
                    ignore=shutil.ignore_patterns("*.ipynb", "*.md", "__pycache__"))
    (tmp_path / "index.md").write_text("# A small book\n", encoding="utf-8")
    (tmp_path / "_toc.yml").write_text(
        "format: jb-book\nroot: index\nchapters:\n- file: book/a\n- file: book/b\n",
        encoding="utf-8")
    write_notebook(tmp_path / "book" / "a.ipynb", "print(6 * 7)")
    write_notebook(tmp_path / "book" / "b.ipynb", "print('b')")
    return tmp_path


def build(root):
    """Run the build as make does; return its status and everything it printed."""
    result = subprocess.run([sys.executable, "-m", "tools.build_book", "--root", str(root)],
                            cwd=ROOT, capture_output=True, text=True, check=False)
    return result.returncode, result.stdout + result.stderr


def test_a_book_is_built_and_then_taken_from_the_cache(small):
    status, text = build(small)
    assert status == 0, text
    site = small / "_build" / "html"
    assert str(site / "index.html") in text
    assert "42" in (site / "book" / "a.html").read_text(encoding="utf-8")
    status, text = build(small)
    assert status == 0, text
    assert "All 2 notebooks are in the cache" in text


def test_independent_chapters_run_at_the_same_time(small):
    # Each notebook waits for the other's file: run one after the other, the first would give up.
    meet = ("import pathlib, time\n"
            "pathlib.Path('{mine}.here').touch()\n"
            "end = time.monotonic() + 60\n"
            "while not pathlib.Path('{other}.here').exists():\n"
            "    assert time.monotonic() < end, 'alone'\n"
            "    time.sleep(0.05)")
    for mine, other in ("ab", "ba"):
        write_notebook(small / "book" / f"{mine}.ipynb", meet.format(mine=mine, other=other))
    failures = build_book.execute(small, build_book.prepare_cache(small), build_book.pages(small))
    assert failures == []


def test_kernels_that_start_together_cannot_take_one_port_from_each_other(small):
    # On Unix sockets there are no ports; the folder that holds them is this user's alone.
    look = ("import os\n"
            "from ipykernel.connect import get_connection_info\n"
            "info = get_connection_info(unpack=True)\n"
            "assert info['transport'] == 'ipc', info\n"
            "assert os.stat(os.path.dirname(info['ip'])).st_mode & 0o077 == 0\n"
            "open('{name}.folder', 'w').write(os.path.dirname(info['ip']))")
    for name in "ab":
        write_notebook(small / "book" / f"{name}.ipynb", look.format(name=name))
    failures = build_book.execute(small, build_book.prepare_cache(small), build_book.pages(small))
    assert failures == []
    folders = {(small / "book" / f"{name}.folder").read_text(encoding="utf-8") for name in "ab"}
    assert len(folders) == 2
    assert not any(Path(folder).exists() for folder in folders)  # nothing is left behind


def test_one_process_writes_the_cache(small, monkeypatch):
    # jupyter-cache deletes entries beyond its limit in two steps: a second writer's new entry,
    # made between them, would be deleted with them.
    writers = []
    write = JupyterCacheBase.cache_notebook_bundle

    def noted(self, bundle, **options):
        writers.append((os.getpid(), Path(bundle.uri).stem))
        return write(self, bundle, **options)

    monkeypatch.setattr(JupyterCacheBase, "cache_notebook_bundle", noted)
    assert build_book.execute(small, build_book.prepare_cache(small), build_book.pages(small)) == []
    assert sorted(writers) == [(os.getpid(), "a"), (os.getpid(), "b")]


def test_a_notebook_that_cannot_be_started_fails_the_build_and_says_why(small):
    path = small / "book" / "b.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata.kernelspec.name = "julia-of-yesterday"
    nbformat.write(notebook, path)
    [(failed, reason)] = build_book.execute(small, build_book.prepare_cache(small),
                                            build_book.pages(small))
    assert failed == path
    assert "No such kernel named julia-of-yesterday" in reason


def test_a_failing_cell_fails_the_build_and_shows_its_traceback(small):
    write_notebook(small / "book" / "b.ipynb", "def halve(x):\n    return x / 0", "halve(3)")
    status, text = build(small)
    assert status != 0
    assert "book/b.ipynb failed" in text
    assert "ZeroDivisionError" in text
    assert "halve(3)" in text
    assert not (small / "_build" / "html" / "index.html").exists()


def test_a_broken_cross_reference_fails_the_build_and_names_the_page(small):
    (small / "index.md").write_text("# A small book\n\nSee {ref}`nowhere`.\n", encoding="utf-8")
    status, text = build(small)
    assert status != 0
    assert "nowhere" in text
    assert "index.md" in text


def test_a_figure_without_alt_text_fails_the_build(small):
    write_notebook(
        small / "book" / "b.ipynb",
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()",
        metadata={"mystnb": {"figure": {"name": "fig-bare", "caption": "No alternative text."}}})
    status, text = build(small)
    assert status != 0
    assert "alt" in text
    assert "book/b" in text


def test_an_edited_library_makes_every_chapter_run_again(small):
    (small / "transformer").mkdir()
    module = small / "transformer" / "attention.py"
    module.write_text("x = 1\n", encoding="utf-8")
    first = build_book.library_hash(small)
    module.write_text("x = 2\n", encoding="utf-8")
    assert build_book.library_hash(small) != first


def test_a_page_of_prose_does_not(small):
    first = build_book.library_hash(small)
    (small / "book" / "setup.md").write_text("# Set-up\n", encoding="utf-8")
    assert build_book.library_hash(small) == first
