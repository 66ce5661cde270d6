"""Lets `python -m translator` run the command line."""

import os
import sys

# Threads that wait sleep: on a busy machine spinning ones take the time of those that compute.
# OpenMP reads this once, when PyTorch is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

from translator.cli import main

if __name__ == "__main__":
    try:
        sys.exit(main())
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "transformer", "translator"):
            raise
        print(
            f"translator: error: the package {package} is not installed: "
            "make env EXTRAS=translate",
            file=sys.stderr,
        )
        sys.exit(2)
