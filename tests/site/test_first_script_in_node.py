"""The script of every page's head in Node.js: the theme before the page is drawn, and what keeps.

test_behaviour.py has it in a browser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.site.document import Node, run_with_document
from tests.site.pages import ROOT

pytestmark = pytest.mark.timeout(60)

TEMPLATE = ROOT / "book" / "_templates" / "layout.html"
#: A visit: with what is kept, on a dark device or not, where keeping is allowed or not.
VISIT = """([code, kept, dark, allowed]) => {
  const root = document.documentElement;
  for (const name of ["mode", "theme", "script", "keeps"]) delete root.dataset[name];
  globalThis.window = globalThis;
  const asked = "(prefers-color-scheme: dark)";
  globalThis.matchMedia = (query) => ({ matches: dark && query === asked });
  for (const name of ["localStorage", "sessionStorage"]) {
    const get = () => {
      if (!allowed) throw new Error("not in this frame");
      return { getItem: (key) => kept[key] ?? null };
    };
    Object.defineProperty(globalThis, name, { get, configurable: true });
  }
  new Function(code)();
  const { mode, theme, script, keeps } = root.dataset;
  return [mode, theme, script, keeps ?? null];
}"""


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    """Node.js with a document."""
    with run_with_document([]) as process:
        yield process


def visit(node: Node, kept: dict, *, dark: bool, allowed: bool = True) -> list:
    """Return mode, theme, whether scripts run, and whether nothing is kept."""
    (code,) = re.findall(r"<script>(.*?)</script>", TEMPLATE.read_text(), re.DOTALL)
    assert "{{" not in code
    return node.evaluate(VISIT, [code, kept, dark, allowed])


@pytest.mark.parametrize("dark", [True, False])
@pytest.mark.parametrize("mode", [None, "auto", "light", "dark"])
def test_the_theme_is_the_readers_or_the_devices(
    node: Node, mode: str | None, dark: bool
) -> None:
    """On the first visit that of the device, afterwards what was chosen."""
    device = "dark" if dark else "light"
    theme = mode if mode in {"light", "dark"} else device
    found = visit(node, {"mode": mode} if mode else {}, dark=dark)
    assert found == [mode or "auto", theme, "on", None]


def test_where_nothing_can_be_kept_a_memory_takes_its_place(node: Node) -> None:
    """In a frame of another site: both kinds, each with its own, until the page is left."""
    assert visit(node, {}, dark=True, allowed=False) == [
        "auto",
        "dark",
        "on",
        "nothing",
    ]
    found = node.evaluate(
        """() => {
          localStorage.setItem("a", 1);
          localStorage.setItem("b", 2);
          localStorage.removeItem("b");
          const all = [localStorage.getItem("a"), localStorage.getItem("b")];
          return [...all, sessionStorage.getItem("a"), Object.keys(localStorage)];
        }"""
    )
    assert found == ["1", None, None, ["a"]]
