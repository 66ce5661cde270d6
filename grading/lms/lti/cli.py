"""The commands `register`, `course`, `serve` and `publish` of `python -m grading lms`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

# The parser is made for every command of `python -m grading`: the rest is imported when needed.
from grading.course.notebooks import ROOT

SERVE = """A proxy in front takes https and passes requests on to --host and --port unchanged; what
browsers see is --public-url. Without a proxy, http works on this machine alone."""


COURSE = """Without options it lists them. Nobody else gets in: a teacher of another course is told
how to add it. The teachers of all courses that share a gradebook see every student in it; a course
with students of its own gets a folder of its own by --grades-of."""


def add_commands(commands: argparse._SubParsersAction) -> None:
    """Add the commands to a parser's."""
    register = commands.add_parser(
        "register",
        help="LTI: what a platform and this tool must know of each other",
        description="Without a client id it prints what to enter in the platform. The platform "
        "then shows its own values: give them here.",
    )
    register.set_defaults(function=_run("register_command"))
    register.add_argument(
        "--public-url", help="where browsers reach the tool: https://host/path"
    )
    register.add_argument("--issuer", help="the platform's issuer (also: platform id)")
    register.add_argument(
        "--client-id", help="the client id that the platform gave the tool"
    )
    register.add_argument(
        "--auth-login-url", help="its OpenID Connect authorisation endpoint"
    )
    register.add_argument("--token-url", help="its access token endpoint")
    register.add_argument("--jwks-url", help="its public keys (keyset URL)")
    register.add_argument(
        "--deployment-id", action="append", default=[], help="may be repeated"
    )
    register.add_argument(
        "--auth-audience", default="", help="if its tokens ask for another one"
    )
    register.add_argument(
        "--owner",
        default="",
        metavar="USER",
        help="a user's id on the "
        "platform: this one's first launch as a teacher sets the course up",
    )
    register.add_argument(
        "--frame-ancestor",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="a further origin whose pages may frame the tool",
    )

    course = commands.add_parser(
        "course",
        help="LTI: which of the platform's courses are let in",
        description=COURSE,
    )
    course.set_defaults(function=_run("course_command"))
    change = course.add_mutually_exclusive_group()
    change.add_argument(
        "--add", metavar="CONTEXT", help="let a course in, by the platform's id"
    )
    change.add_argument(
        "--take-away",
        type=int,
        metavar="NUMBER",
        help="let a course in no more, and log its people out",
    )
    course.add_argument("--deployment-id", help="where the platform has several here")
    course.add_argument("--issuer", help="where several platforms are registered")
    course.add_argument("--client-id", help="likewise")
    course.add_argument(
        "--grades-of",
        type=Path,
        metavar="FOLDER",
        help="the course's folder with "
        "gradebook and feedback (default: that of --root)",
    )

    serve = commands.add_parser(
        "serve", help="LTI: the pages that a platform opens", description=SERVE
    )
    serve.set_defaults(function=_run("serve_command"))
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument("--port", type=int, default=8043)
    serve.add_argument(
        "--public-url", help="where browsers reach it (default: as registered)"
    )

    publish = commands.add_parser(
        "publish",
        help="LTI: send an assignment's scores",
        description="Sends what the platform does not have yet. A teacher must have opened the "
        "course's link once, and matched the roster.",
    )
    publish.set_defaults(function=_run("publish_command"))
    publish.add_argument(
        "assignment", help="its name in the gradebook, or how it begins"
    )
    publish.add_argument(
        "--course", type=int, help="its number, where there are several"
    )
    publish.add_argument(
        "--missing-as-zero",
        action="store_true",
        help="send a zero where nothing was handed in",
    )
    publish.add_argument(
        "--dry-run", action="store_true", help="say what would be sent; send nothing"
    )
    for command in (register, course, serve, publish):
        command.add_argument(
            "--root", type=Path, default=ROOT, help="the course's folder"
        )
        command.add_argument(
            "--folder",
            type=Path,
            help="the tool's own folder (default: lti/ in "
            "the course's folder): keys, platforms, database",
        )
    for command in (serve, publish):
        command.add_argument("--db", help="the gradebook's URL")
    serve.add_argument(
        "--feedback", type=Path, help="the feedback (default: feedback/)"
    )


def _run(name: str) -> Callable[[argparse.Namespace], int]:
    """Return a command that imports what it needs only when it's called."""

    def call(args: argparse.Namespace) -> int:
        from grading.course.database import GradebookError
        from grading.course.layout import GradingError
        from grading.lms.lti import commands
        from grading.lms.lti.protocol.errors import LtiError

        try:
            return getattr(commands, name)(args)
        except (LtiError, GradebookError, GradingError, ValueError, OSError) as error:
            print(f"python -m grading lms: {error}", file=sys.stderr)
            return 2

    return call


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line says; 2 if it can't be done."""
    made = argparse.ArgumentParser(prog="python -m grading.lms.lti")
    add_commands(made.add_subparsers(required=True))
    args = made.parse_args(arguments)
    return args.function(args)
