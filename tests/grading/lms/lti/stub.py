"""A small platform in the test's own process: it counts what arrives, and does as it is told."""

from __future__ import annotations

import json
import re
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

from grading.lms.lti.protocol.membership import CLAIM
from grading.lms.lti.protocol.platforms import Platform
from grading.lms.lti.protocol.store import Course, Store
from grading.lms.lti.protocol.visit import GRADES, MEMBERS

CLIENT, DEPLOYMENT, CONTEXT = "client-1", "deployment-1", "course-1"
LEARNER = "http://purl.imsglobal.org/vocab/lis/v2/membership#Learner"
TEACHER = "http://purl.imsglobal.org/vocab/lis/v2/membership#Instructor"
SCOPES = [
    f"https://purl.imsglobal.org/spec/lti-ags/scope/{name}"
    for name in ("lineitem", "lineitem.readonly", "result.readonly", "score")
]

#: Made once: a key pair takes a while.
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


@dataclass
class Answer:
    """An answer that the platform gives instead of its own."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: object = None


class Stub:
    """The platform: `hook` is called at each step of a score, and may answer instead of it.

    `posts` are the scores that arrived, `taken` those that changed something, `answers` how many
    answers of each status were sent.
    """

    #: What the platform says it is.
    product = ""

    def __init__(self) -> None:
        self.line_items: dict[str, dict] = {}
        self.scores: dict[tuple[str, str], dict] = {}
        self.posts: list[dict] = []
        self.taken: list[dict] = []
        self.paths: list[str] = []
        self.answers: Counter = Counter()
        self.members: list[dict] = []
        #: The context that the roster says it is of, "" to say nothing.
        self.roster_of = CONTEXT
        self.hook: Callable[[str, dict], Answer | None] = lambda _step, _score: None
        #: May answer any request in the platform's place.
        self.override: Callable[[str], Answer | None] = lambda _path: None
        self.tokens = self.made = 0
        stub = self

        class Handler(_Handler):
            platform = stub

        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(
            target=self.server.serve_forever, args=(0.05,), daemon=True
        )
        self.thread.start()

    def close(self) -> None:
        """Stop the server."""
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    @property
    def platform(self) -> Platform:
        """The platform as the tool registers it."""
        return Platform(
            self.url,
            CLIENT,
            f"{self.url}/authorise",
            f"{self.url}/token",
            f"{self.url}/keys",
            (DEPLOYMENT,),
        )

    def set_up(self, store: Store) -> Course:
        """Have the tool let this platform's course in."""
        return store.set_up(self.url, CLIENT, DEPLOYMENT, CONTEXT)

    def claims(
        self,
        public_url: str,
        user: str = "u01",
        role: str = LEARNER,
        nonce: str | None = "",
        **changes: object,
    ) -> dict:
        """Return the claims of a launch; `changes` replace claims, None removes one."""
        now = int(time.time())
        claims = {
            "iss": self.url,
            "aud": CLIENT,
            "sub": user,
            "nonce": nonce,
            "iat": now,
            "exp": now + 300,
            "name": f"Name of {user}",
            f"{CLAIM}version": "1.3.0",
            f"{CLAIM}message_type": "LtiResourceLinkRequest",
            f"{CLAIM}deployment_id": DEPLOYMENT,
            f"{CLAIM}roles": [role],
            f"{CLAIM}target_link_uri": f"{public_url}/launch",
            f"{CLAIM}resource_link": {"id": "link-1"},
            f"{CLAIM}context": {"id": CONTEXT, "title": "Attention"},
            MEMBERS: {
                "context_memberships_url": f"{self.url}/members",
                "service_versions": ["2.0"],
            },
            GRADES: {"scope": SCOPES, "lineitems": f"{self.url}/line_items"},
            f"{CLAIM}tool_platform": {"guid": "g", "product_family_code": self.product},
        }
        claims.update(changes)
        return {name: value for name, value in claims.items() if value is not None}

    def token(
        self,
        claims: dict,
        key: object = KEY,
        algorithm: str = "RS256",
        kid: str = "key-1",
    ) -> str:
        """Return claims as a signed token."""
        # jwt.encode would refuse claims of a wrong type, which are wanted here.
        return jwt.api_jws.encode(
            json.dumps(claims).encode(), key, algorithm=algorithm, headers={"kid": kid}
        )

    def answer(self, method: str, path: str, query: dict, body: bytes) -> Answer:
        """Return the platform's answer to a request."""
        if instead := self.override(path):
            return instead
        if path == "/keys":
            key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key()))
            return Answer(200, body={"keys": [{**key, "kid": "key-1", "alg": "RS256"}]})
        if path == "/token":
            self.tokens += 1
            return Answer(
                200, body={"access_token": uuid.uuid4().hex, "expires_in": 3600}
            )
        if path == "/members":
            start = int(query.get("start", ["0"])[0])
            more = start + 2 < len(self.members)
            link = (
                {"Link": f'<{self.url}/members?start={start + 2}>; rel="next"'}
                if more
                else {}
            )
            whose = {"context": {"id": self.roster_of}} if self.roster_of else {}
            return Answer(
                200, link, {**whose, "members": self.members[start : start + 2]}
            )
        if path == "/line_items" and method == "POST":
            url = f"{self.url}/line_items/{self.made}"
            self.made += 1
            self.line_items[url] = {**json.loads(body), "id": url}
            return Answer(201, body=self.line_items[url])
        if path == "/line_items":
            return Answer(200, body=list(self.line_items.values()))
        if re.fullmatch(r"/line_items/\d+", path):
            item = self.line_items.get(self.url + path)
            return Answer(200, body=item) if item else Answer(404)
        if found := re.fullmatch(r"(/line_items/\d+)/scores", path):
            return self.score(self.url + found[1], json.loads(body))
        if found := re.fullmatch(r"(/line_items/\d+)/results", path):
            return Answer(200, body=self.shown(self.url + found[1]))
        return Answer(404)

    def shown(self, item: str) -> list[dict]:
        """Return the results of a line item."""
        return [
            {
                "userId": user,
                "resultScore": score["scoreGiven"],
                "resultMaximum": score["scoreMaximum"],
                "comment": score.get("comment"),
            }
            for (where, user), score in self.scores.items()
            if where == item and "scoreGiven" in score
        ]

    def score(self, item: str, score: dict) -> Answer:
        """Take a score as the specification says: a time that is not later is a conflict."""
        self.posts.append(score)
        instead = self.hook("arrived", score)
        if instead:
            return instead
        with self.lock:
            there = self.scores.get((item, score["userId"]))
            if there and there["timestamp"] >= score["timestamp"]:
                return Answer(409)
            self.scores[item, score["userId"]] = score
            self.taken.append(score)
        return self.hook("taken", score) or Answer(200, body={})


class _Handler(BaseHTTPRequestHandler):
    """Hands requests to the stub."""

    protocol_version = "HTTP/1.1"
    platform: Stub

    def do_GET(self) -> None:
        self._do()

    def do_POST(self) -> None:
        self._do()

    def _do(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.platform.paths.append(parts.path)
        answer = self.platform.answer(
            self.command, parts.path, parse_qs(parts.query), body
        )
        self.platform.answers[answer.status] += 1
        data = b"" if answer.body is None else json.dumps(answer.body).encode()
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Keep the tests' output quiet."""
