"""The commands and numbers of the teaching pages are those of the programs."""

from __future__ import annotations

import re
import shlex

import pytest

from grading.__main__ import parser
from grading.course import handed_in
from grading.course.notebooks import ROOT
from grading.feedback import page as feedback_page
from grading.run import pipeline, sandbox_runner
from grading.sandbox import limits
from grading.verdict import guards

PAGES = sorted(
    [*ROOT.glob("book/teaching*.md"), ROOT / "deploy" / "README.md", ROOT / "README.md"]
)


def commands(start: str) -> list[tuple[str, str]]:
    """Return the pages' commands that begin with something: each with its page's name."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        blocks = re.findall(r"^ *```bash\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
        lines = [line.strip() for block in blocks for line in block.splitlines()]
        lines += re.findall(r"`([^`\n]+)`", text)
        found += [
            (page.name, line.partition("  #")[0])
            for line in lines
            if line.startswith(start)
        ]
    return sorted(set(found))


@pytest.mark.parametrize(("page", "line"), commands("python -m grading "))
def test_each_command_can_be_read(page: str, line: str) -> None:
    """Its subcommand and its options are there; placeholders count as values."""
    words = shlex.split(line)[3:]
    if all(re.fullmatch("[a-z]+", word) for word in words):
        words.append("--help")  # a subcommand in running text, without its arguments
    try:
        parser().parse_args(words)
    except SystemExit as error:
        if error.code:
            pytest.fail(f"{page}: {line}")


def test_there_are_commands() -> None:
    """The pages are read as they are written."""
    assert len(commands("python -m grading ")) > 25
    assert ("teaching.md", "python -m grading states 02") in commands(
        "python -m grading "
    )


@pytest.mark.parametrize(("page", "line"), commands("make "))
def test_each_target_is_there(page: str, line: str) -> None:
    """Of the Makefile, or of deploy's."""
    words = shlex.split(line)[1:]
    folder = words[words.index("-C") + 1] if "-C" in words else "."
    targets = [word for word in words if word not in ("-C", folder) and "=" not in word]
    text = (ROOT / folder / "Makefile").read_text(encoding="utf-8")
    for target in targets:
        assert re.search(rf"^{re.escape(target)}:", text, re.MULTILINE), line


def test_the_limits_are_those_of_the_programs() -> None:
    """Each row of the table."""
    text = (ROOT / "book" / "teaching-safety.md").read_text(encoding="utf-8")
    table = dict(
        re.findall(r"^\| ([^|]+?) \| ([^|]+?) \| [^|]+ \|$", text, re.MULTILINE)
    )
    ours = sandbox_runner.LIMITS
    assert isinstance(ours, limits.Limits)
    assert table["one cell or test"] == f"{sandbox_runner.CELL_SECONDS:g} seconds"
    once = pipeline.Times().submission
    assert table["one pass over a submission"] == f"{once:g} seconds"
    assert table["both passes"] == f"{pipeline.PASSES * once:g} seconds"
    assert table["one process"] == f"{ours.cpu_seconds:g} seconds of CPU time"
    # What many slow cells use up must not end the process under the one that runs at the moment.
    assert (
        min(ours.wall_seconds, ours.cpu_seconds)
        > once + 2 * sandbox_runner.CELL_SECONDS
    )
    assert (
        table["memory beyond Python and PyTorch"]
        == f"{ours.memory_bytes / 2**30:g} GiB"
    )
    room = table["memory of the grader for what it returns"]
    assert room == f"{guards.ROOM / 2**30:g} GiB"
    assert table["processes and threads"] == str(ours.processes)
    assert table["one file"] == f"{ours.file_bytes / 2**20:g} MiB"
    assert table["output"] == f"{ours.output_bytes / 2**20:g} MiB"
    code = (
        f"{handed_in.MOST_CODE:_} characters in {handed_in.MOST_CELLS} cells".replace(
            "_", " "
        )
    )
    assert table["a student's own code in it"] == code
    assert table["its cells"] == f"{handed_in.MOST_IN_FILE:_}".replace("_", " ")
    assert table["its lines, texts and numbers, outputs included"] == (
        f"{handed_in.MOST_PARTS:_}".replace("_", " ")
    )
    assert table["scratch files"] == f"{limits.MOST_FILES:_}".replace("_", " ")
    assert table["sockets"] == str(limits.MOST_SOCKETS)
    assert table["open files and pipes"] == (
        f"{limits.OPEN_FILES} for a process, {ours.processes * limits.DESCRIPTORS_EACH} for all"
    )
    assert f"gets {feedback_page.PAGE_SECONDS:g} seconds of CPU time" in text
    assert table["the notebook handed in"] == f"{handed_in.MAX_BYTES / 2**20:g} MiB"
