"""The claims of a valid launch: user, course, role, services."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from grading.lms.lti.protocol.membership import CLAIM, place, role_of
from grading.lms.lti.protocol.platforms import check_url

#: The claims of LTI Advantage's services.
MEMBERS = "https://purl.imsglobal.org/spec/lti-nrps/claim/namesroleservice"
GRADES = "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint"
LINKING = "https://purl.imsglobal.org/spec/lti-dl/claim/deep_linking_settings"


@dataclass(frozen=True)
class Visit:
    """The part of a launch's claims that is used here; "" where the platform sent nothing.

    `role` is instructor, student, or "" for somebody who is neither. `assignment` is the one that
    the opened link is about. `product` is what the platform says it is, as `canvas` or `moodle`.
    `linking` has the platform's settings for a link that a teacher makes, {} for other visits.
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
    product: str = ""
    linking: dict = field(default_factory=dict)


def from_claims(claims: dict, client_id: str) -> Visit:
    """Return what the claims of a validated id_token say.

    Raises:
        ValueError: if a claim has another form than the specification's, or no course is named.

    """
    deployment, course = place(claims)
    context = _object(claims, f"{CLAIM}context")
    link = _object(claims, f"{CLAIM}resource_link")
    custom = _object(claims, f"{CLAIM}custom")
    members, grades = _object(claims, MEMBERS), _object(claims, GRADES)
    target = _text(claims, f"{CLAIM}target_link_uri")
    asked = parse_qs(urlsplit(target).query).get("assignment", [""])[0]
    roles = claims.get(f"{CLAIM}roles")
    if not isinstance(roles, list) or not all(isinstance(role, str) for role in roles):
        raise ValueError("roles: expected a list of texts")
    linking = _object(claims, LINKING)
    if linking:
        check_url(_text(linking, "deep_link_return_url"), "deep_link_return_url")
    scopes = grades.get("scope", [])
    if not isinstance(scopes, list) or not all(
        isinstance(scope, str) for scope in scopes
    ):
        raise ValueError("scope: expected a list of texts")
    return Visit(
        issuer=_text(claims, "iss"),
        client_id=client_id,
        deployment=deployment,
        context=course,
        title=_text(context, "title")
        or _text(context, "label")
        or _text(link, "title"),
        user=_text(claims, "sub"),
        name=_text(claims, "name") or _text(claims, "given_name"),
        role=role_of(roles),
        target=target,
        assignment=_text(custom, "assignment") or asked,
        members_url=_url(members, "context_memberships_url"),
        line_items_url=_url(grades, "lineitems"),
        line_item_url=_url(grades, "lineitem"),
        scopes=tuple(scopes),
        product=_text(
            _object(claims, f"{CLAIM}tool_platform"), "product_family_code"
        ).lower(),
        linking=linking,
    )


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
