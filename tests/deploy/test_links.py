"""deploy.links: what stands in a link, for which assignments, and which are refused."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from deploy.links import LinkError, git_pull, links, main, render, title
from tests.deploy.machine import ROOT

HUB, GIT = "https://hub.example.org", "https://git.example.org/course.git"


def made(**changes: str) -> str:
    """Return a link with some of its parts changed."""
    parts = {
        "hub": HUB,
        "repository": GIT,
        "branch": "main",
        "notebook": "a/b.ipynb",
    } | changes
    return git_pull(
        parts["hub"],
        parts["repository"],
        parts["branch"],
        parts["notebook"],
        target=parts.get("target", ""),
    )


def test_a_link_says_what_nbgitpuller_reads() -> None:
    """Repository, branch, folder and notebook come back out of the address as they went in."""
    url = urlsplit(made(notebook="02 für/self & other.ipynb", branch="term/2"))
    assert (url.scheme, url.netloc) == ("https", "hub.example.org")
    assert url.path == "/hub/user-redirect/git-pull"
    assert parse_qs(url.query, strict_parsing=True) == {
        "repo": [GIT],
        "branch": ["term/2"],
        "targetpath": ["course"],
        "urlpath": ["lab/tree/course/02%20f%C3%BCr/self%20%26%20other.ipynb"],
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hub": "hub.example.org"}, "hub: expected an address"),
        ({"hub": "http://hub.example.org"}, "https"),
        ({"hub": "https://hub.example.org/?x=1"}, "hub: expected an address"),
        ({"hub": "javascript:alert(1)"}, "hub: expected an address"),
        ({"repository": "git@git.example.org:course.git"}, "repository: expected"),
        ({"repository": "https://me:secret@git.example.org/c.git"}, "name or password"),
        ({"repository": "https://git.example.org/"}, "repository: expected"),
        ({"branch": "--upload-pack=x"}, "branch"),
        ({"branch": "a b"}, "branch"),
        ({"notebook": "../x.ipynb"}, "notebook"),
        ({"notebook": "/etc/x.ipynb"}, "notebook"),
        ({"notebook": "x.py"}, "notebook"),
        ({"target": "../x"}, "target"),
        ({"target": ".ssh"}, "target"),
    ],
)
def test_what_cannot_work_is_refused(changes: dict[str, str], message: str) -> None:
    """With a message that names the argument."""
    with pytest.raises(LinkError, match=message):
        made(**changes)


def test_every_assignment_of_the_course_has_its_link() -> None:
    """In order, with the title that stands in the notebook."""
    found = links(ROOT / "exercises", HUB, GIT, under="exercises")
    names = sorted(
        path.name
        for path in (ROOT / "exercises").iterdir()
        if path.is_dir() and not path.name.startswith(".")
    )
    assert [link.assignment for link in found] == names
    for link in found:
        place = parse_qs(urlsplit(link.url).query)["urlpath"][0].removeprefix(
            "lab/tree/course/"
        )
        assert (ROOT / place).is_file()
        assert link.title == title(ROOT / place)
        assert not link.title.startswith("#")


def write(folder: Path, source: str) -> Path:
    """Write a notebook with one cell of text."""
    folder.mkdir(parents=True)
    path = folder / "n.ipynb"
    cell = {"cell_type": "markdown", "source": source, "metadata": {}}
    path.write_text(json.dumps({"cells": [cell]}), encoding="utf-8")
    return path


def test_titles_are_shown_as_they_are(tmp_path: Path) -> None:
    """In every form of the list, whatever a title holds."""
    write(tmp_path / "01-a", '# <b>"A"</b>, [x] & *y*\n\ntext')
    write(tmp_path / "02-b", "no heading")
    found = links(tmp_path, HUB, GIT)
    assert [link.title for link in found] == ['<b>"A"</b>, [x] & *y*', "n"]
    assert "<b>" not in render(found, "html")
    assert "&lt;b&gt;&quot;A&quot;" in render(found, "html")
    assert r"\<b>" in render(found, "markdown")
    assert r"\[x\]" in render(found, "markdown")
    rows = list(csv.DictReader(io.StringIO(render(found, "csv"))))
    assert [(row["title"], row["url"]) for row in rows] == [
        (x.title, x.url) for x in found
    ]


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Writes a list; says what is wrong on stderr, and leaves no file then."""
    output = tmp_path / "links.csv"
    assert main(["--hub", HUB, "--format", "csv", "--output", str(output)]) == 0
    assert "02-self-attention" in output.read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["links.csv"]
    assert main(["--hub", "nowhere", "--output", str(tmp_path / "x")]) == 2
    assert "hub: expected an address" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
    assert main(["--hub", HUB, "--exercises", str(tmp_path)]) == 2
    assert "no assignments" in capsys.readouterr().err
    broken = tmp_path / "03-c" / "c.ipynb"
    broken.parent.mkdir()
    broken.write_text("{", encoding="utf-8")
    assert main(["--hub", HUB, "--exercises", str(tmp_path)]) == 2
    assert "c.ipynb: not a notebook" in capsys.readouterr().err
