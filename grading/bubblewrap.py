"""How bubblewrap is called to make a worker's sandbox."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from grading.limits import Limits

#: What the student's side needs of this package; nothing else of it enters the sandbox.
FILES = ("codec.py", "confine.py", "limits.py", "names.py", "peer.py", "remote.py", "student.py",
         "tables.py", "watch.py", "wire.py", "zygote.py")  # fmt: skip
#: Programs and libraries, how they are found, what time it is, and which processors there are.
#: Not all of /usr: nbgrader's exchange, with everybody's submissions, may lie in /usr/local/share.
SYSTEM_FILES = (
    "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec",
    "/usr/local/lib", "/usr/share/fonts", "/usr/share/zoneinfo",
    "/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/etc/fonts",
    "/sys/devices/system/cpu",
)  # fmt: skip

HELP = """{reason}

Student code is graded in a sandbox made by bubblewrap (0.8 or later). What helps:
  - no bwrap: install it. Debian, Ubuntu: apt install bubblewrap; Fedora: dnf install bubblewrap;
    Arch: pacman -S bubblewrap
  - no new namespace is permitted: on Debian, sysctl kernel.unprivileged_userns_clone=1;
    on Ubuntu 24.04 or later, sysctl kernel.apparmor_restrict_unprivileged_userns=0
  - in a container: start it with --cap-add SYS_ADMIN --security-opt seccomp=unconfined
    --security-opt apparmor=unconfined --security-opt systempaths=unconfined
  - macOS, Windows: use a Linux machine, a virtual machine, or WSL 2
Without the sandbox students' code runs with your rights: it can read the gradebook and your files.
Where you trust everyone, say so by name: --unsafe-no-sandbox (sandbox=False)."""


class SandboxMissing(RuntimeError):
    """There is no bubblewrap, or it may not make a sandbox here; the message says what helps."""


def find_bubblewrap() -> str:
    """Return the path of bwrap.

    Raises:
        SandboxMissing: if there is none, or this is not Linux.

    """
    if not sys.platform.startswith("linux"):
        raise SandboxMissing(HELP.format(reason=f"the sandbox needs Linux, not {sys.platform}"))
    path = shutil.which("bwrap")
    if path is None:
        raise SandboxMissing(HELP.format(reason="bubblewrap is not installed: no bwrap in PATH"))
    return path


def command(bwrap: str, limits: Limits, modules: Sequence[Path], passwd: int) -> list[str]:
    """Return the call of bubblewrap, up to the program to run in the sandbox.

    Args:
        bwrap: its path.
        limits: the sizes of the writable file systems come from here.
        modules: Python files that can be imported in the sandbox, besides `FILES`.
        passwd: a descriptor from which the sandbox's /etc/passwd is read.

    """
    call = [
        bwrap, "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts",
        "--unshare-cgroup-try", "--die-with-parent", "--new-session", "--as-pid-1",
        "--hostname", "sandbox", "--cap-drop", "ALL",
    ]  # fmt: skip
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
    for prefix in dict.fromkeys((sys.base_prefix, sys.prefix)):
        for part in ("bin", "lib", "lib64", "pyvenv.cfg"):  # not all: it may be the course's folder
            binds.append((f"{prefix}/{part}", f"{prefix}/{part}"))
    here = Path(__file__).resolve().parent
    binds += [(str(here / name), f"/grader/grading/{name}") for name in FILES]
    binds += [(str(path.resolve()), f"/grader/{path.name}") for path in modules]
    parents = {parent for _, target in binds for parent in Path(target).parents}
    for parent in sorted(parents - {Path("/")}):  # else bubblewrap makes them for root alone
        call += ["--dir", str(parent)]
    for source, target in dict.fromkeys(binds):
        call += ["--ro-bind-try", source, target]
    size = str(2 * limits.file_bytes)
    return [
        *call, "--ro-bind-data", str(passwd), "/etc/passwd", "--proc", "/proc", "--dev", "/dev",
        "--size", size, "--tmpfs", "/dev/shm", "--size", size, "--tmpfs", "/tmp",
        "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/", "--",
    ]  # fmt: skip
