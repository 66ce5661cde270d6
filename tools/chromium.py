"""Where Chromium is: for the PDF, and for tests in a browser."""

from pathlib import Path

#: A distribution's own, the lightest first: Debian's shell draws no windows. Where there is none,
#: playwright looks for its own copy.
PLACES = (
    "/usr/bin/chromium-headless-shell",
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
)
INSTALL = (
    "install Debian's chromium-headless-shell or chromium, "
    "or: python -m playwright install chromium"
)


def find() -> str | None:
    """Return the path of a Chromium, or None for playwright's own."""
    return next((path for path in PLACES if Path(path).exists()), None)
