"""Run the checks: ``make test`` (all) or ``make check`` (the fast part)."""

import argparse
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NBVAL = ["--nbval", "--nbval-current-env", "--nbval-cell-timeout", "120",
         "--nbval-sanitize-with", "tests/nbval_sanitize.cfg"]
PARALLEL = ["-n", "2", "--dist", "loadscope"]
# Many tests wait, for a browser or a time limit: a third process uses what two leave idle.
WAITING = ["-n", "3", "--dist", "loadscope"]


def steps(fast):
    """Return (title, command) pairs, cheapest first."""
    python = sys.executable
    pytest = [python, "-m", "pytest"]
    first = [
        ("lint", [python, "-m", "ruff", "check", "."]),
        ("notebooks", [python, "-m", "tools.check_notebooks"]),
    ]
    if fast:
        return [*first, ("tests", [*pytest, *PARALLEL, "-m", "not slow", "tests"])]
    return [
        *first,
        ("book", [python, "-m", "tools.build_book"]),
        ("solutions, cell by cell", [*pytest, *PARALLEL, *NBVAL, "solutions"]),
        ("tests", [*pytest, *WAITING, "--durations=30", "tests"]),
    ]


def main(argv=None):
    """Command line; returns the exit status, 1 when any step failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fast", action="store_true", help="the part for each edit")
    arguments = parser.parse_args(argv)
    failed = []
    for title, command in steps(arguments.fast):
        print(f"== {title}", flush=True)
        began = time.perf_counter()
        status = subprocess.run(command, check=False, cwd=ROOT).returncode
        print(f"== {title}: {'failed' if status else 'passed'} "
              f"({time.perf_counter() - began:.0f} s)", flush=True)
        if status:
            failed.append(title)  # go on: the later steps say what else is wrong
    if failed:
        print(f"Failed: {', '.join(failed)}.")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
