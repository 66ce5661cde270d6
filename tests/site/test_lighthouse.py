"""The measurement of the pages' speed: what it serves, counts and refuses."""

from __future__ import annotations

import gzip
from urllib.request import Request, urlopen

import pytest

from benchmarks.lighthouse import MOST_SHIFT, elements, main, problems, served
from tests.site.pages import SITE


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


@pytest.mark.slow
@pytest.mark.usefixtures("site")
def test_elements_are_counted() -> None:
    """Of the page as it is written: a chapter has more than the landing page."""
    assert 100 < elements("index") < elements("book/02-self-attention")
