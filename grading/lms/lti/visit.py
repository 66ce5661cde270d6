"""What a valid launch tells: who comes, from which course, in which role, and what is offered."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

#: The claims of LTI 1.3 and of its Advantage services.
CLAIM = "https://purl.imsglobal.org/spec/lti/claim/"
MEMBERS = "https://purl.imsglobal.org/spec/lti-nrps/claim/namesroleservice"
GRADES = "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint"

_MEMBERSHIP = "http://purl.imsglobal.org/vocab/lis/v2/membership"

#: Roles that count are those in the course. A role in the institution does not: who teaches
#: elsewhere may learn here. The short forms stand for the same (LTI 1.3 core, A.2.3).
TEACHES = frozenset({f"{_MEMBERSHIP}#Instructor", f"{_MEMBERSHIP}#Administrator",
                     "Instructor", "Administrator"})
LEARNS = frozenset({f"{_MEMBERSHIP}#Learner", "Learner"})

INSTRUCTOR, STUDENT = "instructor", "student"


@dataclass(frozen=True)
class Visit:
    """The part of a launch's claims that is used here; "" where the platform sent nothing.

    `role` is instructor, student, or "" for somebody who is neither. `assignment` is the one that
    the opened link is about.
    """

    issuer: str
    client_id: str
    deployment: str
    context: str
    title: str
    user: str
    name: str
    role: str
    target: str = ""
    assignment: str = ""
    members_url: str = ""
    line_items_url: str = ""
    line_item_url: str = ""
    scopes: tuple[str, ...] = ()


def role_of(roles: list[str] | tuple[str, ...]) -> str:
    """Return the role in the course that a list of LTI roles amounts to."""
    if TEACHES.intersection(roles):
        return INSTRUCTOR
    return STUDENT if LEARNS.intersection(roles) else ""


def from_claims(claims: dict, client_id: str) -> Visit:
    """Return what the claims of a validated id_token say.

    Raises:
        ValueError: if a claim has another form than the specification's.

    """
    context = _object(claims, f"{CLAIM}context")
    link = _object(claims, f"{CLAIM}resource_link")
    custom = _object(claims, f"{CLAIM}custom")
    members, grades = _object(claims, MEMBERS), _object(claims, GRADES)
    target = _text(claims, f"{CLAIM}target_link_uri")
    asked = parse_qs(urlsplit(target).query).get("assignment", [""])[0]
    roles = claims.get(f"{CLAIM}roles")
    if not isinstance(roles, list) or not all(isinstance(role, str) for role in roles):
        raise ValueError("roles: expected a list of texts")
    scopes = grades.get("scope", [])
    if not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
        raise ValueError("scope: expected a list of texts")
    return Visit(
        issuer=_text(claims, "iss"), client_id=client_id,
        deployment=_text(claims, f"{CLAIM}deployment_id"),
        # A link that stands in no course is a course of its own.
        context=_text(context, "id") or f"link {_text(link, 'id')}",
        title=_text(context, "title") or _text(context, "label") or _text(link, "title"),
        user=_text(claims, "sub"), name=_text(claims, "name") or _text(claims, "given_name"),
        role=role_of(roles), target=target, assignment=_text(custom, "assignment") or asked,
        members_url=_url(members, "context_memberships_url"),
        line_items_url=_url(grades, "lineitems"), line_item_url=_url(grades, "lineitem"),
        scopes=tuple(scopes))


def _object(claims: dict, name: str) -> dict:
    """Return a claim that is an object; an empty one if it is not there."""
    value = claims.get(name) or {}
    if not isinstance(value, dict):
        raise ValueError(f"{name}: expected an object, got {type(value).__name__}")
    return value


def _text(claims: dict, name: str) -> str:
    """Return a claim that is a text; "" if it is not there."""
    value = claims.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > 2000:
        raise ValueError(f"{name}: expected a text, got {type(value).__name__}")
    return value


def _url(claims: dict, name: str) -> str:
    """Return a claim that is a URL; "" if it is not there."""
    value = _text(claims, name)
    if value and urlsplit(value).scheme not in ("http", "https"):
        raise ValueError(f"{name}: expected a URL")
    return value
