"""The pages' speed by Lighthouse: what the record says, and that it is still of these pages."""

from __future__ import annotations

import gzip
import json
from urllib.request import Request, urlopen

import pytest

from benchmarks.lighthouse import (
    DEVICES,
    MOST_SHIFT,
    PAGES,
    RECORD,
    elements,
    main,
    problems,
    served,
)
from tests.site.pages import SITE

#: By what share a page may grow until somebody has to measure it again.
GROWTH = 0.1


@pytest.fixture(scope="module")
def record() -> dict:
    """What was measured."""
    return json.loads(RECORD.read_text(encoding="utf-8"))


def test_every_page_was_fast_enough(record: dict) -> None:
    """The landing page and all chapters, on both devices."""
    assert list(record["pages"]) == PAGES
    assert all(set(DEVICES) < set(one) for one in record["pages"].values())
    assert list(problems(record)) == []
    assert record["rounds"] >= 3


def test_a_slow_page_and_one_that_jumps_are_named() -> None:
    """With what is asked of it."""
    fine = {"score": 100, "shift": 0}
    slow, jumpy = fine | {"score": 89}, fine | {"shift": MOST_SHIFT}
    pages = {
        "index": {"phone": slow, "desktop": fine},
        "book/01-a": {"phone": slow, "desktop": jumpy},
    }
    assert list(problems({"pages": pages})) == [
        "index on a phone: 89, and 90 is asked",
        f"book/01-a on a desktop: it jumps by {MOST_SHIFT}",
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("page", PAGES)
def test_no_page_has_outgrown_what_was_measured(page: str, record: dict) -> None:
    """More than a tenth more elements ask for a new record."""
    most = (1 + GROWTH) * record["pages"][page]["elements"]
    assert elements(page) <= most, "run: python -m benchmarks.lighthouse"


@pytest.mark.slow
@pytest.mark.usefixtures("site")
def test_pages_are_served_as_by_a_host() -> None:
    """Text compressed, pictures as they are, what is missing with 404."""
    with served() as base:
        with urlopen(Request(f"{base}index.html")) as answer:
            assert answer.headers["Content-Encoding"] == "gzip"
            assert gzip.decompress(answer.read()) == (SITE / "index.html").read_bytes()
        with urlopen(f"{base}_static/social-card.png") as answer:
            assert answer.headers["Content-Encoding"] is None
        with pytest.raises(OSError, match="404"):
            urlopen(f"{base}missing.html")


def test_no_rounds_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """With what was expected."""
    with pytest.raises(SystemExit):
        main(["--rounds", "0"])
    assert "expected at least 1, got 0" in capsys.readouterr().err
