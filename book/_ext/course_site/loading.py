"""What a page loads: one style sheet, one deferred script, and icons cut down to those in use.

Sphinx, the theme and the extensions link some twenty files on each page, half of which block it.
Here the style sheets and the scripts that all pages share are joined (`site.css`, `site.js`). Of
Font Awesome only the letters in use stay, as a font of a few KiB within the style sheet, instead of
two fonts and a script of 1.5 MB with all of them; of the theme's rules, those that pages use. The
theme's own script is mended in one place. The search's files are left to the search page.
"""

from __future__ import annotations

import base64
import io
import re
import zlib
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any

import pydata_sphinx_theme
import pygments
from fontTools import subset
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from .styles import pruned, without_scripts, words

STYLE, SCRIPT = "site.css", "site.js"
THEMES = ("light", "dark")
THEME = Path(pydata_sphinx_theme.__file__).parent.joinpath(
    "theme", "pydata_sphinx_theme", "static"
)
#: What the theme's template links by itself: before other style sheets, and behind other scripts.
THEME_STYLES = ("basic.css", "styles/pydata-sphinx-theme.css")
THEME_SCRIPTS = ("scripts/bootstrap.js", "scripts/pydata-sphinx-theme.js")
#: Written after the pages, so that their bytes are not known yet; the second has them in its name.
LATE = ("pygments.css", "mystnb.")
#: The theme measures all code, for the tab key. What lies in a closed fold has no place yet: asking
#: for its width draws all of it, half of a chapter. It is measured when the fold opens.
THEME_FIXES = {
    ".forEach(e=>{e.tabIndex=e.scrollWidth>e.clientWidth||e.scrollHeight>e.clientHeight?0:-1})": (
        '.forEach(e=>{e.closest("details:not([open])")||'
        "(e.tabIndex=e.scrollWidth>e.clientWidth||e.scrollHeight>e.clientHeight?0:-1)})"
    ),
    'window.addEventListener("resize",t),new MutationObserver(t)': (
        'window.addEventListener("resize",t),document.addEventListener("toggle",t,!0),'
        "new MutationObserver(t)"
    ),
}
#: For searching while typing and for versions of a manual, which this site has not.
UNUSED = "DOCUMENTATION_OPTIONS."

URL = re.compile(r"""url\(\s*(["']?)(?!data:|#)([^"')]+)\1\s*\)""")
SOURCE_MAP = re.compile(r"(?://|/\*)# sourceMappingURL=\S+(?:\s*\*/)?")
FACE = re.compile(r"@font-face\s*\{[^}]*\}")
FACE_FILE = re.compile(r"(fa-[\w-]+)\.woff2")
FACE_SOURCE = re.compile(r"src:[^;}]*")
ICON_RULE = re.compile(
    r'(?<=\})((?:,?\.fa-[\w-]+:before)+)\{content:"\\([0-9a-f]+)"\}', re.I
)
ICON_NAME = re.compile(r"\.(fa-[\w-]+):before")
LETTER = re.compile(r'content:"\\(f[0-9a-f]{3})"', re.I)
CLASSES = re.compile(r'class="([^"]*\bfa[bsr-][^"]*)"')
BRANDS = {"fab", "fa-brands"}


def parts(app: Sphinx) -> tuple[list[str], list[tuple[str, str]]]:
    """Return what all pages link: style sheets, and scripts as ("file" or "text", which)."""
    builder = app.builder
    styles = [
        asset.filename.removeprefix("_static/")
        for asset in sorted(builder._orig_css_files, key=lambda a: a.priority)
        if str(asset.filename).startswith("_static/")
        and asset.attributes.get("rel", "stylesheet") == "stylesheet"
    ]
    styles = [*THEME_STYLES, *(name for name in styles if name not in THEME_STYLES)]
    scripts = []
    for asset in sorted(builder._orig_js_files, key=lambda a: a.priority):
        if asset.filename:
            scripts.append(("file", asset.filename.removeprefix("_static/")))
        elif not asset.attributes.get("body", UNUSED).startswith(UNUSED):
            scripts.append(("text", asset.attributes["body"]))
    scripts += [("file", name) for name in THEME_SCRIPTS]
    return styles, list(dict.fromkeys(scripts))


def version(app: Sphinx) -> str:
    """Return a checksum of what is joined, so that no browser shows an old one."""
    if not hasattr(app, "course_version"):
        styles, scripts = parts(app)
        static = Path(app.outdir, "_static")
        crc = zlib.crc32(pygments.__version__.encode())
        for name in [*styles, *(text for kind, text in scripts if kind == "file")]:
            crc = zlib.crc32(name.encode(), crc)
            if not name.startswith(LATE):
                crc = zlib.crc32((static / name).read_bytes(), crc)
        for module in ("loading.py", "styles.py"):
            crc = zlib.crc32(Path(__file__).with_name(module).read_bytes(), crc)
        app.course_version = f"{crc:08x}"
    return app.course_version


def link(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Leave to the page's head what only this page has; templates/layout.html links the rest."""
    if app.builder.format != "html" or "css_files" not in context:
        return
    builder = app.builder
    names = set(parts(app)[0])
    context["css_files"] = [
        asset
        for asset in context["css_files"]
        if str(asset.filename).removeprefix("_static/") not in names
    ]
    own = [asset for asset in context["script_files"] if not shared(builder, asset)]
    for asset in own:
        if asset.filename and "async" not in asset.attributes:
            asset.attributes["defer"] = "defer"
    context["script_files"] = own
    context["site_version"] = version(app)


def shared(builder: Any, asset: Any) -> bool:
    """Return whether a script is in the joined one, or of no use."""
    body = asset.attributes.get("body") or ""
    return asset in builder._orig_js_files or body.startswith(UNUSED)


def join(app: Sphinx, exception: Exception | None) -> None:
    """Write the joined files, after the theme has written its colours for code."""
    written = hasattr(app.builder, "_orig_css_files")  # or no page has changed
    if exception or app.builder.format != "html" or not written:
        return
    static = Path(app.outdir, "_static")
    styles, scripts = parts(app)
    text = "\n".join(moved(static, name) for name in styles)
    text = with_icons(text, icons(app))
    text = pruned(text, words(Path(app.outdir)))
    # Icons' letters are written as such from here on, no longer by number.
    head = f'@charset "UTF-8";\n/* {" ".join(styles)} */\n'
    (static / STYLE).write_text(head + text, encoding="utf-8")
    for theme in THEMES:
        (static / f"{theme}.css").write_text(without_scripts(text, theme), "utf-8")
    # A semicolon and a line: a file may end in a comment, or without one.
    joined = "\n;\n".join(
        (static / part).read_text(encoding="utf-8") if kind == "file" else part
        for kind, part in scripts
    )
    for theirs, ours in THEME_FIXES.items():
        if joined.count(theirs) != 1:
            raise ExtensionError(
                f"{THEME_SCRIPTS[1]} of pydata-sphinx-theme has changed: expected once "
                f"{theirs!r}; look at it and mend THEME_FIXES in {__file__}"
            )
        joined = joined.replace(theirs, ours)
    (static / SCRIPT).write_text(SOURCE_MAP.sub("", joined), encoding="utf-8")


def moved(static: Path, name: str) -> str:
    """Return a style sheet with its addresses as seen from _static/."""
    folder = PurePosixPath(name).parent
    text = (static / name).read_text(encoding="utf-8").removeprefix("\ufeff")

    def move(match: re.Match[str]) -> str:
        return f'url("{relpath(normpath(folder / match[2]))}")'

    return SOURCE_MAP.sub("", URL.sub(move, text)).replace('@charset "UTF-8";', "")


def icons(app: Sphinx) -> dict[str, set[str]]:
    """Return the names of the icons on all pages: of brands, and others."""
    found: dict[str, set[str]] = {"fa-brands-400": set(), "fa-solid-900": set()}
    for page in Path(app.outdir).rglob("*.html"):
        for classes in CLASSES.findall(page.read_text(encoding="utf-8")):
            names = set(classes.split())
            family = "fa-brands-400" if names & BRANDS else "fa-solid-900"
            found[family] |= names
    return found


def with_icons(text: str, used: dict[str, set[str]]) -> str:
    """Return the style sheet with Font Awesome reduced to the icons in ``used``."""
    letters: dict[str, set[int]] = {family: set() for family in used}

    def keep(match: re.Match[str]) -> str:
        names = set(ICON_NAME.findall(match[1]))
        for family, wanted in used.items():
            if names & wanted:
                letters[family].add(int(match[2], 16))
        return match[0] if any(names & wanted for wanted in used.values()) else ""

    text = ICON_RULE.sub(keep, text)
    # What style sheets show by its number, such as the arrows of what unfolds.
    letters["fa-solid-900"] |= {int(code, 16) for code in LETTER.findall(text)}
    written = set()

    def face(match: re.Match[str]) -> str:
        file = FACE_FILE.search(match[0])
        if not file:
            return match[0]
        family = file[1]
        if not letters.get(family) or family in written:
            return ""
        written.add(family)
        return FACE_SOURCE.sub(f"src:{font(family, letters[family])}", match[0])

    return FACE.sub(face, text)


def font(family: str, letters: set[int]) -> str:
    """Return a font with these letters alone, as an address that holds it."""
    options = subset.Options(
        flavor="woff", recalc_timestamp=False, drop_tables=["FFTM"]
    )
    source = THEME / "vendor" / "fontawesome" / "webfonts" / f"{family}.ttf"
    whole = subset.load_font(str(source), options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=letters)
    subsetter.subset(whole)
    out = io.BytesIO()
    subset.save_font(whole, out, options)
    data = base64.b64encode(out.getvalue()).decode()
    return f'url("data:font/woff;base64,{data}") format("woff")'


def setup(app: Sphinx) -> None:
    """Come after all others, for each page and at the end."""
    app.connect("html-page-context", link, priority=950)
    app.connect("build-finished", join, priority=950)
