"""Create or refresh an environment: ``python3 tools/bootstrap.py [EXTRA ...]``, or ``--hub``.

Runs on the system's Python before anything is installed, so it uses the standard library
only, and syntax that an older Python 3 can parse, to be told that it is too old.
"""

from __future__ import print_function

import argparse
import ast
import hashlib
import os
import re
import shutil
import ssl
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOG = "_build/install.log"
OLDEST = (3, 11)
# What decides what an environment holds, and what uv is told to install; EXTRAS is filled in.
COURSE = (
    ("requirements.txt", "constraints.txt", "pyproject.toml"),
    ("-e", ".[EXTRAS]", "-c", "requirements.txt", "-c", "constraints.txt"),
)
HUB = (
    (
        "deploy/requirements.txt",
        "deploy/constraints.txt",
        "requirements.txt",
        "constraints.txt",
    ),
    (
        "-r",
        "deploy/requirements.txt",
        "-c",
        "deploy/constraints.txt",
        "-c",
        "requirements.txt",
        "-c",
        "constraints.txt",
    ),
)
# A CPU build of torch and the rest take about 2 GB; with GPU libraries it is about 8 GB.
NEEDED_GB, NEEDED_GPU_GB = 3, 9
# uv reads none of pip's settings: its name for each, and what separates several values.
UV_NAMES = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "cert": ("SSL_CERT_FILE", " "),
    "client-cert": ("SSL_CLIENT_CERT", " "),
    "proxy": ("ALL_PROXY", " "),
    "timeout": ("UV_HTTP_TIMEOUT", " "),
    "default-timeout": ("UV_HTTP_TIMEOUT", " "),
    "retries": ("UV_HTTP_RETRIES", " "),
}

NO_CPU_BUILD = (
    "There is no CPU build of torch for this Python and system where pip is configured to look, "
    "nor at download.pytorch.org. Python 3.11 to 3.13 on 64-bit Linux has one: connect to the "
    "internet, or name a place that has it (pip config set global.find-links FOLDER). With GPU=1 "
    "the same command takes the build with GPU libraries (9 GB of disk)."
)
# What pip, venv and uv print -> what the reader should do. First match wins.
CAUSES = (
    (
        r"No space left on device|Errno 28|disk quota exceeded",
        "The disk is full. Free some space (3 GB; 9 GB with GPU=1), then run the same command "
        "again.",
    ),
    (r"download\.pytorch\.org|torch==\S*\+cpu\b", NO_CPU_BUILD),
    (
        r"name resolution|getaddrinfo|NewConnectionError|Network is unreachable|"
        r"Failed to establish a new connection|ConnectTimeout|Connection refused|ProxyError|"
        r"nodename nor servname|Max retries exceeded|from versions: none|Failed to fetch",
        "The network is missing: packages could not be downloaded. Connect to the internet (or set "
        "pip's proxy or index), then run the same command again. After the first time the course "
        "works offline.",
    ),
    (
        r"No module named .?ensurepip|ensurepip is not available",
        "This Python cannot create environments. On Debian or Ubuntu: apt install python3-venv.",
    ),
    (
        r"(no version|no wheels?\b).*torch|torch.*(no version|no wheels?\b)",
        "There is no torch 2.13.0 for this Python and system. Python 3.11 to 3.13 on 64-bit Linux, "
        "macOS or Windows works: make lab PYTHON=python3.12",
    ),
)


class SetupError(Exception):
    """Something the reader can mend; its text says what and how."""


def check_python():
    """Raise SetupError when this Python is older than the course supports."""
    if sys.version_info >= OLDEST:
        return
    newer = [
        name
        for name in ("python3.13", "python3.12", "python3.11")
        if shutil.which(name)
    ]
    raise SetupError(
        "The course needs Python {}.{} or newer; {} is Python {}.{}. {}: make lab "
        "PYTHON={}".format(
            *OLDEST,
            sys.executable,
            *sys.version_info[:2],
            "A newer one is on this machine" if newer else "Install a newer one, then",
            (newer or ["python3.12"])[0],
        )
    )


def check_disk(folder, needed_gb):
    """Raise SetupError when fewer than ``needed_gb`` gigabytes are free where ``folder`` lies."""
    free = shutil.disk_usage(folder).free / 1e9
    if free < needed_gb:
        raise SetupError(
            "The disk is nearly full: {:.1f} GB are free in {}, the course needs {} GB. "
            "Free some space, then run the same command again.".format(
                free, folder, needed_gb
            )
        )


def diagnose(text):
    """Return advice for the output ``text``, or None if its cause is not known."""
    return next(
        (advice for pattern, advice in CAUSES if re.search(pattern, text, re.I)), None
    )


def run(command, env=None):
    """Run ``command``, its output added to _build/install.log, and return the output.

    Raises SetupError with advice and the last lines if the command fails.
    """
    log = ROOT / LOG
    log.parent.mkdir(exist_ok=True)
    done = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        check=False,
        stderr=subprocess.STDOUT,
        cwd=ROOT,
        env=env,
        encoding="utf-8",
        errors="replace",
    )
    with log.open("a", encoding="utf-8") as out:
        print("$", *command, file=out)
        print(done.stdout, file=out)
    if done.returncode:
        tail = "\n".join(
            "    " + line for line in done.stdout.strip().splitlines()[-8:]
        )
        raise SetupError(
            "{}\nThe last lines of {}:\n{}".format(
                diagnose(done.stdout) or "Installing the packages failed.", log, tail
            )
        )
    return done.stdout


def pins(name):
    """Return the versions that a file of requirements pins, by package."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return {
        re.sub(r"[-_.]+", "-", match[1]).lower(): match[2]
        for match in re.finditer(r"^([\w.-]+)==([^\s;#]+)", text, re.MULTILINE)
    }


def settings(listing):
    """Return uv's environment variables and options for ``pip config list``'s output."""
    found = {}
    for section in ("global", "install", ":env:"):  # the later wins, as in pip
        for line in listing.splitlines():
            key, _, value = line.partition("=")
            if key.startswith(section + "."):
                found[key[len(section) :].lstrip(".")] = ast.literal_eval(value).split()
    # As pip does, take the best version of all indexes, and trust whom the system trusts.
    env = {"UV_INDEX_STRATEGY": "unsafe-best-match"}
    if ssl.create_default_context().cert_store_stats()["x509_ca"]:
        env["UV_SYSTEM_CERTS"] = "1"
    env.update(
        (UV_NAMES[name][0], UV_NAMES[name][1].join(values))
        for name, values in found.items()
        if name in UV_NAMES
    )
    no_index = found.get("no-index", ["0"])[0].lower() in ("1", "true", "yes", "on")
    return dict(env, **os.environ), ["--no-index"] if no_index else []


def uv_in(venv):
    """Create ``venv`` where it is missing; return the command and environment of uv in it."""
    python = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip = python.with_name("pip" + python.suffix)  # made last
    version = "version = {}.{}.{}".format(*sys.version_info)
    if not pip.exists() or version not in (venv / "pyvenv.cfg").read_text(
        encoding="utf-8"
    ):
        run([sys.executable, "-m", "venv", "--clear", venv])
    run(
        [
            python,
            "-m",
            "pip",
            "--disable-pip-version-check",
            "install",
            "--quiet",
            "uv==" + pins("requirements.txt")["uv"],
        ]
    )
    env, options = settings(run([python, "-m", "pip", "config", "list"]))
    return (
        python,
        [python, "-m", "uv", "pip"],
        dict(env, VIRTUAL_ENV=str(venv)),
        options,
    )


def install_torch(uv, env, options, gpu):
    """Install torch where it is missing: on Linux without its GPU libraries, unless ``gpu``."""
    torch = "torch==" + pins("requirements.txt")["torch"]
    command = [*uv, "install", *options, "-c", "constraints.txt"]
    if gpu:
        run([*command, "{},!={}+cpu".format(torch, torch[len("torch==") :])], env)
    elif sys.platform == "linux" and torch not in run([*uv, "freeze"], env):
        try:
            run([*command, torch + "+cpu"], env)
        except SetupError as error:
            if NO_CPU_BUILD not in str(error):
                raise
            run([*command, torch + "+cpu", "--torch-backend=cpu"], env)


def first_use(python):
    """Do once what else each first process of ``make`` does, for none of those writes bytecode.

    Matplotlib lists the fonts, and says so on stderr. torch, installed without bytecode, is
    compiled, but only what an optimiser loads: that saves each process 5 seconds, and all of torch
    and what it pulls in would take longer than the rest of the set-up.
    """
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    run([python, "-c", "import jinja2, matplotlib.font_manager, torch._dynamo"], env)


def install(venv, extras, hub=False, gpu=False):
    """Bring ``venv`` to the pinned versions; the stamp, of what it then holds, is written last."""
    inputs, what = HUB if hub else COURSE
    digest = hashlib.sha256(sys.version.encode())
    for name in inputs:
        digest.update((ROOT / name).read_bytes())
    stamp, wanted = venv / "course-stamp", {digest.hexdigest(), *extras, *["gpu"] * gpu}
    held = set(stamp.read_text(encoding="ascii").split()) if stamp.exists() else set()
    if wanted <= held:
        return
    check_disk(ROOT, NEEDED_GPU_GB if gpu else NEEDED_GB)
    (ROOT / LOG).unlink(missing_ok=True)
    print(
        "Setting up the environment in {}{} ...".format(
            venv.relative_to(ROOT) if ROOT in venv.parents else venv,
            " for " + ", ".join(extras) if extras else "",
        ),
        flush=True,
    )
    python, uv, env, options = uv_in(venv)
    if not hub:
        install_torch(uv, env, options, gpu)
    # The course's own packages, editable: notebooks import what `make library` last wrote.
    run(
        [
            *uv,
            "install",
            *options,
            "--compile-bytecode",
            "--no-build-isolation",
            *(word.replace("EXTRAS", ",".join(extras)) for word in what),
        ],
        env,
    )
    if not hub:
        first_use(python)
    partial = stamp.with_suffix(".partial")
    held = held if digest.hexdigest() in held else set()
    partial.write_text(" ".join(sorted(held | wanted)), encoding="ascii")
    partial.replace(stamp)
    print("The environment is ready.", flush=True)


def lock(venv, hub=False):
    """Pin again what the requirements pull in, on every system; torch's GPU libraries stay free."""
    direct, target, *above = HUB[0] if hub else COURSE[0][:2]
    _, uv, env, options = uv_in(venv)
    env.pop("UV_FIND_LINKS", None)  # one machine's wheels
    partial = ROOT / (target + ".partial")
    shutil.copy(ROOT / target, partial)  # what is pinned stays, where it still fits
    run(
        [
            *uv,
            "compile",
            *options,
            direct,
            "-o",
            partial,
            "--universal",
            "--python-version",
            "3.11",
            "--no-annotate",
            "--no-header",
            *(word for name in above for word in ("-c", name)),
        ],
        env,
    )
    elsewhere = set().union(*map(pins, [direct, *above]))
    kept = [
        line
        for line in partial.read_text(encoding="utf-8").splitlines()
        if line.partition("=")[0] not in elsewhere
        and not re.match("nvidia|cuda|triton", line)
    ]
    partial.write_text(
        "# What {} pulls in ({}).\n{}\n".format(
            direct, "make -C deploy lock" if hub else "make lock", "\n".join(kept)
        ),
        encoding="utf-8",
    )
    partial.replace(ROOT / target)
    print("{}: {} packages".format(target, len(kept)))


def main(argv=None):
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "extras",
        nargs="*",
        metavar="EXTRA",
        help="what it is for: read, do, translate, grade, check; all by default",
    )
    parser.add_argument("--venv", type=Path, help="the environment's folder")
    parser.add_argument("--hub", action="store_true", help="the hub's, in deploy/.venv")
    parser.add_argument(
        "--lock", action="store_true", help="pin again what is pulled in, and stop"
    )
    args = parser.parse_args(argv)
    venv = args.venv or ROOT / ("deploy/.venv" if args.hub else ".venv")
    try:
        check_python()
        if args.lock:
            lock(venv, args.hub)
            return 0
        import tomllib

        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
            "project"
        ]
        extras = (
            [] if args.hub else args.extras or list(project["optional-dependencies"])
        )
        unknown = set(extras) - set(project["optional-dependencies"])
        if unknown:
            raise SetupError(
                "There is no extra {}; there are {}.".format(
                    ", ".join(sorted(unknown)),
                    ", ".join(project["optional-dependencies"]),
                )
            )
        install(venv, extras, args.hub, os.environ.get("GPU", "0") not in ("", "0"))
    except SetupError as problem:
        print(problem, file=sys.stderr)
        return 2
    except OSError as problem:
        if problem.errno not in (28, 122):  # ENOSPC, EDQUOT
            raise
        print(CAUSES[0][1], file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
