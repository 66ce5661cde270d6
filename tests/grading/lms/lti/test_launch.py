"""Launches over the wire: the right one enters, and each wrong one is refused with a page."""

from __future__ import annotations

import base64
import json
import logging
import time
from collections.abc import Callable
from functools import partialmethod
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
import requests
from cryptography.hazmat.primitives import serialization

from grading.lms.lti.protocol.membership import CLAIM, role_of
from grading.lms.lti.protocol.visit import GRADES
from grading.lms.lti.web.rate import MOST_ADDRESSES, Rate, address
from tests.grading.lms.lti.conftest import Pages
from tests.grading.lms.lti.stub import (
    CLIENT,
    CONTEXT,
    DEPLOYMENT,
    KEY,
    LEARNER,
    OTHER_KEY,
    TEACHER,
    Stub,
)

pytestmark = pytest.mark.slow

Started = tuple[requests.Session, str, str]


def start(
    pages: Pages, stub: Stub, visitor: requests.Session | None = None, **changes: object
) -> Started:
    """Begin a launch as a platform does; returns the visitor, the state and the nonce."""
    visitor = visitor or pages.visitor()
    values = {
        "iss": stub.url,
        "client_id": CLIENT,
        "login_hint": "hint-secret",
        "target_link_uri": f"{pages.url}/launch",
        "lti_message_hint": "m",
        **changes,
    }
    answer = visitor.get(
        f"{pages.url}/login", params=values, allow_redirects=False, timeout=10
    )
    assert answer.status_code == 302, answer.text
    asked = parse_qs(urlsplit(answer.headers["Location"]).query)
    assert asked["redirect_uri"] == [f"{pages.url}/launch"]
    assert (asked["response_mode"], asked["prompt"]) == (["form_post"], ["none"])
    return visitor, asked["state"][0], asked["nonce"][0]


def finish(
    pages: Pages, visitor: requests.Session, state: str, token: str
) -> requests.Response:
    """End a launch as a platform does."""
    return visitor.post(
        f"{pages.url}/launch",
        data={"state": state, "id_token": token},
        allow_redirects=False,
        timeout=10,
    )


def enter(
    pages: Pages, stub: Stub, user: str, role: str, **changes: object
) -> requests.Session:
    """Launch, and return the visitor who is in."""
    visitor, state, nonce = start(pages, stub)
    claims = stub.claims(pages.url, user, role, nonce, **changes)
    answer = finish(pages, visitor, state, stub.token(claims))
    assert answer.status_code == 303, answer.text
    return visitor


def assert_refused(answer: requests.Response, status: int = 403) -> None:
    """Check that a page says no, opens no session, and shows nothing of what was sent."""
    assert answer.status_code == status, answer.text
    assert "This is not possible" in answer.text
    assert "course-session" not in answer.headers.get("Set-Cookie", "")
    assert "eyJ" not in answer.text, "a token is on the page"


def test_launch_enters(pages: Pages, stub: Stub) -> None:
    """A teacher enters, sees the course, and gets a cookie that no script reads."""
    visitor, state, nonce = start(pages, stub)
    answer = finish(
        pages, visitor, state, stub.token(stub.claims(pages.url, "t01", TEACHER, nonce))
    )
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")
    cookie = next(
        part for part in answer.headers["Set-Cookie"].split(", ") if "session=" in part
    )
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    page = visitor.get(f"{pages.url}/", timeout=10)
    assert page.status_code == 200
    assert "Attention" in page.text
    assert "02-self-attention" in page.text


def changed(**changes: object) -> Callable[[Stub, Pages, str], str]:
    """Return what makes a token with other claims."""

    def make(stub: Stub, pages: Pages, nonce: str) -> str:
        claims = {name.replace("__", CLAIM): value for name, value in changes.items()}
        return stub.token(
            stub.claims(pages.url, "t01", TEACHER, **{"nonce": nonce, **claims})
        )

    return make


def ago(**seconds: int) -> Callable[[Stub, Pages, str], str]:
    """Return what makes a token with other times, so many seconds from now."""

    def make(stub: Stub, pages: Pages, nonce: str) -> str:
        now = int(time.time())
        times = {name: now + value for name, value in seconds.items()}
        return stub.token(stub.claims(pages.url, "t01", TEACHER, nonce, **times))

    return make


def unsigned(stub: Stub, pages: Pages, nonce: str) -> str:
    """Return a token that says that it needs no signature."""
    claims = stub.claims(pages.url, "t01", TEACHER, nonce)
    return jwt.encode(claims, None, algorithm="none", headers={"kid": "key-1"})


def confused(stub: Stub, pages: Pages, nonce: str) -> str:
    """Return a token that uses the platform's public key as a shared secret."""
    public = KEY.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    parts = [
        json.dumps({"alg": "HS256", "typ": "JWT", "kid": "key-1"}),
        json.dumps(stub.claims(pages.url, "t01", TEACHER, nonce)),
    ]
    head = b".".join(
        base64.urlsafe_b64encode(part.encode()).rstrip(b"=") for part in parts
    )
    signed = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign(
        head, public
    )
    return f"{head.decode()}.{base64.urlsafe_b64encode(signed).rstrip(b'=').decode()}"


def foreign(stub: Stub, pages: Pages, nonce: str) -> str:
    """Return a token that somebody else signed in the platform's name."""
    return stub.token(stub.claims(pages.url, "t01", TEACHER, nonce), OTHER_KEY)


def unknown_key(stub: Stub, pages: Pages, nonce: str) -> str:
    """Return a token signed with a key that the platform does not publish."""
    return stub.token(
        stub.claims(pages.url, "t01", TEACHER, nonce), OTHER_KEY, kid="key-2"
    )


def edited(stub: Stub, pages: Pages, nonce: str) -> str:
    """Return a student's token whose roles were changed after it was signed."""
    head, body, signature = stub.token(
        stub.claims(pages.url, "u01", LEARNER, nonce)
    ).split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=="))
    claims[f"{CLAIM}roles"] = [TEACHER]
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    return f"{head}.{body}.{signature}"


WRONG = {
    "another audience": changed(aud="client-2"),
    "no audience": changed(aud=None),
    "several audiences, ours not authorised": changed(
        aud=[CLIENT, "client-2"], azp="client-2"
    ),
    "several audiences, none authorised": changed(aud=[CLIENT, "client-2"]),
    "expired": ago(iat=-300, exp=-60),
    "no expiry": changed(exp=None),
    "issued in the future": ago(iat=3600, exp=7200),
    "issued long ago, still valid": ago(iat=-7200, exp=7200),
    "issued at a time that is a text": changed(iat=str(int(time.time()))),
    "issued at no time": changed(iat=float("inf")),
    "valid for ever": changed(exp=float("inf")),
    "another nonce": changed(nonce="guessed"),
    "no nonce": changed(nonce=None),
    "a nonce that is no text": changed(nonce=["a"]),
    "unknown deployment": changed(__deployment_id="deployment-2"),
    "no deployment": changed(__deployment_id=None),
    "unknown issuer": changed(iss="https://elsewhere.example.org"),
    "an issuer that is no text": changed(iss={"a": 1}),
    "no user": changed(sub=None),
    "another version": changed(__version="1.1"),
    "another kind of message": changed(__message_type="LtiDeepLinkingRequest"),
    "no roles": changed(__roles=None),
    "roles that are no list": changed(__roles="Instructor"),
    "no role in the course": changed(
        __roles=["http://purl.imsglobal.org/vocab/lis/v2/institution/person#Instructor"]
    ),
    "another page": changed(__target_link_uri="https://elsewhere.example.org/launch"),
    "no signature": unsigned,
    "the public key as a secret": confused,
    "somebody else's key": foreign,
    "an unknown key": unknown_key,
    "edited": edited,
    "not a token": lambda stub, pages, nonce: "a.b.c",
    "nothing": lambda stub, pages, nonce: "",
    "a list for a token": lambda stub, pages, nonce: "W10.W10.W10",
    "services that are no object": lambda stub, pages, nonce: stub.token(
        stub.claims(pages.url, "t01", TEACHER, nonce, **{GRADES: ["x"]})
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_token_is_refused(
    pages: Pages, stub: Stub, case: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Each wrong message is refused with a page, and logged without what it carried."""
    caplog.set_level(logging.DEBUG)
    visitor, state, nonce = start(pages, stub)
    token = WRONG[case](stub, pages, nonce)
    assert_refused(finish(pages, visitor, state, token))
    assert visitor.get(f"{pages.url}/", timeout=10).status_code == 401
    ours = "\n".join(
        record.getMessage()
        for record in caplog.records
        if record.name == "grading.lms.lti"
    )
    assert "refused POST /launch" in ours
    for secret in (token, state, nonce, "hint-secret"):
        assert not secret or secret not in ours
    if token.count(".") == 2 and len(token) > 50:
        assert token.rsplit(".", 1)[0] not in ours


def test_replayed_token_is_refused(pages: Pages, stub: Stub) -> None:
    """A message is good once, for its own browser too."""
    visitor, state, nonce = start(pages, stub)
    token = stub.token(stub.claims(pages.url, "t01", TEACHER, nonce))
    assert finish(pages, visitor, state, token).status_code == 303
    visitor.cookies.set(state, state, domain="127.0.0.1", path="/")
    assert_refused(finish(pages, visitor, state, token))


def test_state_belongs_to_its_browser(pages: Pages, stub: Stub) -> None:
    """Somebody else's browser can't be logged in with a prepared message."""
    _, state, nonce = start(pages, stub)
    token = stub.token(stub.claims(pages.url, "t01", TEACHER, nonce))
    assert_refused(finish(pages, pages.visitor(), state, token))


@pytest.mark.parametrize("state", ["", "state-guessed", "course-session"])
def test_wrong_state_is_refused(pages: Pages, stub: Stub, state: str) -> None:
    """A state that was never given out opens nothing, also with a cookie made for it."""
    visitor, _, nonce = start(pages, stub)
    if state:
        visitor.cookies.set(state, state, domain="127.0.0.1", path="/")
    token = stub.token(stub.claims(pages.url, "t01", TEACHER, nonce))
    assert_refused(finish(pages, visitor, state, token))


def test_nonce_belongs_to_its_state(pages: Pages, stub: Stub) -> None:
    """A nonce of another launch, also one's own, does not fit."""
    visitor, first, _ = start(pages, stub)
    _, _, second = start(pages, stub, visitor)
    token = stub.token(stub.claims(pages.url, "t01", TEACHER, second))
    assert_refused(finish(pages, visitor, first, token))


def test_old_login_is_refused(pages: Pages, stub: Stub) -> None:
    """A launch may not take longer than five minutes."""
    visitor, state, nonce = start(pages, stub)
    pages.tool.store.now = lambda: time.time() + 301
    token = stub.token(stub.claims(pages.url, "t01", TEACHER, nonce))
    assert_refused(finish(pages, visitor, state, token))


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://elsewhere.example.org"},
        {"iss": ""},
        {"client_id": "client-2"},
        {"login_hint": ""},
        {"target_link_uri": "https://elsewhere.example.org/launch"},
        {"target_link_uri": ""},
        {"target_link_uri": "//elsewhere.example.org/launch"},
        {"target_link_uri": "javascript:alert(1)"},
    ],
    ids=str,
)
def test_wrong_login_is_refused(pages: Pages, stub: Stub, changes: dict) -> None:
    """An unknown platform, or a page that isn't ours, ends the first half: no redirect at all."""
    values = {
        "iss": stub.url,
        "client_id": CLIENT,
        "login_hint": "h",
        "target_link_uri": f"{pages.url}/launch",
        **changes,
    }
    for send in (lambda: {"params": values}, lambda: {"data": values}):
        options = send()
        method = "GET" if "params" in options else "POST"
        answer = pages.visitor().request(
            method, f"{pages.url}/login", allow_redirects=False, timeout=10, **options
        )
        assert_refused(answer)
        assert "Location" not in answer.headers


def test_a_flood_of_logins_is_refused(
    pages: Pages, stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From one address behind the web server; another's, and the limit's end, are let in."""
    monkeypatch.setattr(
        Rate, "allows", partialmethod(lambda _rate, one: one != "2001:db8::1")
    )
    values = {
        "iss": stub.url,
        "client_id": CLIENT,
        "login_hint": "1",
        "target_link_uri": f"{pages.url}/launch",
    }

    def login(forwarded: str) -> requests.Response:
        return pages.visitor().get(
            f"{pages.url}/login",
            params=values,
            headers={"X-Forwarded-For": forwarded},
            allow_redirects=False,
            timeout=10,
        )

    assert_refused(login("10.0.0.1, 2001:DB8::1"), 429)
    assert login("2001:db8::1, 10.0.0.1").status_code == 302
    assert login("").status_code == 302


def test_a_bucket_lets_a_class_in_and_no_flood() -> None:
    """So many at once, so many a second after that, each address by itself."""
    clock = [0.0]
    rate = Rate(at_once=500, per_second=2, now=lambda: clock[0])
    assert sum(rate.allows("school") for _ in range(600)) == 500
    assert rate.allows("home")
    clock[0] += 10
    assert sum(rate.allows("school") for _ in range(600)) == 20
    for number in range(MOST_ADDRESSES):
        rate.allows(str(number))
    clock[0] += 300
    assert rate.allows("one more")
    assert len(rate._left) < 10


@pytest.mark.parametrize(
    ("peer", "forwarded", "whose"),
    [
        ("127.0.0.1", "1.2.3.4", "1.2.3.4"),
        ("::1", "9.9.9.9, 1.2.3.4", "1.2.3.4"),
        ("5.6.7.8", "1.2.3.4", "5.6.7.8"),
        ("127.0.0.1", "somebody", "127.0.0.1"),
        ("127.0.0.1", "", "127.0.0.1"),
    ],
)
def test_only_a_web_server_here_may_speak_for_others(
    peer: str, forwarded: str, whose: str
) -> None:
    """What came before its own word, or from elsewhere, anybody can write."""
    assert address(peer, forwarded) == whose


def test_parameter_twice_is_refused(pages: Pages, stub: Stub) -> None:
    """Which of two values counts is not left to chance."""
    answer = pages.visitor().get(
        f"{pages.url}/login", params=[("iss", stub.url), ("iss", "b")], timeout=10
    )
    assert_refused(answer, 400)


def test_two_clients_of_one_issuer(pages: Pages, stub: Stub) -> None:
    """Where an issuer has several clients, a message for one is not taken for the other."""
    from dataclasses import replace

    other = replace(stub.platform, client_id="client-2")
    pages.tool.configuration = pages.tool.configuration.with_platform(other)
    pages.tool.store.set_up(stub.url, "client-2", DEPLOYMENT, CONTEXT)
    visitor, state, nonce = start(pages, stub)
    token = stub.token(stub.claims(pages.url, "t01", TEACHER, nonce, aud="client-2"))
    assert_refused(finish(pages, visitor, state, token))
    visitor, state, nonce = start(pages, stub, client_id="client-2")
    token = stub.token(stub.claims(pages.url, "t01", TEACHER, nonce, aud="client-2"))
    assert finish(pages, visitor, state, token).status_code == 303


def test_platform_without_keys(pages: Pages, stub: Stub) -> None:
    """A platform whose keys can't be fetched opens nothing."""
    ordinary = stub.answer
    for body in (None, [], {"keys": "x"}, {"keys": [1]}, {}):
        stub.answer = lambda *request, body=body: (
            type(ordinary("GET", "/none", {}, b""))(200, body=body)
            if request[1] == "/keys"
            else ordinary(*request)
        )
        visitor, state, nonce = start(pages, stub)
        token = stub.token(stub.claims(pages.url, "t01", TEACHER, nonce))
        assert_refused(finish(pages, visitor, state, token))


def test_session_is_new_with_each_launch(pages: Pages, stub: Stub) -> None:
    """A session planted before a launch stays worthless, and the old one ends."""
    visitor, state, nonce = start(pages, stub)
    visitor.cookies.set("course-session", "planted", domain="127.0.0.1", path="/")
    finish(
        pages, visitor, state, stub.token(stub.claims(pages.url, "t01", TEACHER, nonce))
    )
    first = visitor.cookies.get("course-session")
    assert first != "planted"
    _, state, nonce = start(pages, stub, visitor)
    finish(
        pages, visitor, state, stub.token(stub.claims(pages.url, "u01", LEARNER, nonce))
    )
    assert visitor.cookies.get("course-session") != first
    old = pages.visitor()
    for value in (first, "planted"):
        old.cookies.set("course-session", value, domain="127.0.0.1", path="/")
        assert old.get(f"{pages.url}/", timeout=10).status_code == 401


def test_roles_in_the_course_count() -> None:
    """Who teaches elsewhere in the institution is a student here."""
    institution = "http://purl.imsglobal.org/vocab/lis/v2/institution/person#Instructor"
    assert role_of([institution, LEARNER]) == "student"
    assert role_of([institution]) == ""
    assert role_of([LEARNER, TEACHER]) == "instructor"
    assert role_of(["Instructor"]) == "instructor"
    assert role_of([]) == ""


def test_public_key_is_published_and_nothing_else(pages: Pages) -> None:
    """The key set has the public numbers alone."""
    (key,) = pages.visitor().get(f"{pages.url}/jwks.json", timeout=10).json()["keys"]
    assert key.keys() == {"kty", "e", "n", "kid", "alg", "use"}
