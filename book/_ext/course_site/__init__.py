"""The course's own Sphinx extension: each module does one thing for the website."""

from __future__ import annotations

from sphinx.application import Sphinx

from . import (
    accessibility,
    alt_text,
    claims,
    course_pdf,
    dark_figures,
    descriptions,
    exercises,
    folds,
    formulas,
    images,
    live_figures,
    live_translator,
    loading,
    not_found,
    numbering,
    plain_code,
    predict,
    progress,
    quiz,
    search,
    sitemap,
    sources,
    syllabus,
    tables,
)

PARTS = (
    accessibility,
    alt_text,
    claims,
    course_pdf,
    dark_figures,
    descriptions,
    exercises,
    folds,
    formulas,
    images,
    live_figures,
    live_translator,
    loading,
    not_found,
    numbering,
    plain_code,
    predict,
    progress,
    quiz,
    search,
    sitemap,
    sources,
    syllabus,
    tables,
)


def setup(app: Sphinx) -> dict[str, object]:
    """Register every part with Sphinx."""
    # Jupyter Book always sets this value; sphinx_comments, which owns it, is left out (CDN).
    app.add_config_value("comments_config", {}, "html")
    for part in PARTS:
        part.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
