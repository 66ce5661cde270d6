"""Which courses are let in: validly signed launches from all the others, and what is kept apart."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import requests

from grading.course.states import State
from grading.lms.lti.protocol import launch
from grading.lms.lti.protocol.launch import Tool
from grading.lms.lti.protocol.membership import CLAIM, role_of
from grading.lms.lti.protocol.platforms import Configuration
from grading.lms.lti.protocol.store import Course, Store
from grading.lms.lti.protocol.visit import GRADES, MEMBERS, from_claims
from grading.lms.lti.web.results import CourseResults
from tests.grading.lms.lti import course
from tests.grading.lms.lti.conftest import Pages
from tests.grading.lms.lti.stub import (
    CLIENT,
    CONTEXT,
    DEPLOYMENT,
    LEARNER,
    SCOPES,
    TEACHER,
    Stub,
)
from tests.grading.lms.lti.test_launch import assert_refused, enter, finish, start
from tests.grading.lms.lti.test_pages import PAGE, TASK, get, post

pytestmark = pytest.mark.slow

OTHER = "course-2"
ASSISTANT = (
    "http://purl.imsglobal.org/vocab/lis/v2/membership/Instructor#TeachingAssistant"
)


def context(name: str, stub: Stub | None = None) -> dict:
    """Return the claims of a launch from another course; with a platform, its services, too."""
    made = {f"{CLAIM}context": {"id": name, "title": name}}
    if stub:
        made[MEMBERS] = {"context_memberships_url": f"{stub.url}/members/{name}"}
        made[GRADES] = {"scope": SCOPES, "lineitems": f"{stub.url}/{name}/line_items"}
    return made


def launched(
    pages: Pages, stub: Stub, user: str, role: str, **changes: object
) -> tuple[requests.Session, requests.Response]:
    """Launch as anybody, and return the visitor and the answer."""
    visitor, state, nonce = start(pages, stub)
    claims = stub.claims(pages.url, user, role, nonce, **changes)
    return visitor, finish(pages, visitor, state, stub.token(claims))


def dump(store: Store) -> str:
    """Return all that the database holds, except launches under way."""
    with store.connection() as connection:
        return "\n".join(
            line for line in connection.iterdump() if '"logins"' not in line
        )


@pytest.mark.parametrize("role", [TEACHER, LEARNER, ASSISTANT])
def test_another_course_is_refused(pages: Pages, stub: Stub, role: str) -> None:
    """A validly signed launch from another course of the same deployment opens and writes nothing.

    A teacher is told how to add the course, whoever else is there is not.
    """
    before = dump(pages.tool.store)
    # The link of the course that was set up, opened from another one.
    visitor, answer = launched(
        pages,
        stub,
        "t02",
        role,
        **context(OTHER, stub),
        **{f"{CLAIM}resource_link": {"id": "link-1"}},
    )
    assert_refused(answer)
    assert "not set up for the course" in answer.text
    told = f"python -m grading lms course --add={OTHER} --deployment-id={DEPLOYMENT}"
    assert (told in answer.text) is (role != LEARNER)
    for path in ("", "roster", "roster.csv", TASK, f"feedback/s01/{PAGE}"):
        assert_refused(get(pages, visitor, path), 401)
    assert dump(pages.tool.store) == before
    assert stub.posts == []


@pytest.mark.parametrize(
    "changes",
    [
        {f"{CLAIM}context": None},
        {f"{CLAIM}context": {}},
        {f"{CLAIM}context": {"id": ""}},
        {f"{CLAIM}context": {"id": 1}},
        {f"{CLAIM}context": {"id": [CONTEXT]}},
        {f"{CLAIM}context": {"title": CONTEXT}},
        {f"{CLAIM}context": CONTEXT},
        {f"{CLAIM}context": {"id": f"{CONTEXT} "}},
        {f"{CLAIM}context": {"id": CONTEXT.upper()}},
        {f"{CLAIM}context": {"id": f"{CONTEXT}\0"}},
        {f"{CLAIM}context": {"id": "\ud800"}},
        {f"{CLAIM}context": {"id": "%"}},
        {f"{CLAIM}deployment_id": [DEPLOYMENT]},
        {f"{CLAIM}context": None, f"{CLAIM}resource_link": {"id": CONTEXT}},
    ],
    ids=str,
)
def test_what_names_no_course_is_refused(
    pages: Pages, stub: Stub, changes: dict
) -> None:
    """No context, or one that only looks like the right one."""
    visitor, answer = launched(pages, stub, "t01", TEACHER, **changes)
    assert_refused(answer)
    assert_refused(get(pages, visitor, ""), 401)


def test_same_context_elsewhere_is_another_course(pages: Pages, stub: Stub) -> None:
    """A context's id says nothing by itself: on another deployment or platform it is another's."""
    elsewhere = Stub()
    pages.tool.configuration = Configuration(
        pages.url,
        (
            replace(stub.platform, deployment_ids=(DEPLOYMENT, "deployment-2")),
            elsewhere.platform,
        ),
    )
    _, answer = launched(
        pages, stub, "t02", TEACHER, **{f"{CLAIM}deployment_id": "deployment-2"}
    )
    assert_refused(answer)
    assert "--deployment-id=deployment-2" in answer.text
    _, answer = launched(pages, elsewhere, "t02", TEACHER)
    assert_refused(answer)
    assert f"--issuer={elsewhere.url}" in answer.text
    assert launched(pages, stub, "t01", TEACHER)[1].status_code == 303
    elsewhere.close()


def test_what_is_pasted_into_a_shell_is_quoted(tool: Tool, stub: Stub) -> None:
    """The name of a course is its teacher's choice on some platforms."""
    claims = stub.claims(
        tool.public_url, "t02", TEACHER, **context("x; rm -rf ~ $(id)")
    )
    told = str(launch.foreign(tool, from_claims(claims, CLIENT)))
    assert "'--add=x; rm -rf ~ $(id)'" in told


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ([TEACHER], "instructor"),
        ([LEARNER], "student"),
        ([LEARNER, TEACHER], "instructor"),
        (["Instructor"], "instructor"),
        (["Learner"], "student"),
        (["Administrator"], "instructor"),
        ([ASSISTANT], "instructor"),
        ([LEARNER, ASSISTANT], "instructor"),
        (
            ["http://purl.imsglobal.org/vocab/lis/v2/membership/Learner#Instructor"],
            "student",
        ),
        (["http://purl.imsglobal.org/vocab/lis/v2/membership/Mentor#Instructor"], ""),
        (["http://purl.imsglobal.org/vocab/lis/v2/membership/Instructor"], ""),
        (["http://purl.imsglobal.org/vocab/lis/v2/membership/Instructor#"], ""),
        (["http://purl.imsglobal.org/vocab/lis/v2/membership#Mentor"], ""),
        (["http://purl.imsglobal.org/vocab/lis/v2/membership#ContentDeveloper"], ""),
        (["http://purl.imsglobal.org/vocab/lis/v2/institution/person#Instructor"], ""),
        (
            [
                "http://purl.imsglobal.org/vocab/lis/v2/institution/person#Administrator",
                LEARNER,
            ],
            "student",
        ),
        (["http://purl.imsglobal.org/vocab/lis/v2/system/person#SysAdmin"], ""),
        (["http://purl.imsglobal.org/vocab/lti/system/person#TestUser", LEARNER], ""),
        ([f"http://elsewhere.example/{TEACHER}"], ""),
        ([], ""),
        (None, ""),
        ("Instructor", ""),
        ([{"a": 1}, None, ["Instructor"]], ""),
    ],
)
def test_roles(roles: object, expected: str) -> None:
    """Roles in the course count, by their main role; roles in an institution do not."""
    assert role_of(roles) == expected


@pytest.fixture
def second(stub: Stub, tool: Tool) -> Course:
    """Another course of the same platform and deployment, set up as well."""
    return tool.store.set_up(stub.url, CLIENT, DEPLOYMENT, OTHER)


@pytest.fixture
def side_by_side(
    tool: Tool, stub: Stub, root: Path, prepared: Path, second: Course, tmp_path: Path
) -> Iterator[Pages]:
    """One tool for two courses of one deployment, each with a gradebook of its own."""
    first = stub.set_up(tool.store)
    roots = {
        first.id: root,
        second.id: Path(shutil.copytree(prepared, tmp_path / "second")),
    }
    course.grade(roots[second.id], "s01", State.GRADED, (1.0, 0.0, 0.0))
    page = roots[second.id] / "feedback" / "s01" / PAGE
    page.write_text("<p>second course</p>", encoding="utf-8")
    served = Pages(
        tool,
        lambda one: CourseResults(
            course.url(roots[one.id]), roots[one.id] / "feedback"
        ),
    )
    yield served
    served.close()


def test_two_courses_side_by_side(
    side_by_side: Pages, stub: Stub, second: Course
) -> None:
    """Same users, same students' ids, same assignment: each course has its own of everything."""
    pages, first = side_by_side, 1 if second.id == 2 else 2
    stub.members = [{"user_id": "u01", "email": "s01@example.org", "roles": [LEARNER]}]
    boss = enter(pages, stub, "t01", TEACHER)
    post(pages, boss, "roster/match")
    post(pages, boss, f"{TASK}/release")
    other = enter(pages, stub, "t02", TEACHER, **context(OTHER, stub))
    # Links, roster, releases: what the first has, the second has not.
    assert "Fetch" in get(pages, other, "roster").text
    assert "s01@example.org" not in get(pages, other, "roster").text
    store = pages.tool.store
    assert store.links(second.id) == {}
    assert store.released(second.id) == set()
    assert store.members(second.id) == {}
    assert [one.id for one in store.courses()] == sorted((first, second.id))
    # The same user is somebody here, and nobody there.
    own = enter(pages, stub, "u01", LEARNER)
    assert "7.5 / 10" in get(pages, own, "").text
    assert "feedback of s01" in get(pages, own, f"feedback/s01/{PAGE}").text
    there = enter(pages, stub, "u01", LEARNER, **context(OTHER, stub))
    assert_refused(get(pages, there, ""), 403)
    assert_refused(get(pages, there, f"feedback/s01/{PAGE}"), 403)
    # The gradebook of each is its own.
    assert "7.5 / 10" in get(pages, boss, TASK).text
    assert "1 / 10" in get(pages, other, TASK).text
    assert "second course" in get(pages, other, f"feedback/s01/{PAGE}").text


def test_sessions_and_forms_stay_in_their_course(
    side_by_side: Pages, stub: Stub, second: Course
) -> None:
    """A cookie is for the course of its launch; no address and no other form leads out."""
    pages = side_by_side
    boss = enter(pages, stub, "t01", TEACHER)
    other = enter(pages, stub, "t01", TEACHER, **context(OTHER, stub))
    token = pages.tool.store.session(boss.cookies["course-session"]).csrf
    answer = other.post(f"{pages.url}/{TASK}/release", data={"csrf": token}, timeout=10)
    assert_refused(answer, 403)
    post(pages, boss, f"{TASK}/release")
    assert pages.tool.store.released(second.id) == set()
    for path in (f"{TASK}?course={second.id}", f"{TASK}?context={OTHER}"):
        assert "7.5 / 10" in get(pages, boss, path).text
    # A teacher here who is a student there is a student there.
    as_student = enter(pages, stub, "t01", LEARNER, **context(OTHER, stub))
    assert_refused(get(pages, as_student, TASK), 403)


def test_scores_go_to_the_own_course(
    side_by_side: Pages, stub: Stub, second: Course
) -> None:
    """A line item of the other course is not taken, whoever's launch names it."""
    pages = side_by_side
    mine = f"{stub.url}/line_items/0"
    link = {
        GRADES: {
            "scope": SCOPES,
            "lineitems": f"{stub.url}/line_items",
            "lineitem": mine,
        },
        f"{CLAIM}custom": {"assignment": course.ASSIGNMENT},
    }
    enter(pages, stub, "t01", TEACHER, **link)
    stolen = {**context(OTHER, stub), **link}
    stolen[GRADES] = {**link[GRADES], "lineitems": f"{stub.url}/{OTHER}/line_items"}
    visitor, answer = launched(pages, stub, "t02", TEACHER, **stolen)
    assert_refused(answer)
    assert_refused(get(pages, visitor, ""), 401)
    assert pages.tool.store.line_item(second.id, course.ASSIGNMENT) == ""


@pytest.mark.parametrize("service", [MEMBERS, GRADES])
def test_services_of_another_course_are_not_taken(
    side_by_side: Pages, stub: Stub, second: Course, service: str
) -> None:
    """Roster and columns have one course: a launch that names another's is refused whole."""
    pages = side_by_side
    enter(pages, stub, "t01", TEACHER)
    claims = context(OTHER, stub)
    claims[service] = stub.claims(pages.url)[service]
    before = pages.tool.store.course(second.id)
    _, answer = launched(pages, stub, "t02", TEACHER, **claims)
    assert_refused(answer)
    assert "same roster or the same column" in answer.text
    assert pages.tool.store.course(second.id) == before


def test_roster_of_another_course_is_not_taken(pages: Pages, stub: Stub) -> None:
    """A roster says whose it is; another's is refused before anybody is matched."""
    boss = enter(pages, stub, "t01", TEACHER)
    stub.members = [{"user_id": "u01", "email": "s01@example.org", "roles": [LEARNER]}]
    stub.roster_of = OTHER
    answer = post(pages, boss, "roster/match")
    assert_refused(answer, 503)
    assert "another course" in answer.text
    assert pages.tool.store.members(1) == pages.tool.store.links(1) == {}


def test_course_taken_away_ends_at_once(pages: Pages, stub: Stub) -> None:
    """Sessions end with the course; set up again, it is as it was."""
    store = pages.tool.store
    boss = enter(pages, stub, "t01", TEACHER)
    store.add_links(1, {"u01": ("s01", "test")})
    store.take_away(1)
    assert_refused(get(pages, boss, ""), 401)
    assert_refused(launched(pages, stub, "t01", TEACHER)[1])
    assert stub.set_up(store).id == 1
    assert_refused(get(pages, boss, ""), 401)
    assert store.links(1) == {"u01": ("s01", "test")}
    assert store.course(1).members_url


def owned(pages: Pages, stub: Stub) -> None:
    """Have the course set up by its owner instead of a command."""
    with pages.tool.store.transaction() as connection:
        connection.execute("DELETE FROM courses")
    pages.tool.configuration = Configuration(
        pages.url, (replace(stub.platform, owner="t01"),)
    )


def test_owners_first_launch_sets_up(pages: Pages, stub: Stub) -> None:
    """The owner's first launch as a teacher, nobody else's, and no second course."""
    owned(pages, stub)
    assert_refused(launched(pages, stub, "t02", TEACHER)[1])
    assert_refused(launched(pages, stub, "t01", LEARNER)[1])
    assert pages.tool.store.courses() == []
    enter(pages, stub, "t01", TEACHER)
    # Where the owner teaches, too, others do: they don't get in by the owner's click.
    assert_refused(launched(pages, stub, "t01", TEACHER, **context(OTHER, stub))[1])
    assert [one.context for one in pages.tool.store.courses()] == [CONTEXT]
    enter(pages, stub, "t02", TEACHER)
    # Once it was taken away, a click does not bring it back.
    pages.tool.store.take_away(pages.tool.store.courses()[0].id)
    assert_refused(launched(pages, stub, "t01", TEACHER)[1])


def test_nobodys_launch_sets_up_without_an_owner(pages: Pages, stub: Stub) -> None:
    """No owner is not everybody, nor the user without a name."""
    owned(pages, stub)
    pages.tool.configuration = Configuration(pages.url, (stub.platform,))
    assert_refused(launched(pages, stub, "t01", TEACHER)[1])
    assert_refused(launched(pages, stub, "", TEACHER)[1])
    assert pages.tool.store.courses() == []


def test_numbers_of_another_platform_are_other_people(
    tool: Tool, stub: Stub, second: Course, root: Path
) -> None:
    """User 17 of one platform is not user 17 of the other, where both share a gradebook."""
    first = stub.set_up(tool.store)
    assert not tool.store.several_platforms(first)
    tool.store.set_up(
        "https://elsewhere.example.org", CLIENT, DEPLOYMENT, CONTEXT, "/another"
    )
    assert not tool.store.several_platforms(first), "that one has its own gradebook"
    tool.store.set_up("https://elsewhere.example.org", CLIENT, DEPLOYMENT, CONTEXT)
    assert tool.store.several_platforms(first)


def test_student_is_not_taken_for_another_platforms(
    pages: Pages, stub: Stub, root: Path
) -> None:
    """The LMS number in the gradebook opens nothing once a second platform has the same numbers."""
    from grading.gradebook.writer import GradebookWriter

    with GradebookWriter(course.url(root)) as book:
        book.gradebook.find_student("s01").lms_user_id = "u17"
        book.gradebook.db.commit()
    pages.tool.store.release(1, course.ASSIGNMENT)
    elsewhere = Stub()
    pages.tool.configuration = pages.tool.configuration.with_platform(
        elsewhere.platform
    )
    elsewhere.set_up(pages.tool.store)
    visitor = enter(pages, elsewhere, "u17", LEARNER, **context(CONTEXT, elsewhere))
    assert_refused(get(pages, visitor, ""), 403)
    pages.tool.store.take_away(2)
    assert "7.5 / 10" in get(pages, enter(pages, stub, "u17", LEARNER), "").text
    elsewhere.close()
