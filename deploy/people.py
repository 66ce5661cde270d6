"""Who a user of the platform is on the hub: the account's name, the role, a line in roster.csv."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grading.lms.lti.protocol.membership import CLAIM, INSTRUCTOR, place, role_of

FIELDS = ("id", "first_name", "last_name", "email", "lms_user_id")


class NotAdmitted(Exception):
    """A launch that is not for this hub."""


def username(issuer: str, subject: str) -> str:
    """Return the account of the user whom a platform calls `subject`: a letter and 12 others.

    It depends on the platform and on its number of the user only, fits Unix, Kubernetes and
    nbgrader, and says nothing about the person; roster.csv tells who it is.
    """
    digest = hashlib.sha256(f"{issuer}\0{subject}".encode()).digest()
    return "u" + base64.b32encode(digest)[:12].decode().lower()


def admit(claims: dict[str, Any], courses: dict[str, Sequence[str]]) -> str:
    """Return what somebody is on the hub: "instructors" or "students".

    Args:
        claims: those of a launch whose token was checked.
        courses: the contexts that are let in, by deployment.

    Raises:
        NotAdmitted: if the launch comes from another course, or the user has no role in this one;
            its text is for the user.

    """
    role = role_of(claims.get(f"{CLAIM}roles"))
    try:
        deployment, context = place(claims)
    except ValueError as error:
        raise NotAdmitted(
            "The learning platform did not say which course you come from: open the "
            f"hub by a link in the course itself ({error})."
        ) from None
    if context not in courses.get(deployment, ()):
        text = "The hub was not set up for the course that you come from. "
        if role == INSTRUCTOR:
            text += (
                "If its teachers are to see this course's submissions, whoever runs the hub "
                "can add it to `courses` in the hub's settings, and start the hub again: "
                f"{json.dumps(deployment)} = [{json.dumps(context)}]"
            )
        raise NotAdmitted(text.strip())
    if not role:
        raise NotAdmitted("The hub is for students and instructors of the course.")
    return f"{role}s"


def note(path: Path, person: dict[str, str]) -> None:
    """Add a person to roster.csv, or replace what it says of them; the file is never in part."""
    rows = {}
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            rows = {row["id"]: row for row in csv.DictReader(file)}
    kept = {key: value.replace("\0", "")[:200] for key, value in person.items()}
    if rows.get(kept["id"]) == kept:
        return
    rows[kept["id"]] = kept
    descriptor, made = tempfile.mkstemp(dir=path.parent, prefix=".partial-")
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows[key] for key in sorted(rows))
        file.flush()
        os.fsync(file.fileno())
    os.chmod(made, 0o640)
    os.replace(made, path)
