"""Lets `python -m translator` run the command line."""

import sys

from translator.cli import main

if __name__ == "__main__":
    sys.exit(main())
