"""A learning platform reduced to LTI 1.3's login: it signs tokens with a key made for the test.

It serves a course page with a link for each user and target; a click takes the way that a real
platform's takes: login initiation at the tool, authorisation here, a form posted to the tool.
"""

from __future__ import annotations

import base64
import html
import json
import secrets
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

from grading.lms.lti.protocol.membership import CLAIM

MEMBER = "http://purl.imsglobal.org/vocab/lis/v2/membership#"
CLIENT, DEPLOYMENT, CONTEXT, KEY_ID = "client-1", "deployment-1", "course-1", "key-1"


def _number(value: int) -> str:
    """Return a number as a JSON Web Key holds it."""
    raw = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


class Platform:
    """A platform on this machine; `users` maps a subject to its role in the course."""

    def __init__(self, users: dict[str, str]) -> None:
        self.users = users
        self.hub = ""
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        #: Changes a token's claims before it is signed; for the tests of what is refused.
        self.change: Callable[[dict], None] = lambda claims: None
        self.sign_with = self.key
        platform = self

        class Handler(BaseHTTPRequestHandler):
            """Answers by the platform's methods."""

            def do_GET(self) -> None:
                """Serve a page, the keys, or an authorisation."""
                parts = urlsplit(self.path)
                query = {key: value[0] for key, value in parse_qs(parts.query).items()}
                page = {
                    "/jwks": platform.jwks,
                    "/course": platform.course,
                    "/authorize": platform.authorize,
                }.get(parts.path)
                if page is None:
                    self.send_error(404)
                    return
                kind, text = page(query)
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *args: object) -> None:
                """Keep the test's output quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # By name: to a browser this is another site than 127.0.0.1, as in real life.
        self.address = f"http://localhost:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self.server.shutdown()
        self.server.server_close()

    def jwks(self, query: dict[str, str]) -> tuple[str, str]:
        """The public key."""
        public = self.key.public_key().public_numbers()
        key = {
            "kty": "RSA",
            "alg": "RS256",
            "use": "sig",
            "kid": KEY_ID,
            "n": _number(public.n),
            "e": _number(public.e),
        }
        return "application/json", json.dumps({"keys": [key]})

    def course(self, query: dict[str, str]) -> tuple[str, str]:
        """A course page with one link, for the user and target asked for."""
        target = query.get("target") or f"{self.hub}/hub"
        start = self.login(query["user"], target)
        return "text/html", f'<h1>A course</h1><a href="{html.escape(start)}">Open</a>'

    def login(self, user: str, target: str) -> str:
        """Return the address at which a launch begins."""
        return f"{self.hub}/hub/lti13/oauth_login?" + urlencode(
            {
                "iss": self.address,
                "login_hint": user,
                "target_link_uri": target,
                "lti_message_hint": target,
                "client_id": CLIENT,
            }
        )

    def authorize(self, query: dict[str, str]) -> tuple[str, str]:
        """Post a token to the tool, by a form that the browser sends at once."""
        token = self.token(
            query["login_hint"], query["nonce"], query["lti_message_hint"]
        )
        fields = "".join(
            f'<input name="{name}" value="{html.escape(value)}">'
            for name, value in (("state", query["state"]), ("id_token", token))
        )
        return "text/html", (
            f'<form method="post" action="{html.escape(query["redirect_uri"])}">{fields}</form>'
            "<script>document.forms[0].submit()</script>"
        )

    def token(self, user: str, nonce: str, target: str) -> str:
        """Return a signed launch of a user."""
        now = int(time.time())
        claims = {
            "iss": self.address,
            "aud": CLIENT,
            "sub": user,
            "nonce": nonce,
            "iat": now,
            "exp": now + 300,
            "jti": secrets.token_hex(8),
            "given_name": user.title(),
            "family_name": "Test",
            "email": f"{user}@lms.example",
            f"{CLAIM}message_type": "LtiResourceLinkRequest",
            f"{CLAIM}version": "1.3.0",
            f"{CLAIM}deployment_id": DEPLOYMENT,
            f"{CLAIM}target_link_uri": target,
            f"{CLAIM}resource_link": {"id": "link-1"},
            f"{CLAIM}context": {"id": CONTEXT},
            f"{CLAIM}roles": [MEMBER + self.users[user]],
        }
        self.change(claims)
        return jwt.encode(
            claims, self.sign_with, algorithm="RS256", headers={"kid": KEY_ID}
        )
