"""How bubblewrap is called to make a worker's sandbox."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from grading.sandbox.limits import Limits

GRADING = Path(__file__).resolve().parent.parent
#: What the student's side needs of this package; nothing else of it enters the sandbox.
FILES = (
    "bridge/autograd.py",
    "bridge/callbacks.py",
    "bridge/exceptions.py",
    "bridge/magics.py",
    "bridge/peer.py",
    "bridge/student.py",
    "sandbox/confine.py",
    "sandbox/limits.py",
    "sandbox/watch.py",
    "sandbox/zygote.py",
    "wire/channel.py",
    "wire/codec.py",
    "wire/containers.py",
    "wire/generators.py",
    "wire/leaves.py",
    "wire/storages.py",
    "wire/tensor_codec.py",
    "wire/tensors.py",
)
#: Programs and libraries, how they are found, what time it is, and which processors there are.
#: Not all of /usr: nbgrader's exchange, with everybody's submissions, may lie in /usr/local/share.
SYSTEM_FILES = (
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/local/lib",
    "/usr/share/fonts",
    "/usr/share/zoneinfo",
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/etc/localtime",
    "/etc/fonts",
    "/sys/devices/system/cpu",
)

#: Where a virtual environment is in the sandbox.
ENVIRONMENT = "/environment"
#: Of a Python environment. Not all of it: it may be the course's folder.
PYTHON_PARTS = ("bin", "lib", "lib64", "pyvenv.cfg")

#: The end of HELP.
UNSAFE = """\
Without the sandbox students' code runs with your rights: it can read the gradebook and your files.
Where you trust everyone, say so by name: --unsafe-no-sandbox (sandbox=False)."""
HELP = (
    """{reason}

Student code is graded in a sandbox made by bubblewrap (0.8 or later). What helps:
  - no bwrap: install it. Debian, Ubuntu: apt install bubblewrap; Fedora: dnf install bubblewrap;
    Arch: pacman -S bubblewrap
  - no new namespace is permitted: on Debian, sysctl kernel.unprivileged_userns_clone=1;
    on Ubuntu 24.04 or later, sysctl kernel.apparmor_restrict_unprivileged_userns=0
  - in a container: start it with --cap-add SYS_ADMIN --security-opt seccomp=unconfined
    --security-opt apparmor=unconfined --security-opt systempaths=unconfined
  - macOS, Windows: use a Linux machine, a virtual machine, or WSL 2
"""
    + UNSAFE
)

MISPLACED = """Python is installed in {prefix}, and the sandbox has a folder of its own there.
Make the course's environment with a Python from another place, such as the system's own."""

CLOSED = """the sandbox's user can't read the Python environment: {path} is closed to others

You are root, and student code runs as a user without rights. The folders above the environment
may be closed, but not the environment itself. Open it, once, for reading:
    chmod -R go+rX {prefix}
or make it again under `umask 022`, or grade as the ordinary user whose files these are."""


class SandboxMissing(RuntimeError):
    """There is no bubblewrap, or it may not make a sandbox here; the message says what helps."""


def find_bubblewrap() -> str:
    """Return the path of bwrap.

    Raises:
        SandboxMissing: if there is none, or this is not Linux.

    """
    if not sys.platform.startswith("linux"):
        raise SandboxMissing(
            HELP.format(reason=f"the sandbox needs Linux, not {sys.platform}")
        )
    path = shutil.which("bwrap")
    if path is None:
        raise SandboxMissing(
            HELP.format(reason="bubblewrap is not installed: no bwrap in PATH")
        )
    return path


def contents(modules: Sequence[Path], user: int) -> dict[str, bytes]:
    """Return the small files of the sandbox, by their path there.

    They go in by what they hold: it does not matter who may read the folder where they lie.

    Args:
        modules: Python files that can be imported in the sandbox, besides `FILES`.
        user: the number of the sandbox's user.

    """
    found = {f"/grader/grading/{name}": (GRADING / name).read_bytes() for name in FILES}
    found.update({f"/grader/{path.name}": path.read_bytes() for path in modules})
    return {
        **found,
        "/etc/passwd": b"student:x:%d:%d::/tmp/home:/bin/sh\n" % (user, user),
    }


def python_parts() -> tuple[list[tuple[str, str]], dict[str, str], str]:
    """Return what Python needs: pairs of (path, path in the sandbox), links, and the program.

    Wherever a virtual environment lies, in the sandbox it is ENVIRONMENT: nothing there tells of
    the course's folder. The Python that it was made from keeps its place.

    Raises:
        SandboxMissing: if that place is one that the sandbox uses itself.

    """
    base = os.path.realpath(sys.base_prefix)
    for prefix in (sys.base_prefix, base):
        if prefix.startswith(("/tmp/", "/dev/", "/proc/", "/grader/")):
            raise SandboxMissing(MISPLACED.format(prefix=prefix))
    binds = [
        (f"{prefix}/{part}", f"{prefix}/{part}")
        for prefix in dict.fromkeys((sys.base_prefix, base))
        for part in PYTHON_PARTS
    ]
    if sys.prefix == sys.base_prefix:
        return binds, {}, sys.executable
    binds += [
        (f"{sys.prefix}/{part}", f"{ENVIRONMENT}/{part}") for part in PYTHON_PARTS[1:]
    ]
    program, real = f"{ENVIRONMENT}/bin/python", os.path.realpath(sys.executable)
    if real.startswith(os.path.realpath(sys.prefix) + "/"):  # made with --copies
        return [*binds, (real, program)], {}, program
    return binds, {program: real}, program


def unreadable() -> str:
    """Return a part of the Python environment that other users can't read, or "".

    Where Python is the system's, others' files lie beside it in /usr/lib, and may well be closed.
    """
    tops = [sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")]
    if sys.prefix != sys.base_prefix:
        tops += [f"{sys.prefix}/{part}" for part in PYTHON_PARTS]
    for top in dict.fromkeys(tops):
        if os.path.exists(top) and not _open_to_others(top):
            return top
        for folder, folders, files in os.walk(top):
            for name in (*folders, *files):
                if not _open_to_others(path := os.path.join(folder, name)):
                    return path
    return ""


def _open_to_others(path: str) -> bool:
    """Tell whether the rights of a file or folder let every user read it."""
    with contextlib.suppress(FileNotFoundError):  # a link to nowhere
        mode = os.stat(path).st_mode
        wanted = 0o005 if stat.S_ISDIR(mode) else 0o004
        return mode & wanted == wanted
    return True


def command(bwrap: str, limits: Limits, files: dict[str, int]) -> list[str]:
    """Return the call of bubblewrap and of Python in the sandbox, without Python's arguments.

    Bubblewrap opens what it shows in the sandbox with the grader's rights. So the folders above
    the Python environment may be closed to others; the environment itself may not, where the
    grader is root: in the sandbox he is somebody else.

    Args:
        bwrap: its path.
        limits: the sizes of the writable file systems come from here.
        files: of `contents`, a descriptor from which each is read.

    """
    call = [
        bwrap,
        "--unshare-ipc",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--die-with-parent",
        "--new-session",
        "--as-pid-1",
        "--hostname",
        "sandbox",
        "--cap-drop",
        "ALL",
    ]
    if os.geteuid() == 0:
        # The warm process becomes a user without rights, who gets a user namespace of his own.
        # A user namespace made here would map the sandbox's user to root.
        for capability in ("CAP_SETUID", "CAP_SETGID", "CAP_CHOWN"):
            call += ["--cap-add", capability]
    else:
        call += ["--unshare-user", "--uid", "1000", "--gid", "1000"]
    binds = [(name, name) for name in SYSTEM_FILES]
    for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64"):
        if os.path.islink(name):
            call += ["--symlink", os.readlink(name), name]
        else:
            binds.append((name, name))
    environment, links, python = python_parts()
    binds += environment
    targets = [*(target for _, target in binds), *files, *links]
    parents = {parent for target in targets for parent in Path(target).parents}
    for parent in sorted(
        parents - {Path("/")}
    ):  # else bubblewrap makes them for root alone
        call += ["--dir", str(parent)]
    for source, target in dict.fromkeys(binds):
        call += ["--ro-bind-try", source, target]
    for target, link in links.items():
        call += ["--symlink", link, target]
    for target, fd in files.items():
        call += ["--perms", "0444", "--ro-bind-data", str(fd), target]
    size = str(2 * limits.file_bytes)
    return [
        *call,
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--ro-bind",
        "/dev/null",
        "/dev/zero",  # closed: mapped, it is memory that nobody counts
        "--size",
        size,
        "--tmpfs",
        "/dev/shm",
        "--size",
        size,
        "--tmpfs",
        "/tmp",
        "--remount-ro",
        "/dev",
        "--remount-ro",
        "/",
        "--chdir",
        "/",
        "--",
        python,
    ]
