"""Login from the learning platform: ltiauthenticator's LTI 1.3, with accounts, roles and a roster.

The one machine and the cluster use this same file; it needs people.py beside it, and what that
shares with the tool for grades, grading/lms/lti/protocol/membership.py.

What it adds to `LTI13Authenticator`, which checks the token's signature, issuer, audience, expiry,
state and nonce: the course must be one that was set up; the account's name comes from the
platform's own number of the user, never from an e-mail address that users may change; the role in
the course decides whether one is an instructor or a student, and everybody else is turned away.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ltiauthenticator.lti13.auth import LTI13Authenticator
from ltiauthenticator.lti13.handlers import LTI13LoginInitHandler
from tornado.web import HTTPError
from traitlets import Dict, List, Unicode

from deploy.people import NotAdmitted, admit, note, username


class CrossSiteLogin(LTI13LoginInitHandler):
    """The first step of a launch; its two cookies come back with the platform's form.

    That form is sent from another site, so browsers return only cookies that say SameSite=None,
    and these only over HTTPS. The hub's own cookies stay as they are.
    """

    def _set_oauth_cookie(self, key: str, value: str) -> None:
        """Set a cookie that holds for one launch."""
        secure = self.authenticator.get_uri_scheme(self.request) == "https"
        others = {"samesite": "None", "secure": True} if secure else {}
        self._set_cookie(key, value, encrypted=True, httponly=True, **others)


class CourseLTI13Authenticator(LTI13Authenticator):
    """LTI 1.3 login for one course."""

    login_handler = CrossSiteLogin
    courses = Dict(
        List(Unicode()),
        config=True,
        help="The courses (contexts) that are let in, by deployment.",
    )
    roster = Unicode("", config=True, help="Where to note who is who; empty: nowhere.")

    async def authenticate(
        self, handler: Any, data: dict[str, Any] | None = None
    ) -> dict:
        """Return the account and group of a user whose token has been checked.

        Raises:
            HTTPError: 403 if the launch comes from another course, or the user has no role in it.

        """
        claims = data or {}
        subject = str(claims.get("sub") or "")
        if not subject:
            raise HTTPError(
                403,
                "The learning platform did not say who you are: anonymous "
                "launches are not let in.",
            )
        try:
            group = admit(claims, self.courses)
        except NotAdmitted as error:
            raise HTTPError(403, str(error)) from None
        name = username(self.issuer, subject)
        if self.roster and group == "students":
            note(
                Path(self.roster),
                {
                    "id": name,
                    "first_name": str(claims.get("given_name") or ""),
                    "last_name": str(
                        claims.get("family_name") or claims.get("name") or ""
                    ),
                    "email": str(claims.get("email") or ""),
                    "lms_user_id": subject,
                },
            )
        return {"name": name, "groups": [group], "auth_state": None}
