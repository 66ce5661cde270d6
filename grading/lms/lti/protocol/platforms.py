"""The configuration: which platforms may open the tool, and what both sides must know."""

from __future__ import annotations

import ipaddress
import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from urllib.parse import urlsplit

from pylti1p3.tool_config import ToolConfDict

from grading.lms.lti.protocol.errors import LtiError
from grading.lms.lti.protocol.keys import Keys, private_folder, write_private

#: The file of platforms, in the tool's folder.
FILE = "platforms.json"


@dataclass(frozen=True)
class Platform:
    """A learning platform, as it is registered here.

    `auth_audience` is what its token service calls itself, where that is not the token's URL.
    `frame_ancestors` are origins, besides those of its URLs, whose pages may frame the tool.
    `owner` is the user (its id there) whose first launch as a teacher sets a course up.
    """

    issuer: str
    client_id: str
    auth_login_url: str
    token_url: str
    jwks_url: str
    deployment_ids: tuple[str, ...]
    auth_audience: str = ""
    frame_ancestors: tuple[str, ...] = ()
    owner: str = ""

    @property
    def key(self) -> str:
        """One word for this registration: issuer and client."""
        return f"{self.issuer} {self.client_id}"

    @property
    def origins(self) -> set[str]:
        """The origins whose pages may show the tool in a frame."""
        found = {origin(self.auth_login_url), *map(origin, self.frame_ancestors)}
        if urlsplit(self.issuer).scheme in ("http", "https"):
            found.add(origin(self.issuer))
        return found


@dataclass(frozen=True)
class Configuration:
    """The tool's own address and the platforms that may open it."""

    public_url: str = ""
    platforms: tuple[Platform, ...] = ()

    def find(self, issuer: str, client_id: str) -> Platform | None:
        """Return the platform that is registered so, None if there is none."""
        return next(
            (
                platform
                for platform in self.platforms
                if (platform.issuer, platform.client_id) == (issuer, client_id)
            ),
            None,
        )

    def with_platform(self, platform: Platform) -> Configuration:
        """Return a configuration with a platform added, or put in the place of its old self."""
        others = tuple(other for other in self.platforms if other.key != platform.key)
        return replace(self, platforms=(*others, platform))

    def tool_conf(self, keys: Keys) -> ToolConfDict:
        """Return what the LTI library reads."""
        table: dict[str, list] = {}
        for platform in self.platforms:
            table.setdefault(platform.issuer, []).append(
                {
                    "client_id": platform.client_id,
                    "auth_login_url": platform.auth_login_url,
                    "auth_token_url": platform.token_url,
                    "key_set_url": platform.jwks_url,
                    "auth_audience": platform.auth_audience or None,
                    "deployment_ids": list(platform.deployment_ids),
                }
            )
        made = ToolConfDict(table)
        for platform in self.platforms:
            made.set_private_key(platform.issuer, keys.private, platform.client_id)
            made.set_public_key(platform.issuer, keys.public, platform.client_id)
        return made


def load(folder: Path) -> Configuration:
    """Return the configuration in the tool's folder; an empty one if there is none.

    Raises:
        LtiError: if the file is not as `save` writes it.

    """
    file = folder / FILE
    if not file.exists():
        return Configuration()
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        platforms = tuple(_platform(entry) for entry in values["platforms"])
        public = (
            check_url(values["public_url"], "public_url")
            if values["public_url"]
            else ""
        )
    except (ValueError, KeyError, TypeError) as error:
        raise LtiError(f"{file}: {type(error).__name__}: {error}") from error
    return Configuration(public, platforms)


def save(folder: Path, configuration: Configuration) -> None:
    """Write the configuration, whole or not at all."""
    text = json.dumps(asdict(configuration), indent=2, ensure_ascii=False)
    write_private(private_folder(folder) / FILE, f"{text}\n".encode())


def check(platform: Platform) -> Platform:
    """Return the platform if its values can be.

    Raises:
        ValueError: naming the value that can't be, and why.

    """
    for name in ("issuer", "client_id"):
        if not getattr(platform, name).strip():
            raise ValueError(f"{name}: expected what the platform says, got nothing")
    for name in ("auth_login_url", "token_url", "jwks_url"):
        check_url(getattr(platform, name), name)
    for name in platform.frame_ancestors:
        check_url(name, "frame_ancestors")
    if not platform.deployment_ids or not all(platform.deployment_ids):
        raise ValueError("deployment_ids: expected at least one, got none")
    return platform


def _platform(entry: dict) -> Platform:
    """Return a platform from its entry in the file."""
    unknown = entry.keys() - {field.name for field in fields(Platform)}
    if unknown:
        raise ValueError(f"platforms: unknown entries: {', '.join(sorted(unknown))}")
    many = {
        name: tuple(entry.get(name, ()))
        for name in ("deployment_ids", "frame_ancestors")
    }
    return check(Platform(**{**entry, **many}))


def origin(url: str) -> str:
    """Return scheme, host and port of a URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()


def is_loopback(url: str) -> bool:
    """Tell whether a URL's host is this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def check_url(url: str, name: str) -> str:
    """Return a URL without its last slash.

    Raises:
        ValueError: if it is no https URL; http is taken on this machine alone.

    """
    parts = urlsplit(url)
    odd = any(character.isspace() or character in "\"'<>;,\\" for character in url)
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or "@" in parts.netloc
        or odd
    ):
        raise ValueError(f"{name}: expected a URL as https://host/path, got {url!r}")
    if parts.scheme == "http" and not is_loopback(url):
        raise ValueError(
            f"{name}: expected https (http only on this machine), got {url!r}"
        )
    return url.rstrip("/")
