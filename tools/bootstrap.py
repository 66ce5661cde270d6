"""Create or refresh the course's environment: ``python3 tools/bootstrap.py``.

Runs on the system's Python before anything is installed, so it uses the standard library
only, and syntax that an older Python 3 can parse, to be told that it is too old.
"""

from __future__ import print_function

import sys

OLDEST = (3, 11)


def explain_old_python():
    """Stop with advice when this Python is older than the course supports."""
    import glob
    import os

    names = set()
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        for path in glob.glob(os.path.join(folder, "python3.[0-9]*")):
            minor = os.path.basename(path)[len("python3."):]
            if minor.isdigit() and int(minor) >= OLDEST[1]:
                names.add((int(minor), os.path.basename(path)))
    print("The course needs Python {0}.{1} or newer; {2} is Python {3}.{4}.".format(
        OLDEST[0], OLDEST[1], sys.executable, sys.version_info[0], sys.version_info[1]),
        file=sys.stderr)
    if names:
        print("A newer one is on this machine. Run the same command with PYTHON={0}, "
              "for example: make book PYTHON={0}".format(sorted(names)[-1][1]), file=sys.stderr)
    else:
        print("Install a newer Python, then run: make book PYTHON=python3.12", file=sys.stderr)
    raise SystemExit(2)


if sys.version_info < OLDEST:
    explain_old_python()

import argparse  # noqa: E402
import hashlib  # noqa: E402
import os  # noqa: E402
import re  # noqa: E402
import shutil  # noqa: E402
import subprocess  # noqa: E402
from pathlib import Path  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
INPUTS = ("requirements.txt", "constraints.txt", "pyproject.toml")
# A CPU build of torch and the rest take about 2 GB; with GPU libraries it is about 8 GB.
NEEDED_GB = 3.0

# What pip prints -> what the reader should do. First match wins.
CAUSES = (
    (r"No space left on device|Errno 28|disk quota exceeded",
     "The disk is full. Free some space (3 GB; 9 GB where torch brings its GPU libraries), "
     "then run the same command again."),
    (r"name resolution|getaddrinfo|NewConnectionError|Network is unreachable|"
     r"Failed to establish a new connection|ConnectTimeout|Connection refused|ProxyError|"
     r"nodename nor servname|Max retries exceeded|from versions: none",
     "The network is missing: packages could not be downloaded. Connect to the internet (or set "
     "pip's proxy or index), then run the same command again. After the first time the course "
     "works offline."),
    (r"No module named .?ensurepip|ensurepip is not available",
     "This Python cannot create environments. On Debian or Ubuntu: apt install python3-venv."),
    (r"torch==\S+ \(from versions: \d",
     "There is no torch 2.13.0 for this Python and system. Python 3.11 to 3.13 on 64-bit Linux, "
     "macOS or Windows (WSL) works: make book PYTHON=python3.12"),
)


class SetupError(Exception):
    """Something the reader can mend; its text says what and how."""


def fingerprint(root):
    """Return a hash of everything that decides what the environment holds."""
    digest = hashlib.sha256(sys.version.encode())
    for name in INPUTS:
        digest.update((root / name).read_bytes())
    return digest.hexdigest()


def diagnose(text):
    """Return advice for pip's or venv's output ``text``, or None if its cause is not known."""
    for pattern, advice in CAUSES:
        if re.search(pattern, text, re.IGNORECASE):
            return advice
    return None


def run(command, log):
    """Run ``command`` with its output in the file ``log``; raise SetupError if it fails."""
    with log.open("a", encoding="utf-8") as out:
        code = subprocess.run([str(c) for c in command], stdout=out, stderr=out, cwd=ROOT,
                              check=False).returncode
    if code:
        text = log.read_text(encoding="utf-8", errors="replace")
        advice = diagnose(text)
        tail = "\n".join("    " + line for line in text.strip().splitlines()[-8:])
        raise SetupError("{}\nThe last lines of {}:\n{}".format(
            advice or "Installing the packages failed.", log, tail))


def check_disk(folder, needed_gb=NEEDED_GB):
    """Raise SetupError when fewer than ``needed_gb`` gigabytes are free where ``folder`` lies."""
    free = shutil.disk_usage(folder).free / 1e9
    if free < needed_gb:
        raise SetupError(
            "The disk is nearly full: {:.1f} GB are free in {}, the course needs {:.0f} GB. "
            "Free some space, then run the same command again.".format(free, folder, needed_gb))


def install(venv):
    """Create ``venv`` and install the pinned requirements; the stamp is written last."""
    stamp = venv / "course-stamp"
    wanted = fingerprint(ROOT)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    check_disk(ROOT)
    log = ROOT / "_build" / "install.log"
    log.parent.mkdir(exist_ok=True)
    log.write_text("", encoding="utf-8")
    python = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    print("Setting up the environment in {} (a few minutes the first time) ...".format(
        venv.name), flush=True)
    made_by = venv / "course-python"
    if not python.exists() or not made_by.exists() or made_by.read_text() != sys.version:
        run([sys.executable, "-m", "venv", "--clear", venv], log)
        made_by.write_text(sys.version, encoding="utf-8")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    run([*pip, "-r", "requirements.txt", "-c", "constraints.txt"], log)
    # The course's own packages, editable: notebooks import what `make library` last wrote.
    run([*pip, "--no-deps", "--no-build-isolation", "-e", "."], log)
    # At its first import matplotlib says on stderr that it lists the fonts; let it say so here.
    run([python, "-c", "import matplotlib.font_manager"], log)
    partial = stamp.with_suffix(".partial")
    partial.write_text(wanted, encoding="utf-8")
    partial.replace(stamp)
    print("The environment is ready.", flush=True)


def lock(venv):
    """Rewrite constraints.txt from what ``venv`` holds, torch's GPU libraries left free."""
    python = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    frozen = subprocess.run([str(python), "-m", "pip", "freeze", "--all", "--exclude-editable"],
                            check=True, capture_output=True, text=True).stdout
    direct = {re.split(r"[=\s]", line)[0].lower()
              for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
              if line and not line.startswith("#")}
    kept = []
    for line in frozen.splitlines():
        name, _, version = line.partition("==")
        gpu = re.match(r"(nvidia|cuda|triton)", name.lower())
        if version and name.lower() not in direct | {"pip"} and not gpu:
            kept.append("{}=={}".format(name, version.split("+")[0]))
    text = ("# What requirements.txt pulls in, as last tested (python tools/bootstrap.py --lock).\n"
            "# torch's GPU libraries are left free: each platform's torch names its own.\n"
            + "\n".join(sorted(kept, key=str.lower)) + "\n")
    partial = ROOT / "constraints.txt.partial"
    partial.write_text(text, encoding="utf-8")
    partial.replace(ROOT / "constraints.txt")
    print("constraints.txt: {} packages".format(len(kept)))


def main(argv=None):
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv")
    parser.add_argument("--lock", action="store_true",
                        help="rewrite constraints.txt from the environment, then stop")
    arguments = parser.parse_args(argv)
    try:
        if arguments.lock:
            lock(arguments.venv)
        else:
            install(arguments.venv)
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
