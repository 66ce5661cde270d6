"""Execute the chapters and build the website, strictly: ``make book``.

Chapters run in parallel and only when something they depend on has changed: the cache's key
is a chapter's code and cell metadata, and the cache itself is named by a hash of everything
that a chapter may import or read.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import yaml
from jupyter_cache import get_cache

from tools.execution import LastFirstExecutor

ROOT = Path(__file__).resolve().parent.parent
# Rooms a chapter may import from or read; a change there makes every chapter run again.
READ_BY_CHAPTERS = ("transformer", "translator", "models", "book")
CELL_TIMEOUT = 600
CACHES_KEPT = 3


def library_hash(root):
    """Return a short hash of the code and data that chapters depend on."""
    digest = hashlib.sha256(sys.version.encode())
    files = [root / "requirements.txt", root / "constraints.txt"]
    for room in READ_BY_CHAPTERS:
        files += sorted(path for path in (root / room).rglob("*")
                        if path.is_file() and "__pycache__" not in path.parts)
    for path in files:
        inside = path.relative_to(root)
        # The site's own pages, looks and extensions do not change what a chapter computes.
        if inside.parts[0] == "book" and (path.suffix != ".py" or "_ext" in inside.parts):
            continue
        digest.update(str(inside).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def pages(root):
    """Return the table of contents' notebooks that are executed, in order."""
    found = []

    def walk(entry):
        if "file" in entry or "root" in entry:
            found.append(entry.get("file", entry.get("root")))
        for key in ("parts", "chapters", "sections", "subtrees", "entries"):
            for child in entry.get(key, []):
                walk(child)

    walk(yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8")))
    notebooks = [root / name if name.endswith(".ipynb") else root / f"{name}.ipynb"
                 for name in found]
    return [path for path in notebooks
            if path.exists() and path.relative_to(root).parts[0] != "exercises"]


def execute(root, cache_path, notebooks):
    """Execute what the cache at ``cache_path`` lacks; return the failures as (path, traceback)."""
    cache = get_cache(str(cache_path))
    wanted = {str(path): path for path in notebooks}
    for record in cache.list_project_records():
        if record.uri not in wanted:
            cache.remove_nb_from_project(record.pk)
    for path in notebooks:
        cache.add_nb_to_project(str(path), read_data={"name": "nbformat", "type": "plugin"})
    waiting = [record.uri for record in cache.list_unexecuted()]
    if not waiting:
        print(f"All {len(notebooks)} notebooks are in the cache.", flush=True)
        return []
    print(f"Executing {len(waiting)} of {len(notebooks)} notebooks, "
          f"{os.cpu_count()} at a time ...", flush=True)
    began = time.perf_counter()
    LastFirstExecutor(cache).run_and_cache(filter_uris=waiting, timeout=CELL_TIMEOUT)
    print(f"Executed in {time.perf_counter() - began:.0f} s.", flush=True)
    failures = []
    for record in cache.list_project_records():
        if record.uri in waiting and cache.get_cached_project_nb(record.uri) is None:
            failures.append((wanted[record.uri], record.traceback))
    return failures


def prepare_cache(root):
    """Return the folder of the cache for the present library; forget the oldest others."""
    folder = root / "_build" / "execution"
    path = folder / library_hash(root)
    path.mkdir(parents=True, exist_ok=True)
    os.utime(path)
    by_age = sorted(folder.iterdir(), key=lambda p: p.stat().st_mtime, reverse=True)
    for old in by_age[CACHES_KEPT:]:
        shutil.rmtree(old)
    return path


def write_config(root, cache_path):
    """Write _build/config.yml: _config.yml with the cache filled in, and paths made absolute."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    config.setdefault("execute", {}).update(execute_notebooks="cache", cache=str(cache_path))
    extensions = config.get("sphinx", {}).get("local_extensions", {})
    for name, folder in extensions.items():  # looked up from the folder of the configuration
        extensions[name] = str(root / folder)
    path = root / "_build" / "config.yml"
    path.write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return path


def build(root, config):
    """Run Jupyter Book with warnings as errors and nit-picky references."""
    program = Path(sys.executable).with_name("jupyter-book")
    command = [program, "build", root, "--config", config, "-W", "-n", "--keep-going", "--all",
               "--quiet"]
    return subprocess.run(command, check=False, cwd=root).returncode


def main(argv=None):
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=ROOT)
    arguments = parser.parse_args(argv)
    root = arguments.root.resolve()
    began = time.perf_counter()
    # Figures and pages carry this date instead of today's, so that a build repeats.
    os.environ.setdefault("SOURCE_DATE_EPOCH", "1767225600")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    cache_path = prepare_cache(root)
    failures = execute(root, cache_path, pages(root))
    for path, traceback in failures:
        print(f"\n{path.relative_to(root)} failed:\n{traceback}", file=sys.stderr)
    if failures:
        names = ", ".join(str(path.relative_to(root)) for path, _ in failures)
        print(f"The book was not built: look above for what failed in {names}.", file=sys.stderr)
        return 1
    status = build(root, write_config(root, cache_path))
    if status:
        print("The book was not built: mend the warnings above (each is an error).",
              file=sys.stderr)
        return status
    site = root / "_build" / "html" / "index.html"
    print(f"Built in {time.perf_counter() - began:.0f} s. The site: {site}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
