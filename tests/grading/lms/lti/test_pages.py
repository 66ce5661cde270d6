"""The pages: who sees what, what forms are taken, and what a page is allowed to do."""

from __future__ import annotations

import http.client
import re
import time
from pathlib import Path
from urllib.parse import urlsplit

import jwt
import pytest
import requests

from grading.__main__ import main
from grading.course.states import State
from grading.gradebook.standing import Standing, roster
from grading.lms.lti.protocol.launch import Tool
from grading.lms.lti.protocol.membership import CLAIM
from grading.lms.lti.protocol.platforms import Configuration
from grading.lms.lti.protocol.visit import LINKING
from grading.lms.lti.web.results import CourseResults
from tests.grading.lms.lti import course
from tests.grading.lms.lti.conftest import Pages
from tests.grading.lms.lti.stub import CLIENT, DEPLOYMENT, LEARNER, TEACHER, Stub
from tests.grading.lms.lti.test_launch import assert_refused, enter, finish, start

pytestmark = pytest.mark.slow

TASK = f"assignments/{course.ASSIGNMENT}"
PAGE = f"{course.ASSIGNMENT}/{course.NOTEBOOK}.html"

#: A teacher's pages; the second half takes forms.
TEACHERS = ["roster", "roster.csv", TASK]
FORMS = ["roster/match", "roster/link", f"{TASK}/publish", f"{TASK}/release"]


@pytest.fixture
def members(stub: Stub) -> list[dict]:
    """The platform's roster: the gradebook's students, a teacher, a stranger, one who left."""
    stub.members = [
        {
            "user_id": f"u{name[1:]}",
            "name": f"{first} {last}",
            "email": email,
            "roles": [LEARNER],
            "status": "Active",
        }
        for name, (first, last, email) in course.STUDENTS.items()
    ]
    stub.members += [
        {"user_id": "t01", "name": "The teacher", "roles": [TEACHER]},
        {
            "user_id": "u90",
            "name": "<script>alert(1)</script>",
            "email": "x@example.org",
            "roles": ["Learner"],
        },
        {
            "user_id": "u91",
            "name": "Gone",
            "email": "s05@example.org",
            "roles": [LEARNER],
            "status": "Inactive",
        },
    ]
    return stub.members


def csrf(pages: Pages, visitor: requests.Session) -> str:
    """Return the token of a visitor's forms."""
    session = pages.tool.store.session(visitor.cookies["course-session"])
    return session.csrf


def post(
    pages: Pages, visitor: requests.Session, path: str, **values: str
) -> requests.Response:
    """Send a form as its page would."""
    return visitor.post(
        f"{pages.url}/{path}", timeout=10, data={"csrf": csrf(pages, visitor), **values}
    )


def get(pages: Pages, visitor: requests.Session, path: str) -> requests.Response:
    """Load a page."""
    return visitor.get(f"{pages.url}/{path}", timeout=10)


def teacher(pages: Pages, stub: Stub) -> requests.Session:
    """Return a teacher who is in, with the roster matched."""
    visitor = enter(pages, stub, "t01", TEACHER)
    assert post(pages, visitor, "roster/match").status_code == 200
    return visitor


def published(pages: Pages, visitor: requests.Session) -> str:
    """Publish, wait until that is done, and return the assignment's page."""
    post(pages, visitor, f"{TASK}/publish")
    for _ in range(100):
        page = get(pages, visitor, TASK)
        if "Refresh" not in page.headers:
            return page.text
        time.sleep(0.05)
    raise AssertionError("publishing does not end")


def test_teacher_matches_and_publishes(
    pages: Pages, stub: Stub, members: list[dict]
) -> None:
    """Roster, states and the button: what arrives is what the table had said."""
    visitor = teacher(pages, stub)
    roster = get(pages, visitor, "roster").text
    assert "&lt;script&gt;" in roster
    assert "<script>" not in roster
    assert "the e-mail address" in roster
    before = get(pages, visitor, TASK).text
    for state in State:
        assert f">{state}</span>" in before
    assert "send: new" in before
    assert "not sent: a person has to look first" in before
    after = published(pages, visitor)
    assert "3 sent, 0 were there already, 2 not to be sent, 0 failed" in after
    assert {score["userId"] for score in stub.taken} == {"u01", "u02", "u03"}
    assert "3 were there already" in published(pages, visitor)
    assert len(stub.posts) == 3


def test_student_sees_the_own_feedback_alone(
    pages: Pages, stub: Stub, members: list[dict]
) -> None:
    """The own page in a sandbox, once released; nobody else's, and no way round by the path."""
    published(pages, teacher(pages, stub))
    visitor = enter(pages, stub, "u01", LEARNER)
    own = get(pages, visitor, "").text
    assert "7.5 / 10" in own
    assert f"feedback/s01/{PAGE}" in own
    assert "s02" not in own
    page = get(pages, visitor, f"feedback/s01/{PAGE}")
    assert "feedback of s01" in page.text
    rules = page.headers["Content-Security-Policy"]
    assert rules.startswith("sandbox; default-src 'none'")
    assert "script-src" not in rules
    for path in (
        f"feedback/s02/{PAGE}",
        f"feedback/s01%2F..%2Fs02/{PAGE}",
        f"feedback/../s02/{PAGE}",
        f"feedback/s01/..%2F..%2Fs02%2F{course.ASSIGNMENT}/{course.NOTEBOOK}.html",
        f"feedback/s01/{course.ASSIGNMENT}/..%2F..%2F..%2Fgradebook.db",
        f"feedback/s01/{course.ASSIGNMENT}/%00",
        "feedback/s01/%2e%2e/x.html",
        f"feedback//{PAGE}",
    ):
        answer = visitor.get(f"{pages.url}/{path}", timeout=10)
        assert_refused(answer, 404)
        assert "feedback of" not in answer.text


def test_nothing_is_seen_before_its_release(
    pages: Pages, stub: Stub, members: list[dict]
) -> None:
    """Results show when the teacher publishes or releases them; a suspect's feedback never."""
    boss = teacher(pages, stub)
    visitor = enter(pages, stub, "u01", LEARNER)
    assert "No results have been published yet" in get(pages, visitor, "").text
    assert_refused(get(pages, visitor, f"feedback/s01/{PAGE}"), 404)
    post(pages, boss, f"{TASK}/release")
    assert stub.posts == [], "releasing sends nothing"
    assert get(pages, visitor, f"feedback/s01/{PAGE}").status_code == 200
    suspect = enter(pages, stub, "u04", LEARNER)
    page = get(pages, suspect, "").text
    assert "your teacher is looking at it" in page
    assert "10 / 10" not in page
    assert_refused(get(pages, suspect, f"feedback/s04/{PAGE}"), 404)


def test_student_is_refused_a_teachers_pages(
    pages: Pages, stub: Stub, members: list[dict]
) -> None:
    """No page and no form of a teacher's opens for a student, nor for nobody."""
    teacher(pages, stub)
    visitor = enter(pages, stub, "u01", LEARNER)
    for path in TEACHERS:
        assert_refused(get(pages, visitor, path), 403)
        assert_refused(get(pages, pages.visitor(), path), 401)
    for path in FORMS:
        assert_refused(post(pages, visitor, path, user="u02", student="s01"), 403)
        assert_refused(pages.visitor().post(f"{pages.url}/{path}", timeout=10), 401)
    assert stub.posts == []


@pytest.mark.parametrize("path", [*FORMS, "logout"])
def test_cross_site_request_is_refused(
    pages: Pages, stub: Stub, members: list[dict], path: str
) -> None:
    """Another site can have a teacher's browser send a form: without its token, or from there."""
    visitor = teacher(pages, stub)
    token = csrf(pages, visitor)
    cases = [
        ({}, {}),
        ({"csrf": ""}, {}),
        ({"csrf": "guessed"}, {}),
        ({"csrf": "é"}, {}),
        ({"csrf": token}, {"Origin": "https://elsewhere.example.org"}),
    ]
    for values, headers in cases:
        answer = visitor.post(
            f"{pages.url}/{path}", data=values, headers=headers, timeout=10
        )
        assert_refused(answer, 403)
    other = enter(pages, stub, "t01", TEACHER)
    answer = visitor.post(
        f"{pages.url}/{path}", data={"csrf": csrf(pages, other)}, timeout=10
    )
    assert_refused(answer, 403)
    assert stub.posts == []
    assert pages.tool.store.released(1) == set()


def test_get_changes_nothing(pages: Pages, stub: Stub, members: list[dict]) -> None:
    """What changes something can't be done with a link."""
    visitor = teacher(pages, stub)
    for path in [*FORMS, "logout"]:
        assert get(pages, visitor, path).status_code in (404, 405)
    assert stub.posts == []


def test_pages_may_do_nothing(pages: Pages, stub: Stub) -> None:
    """No script, nothing from elsewhere, framed by the platform alone, kept by nobody."""
    visitor = enter(pages, stub, "t01", TEACHER)
    for path in ("", "roster", TASK, "nowhere", "jwks.json"):
        headers = get(pages, visitor, path).headers
        rules = headers["Content-Security-Policy"]
        assert "default-src 'none'" in rules
        assert f"frame-ancestors 'self' {stub.url}" in rules
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "Server" not in headers


def test_large_bodies_are_refused(pages: Pages) -> None:
    """A body of a megabyte is refused by its length, before any of it is read."""
    connection = http.client.HTTPConnection(urlsplit(pages.url).netloc, timeout=10)
    connection.putrequest("POST", "/launch")
    connection.putheader("Content-Type", "application/x-www-form-urlencoded")
    connection.putheader("Content-Length", str(2**20))
    connection.endheaders()
    assert connection.getresponse().status in (400, 413)
    connection.close()


def test_https_cookies_work_in_a_frame(tool: Tool, stub: Stub, root: Path) -> None:
    """Behind a proxy with https, cookies are Secure, for frames, and for the tool's path alone."""
    tool.configuration = Configuration(
        "https://course.example.org/lti", tool.configuration.platforms
    )
    served = Pages(
        tool, lambda _course: CourseResults(course.url(root), root / "feedback")
    )
    answer = served.visitor().get(
        f"{served.url}/lti/login",
        params={
            "iss": stub.url,
            "client_id": "client-1",
            "login_hint": "h",
            "target_link_uri": "https://course.example.org/lti/launch",
        },
        allow_redirects=False,
        timeout=10,
    )
    outside = served.visitor().get(f"{served.url}/", timeout=10)
    served.close()
    cookie = answer.headers["Set-Cookie"]
    for part in (
        "HttpOnly",
        "Secure",
        "SameSite=None",
        "Partitioned",
        "Path=/lti/",
        "Max-Age=300",
    ):
        assert part in cookie, cookie
    assert (
        "redirect_uri=https%3A%2F%2Fcourse.example.org%2Flti%2Flaunch"
        in (answer.headers["Location"])
    )
    assert outside.status_code == 404


def test_logging_out_ends_the_session(pages: Pages, stub: Stub) -> None:
    """The secret is worth nothing afterwards, not even where it was copied."""
    visitor = enter(pages, stub, "t01", TEACHER)
    secret = visitor.cookies["course-session"]
    assert "logged out" in post(pages, visitor, "logout").text
    copied = pages.visitor()
    copied.cookies.set("course-session", secret, domain="127.0.0.1", path="/")
    assert_refused(get(pages, copied, ""), 401)


def test_sessions_end(pages: Pages, stub: Stub) -> None:
    """After four hours one has to come from the platform again."""
    visitor = enter(pages, stub, "t01", TEACHER)
    pages.tool.store.now = lambda: time.time() + 4 * 3600 + 1
    assert_refused(get(pages, visitor, ""), 401)


def test_teacher_links_by_hand(pages: Pages, stub: Stub, members: list[dict]) -> None:
    """A teacher's word stands; no student is two people."""
    members[0]["email"] = "other@example.org"
    visitor = teacher(pages, stub)
    assert_refused(post(pages, visitor, "roster/link", user="u01", student="s02"), 409)
    assert_refused(
        post(pages, visitor, "roster/link", user="u01", student="nobody"), 404
    )
    assert_refused(
        post(pages, visitor, "roster/link", user="nobody", student="s01"), 404
    )
    page = post(pages, visitor, "roster/link", user="u01", student="s01").text
    assert "the teacher&#39;s word" in page or "the teacher&#x27;s word" in page
    assert (
        post(pages, visitor, "roster/link", user="u01", student="").status_code == 200
    )
    assert "u01" not in pages.tool.store.links(1)


def test_roster_file(pages: Pages, stub: Stub, members: list[dict]) -> None:
    """Learners alone, and no cell that a spreadsheet computes."""
    members[2]["given_name"] = "=cmd()"
    text = get(pages, teacher(pages, stub), "roster.csv").text
    lines = text.splitlines()
    assert lines[0] == "id,first_name,last_name,email,lms_user_id,sis_user_id"
    assert len(lines) == 1 + 6
    assert ",'=cmd()," in text or ',"\'=cmd()",' in text


#: As Canvas exports it: no addresses, and its own numbers, which LTI doesn't use.
CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,Work (5)
    Points Possible,,,,,10.00
"Noether, Emmy",101,900001,noether,A,
"Curie, Marie",102,900002,curie@uni.example,A,
"Hopper, Grace",103,,hopper,A,
"""


def test_a_canvas_export_and_lti_find_the_same_people(
    pages: Pages, stub: Stub, root: Path, tmp_path: Path
) -> None:
    """By SIS id, and where there is none by the login that is an address; nobody by chance."""
    export = tmp_path / "canvas.csv"
    export.write_text(CANVAS)
    database = ["--root", str(root), "--db", course.url(root)]
    assert main(["lms", "roster", str(export), *database]) == 0
    known = {person.id: person for person in roster(course.url(root))}
    assert known["noether"].sis_user_id == "900001"
    assert known["curie@uni.example"].login == "curie@uni.example"
    stub.members = [
        {"user_id": f"0b3f-{number}", "roles": [LEARNER], **who}
        for number, who in enumerate(
            (
                {"lis_person_sourcedid": "900001", "email": "e.n@uni.example"},
                {"email": "Curie@uni.example"},
                {"name": "Grace Hopper"},
                {"lis_person_sourcedid": "900009"},
            )
        )
    ]
    teacher(pages, stub)
    links = pages.tool.store.links(1)
    assert {user: student for user, (student, _) in links.items()} == {
        "0b3f-0": "noether",
        "0b3f-1": "curie@uni.example",
    }


def linking(stub: Stub, **changes: object) -> dict:
    """Return the claims by which a platform asks for a link."""
    settings = {
        "deep_link_return_url": f"{stub.url}/links",
        "accept_types": ["ltiResourceLink"],
        "accept_presentation_document_targets": ["iframe"],
        "data": "kept",
        **changes,
    }
    return {
        f"{CLAIM}message_type": "LtiDeepLinkingRequest",
        f"{CLAIM}resource_link": None,
        LINKING: settings,
    }


def launched(pages: Pages, stub: Stub, role: str, claims: dict) -> requests.Response:
    """Launch, and return the answer."""
    visitor, state, nonce = start(pages, stub)
    token = stub.token(stub.claims(pages.url, "t01", role, nonce, **claims))
    return finish(pages, visitor, state, token)


def test_a_teacher_makes_a_link_in_the_platform(
    pages: Pages, stub: Stub, tool: Tool
) -> None:
    """One button an assignment; what it sends asks for a link with its column, signed."""
    answer = launched(pages, stub, TEACHER, linking(stub))
    assert answer.status_code == 200, answer.text
    assert (
        f"form-action 'self' {stub.url};" in answer.headers["Content-Security-Policy"]
    )
    assert f'action="{stub.url}/links"' in answer.text
    (sent,) = re.findall('name="JWT" value="([^"]+)"', answer.text)
    key = jwt.PyJWK(tool.keys.jwks["keys"][0]).key
    found = jwt.decode(sent, key, ["RS256"], audience=stub.url, issuer=CLIENT)
    assert found[f"{CLAIM}message_type"] == "LtiDeepLinkingResponse"
    assert found[f"{CLAIM}deployment_id"] == DEPLOYMENT
    assert found["https://purl.imsglobal.org/spec/lti-dl/claim/data"] == "kept"
    (item,) = found["https://purl.imsglobal.org/spec/lti-dl/claim/content_items"]
    assert item["url"] == f"{pages.url}/launch"
    assert item["custom"] == {"assignment": course.ASSIGNMENT}
    assert item["lineItem"]["scoreMaximum"] == sum(course.CELLS.values())
    assert item["lineItem"]["tag"] == course.ASSIGNMENT

    tool.store.save_line_item(1, course.ASSIGNMENT, f"{stub.url}/line_items/0")
    again = launched(pages, stub, TEACHER, linking(stub))
    (sent,) = re.findall('name="JWT" value="([^"]+)"', again.text)
    (item,) = jwt.decode(sent, options={"verify_signature": False})[
        "https://purl.imsglobal.org/spec/lti-dl/claim/content_items"
    ]
    assert "lineItem" not in item, "there would be two columns"


@pytest.mark.parametrize(
    ("role", "changes"),
    [
        (LEARNER, {}),
        (TEACHER, {"deep_link_return_url": "javascript:alert(1)"}),
        (TEACHER, {"deep_link_return_url": "https://a.example; script-src *"}),
        (TEACHER, {"deep_link_return_url": None}),
        (TEACHER, {"accept_types": ["file"]}),
    ],
)
def test_a_link_that_is_not_to_be_made(
    pages: Pages, stub: Stub, role: str, changes: dict
) -> None:
    """By a student, to a place that is none, or of a kind that is not offered."""
    answer = launched(pages, stub, role, linking(stub, **changes))
    assert answer.status_code == 403
    assert "This is not possible" in answer.text
    assert "JWT" not in answer.text
    wrong = linking(stub) | {LINKING: ["settings"]}
    assert launched(pages, stub, role, wrong).status_code == 403


def test_unmatched_student_is_told(pages: Pages, stub: Stub) -> None:
    """Without a match nobody's results are shown, whatever the launch says about the person."""
    visitor = enter(
        pages, stub, "u77", LEARNER, email="s01@example.org", name="Ada Müller"
    )
    page = get(pages, visitor, "")
    assert_refused(page, 403)
    assert "match the roster" in page.text


def test_platform_that_is_down_is_told(
    pages: Pages, stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A teacher reads which service failed; a student reads nothing of it."""
    visitor = enter(pages, stub, "t01", TEACHER)
    ordinary = stub.answer
    monkeypatch.setattr(
        stub,
        "answer",
        lambda *request: (
            ordinary("GET", "/none", {}, b"")
            if request[1] == "/members"
            else ordinary(*request)
        ),
    )
    answer = post(pages, visitor, "roster/match")
    assert_refused(answer, 503)
    assert "refused the roster: status 404" in answer.text


def test_a_teacher_reads_the_report_on_the_class_and_no_student(
    pages: Pages, stub: Stub, root: Path
) -> None:
    """Linked once it was made; in a sandbox whose links open beside it; for teachers alone."""
    visitor = teacher(pages, stub)
    assert "report on the class" not in get(pages, visitor, TASK).text
    assert_refused(visitor.get(f"{pages.url}/{TASK}/report", timeout=10), 404)
    path = root / "reports" / course.ASSIGNMENT / "report.html"
    path.parent.mkdir(parents=True)
    path.write_text("<p>the class of this course</p>")
    try:
        assert f'{TASK}/report">What the class' in get(pages, visitor, TASK).text
        page = get(pages, visitor, f"{TASK}/report")
        assert "the class of this course" in page.text
        rules = page.headers["Content-Security-Policy"]
        assert rules.startswith("sandbox allow-popups")
        assert "allow-scripts" not in rules
        student = enter(pages, stub, "u01", LEARNER)
        assert_refused(student.get(f"{pages.url}/{TASK}/report", timeout=10), 403)
        odd = "assignments/..%2F02/report"
        assert_refused(visitor.get(f"{pages.url}/{odd}", timeout=10), 404)
        path.unlink()
        path.symlink_to(root / "gradebook.db")
        assert_refused(visitor.get(f"{pages.url}/{TASK}/report", timeout=10), 404)
    finally:
        path.unlink()
        path.parent.rmdir()


def test_feedback_behind_links_is_not_followed(root: Path) -> None:
    """A link in the feedback folder leads nowhere, neither file nor folder."""
    book = CourseResults(course.url(root), root / "feedback")
    own = root / "feedback" / "s01" / course.ASSIGNMENT
    (own / "link.html").symlink_to(root / "gradebook.db")
    assert book.feedback_pages("s01", course.ASSIGNMENT) == [f"{course.NOTEBOOK}.html"]
    (root / "feedback" / "s09").symlink_to(root / "feedback" / "s01")
    assert book.feedback_pages("s09", course.ASSIGNMENT) == []
    for part in ("..", ".", "", "s01/..", "/"):
        assert book.feedback_pages(part, course.ASSIGNMENT) == []
        assert book.feedback_pages("s01", part) == []


def test_counts_are_the_standings(root: Path) -> None:
    """The start page's numbers are those of the gradebook."""
    book = CourseResults(course.url(root), root / "feedback")
    found: list[Standing] = book.standings(course.ASSIGNMENT)
    assert (
        sum(book.counts(course.ASSIGNMENT).values())
        == len(found)
        == len(course.STUDENTS)
    )
