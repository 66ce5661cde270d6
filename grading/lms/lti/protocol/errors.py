"""Errors of the LTI tool, in words for the person who meets them."""

from __future__ import annotations


class LtiError(RuntimeError):
    """Something can't be done; the message says what to do about it."""


class Refused(LtiError):
    """A request was turned down.

    The message is shown to the person. `log` says more, for the log only; neither ever contains a
    token, a key, a nonce or a cookie.
    """

    def __init__(self, message: str, status: int = 403, log: str = "") -> None:
        super().__init__(message)
        self.status, self.log = status, log or message
