"""The student's page in a real browser: nothing of a submission comes to life, all can read it."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from grading.course.states import State
from grading.course.submission import Form
from grading.feedback import page
from tests.grading import helpers
from tests.grading.feedback.test_page import form, grade, page_of, standing  # noqa: F401 - a fixture
from tests.harness import sample

#: Each would do something visible if any part of a page were taken as HTML; {at} is a server.
PAYLOADS = (
    "<script>window.ran = 1; alert(1)</script>",
    "</pre></code></style></title></textarea><script src={at}/script.js></script>",
    "<img src=x onerror=\"window.ran = 1; fetch('{at}/onerror')\">",
    "<img src={at}/image.png srcset='{at}/image2.png 2x'>",
    "<svg onload=alert(1)><image href='{at}/svg.png'/><script>window.ran=1</script></svg>",
    "<a href='javascript:window.ran=1' autofocus onfocus=alert(1)>click</a>",
    "<iframe src={at}/frame srcdoc='<script>parent.ran=1</script>'></iframe>",
    "<iframe src='data:text/html,<script>alert(1)</script>'></iframe>",
    "<object data={at}/object></object><embed src={at}/embed>",
    "<meta http-equiv=refresh content='0;url={at}/refresh'>",
    "<base href='{at}/'><link rel=stylesheet href='{at}/style.css'>",
    "<style>@import '{at}/import.css'; body {{ background: url({at}/css.png) }}</style>",
    "<p style='background:url({at}/inline.png);position:fixed;inset:0'>over all</p>",
    "<form action={at}/form><button autofocus>send</button></form>",
    "<video autoplay src={at}/video onerror=alert(1)></video><audio src={at}/audio></audio>",
    "<!-- never closed <![CDATA[ <!--[if gte IE 1]><script>alert(1)</script>",
    "{{{{ 7 * 7 }}}} {{% for x in ().__class__.__base__.__subclasses__() %}}x{{% endfor %}}",
    "${{7*7}} #{{7*7}} <%= 7*7 %> {{{{ config }}}}",
    "\x1b]8;;{at}/ansi\x1b\\link\x1b]8;;\x1b\\ \x1b[2J\x1b[31mred \x07 \x00 \x9b31m",
    "\N{RIGHT-TO-LEFT OVERRIDE}tpircs\N{POP DIRECTIONAL ISOLATE} \ud83d half",
    "&lt;script&gt;alert(1)&lt;/script&gt; &#60;script&#62;alert(1) +ADw-script+AD4-alert(1)",
    "<math><mi xlink:href='javascript:alert(1)'>x</mi></math>",
    "[link](javascript:alert(1)) ![x]({at}/markdown.png) $\\href{{javascript:alert(1)}}{{x}}$",
    "'\"><body onload=alert(1) background={at}/body.png>",
)


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[tuple[str, list[str]]]:
    """A server that no page should ask for anything; yields its address and what was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        do_POST = do_GET

        def log_message(self, *args: object) -> None:
            """Keep the test output quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


def hostile(at: str) -> tuple[dict, str]:
    """Return a notebook with the payloads in every place that a student can fill, and their text.

    They are code, comments, output, messages of errors and of tests, cells of their own, ids,
    metadata and the names of cells.
    """
    text = "\n".join(payload.format(at=at) for payload in PAYLOADS)
    shown = text.encode("utf-8", "replace").decode()
    notebook = helpers.fill(
        {
            "double": f"# {shown!r}\ntext = {text!r}\nclass Got:\n"
            "    def __eq__(self, other):\n        return False\n"
            "    def __repr__(self):\n        return text\n"
            f"def double(x):\n    '''{shown.replace(chr(0), '')}'''\n    return Got()",
            "total": f"def total(values):\n    raise ValueError({text!r})",
        }
    )
    loose = sample.code(
        f"'''{shown.replace(chr(0), '')}'''\nprint(text)\nraise TypeError(text)"
    )
    loose["id"] = PAYLOADS[2].format(at=at)
    notebook["cells"].insert(helpers.place(notebook, "total"), loose)
    alien = sample.graded(PAYLOADS[0], "pass", 1)
    alien["id"] = PAYLOADS[0]
    notebook["cells"].append(alien)
    notebook["metadata"]["title"] = PAYLOADS[0]
    return notebook, text


@pytest.fixture
def opened(browser: object, tmp_path: Path) -> Iterator[object]:
    """A function that opens a page's file and notes what it asks for and what it runs."""
    context = browser.new_context(reduced_motion="reduce")

    def open_page(
        html: str, name: str = "page", **media: str
    ) -> tuple[object, list[str]]:
        path = tmp_path / f"{name}.html"
        path.write_bytes(html.encode("utf-8", "replace"))
        tab = context.new_page()
        events: list[str] = []
        tab.on("request", lambda request: events.append(f"request {request.url}"))
        tab.on("dialog", lambda dialog: (events.append("dialog"), dialog.dismiss()))
        tab.on("pageerror", lambda error: events.append(f"error {error}"))
        tab.on("console", lambda line: events.append(f"console {line.text}"))
        tab.on("popup", lambda _: events.append("popup"))
        if media:
            tab.emulate_media(**media)
        tab.goto(path.as_uri())
        tab.wait_for_timeout(300)
        return tab, [event for event in events if event != f"request {path.as_uri()}"]

    yield open_page
    context.close()


def test_nothing_of_a_submission_comes_to_life(
    form: Form,  # noqa: F811 - the fixture
    opened: object,
    elsewhere: tuple[str, list[str]],
) -> None:
    """No script, request, dialog, frame, form or link; each payload is there, as text."""
    at, asked = elsewhere
    notebook, text = hostile(at)
    result, graded = grade(form, notebook)
    assert result.state is State.SUSPECT, "the graded cell that the assignment hasn't"
    cells = json.loads(graded)
    for cell in cells["cells"]:  # what it printed, too
        if cell["cell_type"] == "code":
            cell["outputs"].insert(
                0, {"output_type": "stream", "name": "stdout", "text": text}
            )
    graded = json.dumps(cells)
    student = "<img src=x onerror=alert(1)>"
    html = page.page(standing(form, result, student=student), result, form, graded)
    tab, events = opened(html)
    tab.keyboard.press("Tab")
    tab.mouse.click(200, 200)
    tab.wait_for_timeout(300)
    assert events == []
    assert asked == []
    assert tab.evaluate("typeof window.ran") == "undefined"
    odd = tab.evaluate("""() => Array.from(window.document.querySelectorAll(
        'script,img,svg,iframe,object,embed,base,link,form,a,video,audio,math,input,button'))
        .map(node => node.outerHTML)""")
    assert odd == []
    handlers = tab.evaluate("""() => Array.from(window.document.querySelectorAll('*')).filter(
        node => node.getAttributeNames().some(name => name.startsWith('on') || name === 'style'))
        .length""")
    assert handlers == 0
    read = tab.locator("body").inner_text()
    assert student in read
    assert "It printed:" in read
    for payload in PAYLOADS[:3]:
        assert read.count(payload.format(at=at)) >= 5
    assert "{{ 7 * 7 }}" in read
    assert "49" not in read.replace(at, "")  # whose port may hold it
    assert tab.title().endswith(student)
    assert "\x1b" not in html
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in html
    assert text not in html


def test_the_policy_stops_what_would_come_through(
    form: Form,  # noqa: F811 - the fixture
    opened: object,
    elsewhere: tuple[str, list[str]],
) -> None:
    """The second wall: were a payload not escaped, it could neither run nor load anything."""
    at, asked = elsewhere
    html = page_of(form, helpers.fill(helpers.RIGHT))
    raw = "".join(
        payload.format(at=at)
        for payload in PAYLOADS
        if "refresh" not in payload and "<!--" not in payload
    )
    tab, events = opened(html.replace("<main>", f"<main>{raw}"))
    assert tab.evaluate("typeof window.ran") == "undefined"
    assert "dialog" not in events
    assert asked == []
    assert any("Content Security Policy" in event for event in events), "it was tried"
    # The page's own style sheet is allowed.
    clean, _ = opened(html, "clean")
    back = clean.evaluate(
        "() => window.getComputedStyle(window.document.body).maxWidth"
    )
    assert back == "832px"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_it(form: Form, opened: object, scheme: str) -> None:  # noqa: F811
    """No finding of axe: contrast, headings, landmarks, language; in both colour schemes."""
    notebook = helpers.fill(
        {
            **helpers.RIGHT,
            "double": "import math\n\n\n@staticmethod\ndef double(x: int):\n"
            "    '''Text.'''\n    print('x')  # why\n    return x + 2 if None else f'{x}' or 0x1f",
        }
    )
    notebook["cells"].insert(1, sample.code("lambda: 'own'"))
    tab, _ = opened(
        page_of(form, notebook, late_seconds=4000.0, late_penalty=1.0),
        color_scheme=scheme,
    )
    found = Axe().run(tab).response["violations"]
    assert [
        (one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found
    ] == []
    levels = tab.evaluate("""() => Array.from(window.document.querySelectorAll('h1,h2,h3'))
        .map(node => Number(node.tagName[1]))""")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_it_fits_a_phone(form: Form, opened: object, width: int) -> None:  # noqa: F811
    """Nothing makes the page wider than the window; long code scrolls in its own box."""
    code = "def double(x):\n    return " + "x + " * 100 + "0  # " + "y" * 300
    tab, _ = opened(page_of(form, helpers.fill({"double": code})))
    tab.set_viewport_size({"width": width, "height": 800})
    assert tab.evaluate("() => window.document.documentElement.scrollWidth") <= width
