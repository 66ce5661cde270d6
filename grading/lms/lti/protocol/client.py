"""HTTP requests to a platform, with time limits and retries."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TypeVar

import requests
from pylti1p3.exception import LtiServiceException

T = TypeVar("T")

#: To connect, and between two pieces of an answer, in seconds.
TIMEOUT = (10, 30)

#: Statuses after which the same request may succeed later.
LATER = frozenset({408, 425, 429, 500, 502, 503, 504})


class Http(requests.Session):
    """A session whose requests end, and that takes neither redirects nor settings from outside."""

    def __init__(self) -> None:
        super().__init__()
        self.headers["User-Agent"] = "course-lti-tool"
        self.trust_env = False

    def request(self, *args: object, **kwargs: object) -> requests.Response:
        """Send a request."""
        return super().request(
            *args, **{"timeout": TIMEOUT, "allow_redirects": False, **kwargs}
        )


class NoAnswer(RuntimeError):
    """The platform did not answer, or asked to come later, up to the last try."""


@dataclass
class Patience:
    """How often and how long to try again.

    After the n-th failure it waits between half and all of `first` · 2^n seconds, at least as long
    as the platform asks for in `Retry-After`; if that is more than `longest`, it gives up.
    """

    tries: int = 6
    first: float = 1.0
    longest: float = 120.0
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.time

    def call(
        self, send: Callable[[], T], refresh: Callable[[], None] = lambda: None
    ) -> T:
        """Call a function that sends a request until it is answered.

        Args:
            send: what is called; it raises what `requests` and the LTI library raise.
            refresh: is called once after an answer 401, to have a new access token fetched.

        Raises:
            LtiServiceException: if the platform refuses the request.
            NoAnswer: if it does not answer, or can't now.

        """
        refreshed = False
        for tried in range(self.tries):
            try:
                return send()
            except LtiServiceException as error:
                status = error.response.status_code
                if status == 401 and not refreshed:
                    refreshed = True
                    refresh()
                    continue
                if status not in LATER:
                    raise
                reason = f"the platform answered {status}"
                asked = retry_after(
                    error.response.headers.get("Retry-After", ""), self.now()
                )
            except requests.RequestException as error:
                reason, asked = f"no answer ({type(error).__name__})", 0.0
            if asked > self.longest:
                raise NoAnswer(f"{reason} and asks to come back in {asked:.0f} seconds")
            if tried + 1 < self.tries:
                wait = min(self.first * 2**tried, self.longest) * random.uniform(0.5, 1)
                self.sleep(max(asked, wait))
        raise NoAnswer(f"{reason}, {self.tries} times")


def retry_after(value: str, now: float) -> float:
    """Return the seconds that a `Retry-After` header asks for (RFC 9110, 10.2.3), 0 if none."""
    if value.strip().isascii() and value.strip().isdigit():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (TypeError, ValueError):
        return 0.0
