"""What the LTI commands do."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from grading.course.layout import database_url
from grading.lms.lti.grades.outbox import Outbox
from grading.lms.lti.grades.publish import Plan, plan, publish
from grading.lms.lti.protocol import keys, platforms, services
from grading.lms.lti.protocol.errors import LtiError
from grading.lms.lti.protocol.launch import Tool
from grading.lms.lti.protocol.platforms import Configuration, Platform
from grading.lms.lti.protocol.store import Course, Store
from grading.lms.lti.web.results import CourseResults
from grading.lms.lti.web.teacher_pages import find_line_item, users

ENTER = """Enter these in the platform (LTI 1.3, sometimes called LTI Advantage):

  tool or launch URL (target link URI)   {url}/launch
  redirect URI                           {url}/launch
  login initiation URL                   {url}/login
  deep linking (content selection) URL   {url}/launch
  public keys (JWKS or keyset URL)       {url}/jwks.json

  services    Assignment and Grade Services: create line items, send scores, read results
              Names and Role Provisioning: read the course's members
  privacy     share the user's name and e-mail address, so that the roster can be matched
  a link to one assignment: custom parameter assignment=NAME
"""

ASK = """Then give this command what the platform shows you:

  python -m grading lms register --issuer … --client-id … --auth-login-url … \\
      --token-url … --jwks-url … --deployment-id …

Where its pages stand on another host than its login (as Canvas's do), so that the tool may be shown
in them: --frame-ancestor https://school.instructure.com
"""


def register_command(args: argparse.Namespace) -> int:
    """Write a platform's configuration, and print what the platform must know."""
    folder = _folder(args)
    configuration = platforms.load(folder)
    if args.public_url:
        url = platforms.check_url(args.public_url, "--public-url")
        configuration = replace(configuration, public_url=url)
    if not configuration.public_url:
        raise LtiError("--public-url: say where browsers will reach the tool")
    keys.load(folder)
    if args.client_id or args.issuer:
        needed = ("issuer", "client_id", "auth_login_url", "token_url", "jwks_url")
        absent = [
            f"--{name.replace('_', '-')}" for name in needed if not getattr(args, name)
        ]
        if not args.deployment_id:
            absent.append("--deployment-id")
        if absent:
            raise LtiError(f"still needed: {', '.join(absent)}")
        configuration = configuration.with_platform(
            platforms.check(
                Platform(
                    **{name: getattr(args, name) for name in needed},
                    deployment_ids=tuple(args.deployment_id),
                    auth_audience=args.auth_audience,
                    frame_ancestors=tuple(args.frame_ancestor),
                    owner=args.owner,
                )
            )
        )
    platforms.save(folder, configuration)
    print(ENTER.format(url=configuration.public_url))
    if not configuration.platforms:
        print(ASK)
    for platform in configuration.platforms:
        print(
            f"registered: {platform.issuer}, client {platform.client_id}, deployments "
            f"{', '.join(platform.deployment_ids)}"
        )
    if configuration.platforms:
        print("Then say which course is let in: python -m grading lms course --help")
    return 0


def course_command(args: argparse.Namespace) -> int:
    """Set a course up, take one away, or list them."""
    tool = _tool(args)
    if args.add:
        platform = _one(
            "--issuer and --client-id",
            [
                one
                for one in tool.configuration.platforms
                if args.issuer in (None, one.issuer)
                and args.client_id in (None, one.client_id)
            ],
        )
        deployment = _one(
            "--deployment-id",
            [
                one
                for one in platform.deployment_ids
                if args.deployment_id in (None, one)
            ],
        )
        root = (args.grades_of or args.root).resolve()
        if not root.is_dir():
            raise LtiError(f"--grades-of: there is no folder {root}")
        own = root == _folder(args).parent
        added = tool.store.set_up(
            platform.issuer,
            platform.client_id,
            deployment,
            args.add,
            "" if own else str(root),
        )
        sharing = [
            str(one.id)
            for one in tool.store.courses()
            if one.root == added.root and one.id != added.id
        ]
        if sharing:
            print(
                f"Its teachers see the same gradebook as those of course {', '.join(sharing)}."
            )
        if not tool.store.links(added.id):
            print("Nobody is matched yet: its teacher opens the link, then Roster.")
    if args.take_away is not None:
        _course(tool, args.take_away)
        tool.store.take_away(args.take_away)
    for course in tool.store.courses(all_known=True):
        state = "let in" if course.set_up else "not let in"
        print(
            f"{course.id}  {state}  {course.context}  {course.title}  ({course.issuer}, "
            f"deployment {course.deployment})  {course.root}".rstrip()
        )
    _warn_if_none(tool)
    return 0


def _one(options: str, found: list) -> object:
    """Return the only one of a list.

    Raises:
        LtiError: if it is not the only one.

    """
    if len(found) == 1:
        return found[0]
    raise LtiError(
        f"{options}: "
        + ("several are registered: say which" if found else "none such is registered")
    )


def _warn_if_none(tool: Tool) -> None:
    """Say what is to be done before anybody gets in."""
    if not tool.store.courses():
        owners = [one.owner for one in tool.configuration.platforms if one.owner]
        print(
            "No course is set up: nobody is let in. A teacher who opens the link is shown the "
            "command that adds the course."
            + (
                f" The first that user {' or '.join(owners)} opens as a teacher is set up by "
                "itself."
                if owners
                else ""
            ),
            flush=True,
        )


def serve_command(args: argparse.Namespace) -> int:
    """Serve the pages until somebody stops it."""
    from grading.lms.lti.web.app import Web, server

    tool = _tool(args)
    logging.basicConfig(
        level=logging.INFO,
        stream=sys.stderr,
        format="%(asctime)s %(levelname)s %(message)s",
    )
    # Other libraries' logs name full addresses, whose parameters may be nobody's business.
    logging.getLogger("urllib3").setLevel(logging.WARNING)

    book = cache(partial(_book, args))
    book("")  # what is wrong with the gradebook's settings is told now

    async def run() -> None:
        stop = asyncio.Event()
        for name in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(name, stop.set)
        listening = server(Web(tool, lambda course: book(course.root)))
        listening.listen(args.port, args.host)
        _warn_if_none(tool)
        print(f"serving {tool.public_url}/ on {args.host}:{args.port}", flush=True)
        await stop.wait()
        listening.stop()

    asyncio.run(run())
    return 0


def publish_command(args: argparse.Namespace) -> int:
    """Publish an assignment's scores; 1 if some could not be sent."""
    tool = _tool(args)
    course = _course(tool, args.course)
    book = _book(args, course.root)
    assignment = _assignment(book, args.assignment)
    standings = book.standings(assignment)
    known, who = tool.store.line_item(course.id, assignment), users(tool.store, course)
    if args.dry_run:
        outbox = None
        if known:
            outbox = Outbox(tool.store, f"{course.issuer} {course.client_id}", known)
        for step in plan(
            standings,
            who,
            outbox,
            missing_as_zero=args.missing_as_zero,
            hidden=course.hides_grades,
        ):
            _say(step, f"{step.step}: {step.why}")
        return 0
    offered = services.services(tool, course)
    line_item = find_line_item(tool.store, course, offered, assignment, standings)
    report = publish(
        tool.store,
        offered,
        line_item,
        standings,
        who,
        missing_as_zero=args.missing_as_zero,
        say=_say,
    )
    tool.store.release(course.id, assignment)
    print(report)
    return 0 if report.fine else 1


def _say(step: Plan, outcome: str) -> None:
    """Print a line about one student."""
    standing = step.standing
    points = (
        ""
        if standing.points is None
        else f" {standing.points:g}/{standing.max_points:g}"
    )
    print(f"{standing.student}  {standing.state}{points}  {outcome}", flush=True)


def _folder(args: argparse.Namespace) -> Path:
    """Return the tool's folder."""
    return (args.folder or args.root / "lti").resolve()


def _tool(args: argparse.Namespace) -> Tool:
    """Return the tool as it is configured."""
    folder = _folder(args)
    configuration: Configuration = platforms.load(folder)
    if getattr(args, "public_url", None):
        url = platforms.check_url(args.public_url, "--public-url")
        configuration = replace(configuration, public_url=url)
    if not configuration.public_url or not configuration.platforms:
        raise LtiError(
            "no platform is registered yet: python -m grading lms register --help"
        )
    return Tool(configuration, keys.load(folder), Store(folder))


def _book(args: argparse.Namespace, folder: str) -> CourseResults:
    """Return the gradebook and feedback of a course's folder, "" for the tool's own course."""
    root = args.root.resolve()
    if folder not in ("", str(root)):
        return CourseResults(database_url(Path(folder)), Path(folder, "feedback"))
    feedback = getattr(args, "feedback", None) or root / "feedback"
    return CourseResults(database_url(root, args.db), feedback.resolve())


def _course(tool: Tool, number: int | None) -> Course:
    """Return the course that is meant.

    Raises:
        LtiError: if it is not clear which.

    """
    found = [course for course in tool.store.courses() if number in (None, course.id)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise LtiError("no such course is set up: python -m grading lms course")
    names = "\n".join(
        f"  --course {course.id}   {course.title or course.context} ({course.issuer})"
        for course in found
    )
    raise LtiError(f"which course?\n{names}")


def _assignment(book: CourseResults, wanted: str) -> str:
    """Return the assignment that is meant by its name, or by how it begins.

    Raises:
        LtiError: if there is none such, or more than one.

    """
    names = book.assignments()
    found = [name for name in names if name == wanted] or [
        name for name in names if name.startswith(wanted)
    ]
    if len(found) != 1:
        raise LtiError(
            f"no assignment {wanted!r}; the gradebook has {', '.join(names) or 'none'}"
        )
    return found[0]
