"""Execute the chapters and build the website, strictly: ``make book``.

Chapters run in parallel, and only when their code, or something that they import or read, has
changed (see `dependencies`). Pages are written again only when they, or something that all pages
share, have changed.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import yaml
from jupyter_cache import get_cache

from deploy.repositories import holds_answers
from tools import dependencies
from tools.execution import LastFirstExecutor

ROOT = Path(__file__).resolve().parent.parent
#: Its table is of all pages: it is written again whatever else is.
STATUS = Path("book/status.ipynb")
#: The first heading of a page, in Markdown or in a notebook's JSON.
TITLE = re.compile(r'^[\s"]*# (.*?)(?:\\n)?"?,?$', re.MULTILINE)
CELL_TIMEOUT = 600


def pages(root):
    """Return the table of contents' notebooks that are executed, in order."""
    names = toc(root)
    notebooks = [
        root / name if name.endswith(".ipynb") else root / f"{name}.ipynb"
        for name in names
    ]
    return [
        path
        for path in notebooks
        if path.exists() and path.relative_to(root).parts[0] != "exercises"
    ]


def toc(root):
    """Return the names in the table of contents, in order."""
    found = []

    def walk(entry):
        if "file" in entry or "root" in entry:
            found.append(entry.get("file", entry.get("root")))
        for key in ("parts", "chapters", "sections", "subtrees", "entries"):
            for child in entry.get(key, []):
                walk(child)

    walk(yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8")))
    return found


def execute(root, cache_path, notebooks):
    """Execute what the cache at ``cache_path`` lacks.

    Returns the notebooks that were executed, and the failures as (path, traceback).
    """
    cache = get_cache(str(cache_path))
    wanted = {str(path): path for path in notebooks}
    for record in cache.list_project_records():
        if record.uri not in wanted:
            cache.remove_nb_from_project(record.pk)
    for path in notebooks:
        cache.add_nb_to_project(
            str(path), read_data={"name": "nbformat", "type": "plugin"}
        )
        forget_stale(root, cache, path)
    waiting = [record.uri for record in cache.list_unexecuted()]
    if not waiting:
        print(f"All {len(notebooks)} notebooks are in the cache.", flush=True)
        return [], []
    print(
        f"Executing {len(waiting)} of {len(notebooks)} notebooks, "
        f"{os.cpu_count()} at a time ...",
        flush=True,
    )
    began = time.perf_counter()
    LastFirstExecutor(cache, root).run_and_cache(
        filter_uris=waiting, timeout=CELL_TIMEOUT
    )
    print(f"Executed in {time.perf_counter() - began:.0f} s.", flush=True)
    failures = []
    for record in cache.list_project_records():
        if record.uri in waiting and cache.get_cached_project_nb(record.uri) is None:
            failures.append((wanted[record.uri], record.traceback))
    return [wanted[uri] for uri in waiting], failures


def answers_behind_buttons(root):
    """Return what is wrong if the launch buttons open a repository with the answers, or ""."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    url = config.get("repository", {}).get("url", "")
    if not holds_answers(url, root):
        return ""
    return (
        f"_config.yml: repository: url: {url} is this repository, and solutions/ is in it: the "
        "launch buttons would hand out the answers. Name the repository of the student edition "
        "there (make student-edition)."
    )


def forget_stale(root, cache, path):
    """Remove a notebook from the cache if something that it depends on has changed."""
    record = cache.get_cached_project_nb(str(path))
    if record is None:
        return
    reasons = dependencies.changed(root, record.data.get("depends"))
    if reasons:
        more = f" and {len(reasons) - 1} more" if len(reasons) > 1 else ""
        print(f"{path.relative_to(root)}: {reasons[0]}{more} changed", flush=True)
        cache.remove_cache(record.pk)


def write_config(root, cache_path):
    """Write _build/config.yml: _config.yml with the cache filled in, and paths made absolute."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    config.setdefault("execute", {}).update(
        execute_notebooks="cache", cache=str(cache_path)
    )
    extensions = config.get("sphinx", {}).get("local_extensions", {})
    for (
        name,
        folder,
    ) in extensions.items():  # looked up from the folder of the configuration
        extensions[name] = str(root / folder)
    path = root / "_build" / "config.yml"
    path.write_text(
        yaml.safe_dump(config, sort_keys=False, allow_unicode=True), encoding="utf-8"
    )
    return path


def shared_hash(root, config):
    """Return a hash of what shows on more pages than its own: looks, order, titles, versions."""
    sources = [
        path
        for name in toc(root)
        for suffix in ("", ".md", ".ipynb")
        if (path := root / f"{name}{suffix}").is_file()
    ]
    digest = hashlib.sha256(sys.version.encode())
    for path in sources:
        title = TITLE.search(path.read_text(encoding="utf-8"))
        digest.update(f"{path.name}\0{title and title[1]}\0".encode())
    shared = [
        config,
        root / "_toc.yml",
        *sorted(dependencies.environment(root)),
        Path(__file__),
    ]
    shared += sorted(
        path
        for path in (root / "book").rglob("*")
        if path.is_file() and path not in sources and "__pycache__" not in path.parts
    )
    for path in shared:
        digest.update(
            str(path.relative_to(path.anchor)).encode() + b"\0" + path.read_bytes()
        )
    return digest.hexdigest()


def build(root, config, executed):
    """Run Jupyter Book with warnings as errors and nit-picky references.

    Pages whose source is unchanged are kept, but for those in ``executed``, as long as all that
    pages share is as it was and the last build went well: a page that is not read again does not
    warn again.
    """
    made = root / "_build" / "site.hash"
    shared = shared_hash(root, config)
    kept = made.exists() and made.read_text(encoding="utf-8") == shared
    made.unlink(missing_ok=True)
    if kept:
        for path in [*executed, root / STATUS]:
            name = path.relative_to(root).with_suffix(".doctree")
            (root / "_build" / ".doctrees" / name).unlink(missing_ok=True)
    program = Path(sys.executable).with_name("jupyter-book")
    command = [
        program,
        "build",
        root,
        "--config",
        config,
        "-W",
        "-n",
        "--keep-going",
        "--quiet",
    ]
    status = subprocess.run(
        command + ([] if kept else ["--all"]), check=False, cwd=root
    ).returncode
    if not status:
        made.write_text(shared, encoding="utf-8")
    return status


def main(argv=None):
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument(
        "--keep-pdf",
        action="store_true",
        help="keep the PDF that was printed from these pages, and link it",
    )
    args = parser.parse_args(argv)
    root = args.root.resolve()
    began = time.perf_counter()
    # Figures and pages carry this date instead of today's, so that a build repeats.
    os.environ.setdefault("SOURCE_DATE_EPOCH", "1767225600")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    problem = answers_behind_buttons(root)
    if problem:
        print(problem, file=sys.stderr)
        return 1
    if not args.keep_pdf:  # pages may change: an old PDF is not theirs
        (root / "_build" / "html" / "course.pdf").unlink(missing_ok=True)
    cache_path = root / "_build" / "execution"
    executed, failures = execute(root, cache_path, pages(root))
    for path, traceback in failures:
        print(f"\n{path.relative_to(root)} failed:\n{traceback}", file=sys.stderr)
    if failures:
        names = ", ".join(str(path.relative_to(root)) for path, _ in failures)
        print(
            f"The book was not built: look above for what failed in {names}.",
            file=sys.stderr,
        )
        return 1
    status = build(root, write_config(root, cache_path), executed)
    if status:
        print(
            "The book was not built: mend the warnings above (each is an error).",
            file=sys.stderr,
        )
        return status
    site = root / "_build" / "html" / "index.html"
    print(f"Built in {time.perf_counter() - began:.0f} s. The site: {site}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
