"""Clients of a platform's services: roster, line items, scores."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import requests
from pylti1p3.assignments_grades import AssignmentsGradesService
from pylti1p3.exception import LtiException, LtiServiceException
from pylti1p3.grade import Grade
from pylti1p3.lineitem import LineItem
from pylti1p3.names_roles import NamesRolesProvisioningService
from pylti1p3.registration import Registration
from pylti1p3.service_connector import ServiceConnector

from grading.lms.lti.protocol.client import Http, NoAnswer, Patience
from grading.lms.lti.protocol.errors import LtiError
from grading.lms.lti.protocol.launch import Tool
from grading.lms.lti.protocol.store import Course

_AGS = "https://purl.imsglobal.org/spec/lti-ags/scope/"
SCORE, RESULTS, LINE_ITEM = f"{_AGS}score", f"{_AGS}result.readonly", f"{_AGS}lineitem"


class Connector(ServiceConnector):
    """The library's requests with an access token, which is kept until shortly before its end."""

    def __init__(self, registration: Registration, session: requests.Session) -> None:
        super().__init__(registration, session)
        self._tokens: dict[str, tuple[str, float]] = {}

    def forget_tokens(self) -> None:
        """Have a new access token fetched the next time."""
        self._tokens.clear()

    def _get_cached_access_token(self, scope_key: str) -> str | None:
        token, end = self._tokens.get(scope_key, ("", 0.0))
        return token if time.monotonic() < end else None

    def _cache_access_token(
        self, scope_key: str, access_token: str, expires_in: float
    ) -> None:
        self._tokens[scope_key] = (
            access_token,
            time.monotonic() + float(expires_in or 0) - 30,
        )


class Members(NamesRolesProvisioningService):
    """A course's roster, which says itself whose it is."""

    def __init__(self, connector: ServiceConnector, course: Course) -> None:
        super().__init__(connector, {"context_memberships_url": course.members_url})
        self._context = course.context

    def get_nrps_data(self, members_url: str | None = None) -> dict:
        """Return a page of it.

        Raises:
            LtiException: if it is another course's.

        """
        page = super().get_nrps_data(members_url)
        body = page.get("body")
        context = body.get("context") if isinstance(body, dict) else None
        if isinstance(context, dict) and context.get("id") not in (None, self._context):
            raise LtiException("the platform sent another course's")
        return page


class Prepared(Grade):
    """A score whose text is ready, byte for byte as the outbox has it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def get_value(self) -> str:
        """Return the text."""
        return self._text


@dataclass
class Services:
    """The services of one course.

    Raises:
        LtiError: from each call that the platform does not answer, or refuses.

    """

    course: Course
    connector: Connector
    patience: Patience = field(default_factory=Patience)

    def members(self) -> dict[str, dict]:
        """Return the platform's roster, by user id; only those who are active there."""
        if not self.course.members_url:
            raise LtiError(
                "The platform did not offer its roster. Allow it for this tool there (Names and "
                "Roles), then open the course's link once more."
            )
        found = self._call(
            "the roster", Members(self.connector, self.course).get_members
        )
        if not isinstance(found, list) or not all(
            isinstance(member, dict) for member in found
        ):
            raise LtiError("the platform's roster has not the form of one")
        return {
            str(member["user_id"]): member
            for member in found
            if member.get("user_id") and member.get("status", "Active") == "Active"
        }

    def line_item(self, assignment: str, maximum: float) -> str:
        """Return the URL of an assignment's line item; makes it if the course has none."""
        if LINE_ITEM not in self.course.scopes or not self.course.line_items_url:
            raise LtiError(
                "The platform does not let this tool make columns in its gradebook. Allow it there "
                f"(Assignment and Grade Services), or add a link for {assignment} with the custom "
                f"parameter assignment={assignment}, and open it once."
            )
        most = int(maximum) if float(maximum).is_integer() else maximum
        new = (
            LineItem()
            .set_tag(assignment)
            .set_resource_id(assignment)
            .set_label(assignment)
            .set_score_maximum(most)
        )
        found = self._call(
            "the line items", lambda: self._grades().find_or_create_lineitem(new)
        )
        if not found.get_id():
            raise LtiError("the platform returned a line item without address")
        return str(found.get_id())

    def has_line_item(self, url: str) -> bool:
        """Tell whether the platform has a line item still; True where it may not be asked."""
        if not {LINE_ITEM, f"{LINE_ITEM}.readonly"} & set(self.course.scopes):
            return True
        try:
            self.patience.call(
                lambda: self._grades().get_lineitem(url), self.connector.forget_tokens
            )
        except LtiServiceException as error:
            if error.response.status_code in (404, 410):
                return False
            raise LtiError(
                f"The platform refused the column: status {error.response.status_code}"
            ) from error
        except (NoAnswer, LtiException) as error:
            raise LtiError(f"the column: {error}") from error
        return True

    def send(self, line_item: str, text: str, *, maybe_there: bool = False) -> bool:
        """Send a score, as the text says.

        Args:
            line_item: its URL.
            text: the score.
            maybe_there: whether the very same text may have arrived before.

        Returns:
            True if the platform took it, False if it says that it has it already.

        Raises:
            LtiServiceException: if the platform refuses it.
            NoAnswer: if the platform does not answer, or can't now.

        """
        maybe = maybe_there

        def once() -> None:
            nonlocal maybe
            try:
                self._grades().put_grade(Prepared(text), LineItem({"id": line_item}))
            except requests.JSONDecodeError:
                return  # accepted, with an answer that is no JSON: nobody reads it
            except LtiServiceException as error:
                # Behind an error of the server, or a lost answer, the score may have been taken.
                maybe = maybe or error.response.status_code >= 500
                raise
            except requests.RequestException:
                maybe = True
                raise

        try:
            self.patience.call(once, self.connector.forget_tokens)
        except LtiServiceException as error:
            # The text's time is its own: where it may have been sent before, a platform that has
            # a score of this time has this one.
            if maybe and _conflict(error):
                return False
            raise
        return True

    def result(self, line_item: str, user: str) -> dict | None:
        """Return a user's result as the platform has it, None if there is none or none to read."""
        if RESULTS not in self.course.scopes:
            return None
        found = self._call(
            "the results",
            lambda: list(self._grades().get_grades(LineItem({"id": line_item}))),
        )
        return next((one for one in found if str(one.get("userId")) == user), None)

    def may_have_score(self, line_item: str, user: str) -> bool:
        """Tell whether a user has a score that the platform shows, or it does not answer that."""
        if RESULTS not in self.course.scopes:
            return True
        try:
            found = self.result(line_item, user)
        except LtiError:
            return True
        return found is not None and found.get("resultScore") is not None

    def _grades(self) -> AssignmentsGradesService:
        return AssignmentsGradesService(
            self.connector,
            {
                "scope": [
                    scope for scope in self.course.scopes if scope.startswith(_AGS)
                ],
                "lineitems": self.course.line_items_url,
            },
        )

    def _call(self, what: str, send: object) -> object:
        """Call a service; say in plain words what went wrong."""
        try:
            return self.patience.call(send, self.connector.forget_tokens)
        except LtiServiceException as error:
            raise LtiError(
                f"The platform refused {what}: status {error.response.status_code}"
            ) from error
        except (NoAnswer, LtiException) as error:
            raise LtiError(f"{what}: {error}") from error


def services(tool: Tool, course: Course, patience: Patience | None = None) -> Services:
    """Return the services of a course.

    Raises:
        LtiError: if its platform is not registered any more.

    """
    if tool.configuration.find(course.issuer, course.client_id) is None:
        raise LtiError(f"the platform {course.issuer} is not registered here any more")
    registration = tool.configuration.tool_conf(tool.keys).find_registration_by_params(
        course.issuer, course.client_id
    )
    return Services(course, Connector(registration, Http()), patience or Patience())


def _conflict(error: LtiServiceException) -> bool:
    """Tell whether a refusal says that the platform has a score of this time or a later one."""
    if error.response.status_code == 409:
        return True
    text = error.response.text[:2000]  # Canvas: it may be about another time
    return (
        error.response.status_code == 400
        and "timestamp" in text
        and "submitted_at" not in text
    )
