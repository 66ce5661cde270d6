"""The course and the role of a launch.

The tool for grades and the hub of deploy/ both read launches by this file: it needs nothing else.
"""

from __future__ import annotations

CLAIM = "https://purl.imsglobal.org/spec/lti/claim/"

INSTRUCTOR, STUDENT = "instructor", "student"

#: The roles in a course that count; whoever has another one alone (an observer, a designer) is
#: neither. Roles in an institution are not in the table: who teaches elsewhere may learn here.
ROLES = {
    "Instructor": INSTRUCTOR,
    "TeachingAssistant": INSTRUCTOR,
    "Administrator": INSTRUCTOR,
    "Learner": STUDENT,
}

#: A role in a course is …/membership#Instructor, or Instructor for short; a sub-role, as
#: …/membership/Instructor#TeachingAssistant, counts as its role (LTI 1.3 core, A.2.3).
_ROLE = "http://purl.imsglobal.org/vocab/lis/v2/membership#"
_SUB_ROLE = "http://purl.imsglobal.org/vocab/lis/v2/membership/"


#: Somebody who tries things out, as Canvas's student view does (LTI 1.3 core, A.2.1).
TEST_USER = "http://purl.imsglobal.org/vocab/lti/system/person#TestUser"


def role_of(roles: object) -> str:
    """Return the role in the course that a list of LTI roles amounts to, "" if it is none."""
    texts = (
        [role for role in roles if isinstance(role, str)]
        if isinstance(roles, list | tuple)
        else []
    )
    if TEST_USER in texts:
        return ""
    found = {ROLES.get(_name(text)) for text in texts}
    return next((role for role in (INSTRUCTOR, STUDENT) if role in found), "")


def _name(role: str) -> str:
    """Return the name of a role in the course, that of the main role for a sub-role."""
    if role.startswith(_SUB_ROLE):
        name, _, sub_role = role.removeprefix(_SUB_ROLE).partition("#")
        return name if sub_role else ""
    return role.removeprefix(_ROLE)


def place(claims: dict) -> tuple[str, str]:
    """Return the deployment and the context of a launch: within a platform, they name a course.

    A context's id alone does not: it need be unique in its deployment only (LTI 1.3 core, 5.4.1).

    Raises:
        ValueError: if the launch does not name both.

    """
    context = claims.get(f"{CLAIM}context")
    found = (
        claims.get(f"{CLAIM}deployment_id"),
        context.get("id") if isinstance(context, dict) else None,
    )
    for name, value in zip(("deployment_id", "context id"), found, strict=True):
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            raise ValueError(
                f"{name}: expected a text, got {type(value).__name__} "
                f"{str(value)[:40]!r}"
            )
    return found
