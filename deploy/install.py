"""Create or refresh the hub's environment: ``make -C deploy install``.

Two parts: deploy/.venv with JupyterHub and what a user's server needs, and the proxy from npm in
deploy/node_modules. Both are pinned. Nothing is done when nothing has changed.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv"
INPUTS = [HERE / "requirements.txt", HERE / "constraints.txt", HERE.parent / "constraints.txt",
          HERE / "package-lock.json"]


class InstallError(Exception):
    """Something the administrator can mend."""


def run(*command: object) -> None:
    """Run a program in deploy/; raise InstallError with its last lines if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, check=False, cwd=HERE, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode:
        raise InstallError(f"{' '.join(words[:4])} … failed:\n"
                           + "\n".join(done.stdout.strip().splitlines()[-8:]))


def fingerprint() -> str:
    """Return a hash of all that decides what is installed."""
    digest = hashlib.sha256(sys.version.encode())
    for path in INPUTS:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def install() -> None:
    """Install what is not there yet; the stamp is written last."""
    stamp = VENV / "hub-stamp"
    wanted = fingerprint()
    if stamp.exists() and stamp.read_text(encoding="ascii") == wanted:
        return
    if sys.version_info < (3, 11):  # noqa: UP036 - to say so to whoever has an older one
        raise InstallError("the hub needs Python 3.11 or newer: make -C deploy hub "
                           "PYTHON=python3.12")
    if shutil.which("npm") is None:
        raise InstallError("there is no npm: on Debian, apt-get install nodejs npm (Node 20 or "
                           "newer)")
    print("Installing the hub (a few minutes the first time) ...", flush=True)
    python = VENV / "bin" / "python"
    if not python.exists():
        run(sys.executable, "-m", "venv", VENV)
    run(python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet",
        "-r", "requirements.txt", "-c", "constraints.txt", "-c", "../constraints.txt")
    run("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
    partial = stamp.with_suffix(".partial")
    partial.write_text(wanted, encoding="ascii")
    partial.replace(stamp)


def lock() -> None:
    """Rewrite constraints.txt: what is installed, less what the course's own files pin."""
    frozen = subprocess.run([VENV / "bin" / "python", "-m", "pip", "freeze"], check=True,
                            capture_output=True, text=True).stdout.splitlines()
    pinned = set()
    for path in (HERE / "requirements.txt", HERE.parent / "constraints.txt"):
        pinned |= {name(line) for line in path.read_text(encoding="utf-8").splitlines()}
    kept = [line for line in frozen if "==" in line and name(line) not in pinned]
    head = ("# What deploy/requirements.txt pulls in, beyond ../constraints.txt\n"
            "# (make -C deploy lock).\n")
    partial = HERE / "constraints.partial"
    partial.write_text(head + "".join(f"{line}\n" for line in kept), encoding="utf-8")
    partial.replace(HERE / "constraints.txt")


def name(line: str) -> str:
    """Return a requirement's name as pip compares it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[=\s#]", line)[0]).lower()


def main() -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lock", action="store_true", help="write constraints.txt anew")
    options = parser.parse_args()
    try:
        install()
        if options.lock:
            lock()
    except InstallError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
