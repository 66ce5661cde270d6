"""The page on learning platforms: its commands exist, and so do its pictures and links."""

from __future__ import annotations

import re
import shlex
import struct

import pytest

from grading.__main__ import parser
from tests.deploy.machine import ROOT

TEXT = (ROOT / "book" / "teaching-lms.md").read_text(encoding="utf-8")
READMES = [ROOT / "deploy" / "README.md", ROOT / "deploy" / "helm" / "README.md"]


def commands() -> list[str]:
    """Return the lines of all code blocks, and commands within sentences."""
    blocks = re.findall(r"^( *)```bash\n(.*?)^\1```", TEXT, re.MULTILINE | re.DOTALL)
    lines = [
        line.strip()
        for _, block in blocks
        for line in block.replace("\\\n", " ").splitlines()
    ]
    return lines + re.findall(r"`((?:python -m|make) [^`]+)`", TEXT)


@pytest.mark.parametrize(
    "line", [x for x in commands() if x.startswith("python -m grading")]
)
def test_grading_takes_the_command(line: str) -> None:
    """With these options and no others."""
    parser().parse_args(shlex.split(line)[3:])


def test_there_are_no_other_programs() -> None:
    """Programs and targets of make that the page names are there."""
    seen = set()
    for line in commands():
        words = shlex.split(line)
        if words[0] == "sudo":
            words = words[1:]
        seen.add(words[0])
        if words[:3] == ["make", "-C", "deploy"]:
            text = (ROOT / "deploy" / "Makefile").read_text(encoding="utf-8")
            assert re.search(rf"^{words[3]}:", text, re.MULTILINE), line
        elif words[0] == "make":
            text = (ROOT / "Makefile").read_text(encoding="utf-8")
            assert re.search(rf"^{words[1]}:", text, re.MULTILINE), line
        elif words[0].endswith("python"):
            module = words[2].replace(".", "/")
            assert any(
                (ROOT / f"{module}{end}").exists() for end in (".py", "/__main__.py")
            ), line
    assert seen == {"python", "make", "cp", "cd", "nbgrader", "deploy/.venv/bin/python"}


def test_pictures_are_there_light_and_described() -> None:
    """Each with a text for those who can't see it, and none that nobody shows."""
    shown = re.findall(r"```\{figure\} assets/(\S+)\n(.*?)```", TEXT, re.DOTALL)
    assert {name for name, _ in shown} == {
        path.name for path in (ROOT / "book" / "assets").glob("lms-*.png")
    }
    for name, options in shown:
        assert len(re.search(r":alt: (.+)", options)[1]) > 60
        data = (ROOT / "book" / "assets" / name).read_bytes()
        width, height = struct.unpack(">II", data[16:24])
        assert width == 1350
        assert 400 < height < 3000
        assert len(data) < 400_000


def test_files_that_are_named_exist() -> None:
    """Paths in the page and in the READMEs beside the hub."""
    for source in [TEXT, *(path.read_text(encoding="utf-8") for path in READMES)]:
        for name in re.findall(r"`?((?:deploy|tests)/[\w/.-]+\w)", source):
            if not name.startswith("deploy/.venv"):
                assert (ROOT / name).exists(), name
