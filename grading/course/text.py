"""Text of a student's, made harmless for a terminal, a table or a page."""

#: Characters kept of one cell's output.
MOST = 20_000


def clean(text: str, most: int = MOST) -> str:
    """Return text without control characters, which could play tricks on a terminal or page."""
    kept = text[:most] + ("…" if len(text) > most else "")
    odd = "\N{REPLACEMENT CHARACTER}"
    return "".join(c if c.isprintable() or c in "\n\t" else odd for c in kept)


def plain(text: str) -> str:
    """Return text of one line, which can be shown in a table."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
