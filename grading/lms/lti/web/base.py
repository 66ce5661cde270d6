"""What every page of the tool has in common: who may see it, its headers, its errors."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable
from dataclasses import replace
from http.cookies import SimpleCookie
from urllib.parse import urlsplit

from tornado.ioloop import IOLoop
from tornado.web import HTTPError, RequestHandler

from grading.course.database import GradebookError
from grading.gradebook.standing import Person
from grading.lms.lti.protocol import launch
from grading.lms.lti.protocol.errors import LtiError, Refused
from grading.lms.lti.protocol.launch import Tool
from grading.lms.lti.protocol.membership import INSTRUCTOR
from grading.lms.lti.protocol.platforms import origin
from grading.lms.lti.protocol.store import Course, Session
from grading.lms.lti.web.results import CourseResults

log = logging.getLogger("grading.lms.lti")

SESSION_COOKIE = "course-session"


class Page(RequestHandler):
    """A page; `role` names who may see it ("" for everybody)."""

    role = ""
    tool: Tool
    book: CourseResults
    session: Session | None
    course: Course | None

    def initialize(self, tool: Tool, books: Callable[[Course], CourseResults]) -> None:
        """Take the parts that all pages share."""
        self.tool, self.books = tool, books
        self.session = self.course = None

    def set_default_headers(self) -> None:
        """Set what limits a page: no script, nothing from elsewhere, framed by platforms alone."""
        self.clear_header("Server")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("Cache-Control", "no-store")
        self.set_header(
            "Content-Security-Policy",
            "; ".join(
                (
                    "default-src 'none'",
                    "style-src 'self'",
                    "form-action 'self'",
                    "base-uri 'none'",
                    f"frame-ancestors {self.settings['framed_by']}",
                )
            ),
        )

    def prepare(self) -> None:
        """Let in who may see the page.

        Raises:
            Refused: if the person may not, or a form was not sent from these pages.

        """
        secret = self.get_cookie(SESSION_COOKIE) or ""
        self.session = self.tool.store.session(secret) if secret else None
        if self.session:
            self.come_in(self.session.course)
        if not self.role:
            return
        if self.session is None:
            raise Refused(
                f"You are not logged in here, or your visit has ended. {launch.AGAIN}",
                401,
                log="no session",
            )
        if self.role == INSTRUCTOR and self.session.role != INSTRUCTOR:
            raise Refused(
                "This page is for teachers.", log="a student asked for a teacher's page"
            )
        if self.request.method == "POST":
            self._check_form()

    def come_in(self, course: int) -> None:
        """Have the page show a course, from its own gradebook."""
        self.course = self.tool.store.course(course)
        self.book = self.books(self.course)

    def people(self) -> list[Person]:
        """Return the gradebook's students, as far as this platform can tell them.

        The numbers that an LMS gives its users are its own: another's user 17 is somebody else.
        """
        found = self.book.people()
        if self.tool.store.several_platforms(self.course):
            return [
                replace(person, lms_user_id="", sis_user_id="", login="")
                for person in found
            ]
        return found

    def _check_form(self) -> None:
        """Check that a form comes from a page of this session: other sites can't know its token.

        Raises:
            Refused: if it does not.

        """
        sender = self.request.headers.get("Origin", "")
        token = self.get_body_argument("csrf", "")
        own = sender in ("", "null", origin(self.tool.public_url))
        if not own or not hmac.compare_digest(
            token.encode(), self.session.csrf.encode()
        ):
            raise Refused(
                "This form was not sent from this visit's own page. Go back, load the page again, "
                "and send it once more.",
                log="cross-site request",
            )

    def show(self, template: str, **values: object) -> None:
        """Show a page; all values are escaped in it."""
        self.render(
            template, base=self.base, session=self.session, course=self.course, **values
        )

    def show_file(self, content: bytes, *, links: bool = False) -> None:
        """Show a page that the grader wrote, in a sandbox of its own.

        It holds what students wrote: it gets no script, no form, no origin, no network; links, if
        it may have any, open beside it.
        """
        popups = " allow-popups allow-popups-to-escape-sandbox" if links else ""
        self.set_header(
            "Content-Security-Policy",
            "; ".join(
                (
                    f"sandbox{popups}",
                    "default-src 'none'",
                    "style-src 'unsafe-inline'",
                    "img-src data:",
                    "font-src data:",
                    "base-uri 'none'",
                    "form-action 'none'",
                    f"frame-ancestors {self.settings['framed_by']}",
                )
            ),
        )
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.write(content)

    @property
    def base(self) -> str:
        """The path under which browsers reach the tool, with a slash at its end."""
        return urlsplit(self.tool.public_url).path + "/"

    def go(self, path: str) -> None:
        """Send the browser to another page of this tool."""
        self.redirect(self.base + path, status=303)

    async def work(self, function: object, *values: object) -> object:
        """Call something that takes its time without holding up other people's pages."""
        return await IOLoop.current().run_in_executor(None, function, *values)

    def put_cookie(self, name: str, value: str, seconds: int | None) -> None:
        """Set a cookie that no script reads.

        Over https the pages may stand in a frame of the platform's, where browsers send only
        cookies with SameSite=None, and keep them apart by the framing site (Partitioned).
        """
        jar = SimpleCookie({name: value})
        jar[name]["path"], jar[name]["httponly"] = self.base, True
        if seconds is not None:
            jar[name]["max-age"] = seconds
        text = jar[name].OutputString()
        limits = (
            "Secure; SameSite=None; Partitioned" if self.tool.secure else "SameSite=Lax"
        )
        self.add_header("Set-Cookie", f"{text}; {limits}")

    def parameters(self) -> dict[str, str]:
        """Return the request's parameters.

        Raises:
            Refused: if one is there twice.

        """
        post = self.request.method == "POST"
        given = self.request.body_arguments if post else self.request.query_arguments
        if any(len(values) > 1 for values in given.values()):
            raise Refused("The request has a parameter twice.", 400)
        return {
            name: values[0].decode("utf-8", "replace") for name, values in given.items()
        }

    def write_error(self, status_code: int, **kwargs: object) -> None:
        """Show what went wrong, in a sentence that tells what to do."""
        error = (kwargs.get("exc_info") or (None, None, None))[1]
        if isinstance(error, Refused):
            message = str(error)
        elif isinstance(error, (LtiError, GradebookError)):
            teaches = self.session and self.session.role == INSTRUCTOR
            message = (
                str(error)
                if teaches
                else "The course's data can't be read at the moment."
            )
        elif status_code == 404:
            message = "There is no such page."
        elif status_code < 500:
            message = "The request was not understood."
        else:
            message = "Something went wrong here. The reason is in the tool's log."
        self.show("error.html", message=message, status=status_code)

    def send_error(self, status_code: int = 500, **kwargs: object) -> None:
        """Answer an error with its own status."""
        error = (kwargs.get("exc_info") or (None, None, None))[1]
        if isinstance(error, Refused):
            status_code = error.status
        elif isinstance(error, (LtiError, GradebookError)):
            status_code = 503
        super().send_error(status_code, **kwargs)

    def log_exception(self, kind: object, error: object, trace: object) -> None:
        """Log a refusal in a line, and what nobody foresaw in full; never a request's content."""
        if isinstance(error, Refused):
            log.warning(
                "refused %s %s: %s", self.request.method, self.request.path, error.log
            )
        elif isinstance(error, (LtiError, GradebookError, HTTPError)):
            log.warning("%s %s: %s", self.request.method, self.request.path, error)
        else:
            log.error(
                "%s %s",
                self.request.method,
                self.request.path,
                exc_info=(kind, error, trace),
            )
