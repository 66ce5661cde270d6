"""Writes down which files of the course a chapter reads, while the build executes it.

Python imports a module of this name when it starts, if its folder is on PYTHONPATH; the build puts
it there for kernels, so what a chapter starts is recorded too. A line of $COURSE_READS is a path.
"""

import os
import sys


def record():
    """Append each file below $COURSE_ROOT to $COURSE_READS when it is first opened to be read."""
    root = os.path.join(os.environ["COURSE_ROOT"], "")
    log = os.open(
        os.environ["COURSE_READS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600
    )
    seen = set()

    def note(event, arguments):
        if event != "open" or not isinstance(arguments[0], str | bytes):
            return
        path, mode, flags = arguments
        if flags & (os.O_WRONLY | os.O_RDWR) or (mode and set(mode) & set("wax")):
            return
        path = os.path.abspath(os.fsdecode(path))
        if path.startswith(root) and path not in seen:
            seen.add(path)
            os.write(log, os.fsencode(path) + b"\n")

    sys.addaudithook(note)


if "COURSE_READS" in os.environ:
    record()
