"""The pages for those who come to the repository: links lead somewhere, the table is whole."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "DECISIONS.md")
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_to_a_file(name):
    links = LINK.findall((ROOT / name).read_text(encoding="utf-8"))
    missing = [
        link
        for link in links
        if not link.startswith("https://") and not (ROOT / link).is_file()
    ]
    assert not missing


def test_the_table_has_every_chapter_and_assignment():
    links = set(LINK.findall((ROOT / "README.md").read_text(encoding="utf-8")))
    wanted = {
        path.relative_to(ROOT).as_posix()
        for pattern in ("book/[0-9]*.ipynb", "exercises/*/*.ipynb")
        for path in ROOT.glob(pattern)
    }
    assert wanted
    assert wanted <= links


def test_every_target_that_is_named_is_in_the_makefile():
    targets = set(
        re.findall(
            r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M
        )
    )
    for name in PAGES:
        text = (ROOT / name).read_text(encoding="utf-8")
        named = set(re.findall(r"(?:`|^    )make ([a-z][a-z-]*)", text, re.M))
        assert named <= targets, name
