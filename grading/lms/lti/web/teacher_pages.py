"""A teacher's pages: assignments, states, the roster, and the button that publishes."""

from __future__ import annotations

import csv
import io
import threading
from dataclasses import dataclass, field

from grading.course.states import State
from grading.gradebook.spreadsheet import guarded
from grading.gradebook.standing import Standing
from grading.lms.lti.grades.outbox import Outbox
from grading.lms.lti.grades.publish import Plan, Report, plan, publish
from grading.lms.lti.protocol import services
from grading.lms.lti.protocol.client import Patience
from grading.lms.lti.protocol.errors import LtiError, Refused
from grading.lms.lti.protocol.membership import INSTRUCTOR
from grading.lms.lti.protocol.services import Services
from grading.lms.lti.protocol.store import Course, Store
from grading.lms.lti.web import identity
from grading.lms.lti.web.base import Page, log
from grading.lms.lti.web.student_pages import show_own


@dataclass
class Job:
    """A publishing run in its own thread; what it did so far can be read at any time."""

    total: int
    done: int = 0
    outcomes: dict[str, str] = field(default_factory=dict)
    report: Report | None = None
    error: str = ""

    @property
    def running(self) -> bool:
        """Whether it is still at it."""
        return self.report is None and not self.error

    def say(self, step: Plan, outcome: str) -> None:
        """Note what came of one student's score."""
        self.done += 1
        self.outcomes[step.standing.student] = outcome

    def run(
        self,
        store: Store,
        course: Course,
        offered: Services,
        assignment: str,
        standings: list[Standing],
        *,
        missing_as_zero: bool,
    ) -> None:
        """Publish; whatever stops it is kept for the page."""
        try:
            line_item = find_line_item(store, course, offered, assignment, standings)
            self.report = publish(
                store,
                offered,
                line_item,
                standings,
                users(store, course),
                missing_as_zero=missing_as_zero,
                say=self.say,
            )
            log.info("published %s: %s", assignment, self.report)
        except LtiError as error:
            self.error = str(error)
            log.warning("publishing %s: %s", assignment, error)
        finally:
            if (
                self.running
            ):  # something nobody foresaw: the thread's own report tells what
                self.error = (
                    "Something went wrong here. The reason is in the tool's log."
                )


def users(store: Store, course: Course) -> dict[str, str]:
    """Return the platform's user ids by student."""
    return {student: user for user, (student, _) in store.links(course.id).items()}


def find_line_item(
    store: Store,
    course: Course,
    offered: Services,
    assignment: str,
    standings: list[Standing],
) -> str:
    """Return an assignment's line item; it is made on the platform if there is none any more.

    Raises:
        LtiError: if the platform does not let us.

    """
    known = store.line_item(course.id, assignment)
    if known and offered.has_line_item(known):
        return known
    most = max((standing.max_points for standing in standings), default=0.0)
    if most <= 0:
        raise LtiError(f"{assignment} has no points to give")
    url = offered.line_item(assignment, most)
    store.save_line_item(course.id, assignment, url)
    return url


class HomePage(Page):
    """The start page; a student gets the student's."""

    role = "student"

    async def get(self) -> None:
        """Show the assignments."""
        if self.session.role != INSTRUCTOR:
            await show_own(self)
            return
        names = await self.work(self.book.assignments)
        rows = [(name, await self.work(self.book.counts, name)) for name in names]
        self.show(
            "home.html",
            rows=rows,
            states=[str(state) for state in State],
            released=self.tool.store.released(self.course.id),
            linked=len(users(self.tool.store, self.course)),
            people=len(await self.work(self.book.people)),
        )


class TeacherPage(Page):
    """A page about one assignment."""

    role = INSTRUCTOR

    async def standings(self, assignment: str) -> list[Standing]:
        """Return the standings of an assignment that is in the gradebook.

        Raises:
            Refused: if it is not.

        """
        if assignment not in await self.work(self.book.assignments):
            raise Refused("There is no such assignment.", 404)
        return await self.work(self.book.standings, assignment)

    def job(self, assignment: str) -> Job | None:
        """Return the newest run for an assignment."""
        return self.settings["jobs"].get((self.course.id, assignment))


class AssignmentPage(TeacherPage):
    """Each student's state, and what publishing would do."""

    async def get(self, assignment: str) -> None:
        """Show the table; with ?missing=zero, what publishing with zeros would do."""
        store, course = self.tool.store, self.course
        zero = self.get_query_argument("missing", "") == "zero"
        standings = await self.standings(assignment)
        line_item = store.line_item(course.id, assignment)
        outbox = line_item and Outbox(
            store, f"{course.issuer} {course.client_id}", line_item
        )
        names = {
            person.id: f"{person.first_name} {person.last_name}".strip()
            for person in await self.work(self.book.people)
        }
        rows = [
            (
                step,
                names.get(step.standing.student, ""),
                self.book.feedback_pages(step.standing.student, assignment),
            )
            for step in plan(
                standings,
                users(store, course),
                outbox or None,
                missing_as_zero=zero,
                hidden=course.hides_grades,
            )
        ]
        job = self.job(assignment)
        if job and job.running:
            self.set_header("Refresh", "2")
        self.show(
            "assignment.html",
            assignment=assignment,
            rows=rows,
            job=job,
            zero=zero,
            line_item=line_item,
            released=assignment in store.released(course.id),
            report=await self.work(self.book.report, assignment) is not None,
        )


class ReportPage(TeacherPage):
    """The report on the class, as the grader wrote it."""

    async def get(self, assignment: str) -> None:
        """Return the page.

        Raises:
            Refused: if none was made.

        """
        found = await self.work(self.book.report, assignment)
        if found is None:
            raise Refused(
                "There is no report yet. Whoever grades makes it: python -m grading report.",
                404,
            )
        self.show_file(found, links=True)


class PublishPage(TeacherPage):
    """The button: sends the scores, and lets students see their feedback."""

    async def post(self, assignment: str) -> None:
        """Start publishing, and go back to the table, which shows how far it is."""
        standings = await self.standings(assignment)
        job = self.job(assignment)
        if job is None or not job.running:
            offered = services.services(self.tool, self.course)
            job = Job(len(standings))
            self.settings["jobs"][self.course.id, assignment] = job
            threading.Thread(
                target=job.run,
                name=f"publish {assignment}",
                daemon=True,
                args=(self.tool.store, self.course, offered, assignment, standings),
                kwargs={
                    "missing_as_zero": self.get_body_argument("missing", "") == "zero"
                },
            ).start()
            self.tool.store.release(self.course.id, assignment)
        self.go(f"assignments/{assignment}")


class ReleasePage(TeacherPage):
    """Lets students see their results without sending scores."""

    async def post(self, assignment: str) -> None:
        """Release them."""
        await self.standings(assignment)
        self.tool.store.release(self.course.id, assignment)
        self.go(f"assignments/{assignment}")


class RosterPage(Page):
    """The platform's roster beside the gradebook's."""

    role = INSTRUCTOR

    async def get(self) -> None:
        """Show who is who."""
        store, course = self.tool.store, self.course
        members, links = store.members(course.id), store.links(course.id)
        students = await self.work(self.people)
        matched = identity.match(members, students, links)
        rows = sorted(
            (
                identity.name_of(member),
                identity.role_name(member),
                str(member.get("email") or ""),
                user,
                *links.get(user, ("", matched.doubtful.get(user, ""))),
            )
            for user, member in members.items()
        )
        linked = {student for student, _ in links.values()}
        self.show(
            "roster.html",
            rows=rows,
            offered=bool(course.members_url),
            alone=[person for person in students if person.id not in linked],
        )


class MatchPage(Page):
    """The button: fetches the platform's roster and matches it with the gradebook's."""

    role = INSTRUCTOR

    async def post(self) -> None:
        """Fetch and match."""
        store, course = self.tool.store, self.course
        # Somebody waits for the page: a busy platform gets fewer tries than when publishing.
        offered = services.services(self.tool, course, Patience(tries=3, longest=10))
        members = await self.work(offered.members)
        store.save_members(course.id, members)
        matched = identity.match(
            members, await self.work(self.people), store.links(course.id)
        )
        store.add_links(course.id, matched.new)
        log.info("roster: %d members, %d newly matched", len(members), len(matched.new))
        self.go("roster")


class LinkPage(Page):
    """A teacher's own word about who is who."""

    role = INSTRUCTOR

    async def post(self) -> None:
        """Write down, or forget, which student a member is.

        Raises:
            Refused: if there is no such member or student, or the student is somebody else.

        """
        store, course = self.tool.store, self.course
        user = self.get_body_argument("user", "")
        student = self.get_body_argument("student", "").strip()
        if user not in store.members(course.id):
            raise Refused("There is nobody of that kind in the roster.", 404)
        store.remove_link(course.id, user)
        if student:
            if student not in {
                person.id for person in await self.work(self.book.people)
            }:
                raise Refused(f"The gradebook has no student {student}.", 404)
            if student in users(store, course):
                raise Refused(
                    f"{student} is somebody else already: take that away first.", 409
                )
            store.add_links(course.id, {user: (student, "the teacher's word")})
        self.go("roster")


class RosterFile(Page):
    """The platform's roster as a file for `python -m grading lms roster`."""

    role = INSTRUCTOR

    def get(self) -> None:
        """Return learners as CSV; a cell that a spreadsheet would compute gets an apostrophe."""
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow(
            [
                "id",
                "first_name",
                "last_name",
                "email",
                "lms_user_id",
                "sis_user_id",
            ]
        )
        for user, member in sorted(self.tool.store.members(self.course.id).items()):
            if identity.role_name(member) == "student":
                cells = [
                    member.get("lis_person_sourcedid") or user,
                    member.get("given_name"),
                    member.get("family_name"),
                    member.get("email"),
                    user,
                    member.get("lis_person_sourcedid"),
                ]
                writer.writerow([guarded(str(cell or "")) for cell in cells])
        self.set_header("Content-Type", "text/csv; charset=utf-8")
        self.set_header("Content-Disposition", 'attachment; filename="roster.csv"')
        self.write(out.getvalue())


PAGES = [
    ("", HomePage),
    ("assignments/([^/]+)", AssignmentPage),
    ("assignments/([^/]+)/report", ReportPage),
    ("assignments/([^/]+)/publish", PublishPage),
    ("assignments/([^/]+)/release", ReleasePage),
    ("roster", RosterPage),
    ("roster/match", MatchPage),
    ("roster/link", LinkPage),
    ("roster.csv", RosterFile),
]
