"""The platform's environment: made once from requirements.txt, apart from the course's."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements.txt"


def folder() -> Path:
    """Return where environments are kept: the user's cache, or $COURSE_LTI_PLATFORM."""
    chosen = os.environ.get("COURSE_LTI_PLATFORM")
    if chosen:
        return Path(chosen)
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "attention-course" / "lti-platform"


def python() -> Path:
    """Return the environment's interpreter; it is made where there is none for these pins.

    Raises:
        RuntimeError: if it can't be made; the end of pip's output is in the message.

    """
    text = REQUIREMENTS.read_bytes() + sys.version.encode()
    target = folder() / hashlib.sha256(text).hexdigest()[:16]
    interpreter = target / "bin" / "python"
    if (target / "complete").exists():
        return interpreter
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(target)], check=True)
    with tempfile.TemporaryFile("w+") as log:
        done = subprocess.run(
            [
                str(interpreter),
                "-m",
                "pip",
                "install",
                "--disable-pip-version-check",
                "-r",
                str(REQUIREMENTS),
            ],
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
        log.seek(0)
        output = log.read()
    if done.returncode:
        raise RuntimeError(
            f"the platform's environment can't be made:\n{output[-1500:]}"
        )
    (target / "complete").touch()
    return interpreter


if __name__ == "__main__":
    print(python())
