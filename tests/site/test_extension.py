"""The local Sphinx extension on small books: what it makes, and how it says what is wrong."""

from __future__ import annotations

import base64
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import docutils_namespace, patch_docutils

from tests.site.pages import ROOT

EXTENSIONS = ROOT / "book" / "_ext"
CONF = {
    "extensions": ["myst_nb", "course_site"],
    "exclude_patterns": ["out"],
    "html_theme": "basic",
    "myst_enable_extensions": [
        "amsmath",
        "colon_fence",
        "deflist",
        "dollarmath",
        "tasklist",
    ],
    "nb_execution_mode": "off",
    "numfig": True,
    "math_numfig": True,
}
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"><rect width="4"/></svg>'
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
QUIZ = """
:::{quiz}
:name: quiz-one
Is $1 + 1 = 2$?

- [ ] No

  Count again.
- [x] Yes

  One and one **are** two.
:::
"""


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A function that builds a book of the given files; returns (output folder, warnings)."""
    monkeypatch.syspath_prepend(str(EXTENSIONS))
    # What belongs to the whole site's configuration stays out of these small books.
    from course_site import loading, not_found

    monkeypatch.setattr(loading, "setup", lambda app: None)
    monkeypatch.setattr(not_found, "setup", lambda app: None)

    def run(**files: str) -> tuple[Path, str]:
        names = {name.replace("__", "/") for name in files}
        pages = [name for name in names if not name.endswith(".json")]
        listed = "\n".join(sorted(name.rsplit(".", 1)[0] for name in pages))
        toc = f"# Book\n\n```{{toctree}}\n{listed}\n```\n"
        for name, text in {**files, "index.md": toc}.items():
            path = tmp_path / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        (tmp_path / "picture.svg").write_text(PICTURE, encoding="utf-8")
        warnings = io.StringIO()
        with patch_docutils(), docutils_namespace():
            app = Sphinx(
                tmp_path,
                None,
                tmp_path / "out",
                tmp_path / "out" / "doctrees",
                "html",
                confoverrides=CONF,
                status=None,
                warning=warnings,
            )
            app.build()
        return tmp_path / "out", warnings.getvalue()

    yield run
    for name in [name for name in sys.modules if name.split(".")[0] == "course_site"]:
        del sys.modules[name]


def notebook(*cells: dict) -> str:
    """Return the text of a notebook with these cells."""
    head = {"cell_type": "markdown", "id": "head", "metadata": {}, "source": "# Title"}
    return json.dumps(
        {
            "cells": [head, *cells],
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    )


def drawing(**mystnb: dict) -> dict:
    """Return a code cell whose stored output is a picture."""
    output = {
        "output_type": "display_data",
        "data": {"image/svg+xml": PICTURE},
        "metadata": {},
    }
    return {
        "cell_type": "code",
        "id": "drawing",
        "source": "draw()",
        "execution_count": 1,
        "metadata": {"mystnb": mystnb},
        "outputs": [output],
    }


def test_other_words_of_a_section_are_searched(build, tmp_path: Path) -> None:
    """They count as words that it introduces, of that section alone."""
    from course_site.search import sections

    page = tmp_path / "page.html"
    page.write_text(
        "<article><section id=one><h1>One</h1><p>A <b>bold</b> <strong>word</strong>.</p>"
        "<section id=adding><h2>Adding</h2><p>More.</p></section></section></article>"
    )
    found = sections(page, "page.html", {"adding": ["skip connection", "shortcut"]})
    assert {one["heading"]: one["terms"] for one in found} == {
        "One": "word",
        "Adding": "skip connection, shortcut",
    }


def test_an_excerpt_has_spaces_where_a_reader_needs_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """None before a mark, but one before a name that begins with a dot."""
    monkeypatch.syspath_prepend(str(EXTENSIONS))
    from course_site.search import plain

    assert plain("( one )\n , two : a type .ipynb .") == "( one), two: a type .ipynb."


def test_other_words_for_what_is_not_there_are_named(build, tmp_path: Path) -> None:
    """A page, or a section of one, that a list of other words has."""
    words = tmp_path / "book" / "_ext" / "course_site" / "search.toml"
    words.parent.mkdir(parents=True)
    words.write_text('[one]\nlost = ["x"]\n[two]\na = ["y"]\n')
    _, warnings = build(**{"book__one.md": "# One\n\nText.\n"})
    assert "book/one has no section called lost" in warnings
    assert "there is no page called two" in warnings


def test_missing_alternative_text_names_page_and_figure(build) -> None:
    """A notebook's figure without alt is found although myst-nb fills in the file's path."""
    named = drawing(figure={"name": "fig-scores", "caption": "Scores"})
    _, warnings = build(**{"page.ipynb": notebook(named)})
    assert "page: figure 'fig-scores' has no alternative text" in warnings


@pytest.mark.parametrize(
    "text",
    ["![](picture.svg)", '<img src="picture.svg">', '<img src="picture.svg" alt="">'],
)
def test_missing_alternative_text_in_markdown(build, text: str) -> None:
    """Markdown images and raw HTML are looked at as well."""
    _, warnings = build(**{"page.md": f"# Title\n\n{text}\n"})
    assert "page: " in warnings
    assert "has no alternative text" in warnings


def test_images_with_alternative_text_pass(build) -> None:
    """No false alarm."""
    described = drawing(image={"alt": "A small square"})
    _, warnings = build(
        **{
            "page.ipynb": notebook(described),
            "other.md": (
                '# Title\n\n![A square](picture.svg)\n\n<img src="picture.svg" '
                'alt="Square">\n'
            ),
        }
    )
    assert "no alternative text" not in warnings


def test_quiz_becomes_a_form(build) -> None:
    """Radio buttons of one group, labels, an explanation each, a place for the verdict."""
    out, warnings = build(**{"page.md": f"# Title\n{QUIZ}"})
    page = (out / "page.html").read_text(encoding="utf-8")
    assert "quiz" not in warnings
    assert page.count('type="radio"') == page.count('name="quiz-one"') == 2
    assert page.count('<label for="quiz-one-') == 2
    assert page.index('data-right="false"') < page.index('data-right="true"')
    assert '<p class="quiz-verdict" role="status"></p>' in page
    assert "<strong>are</strong>" in page
    assert "checkbox" not in page


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("- [x]", "- [ ]"), "mark exactly one choice as right"),
        (("- [ ]", "- [x]"), "mark exactly one choice as right"),
        (("- [ ] No", "- No"), "every choice starts with"),
        (("\n  Count again.", ""), "has no explanation"),
        ((":name: quiz-one\n", ""), "give it a name"),
    ],
)
def test_a_quiz_that_is_wrong_says_what_is_wrong(build, change, complaint: str) -> None:
    """The build stops with the reason, not with half a quiz."""
    assert change[0] in QUIZ
    _, warnings = build(**{"page.md": f"# Title\n{QUIZ.replace(*change)}"})
    assert complaint in warnings
    assert "page.md" in warnings


def test_figures_and_equations_are_numbered_by_chapter(build) -> None:
    """Chapter 2 is chapter 2 although it is the only one; other pages count for themselves."""
    text = (
        "# Title\n\n:::{figure} picture.svg\n:name: fig-SELF\n:alt: A square\n\nText\n:::\n\n"
        "$$ x $$ (eq-SELF)\n\n{numref}`fig-chapter` and {eq}`eq-chapter`\n"
    )
    out, warnings = build(
        **{
            "aside.md": text.replace("SELF", "aside"),
            "book__02-title.md": text.replace("SELF", "chapter").replace(
                "picture", "../picture"
            ),
        }
    )
    assert not warnings
    for page in ("aside.html", "book/02-title.html"):
        html = (out / page).read_text(encoding="utf-8")
        assert "Fig. 2.1" in html
        assert ">(2.1)</a>" in html
    assert "Fig. 1" in (out / "aside.html").read_text(encoding="utf-8")
    assert "<h1>2. Title" in (out / "book" / "02-title.html").read_text(
        encoding="utf-8"
    )
    contents = (out / "index.html").read_text(encoding="utf-8")
    assert ">2. Title</a>" in contents
    assert ">Title</a>" in contents


def test_the_syllabus_links_the_chapters_that_exist(build) -> None:
    """Chapter 2 is in the book, chapter 1 is not."""
    text = "# Title\n\n:::{syllabus}\nOne\n: First.\n\nTwo\n: Second.\n:::\n"
    out, warnings = build(**{"page.md": text, "book__02-two.md": "# Two\n"})
    page = (out / "page.html").read_text(encoding="utf-8")
    assert not warnings
    one, two = (
        page.split('<ol class="syllabus">')[1].split("</ol>")[0].split("</li>")[:2]
    )
    assert ("planned" in one, "href" in one) == (True, False)
    assert 'href="book/02-two.html">Two</a>' in two
    assert '<span class="state"></span>' in two


def test_descriptions_leave_formulas_out(build) -> None:
    """What a search engine quotes is text."""
    text = "# Title\n\nShort.\n\nThe weights $\\alpha_{ij}$ of every row sum to one, as always.\n"
    out, _ = build(**{"page.md": text})
    page = (out / "page.html").read_text(encoding="utf-8")
    assert (
        '<meta name="description" content="The weights of every row sum to one' in page
    )


FORMULAS = r"""# Title

$$
\begin{aligned}
\underbrace{x}_{(B, T)} &= \begin{cases} 1 & i < j \\ 0 \end{cases} \\
y &= \begin{pmatrix} a & b \end{pmatrix}
\end{aligned}
$$ (eq-one)

\begin{align}
a &= b \\
c &= d
\end{align}

```{math}
u = v

w = \sqrt{z} \tag{7}
```

By {eq}`eq-one`, $\operatorname{softmax}(x) < 1$.

:::{figure} picture.svg
:alt: A square

Where $\alpha_{ij}$ is.
:::

| $h$ |
| --- |
| $\frac{1}{2}$ |

:::{quiz}
:name: quiz-one
Is $\lVert x \rVert$ one?

- [ ] $e^{i}$

  Not $\pi$.
- [x] No

  It is $\beta$.
:::
"""


def test_formulas_are_drawn_when_the_site_is_built(build) -> None:
    """Wherever they stand: HTML for the eye, MathML for a screen reader, no LaTeX, no script."""
    out, warnings = build(**{"page.md": FORMULAS})
    assert not warnings
    page = BeautifulSoup((out / "page.html").read_text("utf-8"), "html.parser")
    drawn = page.select(".math")
    assert len(drawn) == 11
    for formula in drawn:
        assert formula.select_one("math"), formula
        assert formula.select_one(".katex-html[aria-hidden=true]"), formula
        assert not re.search(r"\\[a-zA-Z]|[$&]", formula.text), formula.text
    assert len(page.select("div.math .katex-display")) == 3
    # Lines of `align` and of parts that an empty line divides stand below each other; what has a
    # tag is itself a row beside it.
    rows = [len(box.select("mtr")) for box in page.select(".formula-box")]
    assert rows == [5, 2, 1 + 2]
    assert "MathJax" not in str(page)


def test_equations_have_one_number_each(build) -> None:
    """Sphinx counts, also the environments that KaTeX would number by itself."""
    out, _ = build(**{"page.md": FORMULAS})
    page = BeautifulSoup((out / "page.html").read_text("utf-8"), "html.parser")
    first, second, third = page.select("div.math")
    assert first.select_one(".eqno").text.startswith("(1)")
    assert page.find("a", href=f"#{first['id']}", string="(1)")
    assert second.select_one(".eqno").text.startswith("(2)")
    assert not second.select(".eqn-num")
    assert not third.select(".eqno")
    assert "(7)" in third.text


@pytest.mark.parametrize(
    ("latex", "reason"),
    [
        (r"$\softmx(x)$", "Undefined control sequence"),
        (r"$\frac{1}$", "Unexpected end of input"),
        ("$$ä$$", "LaTeX-incompatible"),
        ("\\begin{align}\nx \\label{a}\n\\end{align}", "Undefined control sequence"),
    ],
)
def test_a_formula_that_cannot_be_drawn_is_named(
    build, latex: str, reason: str
) -> None:
    """With its file and itself; a warning is an error for `make book`."""
    _, warnings = build(**{"page.md": f"# Title\n\n{latex}\n"})
    assert "page.md:3: WARNING: page: the formula" in warnings
    assert "cannot be drawn" in warnings
    assert reason in warnings
    assert repr(" ".join(latex.strip("$").split())) in warnings


def test_formulas_are_kept_for_the_next_build(
    build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second build starts no Node.js, until there is a new formula or another KaTeX."""
    build(**{"page.md": "# Title\n\n$x$\n"})
    started = []
    real = subprocess.Popen

    def popen(command: list, *args: object, **options: object) -> subprocess.Popen:
        if str(command[0]).endswith(("node", "node.exe")):
            started.append(command)
        return real(command, *args, **options)

    monkeypatch.setattr(subprocess, "Popen", popen)
    build(**{"page.md": "# Another title\n\n$x$\n"})
    assert not started
    out, _ = build(**{"page.md": "# Title\n\n$x$ and $y$\n"})
    assert len(started) == 1
    kept = out / "doctrees" / "formulas.json"
    kept.write_text(kept.read_text("utf-8").replace('"made_by": "', '"made_by": "-'))
    build(**{"page.md": "# Another title\n\n$x$\n"})
    assert len(started) == 2


def test_the_icon_font_holds_the_icons_in_use(build) -> None:
    """And what style sheets show by number; other letters, rules and faces are gone."""
    from course_site import loading

    sheet = (
        '@font-face{font-family:A;src:url(fa-solid-900.woff2) format("woff2")}'
        '@font-face{font-family:B;src:url(fa-regular-400.woff2) format("woff2")}'
        '.fa-sun:before{content:"\\f185"}.fa-moon:before,.fa-night:before{content:"\\f186"}'
        '.fa-bars:before{content:"\\f0c9"}.arrow:after{content:"\\f107"}'
    )
    used = {"fa-solid-900": {"fa-moon"}, "fa-brands-400": set()}
    text = loading.with_icons(sheet, used)
    assert "fa-sun" not in text
    assert "fa-bars" not in text
    assert '.fa-moon:before,.fa-night:before{content:"\\f186"}' in text
    assert text.count("@font-face") == 1
    data = base64.b64decode(re.search(r"base64,([^\"]+)", text)[1])
    letters = set(TTFont(io.BytesIO(data)).getBestCmap())
    assert letters == {0xF186, 0xF107}


PREDICT = """
:::{predict}
:name: predict-one
What comes out?

- one
- *two*
:::
"""


def printing(name: str) -> dict:
    """Return a code cell whose stored output is a line."""
    return {
        "cell_type": "code",
        "id": name,
        "source": "print(1)",
        "metadata": {},
        "execution_count": 1,
        "outputs": [{"output_type": "stream", "name": "stdout", "text": "1\n"}],
    }


def test_a_guess_folds_the_next_output_and_what_gives_it_away(build) -> None:
    """The form's name is on the next cell and the blocks behind it, on no other cell."""
    asked = {"cell_type": "markdown", "id": "ask", "metadata": {}, "source": PREDICT}
    after = {
        "cell_type": "markdown",
        "id": "after",
        "metadata": {},
        "source": ":::{after-predict}\nIt is one.\n:::",
    }
    text = notebook(printing("a"), asked, printing("b"), after, printing("c"))
    out, _ = build(**{"page.ipynb": text})
    page = (out / "page.html").read_text(encoding="utf-8")
    assert page.count("predicted of-predict-one") == 2
    assert page.count('type="radio"') == 2
    cells = page.split('<div class="cell ')[1:]
    assert [cell.startswith("predicted") for cell in cells] == [False, True, False]
    assert 'class="after-predict predicted of-predict-one' in page


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PREDICT.replace(":name: predict-one\n", ""), "give it a name"),
        (PREDICT.replace("- *two*\n", ""), "at least two choices"),
    ],
)
def test_a_form_that_lacks_a_part_says_which(build, text: str, message: str) -> None:
    _, warnings = build(**{"page.md": f"# Title\n{text}\n"})
    assert message in warnings


def test_a_guess_about_nothing_fails_the_build(build) -> None:
    with pytest.raises(ExtensionError, match="predict-one: no code cell follows"):
        build(**{"page.md": f"# Title\n{PREDICT}\n"})


RECORD = {
    "id": "1-grows",
    "sentence": "it grows `for ever`.",
    "control": "the seed held fixed",
    "meaning": "points",
    "threshold": {"at_least": 0.5, "holds": "interval"},
    "seeds": [{"seed": s, "effect": -s, "seconds": 2} for s in (1, 2, 3)],
    "effect": -2,
    "interval": [-3, -1],
    "holds": False,
    "code": "0",
}


def test_a_mark_leads_to_the_claims_card(build) -> None:
    """A card has sentence, control, effect and verdict; an unknown mark is a warning."""
    out, warnings = build(
        **{
            "book__claims__01-sample.json": json.dumps({"claims": [RECORD]}),
            "claims.md": "# Claims\n\n```{claims}\n```\n",
            "page.md": "# Title\n\nSo {claim}`1-grows`, not {claim}`1-odd`.\n",
        }
    )
    page = (out / "page.html").read_text(encoding="utf-8")
    assert 'href="claims.html#claim-1-grows"' in page
    assert 'class="claim-mark"' in page
    assert "undefined label: 'claim-1-odd'" in warnings
    card = (out / "claims.html").read_text(encoding="utf-8")
    for words in (
        "<p>It grows <code",
        "the seed held fixed",
        "\N{MINUS SIGN}2",
        "it is not",
    ):
        assert words in card


def test_an_option_does_not_break_behind_its_hyphens(build) -> None:
    """Its element has a class of its own; what else has hyphens may break."""
    out, _ = build(**{"page.md": "# Title\n\n`pip -m install --index-url a-b 3 - 2`\n"})
    page = BeautifulSoup((out / "page.html").read_text(encoding="utf-8"), "html.parser")
    found = [span.text for span in page.select("code .is-option")]
    assert found == ["-m", "--index-url"]


def test_a_translator_brings_its_data_and_its_scripts(build) -> None:
    """Sizes on the page are those of the data; other pages load nothing of it."""
    directive = (
        f":::{{live-translator}} {ROOT / 'models' / 'de-en'}\n- Guten *Tag*!\n:::"
    )
    out, warnings = build(
        **{"page.md": f"# Title\n\n{directive}\n", "other.md": "# Other\n"}
    )
    assert not warnings
    data = out / "_static" / "live" / "data"
    size = sum(p.stat().st_size for p in data.glob("*.js") if p.name != "manifest.js")
    page = (out / "page.html").read_text(encoding="utf-8")
    assert f"Load the translator ({size / 1e6:.1f} MB)" in page
    assert "Guten Tag!</button>" in page
    for name in ("loader", "model", "page"):
        assert f"_static/live/{name}.js" in page
    assert "_static/live/model.js" not in (out / "other.html").read_text(
        encoding="utf-8"
    )


def test_a_translator_without_examples_says_so(build) -> None:
    directive = f":::{{live-translator}} {ROOT / 'models' / 'de-en'}\n:::"
    _, warnings = build(**{"page.md": f"# Title\n\n{directive}\n"})
    assert "expected a list of example sentences" in warnings


def test_a_heatmap_turns_all_but_its_squares_in_the_dark(build, tmp_path: Path) -> None:
    """The card, names and title; not the squares, and no number or mark on them."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    ax.imshow([[0, 1]])
    ax.set_title("a title")
    ax.text(0, 0, "0.5", color="white")
    ax.plot([0, 1], [0, 0], color="#d55e00")
    figure.savefig(tmp_path / "map.svg")
    plt.close(figure)
    (tmp_path / "photo.png").write_bytes(PIXEL)
    text = "# P\n\n![a](picture.svg) ![b](map.svg) ![c](photo.png)\n"
    out, warnings = build(**{"page.md": text})
    assert not warnings
    page = BeautifulSoup((out / "page.html").read_text(encoding="utf-8"), "lxml")
    assert {img["alt"]: img.get("class", []) for img in page("img")} == {
        "a": [],
        "b": ["turns-itself"],
        "c": ["keeps-colours"],
    }
    svg = BeautifulSoup(
        (out / "_images" / "map.svg").read_text(encoding="utf-8"), "xml"
    )
    style = svg.find("style", string=re.compile("prefers-color-scheme:dark")).string
    assert '[style*="fill: #ffffff"]:not(.as-drawn, .as-drawn *){fill:#141414!' in style
    kept = svg.select(".as-drawn")
    assert sum(bool(part.select("image")) for part in kept) == 1
    (number,) = [part for part in kept if part.get("id", "").startswith("text_")]
    assert "fill: #ffffff" in str(number)
    assert len(kept) == 3, "squares, number and line"


def test_a_colour_that_is_what_is_shown_stays_in_the_dark(
    build, tmp_path: Path
) -> None:
    """The swatch of red is red on a dark page; the box beside it is turned."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    ax.add_patch(plt.Rectangle((0, 0), 0.5, 1, facecolor="#ff0000", gid="as-drawn-1"))
    ax.add_patch(plt.Rectangle((0.5, 0), 0.5, 1, facecolor="#ff0000"))
    figure.savefig(tmp_path / "swatch.svg")
    plt.close(figure)
    out, warnings = build(**{"page.md": "# P\n\n![a](swatch.svg)\n"})
    assert not warnings
    page = BeautifulSoup((out / "page.html").read_text(encoding="utf-8"), "lxml")
    assert page.find("img", alt="a")["class"] == ["turns-itself"]
    text = (out / "_images" / "swatch.svg").read_text(encoding="utf-8")
    svg = BeautifulSoup(text, "xml")
    style = svg.find("style", string=re.compile("prefers-color-scheme:dark")).string
    assert '[style*="fill: #ff0000"]:not(.as-drawn, .as-drawn *)' in style
    (kept,) = svg.select(".as-drawn")
    assert kept["id"] == "as-drawn-1"
    assert "#ff0000" in str(kept)
    assert text.count("#ff0000") == 3, "the swatch, the box and the style"


@pytest.mark.parametrize(
    ("colour", "expected"),
    [("#ffffff", "#141414"), ("#000000", "#ebebeb"), ("#0072b2", "#4cace2")],
)
def test_colours_turn_as_by_the_style_sheets_filter(
    colour: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """White is the dark card, black is light, a hue stays."""
    monkeypatch.syspath_prepend(str(EXTENSIONS))
    from course_site.dark_figures import turned

    assert turned(colour) == expected


@pytest.mark.parametrize("there", [True, False])
def test_a_pdf_is_linked_where_there_is_one(build, tmp_path: Path, there: bool) -> None:
    (tmp_path / "out").mkdir()
    if there:
        (tmp_path / "out" / "course.pdf").write_bytes(bytes(3_000_000))
    out, warnings = build(**{"page.md": "# P\n\n```{course-pdf}\n```\n"})
    assert not warnings
    page = (out / "page.html").read_text(encoding="utf-8")
    assert ('href="course.pdf">The book as a PDF (3 MB)' in page) is there


def test_the_sitemap_has_pages_that_were_not_written_again(build, monkeypatch) -> None:
    monkeypatch.setitem(CONF, "html_baseurl", "https://example.org/course")
    build(**{"one.md": "# One\n", "two.md": "# Two\n"})
    out, _ = build(**{"one.md": "# One, changed\n", "two.md": "# Two\n"})
    text = (out / "sitemap.xml").read_text(encoding="utf-8")
    assert re.findall(r"course/(\w+)\.html", text) == ["index", "one", "two"]


def test_panels_side_by_side_are_parts_on_a_phone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut where nothing is drawn from top to bottom; a title over all, or one panel, is none."""
    import matplotlib.pyplot as plt

    monkeypatch.syspath_prepend(str(EXTENSIONS))
    from course_site.images import boxed, read

    monkeypatch.setitem(plt.rcParams, "savefig.bbox", None)  # tests before set a style

    def drawn(panels: int, title: str = "") -> Path:
        figure, axes = plt.subplots(
            1, panels, figsize=(7, 2), squeeze=False, layout="constrained"
        )
        for ax in axes[0]:
            ax.set_ylabel("share")
        if title:
            figure.suptitle(title)
        path = tmp_path / f"{panels}-{bool(title)}.svg"
        figure.savefig(path)
        plt.close(figure)
        return path

    figure, (first, second) = plt.subplots(1, 2, figsize=(7, 2), layout="constrained")
    figure.colorbar(first.imshow([[-1e5, 1e5]]), ax=first, label="attention weight")
    second.plot([0, 1], label="a name")
    figure.savefig(tmp_path / "bar.svg")
    assert len(read(tmp_path / "bar.svg").parts) == 2, "its bar stays with the map"
    figure.legend(["one long name", "another"], loc="outside upper center", ncols=2)
    figure.savefig(tmp_path / "legend.svg")
    plt.close(figure)
    assert len(read(tmp_path / "legend.svg").parts) == 1, "a legend of all is not cut"
    two, one = read(drawn(2)), read(drawn(1))
    assert [len(read(drawn(n)).parts) for n in (1, 2, 3)] == [1, 2, 3]
    assert len(read(drawn(2, "a title that goes from the one to the other")).parts) == 1
    assert two.parts[0][1] == two.parts[1][0]
    assert two.parts[1][1] == two.width == 7 * 72
    html = BeautifulSoup(boxed('<img alt="Two." src="a.svg" />', two), "html.parser")
    assert [image["alt"] for image in html.select(".figure-part img")] == ["Two.", ""]
    assert not BeautifulSoup(boxed("<img />", one), "html.parser").select(
        ".figure-part"
    )
    assert read(Path("picture.png")) is None


def test_slanting_labels_do_not_keep_panels_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below a panel they lean to its left: what counts is where their letters lie."""
    import matplotlib.pyplot as plt

    monkeypatch.syspath_prepend(str(EXTENSIONS))
    from course_site.images import read, text

    figure, axes = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
    for ax in axes:
        ax.set_xticks([0, 1], ["a long name"] * 2, rotation=40, ha="right")
    figure.savefig(tmp_path / "slant.svg")
    plt.close(figure)
    assert len(read(tmp_path / "slant.svg").parts) == 2
    for turn, span in {
        0: (100, 198),
        180: (2, 100),
        -90: (90, 102.5),
        90: (97.5, 110),
        -45: (92.9, 171.1),
        45: (98.2, 176.4),
    }.items():
        place = f"translate(100 50) rotate({turn}) scale(0.1 -0.1)"
        group = ElementTree.fromstring(
            f'<g xmlns="http://www.w3.org/2000/svg" transform="{place}">'
            '<use transform="translate(900 0)"/></g>'
        )
        size, found = text(group)
        assert size == pytest.approx(10)
        assert found == pytest.approx(span, abs=0.1)


@pytest.mark.parametrize(
    ("code", "options", "says"),
    [
        ("import math\nx = 1", {}, "Show the imports (2 lines)"),
        ("from math import pi", {}, "Show the imports (1 line)"),
        ("def f():\n    pass\nclass G: ...", {}, "Show f, G (3 lines)"),
        ("def a(): 1\ndef b(): 2\ndef c(): 3\ndef d(): 4", {}, "a, b, c and more (4"),
        ("x = 1", {}, "Show the code (1 line)"),
        ("%time x = 1", {}, "Show the code (1 line)"),
        ("import math", {"figure": {"caption": "C"}}, "Show how the figure is drawn ("),
        ("import math", {"code_prompt_show": "Show <b>"}, "Show &lt;b&gt; (1 line)"),
    ],
)
def test_a_fold_says_what_is_inside(
    build: Callable, code: str, options: dict, says: str
) -> None:
    """Or what its author says; and how many lines."""
    cell = {
        "cell_type": "code",
        "id": "one",
        "metadata": {"tags": ["hide-input"], "mystnb": options},
        "source": code,
        "execution_count": None,
        "outputs": [],
    }
    title = {"cell_type": "markdown", "id": "t", "metadata": {}, "source": "# Title"}
    kernel = {"language_info": {"name": "python", "pygments_lexer": "ipython3"}}
    notebook = {"cells": [title, cell], "metadata": kernel}
    notebook |= {"nbformat": 4, "nbformat_minor": 5}
    out, warnings = build(**{"page.ipynb": json.dumps(notebook)})
    assert not warnings
    assert says in (out / "page.html").read_text(encoding="utf-8")


PHRASES = "| is | goes in | comes out | in all |\n| - | - | - | - |\n| {0} | {1} | {1} | {1} |\n"


@pytest.mark.parametrize(
    ("table", "is_cards"),
    [
        (PHRASES.format("a", "words of one sentence"), True),
        (PHRASES.format("words of one sentence", "12"), False),
        ("| a | b | c |\n| - | - | - |\n| x | words of one sentence | y |\n", False),
        (
            "| a | b |\n| - | - |\n| x | words of one sentence, and of another one |\n",
            False,
        ),
    ],
)
def test_a_table_of_phrases_can_be_cards(
    build: Callable, table: str, is_cards: bool
) -> None:
    """Four columns of words: cells know their column, and say that they are cells."""
    out, warnings = build(**{"page.md": f"# Title\n\n{table}"})
    assert not warnings
    page = BeautifulSoup((out / "page.html").read_text(encoding="utf-8"), "html.parser")
    found = page.select_one("article table, .body table")
    assert ("is-cards" in found["class"]) == is_cards
    cells = found.select("tbody td")
    if is_cards:
        assert [cell.get("data-column") for cell in cells] == [
            None,
            *("goes in", "comes out", "in all"),
        ]
        assert {cell["role"] for cell in cells} == {"cell"}
    else:
        assert not any(cell.has_attr("data-column") for cell in cells)
