"""Makes the autograder zip that Gradescope takes, for one assignment.

setup.sh, run_autograder            at the root, as Gradescope wants them
requirements.txt                    what setup.sh installs, in this course's versions
assignment/                         the release and the source notebook, and settings.json
grading/                            the modules that grade, as they are here
"""

from __future__ import annotations

import ast
import importlib.util
import json
import re
from collections.abc import Collection
from pathlib import Path

from grading.course import draws
from grading.course.submission import load
from grading.lms.files.packing import make_zip
from grading.lms.outcome import Problem, shown
from grading.sandbox.bubblewrap import FILES

#: What is started in the container, what that starts, and what an assignment may import.
ENTRIES = "grading.lms.gradescope.grade", "grading.lms.gradescope.runner"
PACKAGES = ("torch", "numpy", "matplotlib")
SETUP = """#!/usr/bin/env bash
# Gradescope runs this once, as root, when the container's image is made.
set -euo pipefail
source_folder="${AUTOGRADER:-/autograder}/source"
export DEBIAN_FRONTEND=noninteractive
apt-get update
# bubblewrap makes the sandbox, where Gradescope lets it.
apt-get install -y --no-install-recommends bubblewrap util-linux python3-venv

python=""
for candidate in python3.13 python3.12 python3.11 python3; do
    if command -v "$candidate" >/dev/null &&
        "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        python="$candidate"
        break
    fi
done
if [ -z "$python" ]; then
    apt-get install -y --no-install-recommends python3.11 python3.11-venv
    python=python3.11
fi
"$python" -m venv "$source_folder/environment"
# PyTorch's own index has the build without CUDA, which is far smaller; pip prefers it.
"$source_folder/environment/bin/python" -m pip install --no-cache-dir \\
    --extra-index-url "${TORCH_INDEX:-https://download.pytorch.org/whl/cpu}" \\
    -r "$source_folder/requirements.txt"
# The student's code runs as another user: it may use Python, and not read the tests.
chmod -R go+rX "$source_folder/environment"
chmod 711 "$source_folder"
chmod -R go-rwx "$source_folder/assignment"
"""

RUN = """#!/usr/bin/env bash
# Gradescope runs this for each submission, as root, in a fresh container.
set -euo pipefail
autograder="${AUTOGRADER:-/autograder}"
python="${AUTOGRADER_PYTHON:-$autograder/source/environment/bin/python}"
export OMP_NUM_THREADS=1 MPLBACKEND=Agg
cd "$autograder"
PYTHONPATH="$autograder/source" exec "$python" -s -P -m grading.lms.gradescope.grade \\
    --autograder "$autograder"
"""


def autograder(
    root: Path,
    release: Path,
    source: Path,
    *,
    zero_for_unreadable: bool = False,
    visibility: str = "visible",
    cleared: Collection[str] = (),
    secret: bytes = b"",
) -> bytes:
    """Return the zip.

    Args:
        root: the course's folder, with requirements.txt or constraints.txt.
        release: the notebook that was handed out.
        source: the notebook with solutions and hidden tests.
        zero_for_unreadable: a file that can't be graded counts as zero, and the student reads
            why; else Gradescope shows that the autograder did not finish.
        visibility: when students see what tests with hidden parts say, in Gradescope's words.
        cleared: SHA-256 of notebooks that a person has looked at: what is suspect about them
            withholds no points.
        secret: the course's. It stays here: the zip has the numbers of this assignment's tests.

    Raises:
        NotebookError: if the notebooks don't belong together.
        Problem: if a needed package has no pinned version, or a digest is none.

    """
    for digest in cleared:
        if not re.fullmatch("[0-9a-f]{64}", digest):
            raise Problem(
                f"--cleared: expected the 64 digits that the log of the suspect submission "
                f"shows, got {shown(digest, 80)!r}"
            )
    seeds = draws.seeds(secret, source.parent.name, load(release, source).most)
    settings = {
        "notebook": release.name,
        "zero_for_unreadable": zero_for_unreadable,
        "visibility": visibility,
        "cleared": sorted(cleared),
        "seeds": seeds,
    }
    files = {
        "setup.sh": SETUP.encode(),
        "run_autograder": RUN.encode(),
        "requirements.txt": requirements(root).encode(),
        "assignment/release.ipynb": release.read_bytes(),
        "assignment/source.ipynb": source.read_bytes(),
        "assignment/settings.json": json.dumps(settings).encode(),
    }
    sandbox = [
        "grading." + name.removesuffix(".py").replace("/", ".") for name in FILES
    ]
    for name, path in modules(*ENTRIES, *sandbox).items():
        files[name] = path.read_bytes()
    return make_zip(files, {"setup.sh", "run_autograder"})


def requirements(root: Path) -> str:
    """Return the pinned packages for the container.

    Raises:
        Problem: if one has no version.

    """
    pins: dict[str, str] = {}
    for name in ("constraints.txt", "requirements.txt"):
        if (root / name).is_file():
            text = (root / name).read_text(encoding="utf-8")
            for found in re.finditer(r"^([\w.-]+)==([^\s#;]+)", text, re.MULTILINE):
                pins[found[1].casefold().replace("_", "-")] = found[2]
    lost = [name for name in PACKAGES if name not in pins]
    if lost:
        raise Problem(
            f"no version of {', '.join(lost)} in requirements.txt or constraints.txt"
        )
    return "".join(f"{name}=={pins[name]}\n" for name in PACKAGES)


def modules(*entries: str) -> dict[str, Path]:
    """Return the files of this project that modules need, by their place below the root.

    Args:
        entries: names of modules; what they import of their own packages comes, too.

    """
    waiting = list(entries)
    own = {name.partition(".")[0] for name in entries}
    found: dict[str, Path] = {}
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or name.partition(".")[0] not in own:
            continue
        seen.add(name)
        if "." in name:
            waiting.append(name.rpartition(".")[0])
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            continue
        path = Path(spec.origin)
        package = path.name == "__init__.py"
        found["/".join(name.split(".")) + ("/__init__.py" if package else ".py")] = path
        waiting += _imports(path.read_text(encoding="utf-8"), own)
    return found


def _imports(source: str, own: set[str]) -> list[str]:
    """Return the modules of own packages that a text imports; a name of a package may be one."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.append(node.module)
            found += [
                f"{node.module}.{alias.name}"
                for alias in node.names
                if alias.name != "*"
            ]
    return [name for name in found if name.partition(".")[0] in own and _exists(name)]


def _exists(name: str) -> bool:
    """Tell whether a name is a module's."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False
