"""The tool's key pair, made on the first start."""

from __future__ import annotations

import stat
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from pylti1p3.registration import Registration

from grading.course import files
from grading.lms.lti.protocol.errors import LtiError

#: The private key's file, in the tool's folder.
PRIVATE = "private-key.pem"


@dataclass(frozen=True)
class Keys:
    """The tool's key pair, as PEM text; printing it does not show the private key."""

    private: str = field(repr=False)
    public: str

    @property
    def jwks(self) -> dict[str, list]:
        """The public key as a JSON Web Key Set, which the platform fetches."""
        return {"keys": [dict(Registration.get_jwk(self.public))]}


def load(folder: Path) -> Keys:
    """Return the tool's keys; makes them if there are none yet.

    Raises:
        LtiError: if the private key can be read by others, or is none.

    """
    file = folder / PRIVATE
    if not file.exists():
        _make(file)
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & 0o077:
        raise LtiError(
            f"{file} can be read by others (mode {mode:04o}). Whoever has it can send grades in "
            f"this course's name: chmod 600 {file}, and if in doubt delete it and register anew"
        )
    try:
        private = serialization.load_pem_private_key(file.read_bytes(), password=None)
    except (ValueError, TypeError) as error:
        raise LtiError(
            f"{file} holds no private key; delete it to have a new one made"
        ) from error
    public = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return Keys(file.read_text(encoding="ascii"), public.decode("ascii"))


def private_folder(folder: Path) -> Path:
    """Return the tool's folder, made so that only its owner can look into it."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def write_private(file: Path, data: bytes, *, replace: bool = True) -> None:
    """Write a file that only its owner can read: whole, or not at all."""
    files.write(file, data, mode=0o600, replace=replace, durable=True)


def _make(file: Path) -> None:
    """Make a key pair; where another process was faster, its pair is the one."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    data = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    private_folder(file.parent)
    try:
        write_private(file, data, replace=False)
    except FileExistsError:
        return
