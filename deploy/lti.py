"""Login from the learning platform: ltiauthenticator's LTI 1.3, with accounts, roles and a roster.

The one machine and the cluster use this same file; of deploy/ it needs people.py alone.

What it adds to `LTI13Authenticator`, which checks the token's signature, issuer, audience, expiry,
state and nonce: the deployment must be known; the account's name comes from the platform's own
number of the user, never from an e-mail address that users may change; the role in the course
decides whether one is an instructor or a student, and everybody else is turned away.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ltiauthenticator.lti13.auth import LTI13Authenticator
from ltiauthenticator.lti13.handlers import LTI13LoginInitHandler
from tornado.web import HTTPError
from traitlets import Set, Unicode

from deploy.people import CLAIM, note, role, username


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
    deployment_id = Set(Unicode(), config=True, help="The deployments whose launches are let in.")
    roster = Unicode("", config=True, help="Where to note who is who; empty: nowhere.")

    async def authenticate(self, handler: Any, data: dict[str, Any] | None = None) -> dict:
        """Return the account and group of a user whose token has been checked.

        Raises:
            HTTPError: 403 if the deployment is unknown, or the user has no role in the course.

        """
        claims = data or {}
        subject = str(claims.get("sub") or "")
        if not subject:
            raise HTTPError(403, "The learning platform did not say who you are: anonymous "
                                 "launches are not let in.")
        if claims.get(f"{CLAIM}deployment_id") not in self.deployment_id:
            raise HTTPError(403, "This launch comes from a deployment that the hub does not know.")
        group = role(claims)
        if group is None:
            raise HTTPError(403, "The hub is for students and instructors of the course.")
        name = username(self.issuer, subject)
        if self.roster and group == "students":
            note(Path(self.roster), {
                "id": name, "first_name": str(claims.get("given_name") or ""),
                "last_name": str(claims.get("family_name") or claims.get("name") or ""),
                "email": str(claims.get("email") or ""), "lms_user_id": subject,
            })
        return {"name": name, "groups": [group], "auth_state": None}
