"""Where the library comes from: each public name has a source that can be looked up."""

from __future__ import annotations

import importlib
import re
import sys
from functools import reduce
from types import ModuleType

import pytest
from pybtex.database import parse_file

from tests.site.pages import ROOT

PLACE = re.compile(r", (?:section|equation|appendix)s? ?[\dA-Z]")


@pytest.fixture(scope="module")
def sources() -> ModuleType:
    """The part of the site's extension that reads the docstrings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "book" / "_ext"))
        yield importlib.import_module("course_site.sources")


def test_every_public_name_has_a_source(sources: ModuleType) -> None:
    """A paper with its place, a name of PyTorch that exists, or this course."""
    references = parse_file(str(ROOT / sources.REFERENCES))
    found = sources.library(ROOT)
    assert len(found) >= 7
    wrong = []
    for module, names in found.items():
        loaded = importlib.import_module(f"{sources.LIBRARY}.{module}")
        reached = {
            name
            for name, value in vars(loaded).items()
            if not name.startswith("_")
            and getattr(value, "__module__", "") == loaded.__name__
        }
        assert reached == set(names), module
        for name, source in names.items():
            papers = list(sources.PAPER.finditer(source))
            torch = sources.TORCH.findall(source)
            if not papers and not torch and source != sources.OWN:
                wrong.append(f"{module}.{name}: {source or 'no source'}")
            for paper in papers:
                sources.key(paper, references)
                if not PLACE.match(source, paper.end()):
                    wrong.append(f"{module}.{name}: where in {paper[0]}?")
            for path in torch:
                first, *rest = path.split(".")
                reduce(getattr, rest, sys.modules[first])
    assert not wrong


def test_a_name_without_a_source_is_found(sources: ModuleType, tmp_path) -> None:
    """Nothing in, nothing out; private names and methods need none."""
    path = tmp_path / "m.py"
    path.write_text(
        'def f():\n    """Do.\n\n    Source: this\n    course.\n    """\n\n\n'
        'def g():\n    """Do."""\n\n\ndef _h():\n    pass\n',
        encoding="utf-8",
    )
    assert dict(sources.public(path)) == {"f": "this course.", "g": ""}


@pytest.mark.parametrize(
    ("text", "expected"),
    {
        "Vaswani et al. (2017)": "vaswani2017attention",
        "the tied output: Press and Wolf (2017)": "press2017using",
        "Press, Smith and Lewis (2022)": "press2022train",
        "Cho et al. (2014)": None,  # two papers
        "Vaswani (2017)": None,  # not alone
        "Nobody et al. (2017)": None,
    }.items(),
)
def test_a_paper_is_one_entry(sources: ModuleType, text: str, expected) -> None:
    """Authors and year name one entry, or the name of the paper is refused."""
    references = parse_file(str(ROOT / sources.REFERENCES))
    match = sources.PAPER.search(text)
    if expected is None:
        with pytest.raises(LookupError):
            sources.key(match, references)
    else:
        assert sources.key(match, references) == expected
