"""The directive ``course-pdf``: a link to the book as a PDF, where ``make pdf`` has printed one."""

from __future__ import annotations

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

NAME = "course.pdf"


class CoursePdf(Directive):
    """Link the PDF that lies beside the pages, with its size; without one, say nothing."""

    def run(self) -> list[nodes.Node]:
        env = self.state.document.settings.env
        env.note_reread()  # whether there is one may change from build to build
        path = env.app.outdir / NAME
        if not path.is_file():
            return []
        megabytes = path.stat().st_size / 1e6
        text = f"The book as a PDF ({megabytes:.0f} MB)"
        link = nodes.reference("", text, refuri=NAME, internal=False)
        return [nodes.paragraph("", "", link, classes=["course-pdf"])]


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("course-pdf", CoursePdf)
