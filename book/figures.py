"""One look for every figure of the book, and the few shapes its diagrams are drawn with.

Use it from a chapter's first code cell::

    from book.figures import PALETTE, set_style
    set_style()
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle
from matplotlib_inline.backend_inline import set_matplotlib_formats

# Okabe and Ito's eight colours, which stay apart in every common kind of colour blindness.
PALETTE = {
    "blue": "#0072B2",
    "orange": "#E69F00",
    "green": "#009E73",
    "vermilion": "#D55E00",
    "purple": "#CC79A7",
    "sky": "#56B4E9",
    "yellow": "#F0E442",
    "black": "#000000",
    "grey": "#6B7280",
}

# What a colour means in the diagrams of every chapter.
ROLES = {
    "input": PALETTE["grey"],
    "query": PALETTE["blue"],
    "key": PALETTE["vermilion"],
    "value": PALETTE["green"],
    "weights": PALETTE["purple"],
    "output": PALETTE["sky"],
}

# Inches. A drawing no wider than this, with letters of 9 points, fits a phone's column as it is;
# panels side by side may be wider together: the site shows them one below the other there.
WIDTH = 4.3
SEQUENTIAL = "cividis"
DIVERGING = "PuOr"


def set_style() -> None:
    """Make every figure an SVG on a white card, in the book's fonts and colours."""
    cycle = [
        PALETTE[name]
        for name in ("blue", "vermilion", "green", "purple", "orange", "sky")
    ]
    mpl.rcParams.update(
        {
            "figure.figsize": (WIDTH, 3.4),
            "figure.facecolor": "white",
            "figure.constrained_layout.use": True,
            "savefig.facecolor": "white",
            "savefig.bbox": "tight",
            "savefig.pad_inches": 0.05,  # a phone shows it from edge to edge
            "font.family": "sans-serif",
            "font.sans-serif": [
                "DejaVu Sans"
            ],  # comes with matplotlib: the same everywhere
            "font.size": 10,
            "axes.titlesize": 11,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.titlepad": 10,
            "axes.labelsize": 10,
            "axes.edgecolor": "#4B5563",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "axes.prop_cycle": mpl.cycler(color=cycle),
            "grid.color": "#E5E7EB",
            "grid.linewidth": 0.8,
            "xtick.color": "#374151",
            "ytick.color": "#374151",
            "xtick.labelsize": 9,
            "ytick.labelsize": 9,
            "lines.linewidth": 2.0,
            "lines.markersize": 6,
            "legend.frameon": False,
            "legend.fontsize": 9,
            "image.cmap": SEQUENTIAL,
            "svg.fonttype": "path",
            "svg.hashsalt": "attention",
            "mathtext.fontset": "dejavusans",
        }
    )
    set_matplotlib_formats("svg", metadata={"Date": None})


def heatmap(
    ax: Axes,
    weights,
    columns: Sequence[str],
    rows: Sequence[str],
    *,
    xlabel: str = "key (the word looked at)",
    ylabel: str = "query (the word that asks)",
    title: str = "",
    vmin: float = 0.0,
    vmax: float | None = None,
    cmap: str = SEQUENTIAL,
    annotate: str | None = None,
    colorbar: str | None = "attention weight",
) -> None:
    """Draw a (rows, columns) matrix as labelled squares: one row a query, one column a key.

    ``annotate`` is a format such as ``"{:.2f}"`` that writes each value in its square, and
    ``colorbar`` the label of the colour scale, or None for no scale. A matrix of another shape
    than its labels raises ValueError.
    """
    matrix = np.asarray(
        weights.detach() if hasattr(weights, "detach") else weights, dtype=float
    )
    if matrix.shape != (len(rows), len(columns)):
        raise ValueError(
            f"weights: expected shape {(len(rows), len(columns))} (rows, columns), "
            f"got {matrix.shape}"
        )
    image = ax.imshow(matrix, cmap=cmap, vmin=vmin, vmax=vmax, interpolation="nearest")
    ax.set_xticks(
        range(len(columns)), columns, rotation=40, ha="right", rotation_mode="anchor"
    )
    ax.set_yticks(range(len(rows)), rows)
    ax.set(xlabel=xlabel, ylabel=ylabel, title=title)
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    # White lines between the squares, drawn as the grid of the minor ticks.
    ax.set_xticks(np.arange(-0.5, len(columns)), minor=True)
    ax.set_yticks(np.arange(-0.5, len(rows)), minor=True)
    ax.grid(visible=True, which="minor", color="white", linewidth=1.2)
    ax.tick_params(which="minor", length=0)
    if annotate:
        for (i, j), number in np.ndenumerate(matrix):
            red, green, blue, _ = image.cmap(image.norm(number))
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
            ax.text(
                j,
                i,
                annotate.format(number),
                ha="center",
                va="center",
                fontsize=9,
                color="white" if dark else "black",
            )
    if colorbar:
        bar = ax.figure.colorbar(image, ax=ax, fraction=0.046, pad=0.03)
        bar.set_label(colorbar)
        bar.outline.set_visible(False)


def seed_dots(
    ax: Axes,
    x: float,
    values: Sequence[float],
    color: str = PALETTE["grey"],
    *,
    spread: float = 0.12,
    label: str | None = None,
    flat: bool = False,
    **style,
) -> None:
    """Draw a dot for each seed's value side by side around ``x``, and a line at their mean.

    ``values`` are those of a claim's record, ``book.claims.numbers(id, name)``; ``spread`` is the
    width of the row of dots, in units of the x axis. With ``flat`` the axes change places: the
    values run to the right, and ``x`` is a row, which has room for a long name.
    """
    values = np.asarray(values, dtype=float)
    places = x + np.linspace(-spread, spread, len(values)) if len(values) > 1 else [x]
    dots = {"s": 14, "alpha": 0.55, "linewidths": 0, "zorder": 3} | style
    across, up = (values, places) if flat else (places, values)
    ax.scatter(across, up, color=color, label=label, **dots)
    line = ax.vlines if flat else ax.hlines
    line(values.mean(), x - spread, x + spread, color=color, linewidth=1.4)


def seed_band(
    ax: Axes,
    xs: Sequence[float],
    values,
    color: str = PALETTE["grey"],
    *,
    label: str | None = None,
    line: str = "-",
) -> None:
    """Draw the mean of several seeds against ``xs``, and the band from lowest to highest seed.

    ``values`` are (points, seeds), a row for each of ``xs``; another number of rows raises
    ValueError.
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 2 or len(values) != len(xs):
        raise ValueError(
            f"values: expected shape ({len(xs)}, seeds), got {values.shape}"
        )
    low, high = values.min(axis=1), values.max(axis=1)
    ax.fill_between(xs, low, high, color=color, alpha=0.18, linewidth=0)
    ax.plot(xs, values.mean(axis=1), line, color=color, label=label)


def canvas(width: float, height: float, units: tuple[float, float]) -> Axes:
    """An empty axis for a diagram: ``width`` by ``height`` inches, measured in ``units``."""
    _, ax = plt.subplots(figsize=(width, height))
    ax.set(xlim=(0, units[0]), ylim=(0, units[1]))
    ax.axis("off")
    return ax


def box(
    ax: Axes,
    x: float,
    y: float,
    width: float,
    height: float,
    text: str,
    color: str,
    *,
    fill: float = 0.14,
    fontsize: float = 10,
    **text_style,
) -> None:
    """A rounded box with its lower left corner at (x, y) and ``text`` in its middle."""
    ax.add_patch(
        FancyBboxPatch(
            (x, y),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=0.12",
            facecolor=mpl.colors.to_rgba(color, fill),
            edgecolor=color,
            linewidth=1.4,
        )
    )
    ax.text(
        x + width / 2,
        y + height / 2,
        text,
        ha="center",
        va="center",
        fontsize=fontsize,
        **text_style,
    )


def arrow(
    ax: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    *,
    color: str = "#4B5563",
    width: float = 1.4,
    bend: float = 0.0,
    alpha: float = 1.0,
    head: float = 10,
    gap: float = 2,
) -> None:
    """An arrow from ``start`` to ``end``; ``bend`` curves it, ``gap`` keeps its ends clear."""
    ax.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle=f"-|>,head_length={head / 25},head_width={head / 50}",
            mutation_scale=12,
            connectionstyle=f"arc3,rad={bend}",
            color=color,
            linewidth=width,
            alpha=alpha,
            shrinkA=gap,
            shrinkB=gap,
        )
    )


def matrix(
    ax: Axes,
    x: float,
    y: float,
    rows: int,
    columns: int,
    color: str,
    *,
    cell: float = 0.3,
    name: str = "",
    shape: str = "",
    values=None,
    highlight: int | None = None,
) -> tuple[float, float]:
    """A grid of ``rows`` x ``columns`` cells with its lower left corner at (x, y).

    ``name`` stands above it and ``shape`` below. ``values`` in [0, 1] shade the cells, and
    ``highlight`` frames one row. Returns the grid's width and height.
    """
    width, height = columns * cell, rows * cell
    for i in range(rows):
        for j in range(columns):
            strength = 0.22 if values is None else 0.06 + 0.86 * float(values[i][j])
            ax.add_patch(
                Rectangle(
                    (x + j * cell, y + height - (i + 1) * cell),
                    cell,
                    cell,
                    facecolor=mpl.colors.to_rgba(color, strength),
                    edgecolor="white",
                    linewidth=1.0,
                )
            )
    ax.add_patch(
        Rectangle(
            (x, y), width, height, facecolor="none", edgecolor=color, linewidth=1.4
        )
    )
    if highlight is not None:
        ax.add_patch(
            Rectangle(
                (x, y + height - (highlight + 1) * cell),
                width,
                cell,
                facecolor="none",
                edgecolor="black",
                linewidth=1.8,
                zorder=5,
            )
        )
    ax.text(
        x + width / 2,
        y + height + 0.14,
        name,
        ha="center",
        va="bottom",
        fontsize=12,
        color="black",
    )
    ax.text(
        x + width / 2,
        y - 0.14,
        shape,
        ha="center",
        va="top",
        fontsize=9,
        color="#374151",
    )
    return width, height
