"""What an environment would hold that has some packages and what they pull in, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

#: Runs in a process of its own: no other package can be imported, no file below `root` opened.
#: What each program would load is loaded once; each is a fork, with its stderr in a file.
PROGRAM = """
import json, os, sys
given = json.load(sys.stdin)
class Without:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, path=None, target=None):
        return None if name in given["missing"] else self.finder.find_spec(name, path, target)
sys.meta_path[:] = map(Without, sys.meta_path)
def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], str):
        path = os.path.realpath(arguments[0])
        if path.startswith(given["root"] + os.sep) and not path.startswith(given["environment"]):
            raise PermissionError(f"reads {path}")
sys.addaudithook(watch)
for module in given["first"]:
    __import__(module)
for title, cells in given["programs"].items():
    if os.fork():
        os.wait()
        continue
    os.mkdir(title)
    os.chdir(title)
    os.dup2(os.open("stderr", os.O_CREAT | os.O_WRONLY), 2)
    names = {"__name__": "__main__"}
    for number, cell in enumerate(cells):
        exec(compile(cell, f"cell {number}", "exec"), names)
    print("all cells ran", file=open("ended", "w"))
    break
"""


def packages(names: Iterable[str]) -> set[str]:
    """Return the packages that these names of requirements bring in on this machine."""
    waiting = [Requirement(name) for name in names]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        wanted = waiting.pop()
        key = canonicalize_name(wanted.name), frozenset(wanted.extras)
        if key in seen:
            continue
        try:
            pulled = [Requirement(line) for line in requires(wanted.name) or ()]
        except PackageNotFoundError:  # for another system, or a GPU
            continue
        seen.add(key)
        waiting += [
            other
            for other in pulled
            if other.marker is None
            or any(
                other.marker.evaluate({"extra": extra})
                for extra in wanted.extras or {""}
            )
        ]
    return {name for name, _ in seen}


def modules(names: Iterable[str]) -> tuple[set[str], set[str]]:
    """Return the modules that these requirements bring, and those of all other packages."""
    there = packages(names)
    owned = packages_distributions()
    brought = {
        module
        for module, owners in owned.items()
        if any(canonicalize_name(owner) in there for owner in owners)
    }
    return brought, owned.keys() - brought


def run(
    names: Iterable[str],
    programs: Mapping[str, list[str]],
    folder: Path,
    root: Path,
    first: Iterable[str] = (),
) -> dict[str, str | None]:
    """Execute programs, with these requirements and no file below `root`.

    Args:
        names: the requirements.
        programs: the cells of each, by its title.
        folder: empty; each program has a folder of its own in it.
        root: the course.
        first: modules that are imported before any of them.

    Returns:
        What a program that failed said on stderr, by title; None for one that ran to its end.

    """
    rooms = {path.stem for path in root.iterdir()}
    given = {
        "missing": sorted(modules(names)[1] | rooms),
        "first": list(first),
        "programs": programs,
        "root": str(root.resolve()),
        "environment": str(Path(sys.prefix).resolve()),
    }
    done = subprocess.run(
        [sys.executable, "-I", "-c", PROGRAM],
        input=json.dumps(given),
        cwd=folder,
        text=True,
        capture_output=True,
        check=False,
        timeout=300,
        env={"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg", "MPLCONFIGDIR": str(folder)},
    )
    assert done.returncode == 0, done.stderr
    return {
        title: None
        if (folder / title / "ended").exists()
        else (folder / title / "stderr").read_text(encoding="utf-8")
        for title in programs
    }
