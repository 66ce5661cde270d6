"""A launch: the login that a platform initiates, and its id_token.

The LTI library checks the message; here are its doors to this tool (request, cookies, store), and
the checks that it leaves open:

- a state is good once, for the browser that got it as a cookie, for five minutes;
- a nonce is good once, and only with the state that it was made for;
- only RS256; audience, issuer, issue and expiry times must be there and fit;
- the answer comes from the platform that the login went to;
- the course is one that was set up here (see `store`);
- the page asked for is this tool's.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import jwt
import requests
from pylti1p3.cookie import CookieService
from pylti1p3.exception import (
    LtiException,
    LtiKeyException,
    LtiMessageValidationException,
    OIDCException,
    ToolConfException,
)
from pylti1p3.message_launch import MessageLaunch
from pylti1p3.oidc_login import OIDCLogin
from pylti1p3.request import Request
from pylti1p3.session import SessionService

from grading.lms.lti.protocol.client import Http
from grading.lms.lti.protocol.errors import Refused
from grading.lms.lti.protocol.keys import Keys
from grading.lms.lti.protocol.membership import INSTRUCTOR
from grading.lms.lti.protocol.platforms import Configuration, origin
from grading.lms.lti.protocol.store import Store
from grading.lms.lti.protocol.visit import LINKING, Visit, from_claims

#: The only signature that LTI platforms must support, and the only one taken (LTI security, 5.1.3).
ALGORITHM = "RS256"

#: How far the clocks of platform and tool may differ, and how old a message may be, in seconds.
LEEWAY, OLDEST = 30, 10 * 60

AGAIN = "Open the course's link in your learning platform once more."


@dataclass
class Tool:
    """What launches need: the tool's address, its platforms, its keys, its database."""

    configuration: Configuration
    keys: Keys
    store: Store
    http: requests.Session = field(default_factory=Http)
    now: Callable[[], float] = time.time

    @property
    def public_url(self) -> str:
        """The address under which browsers and platforms reach the tool, without last slash."""
        return self.configuration.public_url

    @property
    def secure(self) -> bool:
        """Whether browsers reach the tool over https."""
        return self.public_url.startswith("https:")


@dataclass
class Cookies(CookieService):
    """The cookies of one request, and those that its answer shall set: name -> (value, seconds)."""

    got: Mapping[str, str]
    to_set: dict[str, tuple[str, int]] = field(default_factory=dict)

    def get_cookie(self, name: str) -> str | None:
        """Return a cookie that the browser sent."""
        return self.got.get(name)

    def set_cookie(self, name: str, value: str | int, exp: int | None = 3600) -> None:
        """Have a cookie set."""
        self.to_set[name] = (str(value), exp or 3600)


@dataclass
class Parameters(Request):
    """One request's parameters."""

    values: Mapping[str, str]
    secure: bool

    def is_secure(self) -> bool:
        """Tell whether the tool is reached over https."""
        return self.secure

    def get_param(self, key: str) -> str:
        """Return a parameter, "" if it was not sent."""
        return self.values.get(key, "")


class Attempts(SessionService):
    """Where states and nonces are kept: in the database, each good once, each with its other."""

    def __init__(self, request: Parameters, store: Store) -> None:
        super().__init__(request)
        self._request, self._store, self._nonce = request, store, ""
        self.came_from: tuple[str, str] | None = None

    def save_nonce(self, nonce: str) -> None:
        """Keep the nonce until the state it belongs to is known."""
        self._nonce = nonce

    def save_state_params(self, state: str, params: Mapping[str, object]) -> None:
        """Write down the state, with its nonce and the platform that the browser is sent to."""
        self._store.add_login(
            state, self._nonce, str(params["issuer"]), str(params["client_id"])
        )

    def check_state_is_valid(self, state: str, id_token_hash: str) -> bool:
        """Never vouch for a state: the browser's cookie has to."""
        return False

    def set_state_valid(self, state: str, id_token_hash: str) -> None:
        """Forget the state: a page that is loaded again does not launch again."""

    def check_nonce(self, nonce: str) -> bool:
        """Use the state up, and tell whether the nonce was made for it."""
        self.came_from = self._store.take_login(self._request.get_param("state"), nonce)
        return self.came_from is not None

    def save_launch_data(self, key: str, jwt_body: Mapping[str, object]) -> None:
        """Keep nothing of the message: what is needed of it goes into the database."""


class Login(OIDCLogin):
    """The first half, with the place that the browser is sent to as a plain text."""

    def location(self, launch_url: str) -> str:
        """Return the platform's address to send the browser to."""
        platform = self.validate_oidc_login()
        self.pass_params_to_launch(
            {"issuer": platform.get_issuer(), "client_id": platform.get_client_id()}
        )
        return self._prepare_redirect_url(launch_url)


class Launch(MessageLaunch):
    """The second half, stricter than the library where it leaves a choice."""

    def _get_request_param(self, key: str) -> str:
        return self._request.get_param(key)

    def validate_jwt_format(self) -> Launch:
        """Check the token's form, its algorithm, and the claims that are read before it's signed.

        Raises:
            LtiMessageValidationException: if one of them is not as it must be.

        """
        super().validate_jwt_format()
        header, body = self._jwt["header"], self._jwt["body"]
        if not isinstance(header, dict) or not isinstance(body, dict):
            raise LtiMessageValidationException("header and body must be objects")
        if header.get("alg") != ALGORITHM:
            raise LtiMessageValidationException(
                f"the token is not signed with {ALGORITHM}"
            )
        if not isinstance(body.get(LINKING, {}), dict):
            raise LtiMessageValidationException("the settings of a link are no object")
        for name in ("iss", "nonce"):
            if not isinstance(body.get(name), str):
                raise LtiMessageValidationException(f"{name} must be a text")
        audience = body.get("aud")
        several = audience if isinstance(audience, list) else [audience]
        if not several or not all(isinstance(one, str) for one in several):
            raise LtiMessageValidationException("aud must be a text or a list of texts")
        if body.get("azp") is None and len(several) > 1:
            raise LtiMessageValidationException(
                "several audiences, and none is named in azp"
            )
        if body.get("azp") not in (None, several[0]):
            raise LtiMessageValidationException("azp is another client")
        return self

    def fetch_public_key(self, key_set_url: str) -> dict:
        """Return the platform's key set.

        Raises:
            LtiKeyException: if there is none, or it has not the form of one.

        """
        found = super().fetch_public_key(key_set_url)
        keys = found.get("keys") if isinstance(found, dict) else None
        if not isinstance(keys, list) or not all(isinstance(key, dict) for key in keys):
            raise LtiKeyException("the platform's key set has not the form of one")
        return found

    def validate_jwt_signature(self) -> Launch:
        """Check signature, audience, issuer and times.

        Raises:
            LtiMessageValidationException: if one of them is wrong.

        """
        key, _ = self.get_public_key()
        try:
            claims = jwt.decode(
                self._get_id_token(),
                key,
                algorithms=[ALGORITHM],
                audience=self._registration.get_client_id(),
                issuer=self._registration.get_issuer(),
                leeway=LEEWAY,
                options={"require": ["exp", "iat", "iss", "aud", "sub", "nonce"]},
            )
        except jwt.InvalidTokenError as error:
            raise LtiMessageValidationException(
                f"{type(error).__name__}: {error}"
            ) from error
        if not isinstance(claims["iat"], int | float):
            raise LtiMessageValidationException("iat must be a number")
        if claims["iat"] < time.time() - OLDEST:
            raise LtiMessageValidationException("the token was issued too long ago")
        return self


def begin(tool: Tool, values: Mapping[str, str], cookies: Cookies) -> str:
    """Answer the first half of a launch: return where the browser has to go.

    Raises:
        Refused: if the platform is unknown, or the page asked for is not this tool's.

    """
    check_target(tool, values.get("target_link_uri", ""))
    request = Parameters(values, tool.secure)
    login = Login(
        request,
        tool.configuration.tool_conf(tool.keys),
        session_service=Attempts(request, tool.store),
        cookie_service=cookies,
    )
    try:
        return login.location(f"{tool.public_url}/launch")
    except (OIDCException, ToolConfException, LtiException) as error:
        raise Refused(
            "This course's pages are not registered with your learning platform, or the link to "
            "them is incomplete. Your teacher can find the reason in the tool's log.",
            log=f"login refused: {_short(error)}",
        ) from error


def finish(tool: Tool, values: Mapping[str, str], cookies: Cookies) -> Visit:
    """Answer the second half of a launch: return who came, and from where.

    Raises:
        Refused: if anything about the message is not as it must be.

    """
    if values.get("error"):  # the platform itself said no (OpenID Connect, 3.1.2.6)
        raise Refused(
            f"Your learning platform could not log you in. {AGAIN}",
            log=f"the platform answered {values['error'][:80]!r}",
        )
    state = values.get("state", "")
    if not state or cookies.get_cookie(state) != state:
        raise Refused(
            "Your browser did not bring back the cookie that belongs to this launch. Some browsers "
            "keep cookies away from pages shown inside another page: open the link in a new "
            f"window or tab. {AGAIN}",
            log="state is missing or not this browser's",
        )
    request = Parameters(values, tool.secure)
    attempts = Attempts(request, tool.store)
    launch = Launch(
        request,
        tool.configuration.tool_conf(tool.keys),
        session_service=attempts,
        cookie_service=cookies,
        requests_session=tool.http,
    )
    try:
        claims = launch.get_launch_data()
        if not launch.is_resource_launch() and not launch.is_deep_link_launch():
            raise LtiMessageValidationException("only links are opened and made here")
        visit = from_claims(claims, launch.get_client_id())
    except (LtiException, ToolConfException, ValueError) as error:
        raise Refused(
            f"The message of your learning platform was not accepted. {AGAIN}",
            log=f"launch refused: {_short(error)}",
        ) from error
    if attempts.came_from != (visit.issuer, visit.client_id):
        raise Refused(
            f"The message came from another platform than was asked. {AGAIN}",
            log="launch refused: issuer or client is not the login's",
        )
    check_target(tool, visit.target)
    return visit


def is_owner(tool: Tool, visit: Visit) -> bool:
    """Tell whether somebody's first launch may set a course up."""
    platform = tool.configuration.find(visit.issuer, visit.client_id)
    owner = platform.owner if platform else ""
    return bool(owner) and owner == visit.user and visit.role == INSTRUCTOR


def foreign(tool: Tool, visit: Visit) -> Refused:
    """Return what is said to somebody from a course that was not set up."""
    options = {"add": visit.context, "deployment-id": visit.deployment}
    if len(tool.configuration.platforms) > 1:
        options |= {"issuer": visit.issuer, "client-id": visit.client_id}
    # The ids are the platform's words, and somebody will paste them into a shell.
    quoted = shlex.join(f"--{name}={value}" for name, value in options.items())
    command = f"python -m grading lms course {quoted}"
    message = "These pages were not set up for the course that you come from. "
    if visit.role == INSTRUCTOR:
        message += (
            "If its teachers are to see the grades here, whoever runs the tool can add the "
            f"course: {command}"
        )
    else:
        message += "Please tell your teacher."
    return Refused(message, log=f"a course that is not set up; to add it: {command}")


def check_target(tool: Tool, target: str) -> None:
    """Check that a page asked for is this tool's launch page.

    Raises:
        Refused: if it is another.

    """
    parts, own = urlsplit(target), urlsplit(tool.public_url)
    pages = {f"{own.path}/launch", f"{own.path}/", own.path}
    if (
        origin(target) != origin(tool.public_url)
        or parts.path not in pages
        or parts.fragment
    ):
        raise Refused(
            "The link in your learning platform leads elsewhere than to these pages. Its target "
            f"has to be {tool.public_url}/launch.",
            log="target_link_uri is not this tool's",
        )


def _short(error: Exception) -> str:
    """Return an error for the log: one line, and not long enough to hold a token."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
