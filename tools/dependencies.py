"""What an executed chapter depends on: the course's files that it read, and their hashes.

They were recorded while it ran, in its own process and in those that it started (see `recorder`):
an import reads a module's file, wherever in the code it stands.
"""

import hashlib
import importlib.util
import sys
from pathlib import Path

#: What decides which versions of everything else a chapter imports.
ENVIRONMENT = ("requirements.txt", "constraints.txt")
#: Made while chapters run, or never read by what a page shows.
IGNORED = ("_build", ".git", ".venv")
#: Pages are read by the build, not by one another.
PAGES = (".md", ".ipynb")


def read_files(root, log):
    """Return the files in a recorder's log: sources of compiled modules, and all of a data folder.

    Native code opens files that Python does not see (weights, tokenizers); they lie beside the
    ones that it does. Which files there are counts for whoever reads data: the folder of the root
    that holds it stands for that. A package goes before a module of its name, if one appears.
    """
    files = set()
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else ():
        path = Path(line)
        if path.suffix == ".pyc":
            path = Path(importlib.util.source_from_cache(path))
        inside = path.relative_to(root).parts
        if inside[0] in IGNORED or path.suffix in PAGES or not path.is_file():
            continue
        files.add(path)
        if path.suffix == ".py":
            files.add(path.with_suffix("") / "__init__.py")
        elif len(inside) > 1:
            files.add(root / inside[0])
            files |= {
                other
                for other in path.parent.iterdir()
                if other.is_file() and other.suffix not in (".py", *PAGES)
            }
    return files


def hashes(root, paths):
    """Return a SHA-256 by path in the course: of a file, or of the names below a folder."""
    return {path.relative_to(root).as_posix(): digest(path) for path in sorted(paths)}


def digest(path):
    """Return the SHA-256 of a file, or of the names below a folder; None where neither is.

    What lies in a folder like book/_ext makes the pages: no notebook reads it as data.
    """
    if path.is_dir():
        files = (file for file in path.rglob("*") if file.is_file())
        names = (file.relative_to(path) for file in files)
        below = sorted(
            str(name)
            for name in names
            if not any(part.startswith("_") for part in name.parent.parts)
        )
        return hashlib.sha256("\0".join(below).encode()).hexdigest()
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def collect(root, log, began):
    """Return what a notebook depends on that has been executed since ``began``, ready for JSON.

    What was written since then may not be what was read: its hash fits nothing.
    """
    found = hashes(root, read_files(root, log) | environment(root))
    for name in found:
        path = root / name
        if path.is_file() and path.stat().st_mtime >= began:
            found[name] = "written while the notebook ran"
    return {"python": sys.version, "files": found}


def environment(root):
    """Return the files that decide which libraries are installed."""
    return {root / name for name in ENVIRONMENT}


def changed(root, known):
    """Return what is not as it was when a notebook was executed, as paths; [] if nothing is.

    known: of `collect`, or None.
    """
    if not known:
        return ["(never executed)"]
    if known["python"] != sys.version:
        return ["(another Python)"]
    now = hashes(root, {root / name for name in known["files"]})
    return [name for name, found in now.items() if found != known["files"][name]]
