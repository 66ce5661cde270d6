"""Run the LTI commands by themselves: `python -m grading.lms.lti serve`."""

from __future__ import annotations

import sys

from grading.lms.lti.cli import main

if __name__ == "__main__":
    sys.exit(main())
