"""Live figures: data for a script in book/assets/live/figures/, and what stands there without it.

A chapter's cell ends in ``live_figure("masks", data, ...)``. The site loads the script of that
name (course_site.live_figures); without JavaScript, and in JupyterLab, the drawing and the table
stay.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Sequence
from html import escape

import matplotlib.pyplot as plt
from IPython.display import HTML
from matplotlib.axes import Axes


def live_figure(
    name: str,
    data: dict,
    *,
    draw: Callable[[Axes], None],
    size: tuple[float, float],
    alt: str,
    table: tuple[Sequence[str], Sequence[Sequence[object]]],
) -> HTML:
    """Return the element that the script ``name`` brings to life.

    data: what the script works on, as JSON. draw: draws the still figure, of ``size`` inches, on
    the axes it is given. alt: what one sees there. table: a header, and rows whose first entry
    names the row; floats are shown with three digits after the point.
    Raises ValueError for a missing alt, a row of another length than the header, or data that
    hold NaN or infinity, which JSON has not.
    """
    header, rows = table
    if not alt.strip():
        raise ValueError("alt: expected words for what one sees, got none")
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"table: expected {len(header)} entries a row, got {row}")
    # "<" is written so that no text of the data can end the script element.
    text = json.dumps(data, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    return HTML(
        f'<div class="live-figure" data-live="{escape(name)}">'
        f'<script type="application/json">{text}</script>'
        f'<img src="data:image/svg+xml;base64,{picture(draw, size)}" alt="{escape(alt)}">'
        f"{table_html(header, rows)}</div>"
    )


def picture(draw: Callable[[Axes], None], size: tuple[float, float]) -> str:
    """Return the drawing as an SVG in base64."""
    figure, ax = plt.subplots(figsize=size)
    draw(ax)
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    plt.close(figure)  # or the notebook shows it a second time
    return base64.b64encode(out.getvalue()).decode()


def table_html(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table with named columns and rows."""

    def cell(value: object) -> str:
        return f"{value:.3f}" if isinstance(value, float) else escape(str(value))

    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    body = "".join(
        f'<tr><th scope="row">{cell(row[0])}</th>'
        + "".join(f"<td>{cell(value)}</td>" for value in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        '<table class="table dataframe">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
