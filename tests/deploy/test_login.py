"""The login from the platform: its redirect, and every launch that must be refused."""

from __future__ import annotations

import html
import http.cookiejar
import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from deploy.people import username
from grading.lms.lti.protocol.membership import CLAIM
from tests.deploy.machine import Machine
from tests.deploy.platform import CLIENT, DEPLOYMENT, MEMBER

pytestmark = pytest.mark.slow


@dataclass
class Answer:
    """What the hub answered."""

    status: int
    location: str
    text: str
    cookies: list[str]


class Stay(urllib.request.HTTPRedirectHandler):
    """Follow no redirect: the tests look at each."""

    def redirect_request(self, *args: object) -> None:
        """No further request."""


class Visitor:
    """A browser reduced to its cookies."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.jar = http.cookiejar.CookieJar()
        context = ssl.create_default_context(cafile=str(machine.folder / "cert.pem"))
        self.opener = urllib.request.build_opener(
            Stay(),
            urllib.request.HTTPSHandler(context=context),
            urllib.request.HTTPCookieProcessor(self.jar),
        )

    def ask(self, url: str, form: dict[str, str] | None = None) -> Answer:
        """Request an address, with a form if there is one."""
        data = urlencode(form).encode() if form is not None else None
        if url.startswith("/"):
            url = self.machine.address + url
        try:
            got = self.opener.open(url, data, timeout=60)
        except urllib.error.HTTPError as error:
            got = error
        with got:
            return Answer(
                got.status,
                got.headers.get("Location", ""),
                got.read().decode(),
                got.headers.get_all("Set-Cookie") or [],
            )

    def begin(self, user: str, target: str = "") -> dict[str, str]:
        """Begin a launch; return what the hub asks the platform."""
        target = target or f"{self.machine.address}/hub"
        answer = self.ask(self.machine.platform.login(user, target))
        assert answer.status == 302, answer.text
        assert answer.location.startswith(f"{self.machine.platform.address}/authorize?")
        return {
            key: value[0]
            for key, value in parse_qs(urlsplit(answer.location).query).items()
        }

    def finish(
        self, asked: dict[str, str], token: str, state: str | None = None
    ) -> Answer:
        """Post a token to the hub, as the platform's form does."""
        return self.ask(
            "/hub/lti13/oauth_callback",
            {"state": asked["state"] if state is None else state, "id_token": token},
        )

    def is_in(self) -> bool:
        """Whether the hub knows who this is."""
        return self.ask("/hub/home").status == 200


@pytest.fixture
def visitor(machine: Machine) -> Iterator[Visitor]:
    """Somebody without cookies, and a platform that signs what is right."""
    platform = machine.platform
    yield Visitor(machine)
    platform.change = lambda claims: None
    platform.sign_with = platform.key


def test_a_launch_begins_with_the_right_question(
    visitor: Visitor, machine: Machine
) -> None:
    """OpenID Connect's redirect as LTI 1.3 asks for it; cookies fit for another site's form."""
    answer = visitor.ask(machine.platform.login("s01", f"{machine.address}/hub"))
    assert answer.status == 302
    asked = {
        key: value[0]
        for key, value in parse_qs(urlsplit(answer.location).query).items()
    }
    fixed = {
        "response_type": "id_token",
        "response_mode": "form_post",
        "scope": "openid",
        "prompt": "none",
        "client_id": CLIENT,
        "login_hint": "s01",
        "lti_message_hint": f"{machine.address}/hub",
        "redirect_uri": f"{machine.address}/hub/lti13/oauth_callback",
    }
    assert {key: asked[key] for key in fixed} == fixed
    assert asked.keys() - fixed.keys() == {"state", "nonce"}
    again = visitor.begin("s01")
    assert again["nonce"] != asked["nonce"]
    assert again["state"] != asked["state"]
    lasting = [cookie for cookie in answer.cookies if "lti13authenticator" in cookie]
    assert len(lasting) == 2
    for cookie in lasting:
        words = {word.strip().lower() for word in cookie.split(";")}
        assert {"httponly", "secure", "samesite=none"} <= words


@pytest.mark.parametrize("lacking", ["iss", "login_hint", "target_link_uri"])
def test_a_launch_that_lacks_something_does_not_begin(
    visitor: Visitor, machine: Machine, lacking: str
) -> None:
    """A clear 400 instead of a redirect."""
    url = urlsplit(machine.platform.login("s01", f"{machine.address}/hub"))
    query = {
        key: value[0] for key, value in parse_qs(url.query).items() if key != lacking
    }
    answer = visitor.ask(f"{url.path}?{urlencode(query)}")
    assert answer.status == 400
    assert lacking in answer.text


def test_a_right_launch_logs_in(visitor: Visitor, machine: Machine) -> None:
    """And leads to the page that the platform's link names, on the hub and nowhere else."""
    assert not visitor.is_in()
    asked = visitor.begin("s03", f"{machine.address}/hub/home")
    token = machine.platform.token("s03", asked["nonce"], "")
    answer = visitor.finish(asked, token)
    assert (answer.status, answer.location) == (302, "/hub/home")
    assert visitor.is_in()
    elsewhere = Visitor(machine)
    asked = elsewhere.begin("s03", "https://evil.example/hub/home")
    answer = elsewhere.finish(asked, machine.platform.token("s03", asked["nonce"], ""))
    assert (answer.status, answer.location) == (302, "/hub/home")


def now() -> int:
    """The time, as tokens give it."""
    return int(time.time())


@pytest.mark.parametrize(
    ("change", "status"),
    [
        pytest.param(
            lambda c: c.update(aud="another-tool"), 401, id="made for another tool"
        ),
        pytest.param(
            lambda c: c.update(iss="https://evil.example"), 400, id="another issuer"
        ),
        pytest.param(
            lambda c: c.update(exp=now() - 5, iat=now() - 300), 400, id="expired"
        ),
        pytest.param(lambda c: c.update(nonce="0" * 64), 400, id="another nonce"),
        pytest.param(
            lambda c: c.update({f"{CLAIM}version": "1.1"}), 400, id="another version"
        ),
        pytest.param(
            lambda c: c.update({f"{CLAIM}deployment_id": "x"}), 403, id="deployment"
        ),
        pytest.param(lambda c: c.pop(f"{CLAIM}deployment_id"), 400, id="no deployment"),
        pytest.param(
            lambda c: c.update({f"{CLAIM}context": {"id": "x"}}),
            403,
            id="another course",
        ),
        pytest.param(lambda c: c.pop(f"{CLAIM}context"), 403, id="no course"),
        pytest.param(
            lambda c: c.update({f"{CLAIM}roles": [f"{MEMBER}Mentor"]}), 403, id="role"
        ),
        pytest.param(lambda c: c.update({f"{CLAIM}roles": []}), 403, id="no role"),
    ],
)
def test_a_wrong_token_is_refused(
    visitor: Visitor, machine: Machine, change: Callable[[dict], object], status: int
) -> None:
    """Signed by the platform, and still not for this launch."""
    asked = visitor.begin("s03")
    machine.platform.change = change
    answer = visitor.finish(asked, machine.platform.token("s03", asked["nonce"], ""))
    assert answer.status == status, answer.text
    assert not visitor.is_in()


def test_a_foreign_teacher_reads_how_to_add_the_course(
    visitor: Visitor, machine: Machine
) -> None:
    """On the hub's own page, with the line for its settings."""
    asked = visitor.begin("t01")
    machine.platform.change = lambda claims: claims.update(
        {f"{CLAIM}context": {"id": "x%s"}}
    )
    answer = visitor.finish(asked, machine.platform.token("t01", asked["nonce"], ""))
    assert answer.status == 403
    assert f'"{DEPLOYMENT}" = ["x%s"]' in html.unescape(answer.text)
    assert not visitor.is_in()


def test_only_the_platforms_key_counts(visitor: Visitor, machine: Machine) -> None:
    """Neither another key, nor no signature at all."""
    asked = visitor.begin("t01")
    platform = machine.platform
    platform.sign_with = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    answer = visitor.finish(asked, platform.token("t01", asked["nonce"], ""))
    assert answer.status == 400, answer.text
    platform.sign_with = platform.key
    asked = visitor.begin("t01")
    head, body, _ = platform.token("t01", asked["nonce"], "").split(".")
    answer = visitor.finish(asked, f"{head}.{body}.")
    assert answer.status == 400, answer.text
    assert not visitor.is_in()


def test_a_token_is_good_once_and_for_one_browser(
    visitor: Visitor, machine: Machine
) -> None:
    """Sent again, or from elsewhere, or with a state of somebody's making, it opens nothing."""
    asked = visitor.begin("s03")
    token = machine.platform.token("s03", asked["nonce"], "")
    stranger = Visitor(machine)
    assert stranger.finish(asked, token).status == 400
    assert not stranger.is_in()
    other = stranger.begin("s03")
    assert stranger.finish(other, token).status == 400
    assert not stranger.is_in()
    assert visitor.finish(asked, token, state="x").status == 400
    asked = visitor.begin("s03")
    token = machine.platform.token("s03", asked["nonce"], "")
    assert visitor.finish(asked, token).status == 302
    visitor.jar.clear()
    assert visitor.finish(asked, token).status == 400
    assert not visitor.is_in()


def test_the_role_counts_anew_at_each_launch(
    visitor: Visitor, machine: Machine
) -> None:
    """An instructor who is a student at the next launch is one on the hub, too."""
    groups = []
    for given in ("Instructor", "Learner"):
        machine.platform.change = lambda claims, given=given: claims.update(
            {f"{CLAIM}roles": [MEMBER + given], "sub": "changing"}
        )
        asked = visitor.begin("s03")
        answer = visitor.finish(
            asked, machine.platform.token("s03", asked["nonce"], "")
        )
        assert answer.status == 302
        xsrf = next(
            cookie.value
            for cookie in visitor.jar
            if cookie.name == "_xsrf" and cookie.path == "/hub/"
        )
        answer = visitor.ask(f"/hub/api/user?_xsrf={xsrf}")
        seen = json.loads(answer.text)
        assert seen["name"] == username(machine.platform.address, "changing")
        assert not seen["admin"]
        groups.append(seen["groups"])
        visitor.jar.clear()
    assert groups == [["instructors"], ["students"]]


def test_the_description_for_the_platform(visitor: Visitor, machine: Machine) -> None:
    """What Canvas reads at registration leads back to this hub."""
    found = json.loads(visitor.ask("/hub/lti13/config").text)
    assert found["oidc_initiation_url"] == f"{machine.address}/hub/lti13/oauth_login"
    assert found["title"] == "Attention course"
