"""Makes importing nbgrader faster: no grammars for jsonschema, no garbage collection meanwhile."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Iterator

#: jsonschema imports this where it is there, to check addresses with letters of all alphabets: it
#: parses 39 grammars, which takes longer than the rest of the grader's imports together. No format
#: of a notebook or of nbgrader has such an address in it.
GRAMMARS = "rfc3987_syntax"


@contextlib.contextmanager
def imports() -> Iterator[None]:
    """Import quickly in this block; jsonschema without its formats iri and iri-reference."""
    collects = gc.isenabled()
    gc.disable()  # an import makes much and leaves little to collect
    hides = GRAMMARS not in sys.modules
    if hides:
        sys.modules[GRAMMARS] = (
            None  # to import it is an ImportError, which jsonschema expects
        )
    try:
        yield
    finally:
        if hides:
            del sys.modules[GRAMMARS]
        if collects:
            gc.enable()
