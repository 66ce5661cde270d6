"""Build the links that bring an assignment onto a student's server, and open it there.

    python -m deploy.links --hub https://hub.my-university.example
    python -m deploy.links --hub … --repository https://git.example.org/course.git --under exercises
    python -m deploy.links --hub … --format csv --output links.csv

A link makes the hub log the student in, start a server, fetch the repository with nbgitpuller,
and open the notebook. Later clicks bring changes, and keep what the student has written.

Put such a link into a page of the learning platform, or use it as the address of an LTI tool
(target link URI), so that a click on the platform's activity needs no further login.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote, urlencode, urlsplit

from deploy.repositories import holds_answers
from deploy.settings import ROOT
from grading.course import files

#: Where the hub keeps the repository that it makes of exercises/, unless told otherwise.
OWN_REPOSITORY = "file:///var/lib/attention-hub/exercises.git"
LOCAL = {"localhost", "127.0.0.1", "::1"}


class LinkError(ValueError):
    """A link that could not work; the text says why."""


@dataclass(frozen=True)
class Link:
    """An assignment's link."""

    assignment: str
    title: str
    url: str


def git_pull(
    hub: str, repository: str, branch: str, notebook: str, *, target: str = ""
) -> str:
    """Return the address that fetches a repository and opens one of its notebooks.

    Args:
        hub: the hub's address.
        repository: the address that git clones.
        branch: its branch.
        notebook: the notebook's path in the repository, with forward slashes.
        target: the folder in the student's home; the repository's name if empty.

    Raises:
        LinkError: if an argument can't be part of a working link.

    """
    parts = urlsplit(hub)
    if (
        parts.scheme not in {"https", "http"}
        or not parts.hostname
        or parts.query
        or parts.fragment
    ):
        raise LinkError(
            f"hub: expected an address such as https://hub.example.org, found {hub!r}"
        )
    if parts.scheme == "http" and parts.hostname not in LOCAL:
        raise LinkError(f"hub: {hub}: must begin with https://")
    _check_repository(repository)
    if not re.fullmatch(r"(?!-)[\w./-]+", branch) or ".." in branch:
        raise LinkError(f"branch: expected a branch's name, found {branch!r}")
    path = PurePosixPath(notebook)
    if path.is_absolute() or ".." in path.parts or path.suffix != ".ipynb":
        raise LinkError(
            f"notebook: expected a path of a notebook in the repository, "
            f"found {notebook!r}"
        )
    target = target or PurePosixPath(repository.rstrip("/")).name.removesuffix(".git")
    if not re.fullmatch(r"\w[\w.-]*", target):
        raise LinkError(f"target: expected the name of one folder, found {target!r}")
    query = urlencode(
        {
            "repo": repository,
            "branch": branch,
            "targetpath": target,
            "urlpath": f"lab/tree/{quote(target)}/{quote(str(path))}",
        }
    )
    return f"{hub.rstrip('/')}/hub/user-redirect/git-pull?{query}"


def _check_repository(repository: str) -> None:
    """Raise LinkError unless git can clone this for a student, without a password in it."""
    parts = urlsplit(repository)
    if parts.scheme not in {"https", "http", "git", "file"} or not parts.path.strip(
        "/"
    ):
        raise LinkError(
            "repository: expected an address such as https://git.example.org/c.git, "
            f"found {repository!r}"
        )
    if parts.password or (parts.username and parts.scheme != "file"):
        raise LinkError(
            "repository: the address holds a name or password: everybody would see it"
        )


def title(notebook: Path) -> str:
    """Return a notebook's first heading, its file's name where there is none.

    Raises:
        LinkError: if the file is not a notebook.

    """
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        texts = [
            "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise LinkError(
            f"{notebook.name}: not a notebook ({type(error).__name__})"
        ) from None
    for text in texts:
        if found := re.search(r"^# +(.+?)\s*#*$", text, re.MULTILINE):
            return found[1]
    return notebook.stem


def links(
    exercises: Path,
    hub: str,
    repository: str,
    branch: str = "main",
    under: str = "",
    target: str = "",
) -> list[Link]:
    """Return a link for each assignment in a folder, in order.

    Args:
        exercises: the released assignments, one folder each.
        hub: the hub's address.
        repository: the address that git clones.
        branch: its branch.
        under: where in the repository the assignments' folders lie, "" for its top.
        target: the folder in the student's home; the repository's name if empty.

    Raises:
        LinkError: if there is nothing to link to, or a link could not work.

    """
    found = sorted(
        p for p in exercises.glob("*/*.ipynb") if not p.parent.name.startswith(".")
    )
    if not found:
        raise LinkError(f"{exercises.name}/ holds no assignments: run `make exercises`")
    made = []
    for notebook in found:
        inside = PurePosixPath(under, notebook.parent.name, notebook.name)
        url = git_pull(hub, repository, branch, str(inside), target=target)
        made.append(Link(notebook.parent.name, title(notebook), url))
    return made


def render(made: list[Link], form: str) -> str:
    """Return links as text: "text", "markdown", "csv" or "html"."""
    if form == "text":
        return "".join(f"{link.assignment}\n    {link.url}\n" for link in made)
    if form == "markdown":
        return "".join(f"- [{_escaped(link.title)}]({link.url})\n" for link in made)
    if form == "html":
        items = "".join(
            f'  <li><a href="{_html(link.url)}">{_html(link.title)}</a></li>\n'
            for link in made
        )
        return f"<ul>\n{items}</ul>\n"
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["assignment", "title", "url"])
    writer.writerows([link.assignment, link.title, link.url] for link in made)
    return out.getvalue()


def _escaped(text: str) -> str:
    """Return a text that Markdown shows as it is."""
    return re.sub(r"([\\\[\]*_`<])", r"\\\1", text)


def _html(text: str) -> str:
    """Return a text that HTML shows as it is."""
    for raw, escaped in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(raw, escaped)
    return text


def main(argv: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m deploy.links", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--hub", required=True, help="the hub's address")
    parser.add_argument(
        "--repository",
        default=OWN_REPOSITORY,
        help="what git clones (default: the repository that the hub makes)",
    )
    parser.add_argument("--branch", default="main")
    parser.add_argument(
        "--under",
        default="",
        metavar="FOLDER",
        help="where in the repository the assignments lie (default: at its top)",
    )
    parser.add_argument(
        "--target",
        default="",
        metavar="FOLDER",
        help="the folder in a student's home (default: the repository's name)",
    )
    parser.add_argument("--exercises", type=Path, default=ROOT / "exercises")
    parser.add_argument(
        "--format", choices=["text", "markdown", "html", "csv"], default="text"
    )
    parser.add_argument("--output", type=Path, help="write here, not to the screen")
    args = parser.parse_args(argv)
    try:
        if holds_answers(args.repository, ROOT):
            raise LinkError(
                f"repository: {args.repository} holds solutions/: students would "
                "get the answers. Name one of the student edition (make "
                "student-edition)"
            )
        made = links(
            args.exercises,
            args.hub,
            args.repository,
            args.branch,
            args.under,
            args.target,
        )
        text = render(made, args.format)
        if args.output:
            files.write(args.output, text)
        else:
            print(text, end="")
    except (LinkError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
