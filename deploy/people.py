"""Who a user of the platform is on the hub: the account's name, the role, a line in roster.csv."""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

CLAIM = "https://purl.imsglobal.org/spec/lti/claim/"
#: Roles in a course; roles in an institution ("somewhere a teacher") give no rights in this one.
COURSE_ROLE = "http://purl.imsglobal.org/vocab/lis/v2/membership#"
TEACHES = {"Instructor", "TeachingAssistant", "ContentDeveloper", "Administrator"}
#: Sub-roles have an address of their own, for example …/membership/Instructor#TeachingAssistant.
SUB_ROLE = "http://purl.imsglobal.org/vocab/lis/v2/membership/"
FIELDS = ("id", "first_name", "last_name", "email", "lms_user_id")


def username(issuer: str, subject: str) -> str:
    """Return the account of the user whom a platform calls `subject`: a letter and 12 others.

    It depends on the platform and on its number of the user only, fits Unix, Kubernetes and
    nbgrader, and says nothing about the person; roster.csv tells who it is.
    """
    digest = hashlib.sha256(f"{issuer}\0{subject}".encode()).digest()
    return "u" + base64.b32encode(digest)[:12].decode().lower()


def role(claims: dict[str, Any]) -> str | None:
    """Return "instructors", "students", or None for somebody who is neither in this course."""
    named = claims.get(f"{CLAIM}roles")
    names = set()
    for one in named if isinstance(named, list) else []:
        text = str(one)
        if text.startswith(COURSE_ROLE):
            names.add(text.removeprefix(COURSE_ROLE))
        elif text.startswith(SUB_ROLE):
            names.add(text.removeprefix(SUB_ROLE).partition("#")[0])
        elif "/" not in text and ":" not in text:
            names.add(text)  # the short form, allowed for course roles only
    if names & TEACHES:
        return "instructors"
    return "students" if "Learner" in names else None


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
