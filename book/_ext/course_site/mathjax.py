"""Put MathJax into the site: one file, taken from an installed package, nothing from a CDN."""

from __future__ import annotations

import shutil
from importlib import metadata
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

PACKAGE = "sphinx-mathjax-offline"
FILE = "static/mathjax/tex-svg-full.js"


def find_mathjax() -> Path:
    """Return the path of the installed MathJax bundle; raise ExtensionError where it is missing."""
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        path = Path(file.locate())
        if file.as_posix().endswith(FILE) and path.is_file():
            return path
    raise ExtensionError(
        f"MathJax is missing: the package {PACKAGE} with its file {FILE} is not installed in this "
        "environment. Run: make env EXTRAS=read"
    )


def copy_mathjax(app: Sphinx) -> None:
    """Copy the bundle to where mathjax_path points, unless the same file is there already."""
    if app.builder.format != "html":
        return
    source = find_mathjax()
    target = Path(app.outdir, "_static", app.config.mathjax_path)
    if target.is_file() and target.stat().st_size == source.stat().st_size:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def setup(app: Sphinx) -> None:
    """Copy before the first page is written: pages carry the file's checksum."""
    app.connect("builder-inited", copy_mathjax)
