"""A student's pages: the own results and the own feedback, nobody else's."""

from __future__ import annotations

from grading.course.states import State
from grading.lms.lti.protocol.errors import Refused
from grading.lms.lti.protocol.membership import INSTRUCTOR
from grading.lms.lti.web import identity
from grading.lms.lti.web.base import Page

#: What a student reads about a state that comes without points.
WORDS = {
    State.MISSING: "nothing handed in",
    State.FAILED: "could not be graded yet; this is not a zero",
    State.SUSPECT: "your teacher is looking at it",
}


def student_of(page: Page) -> str:
    """Return which student the visitor is.

    Raises:
        Refused: if that is not known.

    """
    store, course, user = page.tool.store, page.course, page.session.user
    links = store.links(course.id)
    if user in links:
        return links[user][0]
    found = identity.recognise(
        user, page.people(), {student for student, _ in links.values()}
    )
    if not found:
        raise Refused(
            "Your teacher has not yet told this tool who you are. Please ask them to "
            "match the roster, then open the link again.",
            log="user without student",
        )
    store.add_links(course.id, {user: (found, "the LMS id in the gradebook")})
    return found


async def show_own(page: Page) -> None:
    """Show a student the own results of the assignments that were released."""
    student = await page.work(student_of, page)
    rows = []
    for name in await page.work(page.book.assignments):
        if name not in page.tool.store.released(page.course.id):
            continue
        standings = await page.work(page.book.standings, name)
        own = next((one for one in standings if one.student == student), None)
        if own is not None:
            pages = (
                []
                if own.state is State.SUSPECT
                else page.book.feedback_pages(student, name)
            )
            rows.append((own, WORDS.get(own.state, ""), pages))
    page.show("own.html", rows=rows)


class FeedbackPage(Page):
    """A feedback page, as the grader wrote it, in a sandbox of its own."""

    role = "student"

    async def get(self, student: str, assignment: str, name: str) -> None:
        """Return the page to its student, or to a teacher.

        Raises:
            Refused: if it is somebody else's, not released, or not there. The three look alike.

        """
        refused = Refused(
            "There is no such feedback for you.", 404, log="not the own feedback"
        )
        if self.session.role != INSTRUCTOR:
            if student != await self.work(student_of, self):
                raise refused
            if assignment not in self.tool.store.released(self.course.id):
                raise refused
            standings = await self.work(self.book.standings, assignment)
            if any(
                one.student == student and one.state is State.SUSPECT
                for one in standings
            ):
                raise refused
        found = await self.work(self.book.feedback_page, student, assignment, name)
        if found is None:
            raise refused
        self.show_file(found)


PAGES = [("feedback/([^/]+)/([^/]+)/([^/]+)", FeedbackPage)]
