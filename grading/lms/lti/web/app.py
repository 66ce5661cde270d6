"""The web application, its server, and the pages by which a platform enters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from tornado.httpserver import HTTPServer
from tornado.web import Application, HTTPError, RequestHandler

from grading.lms.lti.protocol import deep_link, launch
from grading.lms.lti.protocol.errors import Refused
from grading.lms.lti.protocol.launch import Cookies, Tool
from grading.lms.lti.protocol.membership import INSTRUCTOR, STUDENT
from grading.lms.lti.protocol.platforms import origin
from grading.lms.lti.protocol.store import LOGIN_SECONDS, Course
from grading.lms.lti.protocol.visit import Visit
from grading.lms.lti.web import student_pages, teacher_pages
from grading.lms.lti.web.base import SESSION_COOKIE, Page, log
from grading.lms.lti.web.rate import Rate, address
from grading.lms.lti.web.results import CourseResults

#: The most bytes of a request's body: an id_token with all its claims is far smaller.
LARGEST_BODY = 256 * 1024

TEMPLATES = Path(__file__).with_name("templates")


class LoginPage(Page):
    """The first half of a launch: the platform sends the browser here, and gets it back."""

    async def get(self) -> None:
        """Answer a login that was started with a link.

        Raises:
            Refused: if too many come from one address.

        """
        forwarded = self.request.headers.get("X-Forwarded-For", "")
        if not self.settings["rate"].allows(address(self.request.remote_ip, forwarded)):
            raise Refused(
                f"Too many logins come from your network. Wait a minute. {launch.AGAIN}",
                429,
                log="too many logins from one address",
            )
        cookies = Cookies({})
        values = self.parameters()
        where = await self.work(launch.begin, self.tool, values, cookies)
        for name, (value, _) in cookies.to_set.items():
            self.put_cookie(name, value, LOGIN_SECONDS)
        self.redirect(where)

    async def post(self) -> None:
        """Answer a login that was started with a form."""
        await self.get()


class LaunchPage(Page):
    """The second half: the platform's message about who comes."""

    async def post(self) -> None:
        """Open a session for who comes, and show where they belong."""
        values = self.parameters()
        cookies = Cookies(
            {name: morsel.value for name, morsel in self.request.cookies.items()}
        )
        visit = await self.work(launch.finish, self.tool, values, cookies)
        if visit.role not in (INSTRUCTOR, STUDENT):
            raise Refused(
                "These pages are for this course's teachers and students.",
                log="the role in the course is neither teacher nor student",
            )
        number = self.tool.store.enter(visit, owner=launch.is_owner(self.tool, visit))
        if number is None:
            raise launch.foreign(self.tool, visit)
        self.come_in(number)
        if visit.assignment and visit.line_item_url:
            self.tool.store.save_line_item(
                number, visit.assignment, visit.line_item_url
            )
        # A new session for each launch: a session that was slipped in before is worth nothing.
        self.secret = self.tool.store.open_session(
            number, visit, old=self.get_cookie(SESSION_COOKIE) or ""
        )
        self.put_cookie(values["state"], "", 0)
        self.put_cookie(SESSION_COOKIE, self.secret, None)
        log.info("launch: %s in course %d", visit.role, number)
        if visit.linking:
            await self._offer_links(visit)
            return
        known = visit.assignment in await self.work(self.book.assignments)
        self.go(
            f"assignments/{visit.assignment}"
            if known and visit.role == INSTRUCTOR
            else ""
        )

    async def _offer_links(self, visit: Visit) -> None:
        """Show a button for each assignment, which takes a link to it to the platform.

        Raises:
            Refused: if it is no teacher's.

        """
        if visit.role != INSTRUCTOR:
            raise Refused("This page is for teachers.", log="a student makes a link")
        self.session = self.tool.store.session(self.secret)
        back = visit.linking["deep_link_return_url"]
        links = []
        for name in await self.work(self.book.assignments):
            most = 0.0  # a column that is known stays the only one
            if not self.tool.store.line_item(self.course.id, name):
                standings = await self.work(self.book.standings, name)
                most = max((one.max_points for one in standings), default=0.0)
            links.append((name, deep_link.answer(self.tool, visit, name, most)))
        policy = self._headers.get("Content-Security-Policy", "")
        self.set_header(
            "Content-Security-Policy",
            policy.replace("form-action 'self'", f"form-action 'self' {origin(back)}"),
        )
        self.show("links.html", links=links, back=back)


class JwksPage(Page):
    """The tool's public key, for platforms."""

    def get(self) -> None:
        """Return the key set."""
        self.set_header("Content-Type", "application/json")
        self.write(self.tool.keys.jwks)


class StylePage(Page):
    """The style sheet."""

    def get(self) -> None:
        """Return the style sheet."""
        self.set_header("Content-Type", "text/css; charset=utf-8")
        self.write((TEMPLATES / "style.css").read_bytes())


class HealthPage(Page):
    """Tells a proxy that the tool is there."""

    def get(self) -> None:
        """Say so."""
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.write("here\n")


class LogoutPage(Page):
    """Ends the visit."""

    role = STUDENT

    def post(self) -> None:
        """End the session."""
        self.tool.store.close_session(self.get_cookie(SESSION_COOKIE) or "")
        self.put_cookie(SESSION_COOKIE, "", 0)
        self.session = None
        self.show("goodbye.html")


class NoPage(Page):
    """Any other address."""

    def prepare(self) -> None:
        """Say that there is no such page.

        Raises:
            HTTPError: always.

        """
        raise HTTPError(404)


class Web(Application):
    """The application; its setting `jobs` has the newest publishing run of each assignment.

    `books` returns a course's gradebook and feedback.
    """

    entrance: ClassVar[list] = [
        ("login", LoginPage),
        ("launch", LaunchPage),
        ("jwks.json", JwksPage),
        ("style.css", StylePage),
        ("health", HealthPage),
        ("logout", LogoutPage),
    ]

    def __init__(self, tool: Tool, books: Callable[[Course], CourseResults]) -> None:
        shared = {"tool": tool, "books": books}
        base = urlsplit(tool.public_url).path + "/"
        pages = [*self.entrance, *teacher_pages.PAGES, *student_pages.PAGES]
        origins = {
            found
            for platform in tool.configuration.platforms
            for found in platform.origins
        }
        super().__init__(
            [(f"{base}{path}", page, shared) for path, page in pages],
            default_handler_class=NoPage,
            default_handler_args=shared,
            template_path=str(TEMPLATES),
            autoescape="xhtml_escape",
            framed_by=" ".join(["'self'", *sorted(origins)]),
            jobs={},
            rate=Rate(),
            log_function=_log_request,
        )


def _log_request(page: RequestHandler) -> None:
    """Log a request without its parameters: they carry hints about people, and tokens."""
    log.info(
        "%d %s %s %.0f ms",
        page.get_status(),
        page.request.method,
        page.request.path,
        1000 * page.request.request_time(),
    )


def server(web: Web) -> HTTPServer:
    """Return the server of an application; it is not listening yet."""
    return HTTPServer(
        web,
        xheaders=False,
        max_header_size=64 * 1024,
        max_body_size=LARGEST_BODY,
        max_buffer_size=2 * LARGEST_BODY,
        idle_connection_timeout=60,
        body_timeout=30,
    )
