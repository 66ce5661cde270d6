"""Opens one submission in JupyterLab, with its code in the sandbox.

    python -m grading open ASSIGNMENT STUDENT    a copy of the notebook, in a JupyterLab of its own
    python -m grading kernel install             "Python 3 (sandboxed)" for any Jupyter program

The kernel confines a notebook's code. Its outputs are shown by the teacher's browser, and what runs
in JupyterLab's page may do what JupyterLab may: start kernels, open terminals, save files. So
`open` starts a server that can do little: it has the sandboxed kernel and no other, no terminals,
no extensions, the copy's folder and no other, settings of its own. And it forbids scripts in
outputs.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from grading.course.notebooks import ROOT

#: Scripts and requests of the server's own pages; none that an output brings.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-eval' {own}; "
    "style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; "
    "worker-src 'self' blob:; frame-src 'none'; object-src 'none'; form-action 'self'; "
    "frame-ancestors 'self'; base-uri 'self'"
)

EXAMPLES = """examples:
  python -m grading open 02 s03                    copy, and open it in the browser
  python -m grading open 02 s03 --no-lab           copy it only
  python -m grading open 02 s03 -- --no-browser --port 9999
                                                   what follows -- goes to JupyterLab

The copy lies in _build/review/. It has the code that was handed in and no outputs: run it to see
them. Nothing that you change there is graded.
"""
KERNEL_EXAMPLES = """examples:
  python -m grading kernel install                 for the course's environment
  python -m grading kernel install --user          for all your environments
  python -m grading kernel install --limit memory_bytes=4294967296
  jupyter execute --kernel_name=python3-sandboxed stranger.ipynb
  python -m grading kernel remove

The kernel sees no file of the folder that the notebook is in, unless you say --share-folder: then
it gets a copy of all files there and below. Outputs are shown by your browser: to look at a
submission in JupyterLab, use `python -m grading open`.
"""


def add_commands(commands: argparse._SubParsersAction) -> None:
    """Add `open` and `kernel` to a parser's subcommands."""
    raw = argparse.RawDescriptionHelpFormatter
    show = commands.add_parser(
        "open",
        help="open a copy of a submission in JupyterLab, its code in the sandbox",
        description="Opens a copy of a submitted notebook in a JupyterLab that can do nothing but "
        "show it. Its code runs in the sandbox.",
        epilog=EXAMPLES,
        formatter_class=raw,
    )
    show.set_defaults(function=open_command)
    show.add_argument("assignment", help="its name, or how it begins")
    show.add_argument("student", help="the name of the folder in submitted/")
    show.add_argument("options", nargs="*", help="JupyterLab's own options, after --")
    show.add_argument("--submitted", type=Path, help="the folder of submissions")
    show.add_argument(
        "--no-lab", action="store_true", help="make the copy, and no more"
    )
    show.add_argument("--root", type=Path, default=ROOT, help="the course's folder")

    kernel = commands.add_parser(
        "kernel",
        help="let Jupyter's programs run notebooks in the sandbox",
        description="Installs or removes the kernel “Python 3 (sandboxed)”.",
        epilog=KERNEL_EXAMPLES,
        formatter_class=raw,
    )
    kinds = kernel.add_subparsers(dest="kernel_command", required=True)
    install = kinds.add_parser(
        "install",
        help="let Jupyter find it",
        epilog=KERNEL_EXAMPLES,
        formatter_class=raw,
    )
    install.set_defaults(function=install_command)
    remove = kinds.add_parser("remove", help="take it away again")
    remove.set_defaults(function=remove_command)
    for one in (install, remove):
        where = one.add_mutually_exclusive_group()
        where.add_argument(
            "--sys-prefix",
            action="store_true",
            help="in this Python environment (the default)",
        )
        where.add_argument("--user", action="store_true", help="in your home")
        where.add_argument("--prefix", type=Path, help="in another environment")
    install.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="another limit than the usual: memory_bytes, cpu_seconds, "
        "wall_seconds, processes, file_bytes, output_bytes; may be repeated",
    )
    install.add_argument(
        "--share-folder",
        action="store_true",
        help="give each kernel a copy of the files beside its notebook",
    )


def install_command(args: argparse.Namespace) -> int:
    """Write the kernelspec where Jupyter looks for it."""
    from jupyter_client.kernelspec import KernelSpecManager

    from grading.course.layout import GradingError
    from grading.sandbox.kernel import NAME, spec

    try:
        limits = {
            name: float(value) if name == "wall_seconds" else int(value)
            for name, _, value in (one.partition("=") for one in args.limit)
        }
        made = spec(limits, "." if args.share_folder else "")
    except ValueError as error:
        raise GradingError(f"--limit: {error}") from None
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "kernel.json").write_text(
            json.dumps(made, indent=1), encoding="utf-8"
        )
        place = KernelSpecManager().install_kernel_spec(
            folder, NAME, user=args.user, prefix=_prefix(args)
        )
    print(f"installed: {place}")
    _check_registered()
    return 0


def _check_registered() -> None:
    """Refuse where Jupyter can't find what runs the kernel.

    Raises:
        GradingError: saying how the course is installed.

    """
    from importlib.metadata import entry_points

    from grading.course.layout import GradingError
    from grading.sandbox.kernel import PROVISIONER

    if not entry_points(group="jupyter_client.kernel_provisioners", name=PROVISIONER):
        raise GradingError(
            "Jupyter does not find what runs the sandboxed kernel: install the "
            "course again by `make env`"
        )


def remove_command(args: argparse.Namespace) -> int:
    """Remove the kernelspec from where `install` with the same options put it."""
    from jupyter_core.paths import jupyter_data_dir

    from grading.course.layout import GradingError
    from grading.sandbox.kernel import NAME

    data = (
        Path(jupyter_data_dir())
        if args.user
        else Path(_prefix(args), "share", "jupyter")
    )
    place = data / "kernels" / NAME
    if not place.is_dir():
        raise GradingError(f"there is no {place}: nothing to remove")
    shutil.rmtree(place)
    print(f"removed: {place}")
    return 0


def _prefix(args: argparse.Namespace) -> str | None:
    """Return the environment that the options name, None for the home."""
    return None if args.user else str(args.prefix or sys.prefix)


def open_command(args: argparse.Namespace) -> int:
    """Copy a submission, and start a JupyterLab that can do nothing but show it."""
    from grading.course import layout
    from grading.sandbox import kernel

    course = layout.find(
        args.root.resolve(),
        args.assignment,
        submitted=args.submitted and args.submitted.resolve(),
    )
    notebook = copy(course, args.student)
    print(f"the copy: {notebook}")
    if args.no_lab:
        return 0
    kernel.check_bubblewrap()
    _check_registered()
    with tempfile.TemporaryDirectory(prefix="review-") as private:
        command, environment = lab(notebook, Path(private), args.options)
        try:  # not in the copy's folder: Python and Jupyter read files of the one they start in
            return subprocess.run(
                command, cwd=private, env=environment, check=False
            ).returncode
        except KeyboardInterrupt:  # how one stops the server
            return 0


def copy(course: object, student: str) -> Path:
    """Copy a submission into a folder that only its owner can enter; return the notebook there.

    Of the notebook come the cells' text and nothing else: no outputs, no metadata. Other files
    come as they are; links and hidden files don't.

    Args:
        course: the assignment, a `grading.course.layout.Course`.
        student: whose it is.

    Raises:
        GradingError: if there is nothing, or it can't be read; the message says why.

    """
    from grading.course.handed_in import SubmissionError, parse, read
    from grading.course.layout import GradingError
    from grading.sandbox.kernel import files_of

    handed_in = course.submitted / student / course.assignment
    if Path(student).name != student or not handed_in.is_dir():
        raise GradingError(
            f"{student} has handed in nothing: expected it at "
            f"{course.layout.replace('<student>', student)}"
        )
    if handed_in.is_symlink() or handed_in.parent.is_symlink():
        raise GradingError(f"{student}: the folder is a link: copy the files there")
    found = sorted(path.name for path in handed_in.glob("*.ipynb"))
    name = course.source.name if course.source.name in found or not found else found[0]
    try:
        cells = parse(read(handed_in / name), name)
        files = files_of(handed_in)
    except (SubmissionError, ValueError) as error:
        raise GradingError(f"{student}: {error}") from None
    folder = course.root / "_build" / "review" / student / course.assignment
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    folder.parents[1].chmod(0o700)
    for relative, data in files:
        path = folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (folder / name).write_text(json.dumps(_plain(cells), indent=1), encoding="utf-8")
    return folder / name


def _plain(cells: list[dict]) -> dict:
    """Return a notebook with the text of these cells, for the sandboxed kernel."""
    from grading.course.submission import text_of
    from grading.sandbox.kernel import KERNELSPEC

    made = []
    for number, cell in enumerate(cells):
        kind = cell.get("cell_type")
        new = {
            "cell_type": kind if kind in ("code", "markdown") else "raw",
            "id": f"c{number}",
            "metadata": {},
            "source": text_of(cell),
        }
        made.append(
            new | ({"outputs": [], "execution_count": None} if kind == "code" else {})
        )
    return {
        "cells": made,
        "metadata": {"kernelspec": KERNELSPEC},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _own_scripts() -> str:
    """Return the hashes of the scripts in JupyterLab's own page, as a policy names them."""
    from jupyterlab.commands import get_app_dir

    page = Path(get_app_dir(), "static", "index.html").read_text(encoding="utf-8")
    scripts = re.findall("<script>(.*?)</script>", page, re.DOTALL)
    hashes = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()) for text in scripts
    ]
    return " ".join(f"'sha256-{digest.decode()}'" for digest in hashes)


def lab(
    notebook: Path, private: Path, options: list[str]
) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment of a JupyterLab for one notebook.

    Args:
        notebook: what it opens; it shows the folder where that is.
        private: an empty folder for its settings.
        options: what else it is told.

    """
    from jupyter_core.paths import jupyter_config_path, jupyter_path
    from jupyter_server.extension.config import ExtensionConfigManager

    from grading.sandbox.kernel import NAME

    others = ExtensionConfigManager(
        read_config_path=[str(private), *jupyter_config_path()]
    ).get_jpserver_extensions()
    settings = {
        "ServerApp": {
            "root_dir": str(notebook.parent),
            "jpserver_extensions": {**dict.fromkeys(others, False), "jupyterlab": True},
            "kernel_spec_manager_class": "grading.sandbox.kernel.SandboxedOnly",
            "terminals_enabled": False,
            "tornado_settings": {
                "headers": {
                    "Content-Security-Policy": POLICY.format(own=_own_scripts())
                }
            },
        },
        "SandboxedOnly": {"folder": str(notebook.parent)},
        "MultiKernelManager": {"default_kernel_name": NAME},
        "LabApp": {
            "default_url": f"/lab/tree/{notebook.name}",
            "extension_manager": "readonly",
            # No request to the outside for news.
            "news_url": None,
            "check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
        },
    }
    Path(private, "jupyter_server_config.json").write_text(
        json.dumps(settings), encoding="utf-8"
    )
    pages = Path(private, "labconfig", "page_config.json")
    pages.parent.mkdir()
    off = [
        "@jupyterlab/javascript-extension",
        "@jupyterlab/extensionmanager-extension",
        "@jupyterlab/apputils-extension:announcements",
    ]
    for place in map(Path, jupyter_path("labextensions")):
        found = [*place.glob("[!@]*/package.json"), *place.glob("@*/*/package.json")]
        off += [
            str(path.parent.relative_to(place))
            for path in found
            if path.parent.name != "jupyterlab_pygments"
        ]  # colours, and no more
    pages.write_text(
        json.dumps({"disabledExtensions": dict.fromkeys(off, True)}), encoding="utf-8"
    )
    kept = {
        name: str(private / name.lower())
        for name in (
            "JUPYTER_DATA_DIR",
            "JUPYTER_RUNTIME_DIR",
            "JUPYTERLAB_SETTINGS_DIR",
            "JUPYTERLAB_WORKSPACES_DIR",
        )
    }
    environment = {
        **os.environ,
        **kept,
        "JUPYTER_CONFIG_DIR": str(private),
        "PYTHONPATH": os.pathsep.join(
            filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])
        ),
    }
    command = [sys.executable, "-m", "jupyterlab"]
    if os.geteuid() == 0:
        command.append("--allow-root")  # in a container, where there is nobody else
    return [*command, *options], environment
