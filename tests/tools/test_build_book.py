"""The build, on a small book with the real configuration: strict, parallel, cached."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from jupyter_cache import get_cache
from jupyter_cache.cache.main import JupyterCacheBase

from tools import build_book, dependencies

ROOT = Path(__file__).resolve().parents[2]
V4 = nbformat.v4
pytestmark = pytest.mark.slow


def write_notebook(path, *sources, metadata=None):
    cells = [V4.new_markdown_cell(f"# {path.stem}")]
    cells += [V4.new_code_cell(source, metadata=metadata or {}) for source in sources]
    notebook = V4.new_notebook(
        cells=cells,
        metadata={
            "kernelspec": {
                "display_name": "Python 3 (ipykernel)",
                "language": "python",
                "name": "python3",
            }
        },
    )
    nbformat.write(notebook, path)


@pytest.fixture
def small(tmp_path):
    """A course whose book is a landing page and two notebooks, a.ipynb and b.ipynb."""
    for name in ("_config.yml", "requirements.txt", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(
        ROOT / "book",
        tmp_path / "book",
        ignore=shutil.ignore_patterns("*.ipynb", "*.md", "__pycache__", "search.toml"),
    )
    (tmp_path / "index.md").write_text("# A small book\n", encoding="utf-8")
    (tmp_path / "_toc.yml").write_text(
        "format: jb-book\nroot: index\nchapters:\n- file: book/a\n- file: book/b\n",
        encoding="utf-8",
    )
    write_notebook(tmp_path / "book" / "a.ipynb", "print(6 * 7)")
    write_notebook(tmp_path / "book" / "b.ipynb", "print('b')")
    return tmp_path


@pytest.mark.parametrize(
    ("own", "url", "refused"),
    [
        (
            "git@git.example.org:me/course.git",
            "https://git.example.org/me/course",
            True,
        ),
        (
            "https://user@git.example.org/me/Course",
            "https://git.example.org/me/course/",
            True,
        ),
        (
            "ssh://git@git.example.org/me/course.git",
            "https://git.example.org/me/course",
            True,
        ),
        (
            "git@git.example.org:me/course.git",
            "https://git.example.org/me/student-edition",
            False,
        ),
    ],
)
def test_launch_buttons_never_open_the_answers(tmp_path, own, url, refused):
    """A book whose buttons open its own repository, with solutions/ in it, is not built."""
    for command in (["init", "--quiet"], ["remote", "add", "origin", own]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    (tmp_path / "_config.yml").write_text(
        f"repository: {{url: {url}}}\n", encoding="utf-8"
    )
    assert build_book.answers_behind_buttons(tmp_path) == "", "a student edition may"
    (tmp_path / "solutions").mkdir()
    problem = build_book.answers_behind_buttons(tmp_path)
    assert ("make student-edition" in problem) == refused
    if refused:
        assert build_book.main(["--root", str(tmp_path)]) == 1


def test_this_book_is_not_built_on_the_answers():
    """The committed configuration names a repository of the student edition."""
    assert build_book.answers_behind_buttons(ROOT) == ""
    assert "student-edition" in (ROOT / "_config.yml").read_text(encoding="utf-8")


def build(root):
    """Run the build as make does; return its status and everything it printed."""
    result = subprocess.run(
        [sys.executable, "-m", "tools.build_book", "--root", str(root)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return result.returncode, result.stdout + result.stderr


def execute(root):
    """Execute what is not in the cache; return the names of what was executed, and failures."""
    executed, failures = build_book.execute(
        root, root / "_build" / "execution", build_book.pages(root)
    )
    return sorted(path.stem for path in executed), failures


def test_a_book_is_built_and_then_taken_from_the_cache(small):
    status, text = build(small)
    assert status == 0, text
    site = small / "_build" / "html"
    assert str(site / "index.html") in text
    assert "42" in (site / "book" / "a.html").read_text(encoding="utf-8")
    written = {page: page.stat().st_mtime_ns for page in site.rglob("*.html")}
    status, text = build(small)
    assert status == 0, text
    assert "All 2 notebooks are in the cache" in text
    assert site / "book" / "a.html" in written
    again = {
        page.name for page, time in written.items() if page.stat().st_mtime_ns != time
    }
    assert not again & {"a.html", "b.html", "index.html"}


def test_independent_chapters_run_at_the_same_time(small):
    # Each notebook waits for the other's file: run one after the other, the first would give up.
    meet = (
        "import pathlib, time\n"
        "pathlib.Path('{mine}.here').touch()\n"
        "end = time.monotonic() + 60\n"
        "while not pathlib.Path('{other}.here').exists():\n"
        "    assert time.monotonic() < end, 'alone'\n"
        "    time.sleep(0.05)"
    )
    for mine, other in ("ab", "ba"):
        write_notebook(
            small / "book" / f"{mine}.ipynb", meet.format(mine=mine, other=other)
        )
    assert execute(small) == (["a", "b"], [])


def test_kernels_that_start_together_cannot_take_one_port_from_each_other(small):
    # On Unix sockets there are no ports; the folder that holds them is this user's alone.
    look = (
        "import os\n"
        "from ipykernel.connect import get_connection_info\n"
        "info = get_connection_info(unpack=True)\n"
        "assert info['transport'] == 'ipc', info\n"
        "assert os.stat(os.path.dirname(info['ip'])).st_mode & 0o077 == 0\n"
        "open('{name}.folder', 'w').write(os.path.dirname(info['ip']))"
    )
    for name in "ab":
        write_notebook(small / "book" / f"{name}.ipynb", look.format(name=name))
    assert execute(small) == (["a", "b"], [])
    folders = {
        (small / "book" / f"{name}.folder").read_text(encoding="utf-8") for name in "ab"
    }
    assert len(folders) == 2
    assert not any(
        Path(folder).exists() for folder in folders
    )  # nothing is left behind


def test_the_processors_time_goes_into_the_cache(small):
    busy = "import time\nwhile time.process_time() < 3: pass"
    write_notebook(small / "book" / "b.ipynb", busy)
    assert execute(small) == (["a", "b"], [])
    cache = get_cache(str(small / "_build" / "execution"))
    spent = {
        name: cache.get_cached_project_nb(str(small / "book" / f"{name}.ipynb")).data[
            "cpu_seconds"
        ]
        for name in "ab"
    }
    assert spent["a"] > 0
    assert spent["b"] >= 3


def test_one_process_writes_the_cache(small, monkeypatch):
    # jupyter-cache deletes entries beyond its limit in two steps: a second writer's new entry,
    # made between them, would be deleted with them.
    writers = []
    write = JupyterCacheBase.cache_notebook_bundle

    def noted(self, bundle, **options):
        writers.append((os.getpid(), Path(bundle.uri).stem))
        return write(self, bundle, **options)

    monkeypatch.setattr(JupyterCacheBase, "cache_notebook_bundle", noted)
    execute(small)
    assert sorted(writers) == [(os.getpid(), "a"), (os.getpid(), "b")]


def test_a_notebook_that_cannot_be_started_fails_the_build_and_says_why(small):
    path = small / "book" / "b.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata.kernelspec.name = "julia-of-yesterday"
    nbformat.write(notebook, path)
    _, [(failed, reason)] = execute(small)
    assert failed == path
    assert "No such kernel named julia-of-yesterday" in reason


def test_a_failing_cell_fails_the_build_and_shows_its_traceback(small):
    write_notebook(
        small / "book" / "b.ipynb", "def halve(x):\n    return x / 0", "halve(3)"
    )
    status, text = build(small)
    assert status != 0
    assert "book/b.ipynb failed" in text
    assert "ZeroDivisionError" in text
    assert "halve(3)" in text
    assert not (small / "_build" / "html" / "index.html").exists()


def test_a_broken_cross_reference_fails_the_build_and_the_next_one(small):
    (small / "index.md").write_text(
        "# A small book\n\nSee {ref}`nowhere`.\n", encoding="utf-8"
    )
    for _ in range(2):  # a page that is not written again is not warned of by Sphinx
        status, text = build(small)
        assert status != 0
        assert "nowhere" in text
        assert "index.md" in text


def test_a_figure_without_alt_text_fails_the_build(small):
    write_notebook(
        small / "book" / "b.ipynb",
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()",
        metadata={
            "mystnb": {
                "figure": {"name": "fig-bare", "caption": "No alternative text."}
            }
        },
    )
    status, text = build(small)
    assert status != 0
    assert "alt" in text
    assert "book/b" in text


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def library(small):
    """The small course, with a package of which notebook a uses one module and b another."""
    write(small / "translator" / "__init__.py", "")
    write(small / "translator" / "deep.py", "size = 1\n")
    write(
        small / "translator" / "model.py",
        "def size():\n    from translator import deep\n    return deep.size\n",
    )
    write(small / "translator" / "other.py", "x = 1\n")
    write(small / "models" / "de" / "config.json", "{}")
    write(small / "models" / "de" / "weights.bin", "1")
    write_notebook(
        small / "book" / "a.ipynb",
        "%matplotlib inline\nimport sys; sys.path.insert(0, '..')",
        "from translator import model\nprint('size', model.size())",
    )
    write_notebook(
        small / "book" / "b.ipynb",
        "import subprocess, sys\n"
        "code = 'from pathlib import Path; import translator.other;'\n"
        "code += 'Path(\"models/de/config.json\").read_text()'\n"
        "subprocess.run([sys.executable, '-c', code], cwd='..', check=True)",
    )
    assert execute(small) == (["a", "b"], [])
    assert execute(small) == ([], [])
    return small


def test_a_notebook_runs_again_only_if_something_of_its_own_has_changed(library):
    for edited, run_again in (
        ("translator/deep.py", ["a"]),  # imported by what a imports, inside a function
        ("translator/other.py", ["b"]),  # imported by a process that b starts
        (
            "models/de/weights.bin",
            ["b"],
        ),  # beside what b reads: native code is not seen
        ("models/de/config.json", ["b"]),
        ("constraints.txt", ["a", "b"]),
        ("translator/unused.py", []),
        ("book/setup.md", []),
        ("models/fr/config.json", ["b"]),  # which models there are counts, too
    ):
        write(library / edited, "size = 2\n")
        assert execute(library) == (run_again, []), edited
        assert execute(library) == ([], []), edited


def test_a_package_that_takes_a_modules_place_is_noticed(library):
    write(library / "translator" / "deep" / "__init__.py", "size = 3\n")
    assert execute(library) == (["a"], [])


def test_a_file_that_is_written_while_a_notebook_runs_does_not_count_as_read(library):
    write_notebook(
        library / "book" / "a.ipynb",
        "from pathlib import Path",
        "data = Path('../models/de/config.json')\ndata.read_text()\ndata.write_text('[]')",
    )
    assert execute(library)[0] == ["a"]
    assert "a" in execute(library)[0]


def test_only_the_pages_that_changed_are_written_again(library):
    status, text = build(library)
    assert status == 0, text
    site = library / "_build" / "html" / "book"
    before = {name: (site / f"{name}.html").stat().st_mtime_ns for name in "ab"}
    assert "size 1" in (site / "a.html").read_text(encoding="utf-8")
    write(library / "translator" / "deep.py", "size = 2\n")
    status, text = build(library)
    assert status == 0, text
    assert "size 2" in (site / "a.html").read_text(encoding="utf-8")
    assert (site / "b.html").stat().st_mtime_ns == before["b"]
    # What stands on every page, such as a title in the navigation, changes every page.
    page = library / "book" / "a.ipynb"
    write(page, page.read_text(encoding="utf-8").replace("# a", "# Renamed"))
    status, text = build(library)
    assert status == 0, text
    assert "All 2 notebooks are in the cache" in text
    assert "Renamed" in (site / "b.html").read_text(encoding="utf-8")


def test_a_folder_changes_with_its_data_alone(tmp_path):
    """Not with what makes the pages, nor with what Python keeps; a file of data counts."""
    (tmp_path / "deep").mkdir()
    before = dependencies.digest(tmp_path)
    for name in ("__pycache__", "_ext", "deep/__pycache__"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").touch()
        assert dependencies.digest(tmp_path) == before, name
    (tmp_path / "deep" / "table.csv").touch()
    assert dependencies.digest(tmp_path) != before
