"""A hub on a machine of its own, as far as files and accounts go: in namespaces of its own.

It has its own /etc and its own processes. Accounts that the hub makes are real there, with real
user ids, and are gone with it. Network and the course's environments are shared.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
import shutil
import socket
import ssl
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.deploy.platform import CLIENT, CONTEXT, DEPLOYMENT, Platform

ROOT = Path(__file__).resolve().parent.parent.parent
COPIED = ("deploy", "exercises", "grading", "solutions", "tools")
NOT_COPIED = shutil.ignore_patterns("__pycache__", ".venv", "node_modules", "state")


def missing() -> str:
    """Return why a hub can't run here, "" if it can."""
    if os.geteuid() != 0:
        return "only root can give the hub's users accounts of their own"
    for program in ("bwrap", "git", "node", "unshare", "useradd"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    if not (ROOT / "deploy" / ".venv" / "course-stamp").exists():
        return "run `make -C deploy install`"
    return ""


def free_ports() -> int:
    """Return the first of three ports in a row that nobody uses."""
    begin = 18000 + os.getpid() % 100 * 10  # tests beside this one begin elsewhere
    for first in range(begin, 20000, 10):
        taken = []
        try:
            for port in range(first, first + 3):
                taken.append(socket.create_server(("127.0.0.1", port)))
        except OSError:
            continue
        else:
            return first
        finally:
            for one in taken:
                one.close()
    raise RuntimeError("no three free ports in a row")


def certificate(folder: Path) -> None:
    """Write a key and a certificate for 127.0.0.1, good for a day."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName(
                [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
            ),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


#: Mounts, of a kind that nobody outside sees, and then the hub. $1 is the machine's folder, $2 its
#: Python's, and $3 the folder above that which is closed to users, or nothing.
INSIDE = """
set -e
mount --bind "$1/etc" /etc
if [ -n "$3" ]; then
  mkdir -p "$1/python"
  mount --bind "$2" "$1/python"
  mount -t tmpfs -o mode=755 none "$3"
  mkdir -p "$2"
  mount --bind "$1/python" "$2"
fi
cd "$1/course"
exec deploy/.venv/bin/python -m deploy.hub --config "$1/hub.toml"
"""


def python_folders() -> tuple[str, str]:
    """Return where this Python lies, and the outermost folder above it that is closed to users."""
    base = Path(os.path.realpath(sys.base_prefix))
    closed = [
        folder for folder in base.parents if not folder.stat().st_mode & stat.S_IXOTH
    ]
    return str(base), str(closed[-1]) if closed else ""


class Machine:
    """A copy of the course in a folder that all may reach, and the hub that runs from it."""

    def __init__(self, folder: Path, platform: Platform) -> None:
        self.folder = folder
        self.root = folder / "course"
        self.state = folder / "state"
        self.homes = folder / "homes"
        self.port = free_ports()
        self.address = f"https://127.0.0.1:{self.port}"
        self.platform = platform
        platform.hub = self.address
        self.log = folder / "hub.log"
        self.process: subprocess.Popen | None = None
        folder.chmod(0o755)
        for name in COPIED:
            shutil.copytree(ROOT / name, self.root / name, ignore=NOT_COPIED)
        shutil.copyfile(ROOT / "nbgrader_config.py", self.root / "nbgrader_config.py")
        (self.root / ".venv").symlink_to(ROOT / ".venv")
        for name in (".venv", "node_modules"):
            (self.root / "deploy" / name).symlink_to(ROOT / "deploy" / name)
        shutil.copytree("/etc", folder / "etc", symlinks=True)
        certificate(folder)
        self.config = folder / "hub.toml"
        self.config.write_text(self.settings(), encoding="utf-8")

    def settings(self) -> str:
        """Return hub.toml."""
        return f"""
[hub]
address = "{self.address}"
state = "{self.state}"
homes = "{self.homes}"
port = {self.port}
spawner = "local"
certificate = "{self.folder}/cert.pem"
key = "{self.folder}/key.pem"
[lti]
issuer = "{self.platform.address}"
client_id = "{CLIENT}"
courses = {{ "{DEPLOYMENT}" = ["{CONTEXT}"] }}
authorize_url = "{self.platform.address}/authorize"
jwks_endpoint = "{self.platform.address}/jwks"
[limits]
file_megabytes = 64
processes = 300
"""

    def start(self, seconds: float = 90) -> None:
        """Start the hub, and wait until it answers.

        Raises:
            RuntimeError: if it ends, or does not answer in time; with what it said.

        """
        inside = [
            "unshare",
            "--mount",
            "--pid",
            "--fork",
            "--mount-proc",
            "--kill-child",
            "sh",
            "-c",
            INSIDE,
            "sh",
            str(self.folder),
            *python_folders(),
        ]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                inside, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                break
            try:
                with self.open("/hub/api/"):
                    return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.5)
        self.stop()
        raise RuntimeError(f"the hub did not start:\n{self.said()[-3000:]}")

    def said(self) -> str:
        """Return the hub's log."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def open(self, path: str) -> object:
        """Request an address of the hub."""
        context = ssl.create_default_context(cafile=str(self.folder / "cert.pem"))
        return urllib.request.urlopen(self.address + path, context=context, timeout=10)

    def stop(self) -> None:
        """Stop every process of the machine at once, as a power cut does."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
