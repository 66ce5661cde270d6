"""Which repository an address leads to.

Standard library only: the hub's programs use it as well.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path


def holds_answers(url: str, root: Path) -> bool:
    """Tell whether an address is this course's own repository, with solutions/ in it.

    What students open must be the student edition (`make student-edition`), in a repository of its
    own. Nothing is fetched: the address is compared with the checkout's place and its remotes.
    """
    asked = subprocess.run(
        ["git", "config", "--get-regexp", r"^remote\..*\.url$"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    own = {plain(line.partition(" ")[2]) for line in asked.stdout.splitlines()}
    return (root / "solutions").is_dir() and plain(url) in {*own, plain(str(root))}


def plain(url: str) -> str:
    """Return what stays of a repository's address, by whatever protocol and user git takes it."""
    bare = re.sub(r"^\w+://", "", url.strip())
    bare = re.sub(r"^[^/@]*@", "", bare).replace(":", "/", 1)
    return re.sub(r"(/|\.git)*$", "", bare).lower()
