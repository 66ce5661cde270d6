"""Run the checks: ``make test`` (all) or ``make check`` (the fast part)."""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

import psutil

ROOT = Path(__file__).resolve().parent.parent
NBVAL = [
    "--nbval",
    "--nbval-current-env",
    "--nbval-cell-timeout",
    "120",
    "--nbval-sanitize-with",
    "tests/nbval_sanitize.cfg",
]
# The plugin: xdist's own scheduler waits for ever after a test that ends its worker.
SCHEDULED = ["-p", "tests.harness.scheduling", "--dist", "loadscope"]
PARALLEL = ["-n", "2", *SCHEDULED]
# Many tests wait, for a browser or a time limit: a third process uses what two leave idle.
# conftest.py has the longest files first; xdist by itself begins with those of many tests.
WAITING = ["-n", "3", *SCHEDULED, "--no-loadscope-reorder"]

# Which room may import which; no folder of its own beside the others.
QUIET = ["--no-cache", "--no-logo"]

#: Minutes after which a step hangs: several times what it takes on two cores.
MINUTES = {
    "lint": 5,
    "format": 5,
    "rooms": 5,
    "claims": 10,
    "version": 5,
    "mutants": 5,
    "book": 40,
    "solutions, cell by cell": 20,
    "tests": 60,
    "unchanged tests": 60,
}


#: Steps that run beside the next one, and are told about after it: the book is executed by two
#: processes, but written by one, and what follows the claims begins with one.
BESIDE = {"claims", "book"}


def steps(fast, release=False, anew=False):
    """Return (title, command) pairs, cheapest first.

    A release allows no stale claim. With ``anew``, or for a release, also those tests are run that
    nothing has changed for since they passed (tests/harness/unchanged.py).
    """
    python = sys.executable
    pytest = [python, "-m", "pytest"]
    first = [
        ("lint", [python, "-m", "ruff", "check", "."]),
        ("format", [python, "-m", "ruff", "format", "--check", "."]),
        ("rooms", [str(Path(python).with_name("lint-imports")), *QUIET]),
        (
            "claims",
            [python, "-m", "tools.check_claims", *(["--strict"] if release else [])],
        ),
    ]
    if release:
        first.append(("version", [python, "-m", "tools.check_version"]))
        record = ["--record", "tests/mutants.json", "--fits"]
        first.append(("mutants", [python, "-m", "tests.harness.mutants", *record]))
    if fast:
        return [*first, ("tests", [*pytest, *PARALLEL, "-m", "not slow", "tests"])]
    # -rs: how many are left out, and why.
    unchanged = [] if release or anew else ["--skip-unchanged", "-rs"]
    return [
        *first,
        ("book", [python, "-m", "tools.build_book"]),
        ("solutions, cell by cell", [*pytest, *PARALLEL, *NBVAL, "solutions"]),
        ("tests", [*pytest, *WAITING, *unchanged, "--durations=30", "tests"]),
    ]


def unchanged_step():
    """Return the step that runs what tests/unchanged.json does not fit, and writes it."""
    pytest = [sys.executable, "-m", "pytest", *WAITING]
    options = ["-m", "reads", "--skip-unchanged", "--record-unchanged"]
    return "unchanged tests", [*pytest, *options, "tests"]


def run(command, minutes, output: IO | None = None):
    """Run a command; return its exit status, or None where it had to be ended.

    Each Python process of one that is ended prints where it stands first. With ``output``, a file,
    all that it says goes there.
    """
    environment = {**os.environ, "PYTHONFAULTHANDLER": "1"}
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=output,
        stderr=output and subprocess.STDOUT,
    )
    try:
        return process.wait(60 * minutes)
    except subprocess.TimeoutExpired:
        top = psutil.Process(process.pid)
        family = [*top.children(recursive=True), top]
        print(
            f"\n== Not ended within {minutes} minutes. What was running, and where it stood:",
            file=sys.stderr,
        )
        for member in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                print(
                    f"  {member.pid}: {' '.join(member.cmdline())[:200]}",
                    file=sys.stderr,
                )
        # One at a time, or they would write into each other's lines.
        for member in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                if "python" in member.name():
                    member.send_signal(signal.SIGABRT)
                    psutil.wait_procs([member], timeout=5)
        for member in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()
        psutil.wait_procs(family, timeout=5)
        return None
    except BaseException:
        process.terminate()
        process.wait()
        raise


def main(argv=None):
    """Command line; returns the exit status, 1 when any step failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--fast", action="store_true", help="the part for each edit")
    which.add_argument(
        "--release",
        action="store_true",
        help="all, fresh claims, version and changelog",
    )
    which.add_argument(
        "--anew", action="store_true", help="all, also what has not changed"
    )
    which.add_argument(
        "--unchanged",
        action="store_true",
        help="run what tests/unchanged.json does not fit, and write it",
    )
    args = parser.parse_args(argv)
    failed = []

    def do(title, command, output=None):
        began = time.perf_counter()
        status = run(command, MINUTES[title], output)
        return status, time.perf_counter() - began

    def tell(title, status, seconds):
        ended = (
            "ended, since it hung"
            if status is None
            else "failed"
            if status
            else "passed"
        )
        print(f"== {title}: {ended} ({seconds:.0f} s)", flush=True)
        if status != 0:
            failed.append(title)  # go on: the later steps say what else is wrong

    beside = []

    def settle():
        while beside:
            title, future, output = beside.pop(0)
            print(f"== {title}", flush=True)
            status, seconds = future.result()
            output.seek(0)
            print(output.read(), end="", flush=True)
            tell(title, status, seconds)

    with ThreadPoolExecutor() as pool, contextlib.ExitStack() as stack:
        for title, command in (
            [unchanged_step()]
            if args.unchanged
            else steps(args.fast, args.release, args.anew)
        ):
            if title in BESIDE:
                output = stack.enter_context(tempfile.TemporaryFile("w+"))
                beside.append((title, pool.submit(do, title, command, output), output))
                continue
            print(f"== {title}", flush=True)
            tell(title, *do(title, command))
            settle()
        settle()
    if failed:
        print(f"Failed: {', '.join(failed)}.")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
