"""What an administrator sets: `hub.toml`, read and checked before anything starts.

`hub.example.toml` holds every setting with its meaning. Nothing in it is secret: LTI 1.3 has a
public key on the platform's side and no shared secret.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class SettingsError(ValueError):
    """Something an administrator can mend; its text says what and how."""


@dataclass(frozen=True)
class Hub:
    """The hub itself."""

    address: str
    state: Path = Path("/var/lib/attention-hub")
    homes: Path = Path("/home")
    course: str = "attention"
    port: int = 8000
    spawner: str = "auto"
    certificate: str = ""
    key: str = ""
    repository: str = ""
    branch: str = "main"


@dataclass(frozen=True)
class Lti:
    """The learning platform, as it names itself when the hub is registered there.

    `courses` are the contexts that are let in, by deployment.
    """

    issuer: str
    client_id: tuple[str, ...]
    courses: dict[str, tuple[str, ...]]
    authorize_url: str
    jwks_endpoint: str


@dataclass(frozen=True)
class Limits:
    """What one user may take."""

    memory: str = "2G"
    cpu: float = 1.0
    processes: int = 512
    file_megabytes: int = 1024
    servers: int = 60
    idle_minutes: int = 30


@dataclass(frozen=True)
class Settings:
    """All of hub.toml."""

    hub: Hub
    lti: Lti
    limits: Limits

    @property
    def https(self) -> bool:
        """Whether browsers reach the hub by https."""
        return urlsplit(self.hub.address).scheme == "https"

    @property
    def platform(self) -> str:
        """The platform's origin, which may show the hub in a frame."""
        parts = urlsplit(self.lti.authorize_url)
        return f"{parts.scheme}://{parts.netloc}"


def load(path: Path) -> Settings:
    """Return the settings in a file.

    Raises:
        SettingsError: if the file can't be read, or a setting is unknown, missing or wrong.

    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(
            f"there is no {path}. Copy deploy/hub.example.toml there, and fill in "
            "what your learning platform shows when you register the hub"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path.name}: {error}") from None
    if unknown := raw.keys() - {"hub", "lti", "limits"}:
        raise SettingsError(
            f"{path.name}: [{min(unknown)}]: expected [hub], [lti] or [limits]"
        )
    made = Settings(
        _section(Hub, raw.get("hub", {}), "hub"),
        _section(Lti, raw.get("lti", {}), "lti"),
        _section(Limits, raw.get("limits", {}), "limits"),
    )
    _check(made)
    return made


def _section(kind: type, raw: Any, name: str) -> Any:
    """Return one section's values, each of the type that its field has."""
    if not isinstance(raw, dict):
        raise SettingsError(f"[{name}]: expected a section, found {raw!r}")
    known = {field.name: str(field.type) for field in fields(kind)}
    if unknown := raw.keys() - known.keys():
        raise SettingsError(
            f"[{name}] {min(unknown)}: no such setting. There are: {', '.join(known)}"
        )
    values = {
        key: _value(value, known[key], f"[{name}] {key}") for key, value in raw.items()
    }
    missing = [
        f.name for f in fields(kind) if f.default is MISSING and f.name not in values
    ]
    if missing:
        raise SettingsError(f"[{name}]: {', '.join(missing)} must be set")
    return kind(**values)


def _value(value: Any, kind: str, where: str) -> Any:
    """Return a value as its field's type, or say what was expected."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "str" and isinstance(value, str):
        return value
    if kind == "Path" and isinstance(value, str) and value.startswith("/"):
        return Path(value)
    if kind == "int" and number and value == int(value) and value > 0:
        return int(value)
    if kind == "float" and number and value > 0:
        return float(value)
    if kind == "tuple[str, ...]":
        several = [value] if isinstance(value, str) else value
        if (
            isinstance(several, list)
            and several
            and all(isinstance(one, str) and one for one in several)
        ):
            return tuple(several)
    if kind == "dict[str, tuple[str, ...]]" and isinstance(value, dict):
        return {
            key: _value(one, "tuple[str, ...]", f"{where}.{key}")
            for key, one in value.items()
        }
    expected = {
        "str": "a text",
        "Path": "a path from /",
        "int": "a whole number above 0",
        "float": "a number above 0",
        "tuple[str, ...]": "a text, or a list of texts",
        "dict[str, tuple[str, ...]]": "a table of deployments, each with its courses",
    }[kind]
    raise SettingsError(f"{where}: expected {expected}, found {value!r}")


def _check(made: Settings) -> None:
    """Raise SettingsError where values make no sense."""
    lti = {
        f"[lti] {name}": getattr(made.lti, name)
        for name in ("issuer", "authorize_url", "jwks_endpoint")
    }
    for where, text in {"[hub] address": made.hub.address, **lti}.items():
        parts = urlsplit(text)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise SettingsError(
                f"{where}: expected an address such as https://lms.example.org, "
                f"found {text!r}"
            )
        if parts.scheme == "http" and parts.hostname not in LOOPBACK:
            raise SettingsError(
                f"{where}: {text}: must begin with https://, otherwise anybody on "
                "the way can log in as anybody"
            )
    if urlsplit(made.hub.address).path.strip("/"):
        raise SettingsError(
            f"[hub] address: {made.hub.address}: expected a host alone, no path"
        )
    if made.hub.spawner not in {"auto", "systemd", "local"}:
        raise SettingsError(
            f"[hub] spawner: expected auto, systemd or local, "
            f"found {made.hub.spawner!r}"
        )
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,19}", made.hub.course):
        raise SettingsError(
            f"[hub] course: expected up to 20 small letters, digits and hyphens, "
            f"found {made.hub.course!r}"
        )
    if bool(made.hub.certificate) != bool(made.hub.key):
        raise SettingsError(
            "[hub] certificate, key: set both, or neither (a web server in front "
            "of the hub then does HTTPS)"
        )
    if made.hub.certificate and not made.https:
        raise SettingsError(
            "[hub] address: must begin with https:// where there is a certificate"
        )
    if not re.fullmatch(r"\d+[KMGT]", made.limits.memory):
        raise SettingsError(
            f"[limits] memory: expected a size such as 2G, found {made.limits.memory!r}"
        )
