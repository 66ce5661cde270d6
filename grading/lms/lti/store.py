"""The tool's database: launches under way, sessions, courses, and who is who. One SQLite file."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from grading.lms.lti.keys import private_folder
from grading.lms.lti.visit import Visit

#: The database's file, in the tool's folder.
FILE = "lti.db"

#: How long a launch may take between its two halves, and how long a session lasts, in seconds.
LOGIN_SECONDS, SESSION_SECONDS = 5 * 60, 4 * 60 * 60

SCHEMA = """
CREATE TABLE IF NOT EXISTS logins (
    state TEXT PRIMARY KEY, nonce TEXT NOT NULL, issuer TEXT NOT NULL, client_id TEXT NOT NULL,
    expires REAL NOT NULL);
CREATE TABLE IF NOT EXISTS sessions (
    key TEXT PRIMARY KEY, csrf TEXT NOT NULL, course INTEGER NOT NULL, user TEXT NOT NULL,
    name TEXT NOT NULL, role TEXT NOT NULL, expires REAL NOT NULL);
CREATE TABLE IF NOT EXISTS courses (
    id INTEGER PRIMARY KEY, issuer TEXT NOT NULL, client_id TEXT NOT NULL,
    deployment TEXT NOT NULL, context TEXT NOT NULL, title TEXT NOT NULL, members_url TEXT NOT NULL,
    line_items_url TEXT NOT NULL, scopes TEXT NOT NULL,
    UNIQUE (issuer, client_id, deployment, context));
CREATE TABLE IF NOT EXISTS members (
    course INTEGER NOT NULL, user TEXT NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (course, user));
CREATE TABLE IF NOT EXISTS links (
    issuer TEXT NOT NULL, client_id TEXT NOT NULL, user TEXT NOT NULL, student TEXT NOT NULL,
    how TEXT NOT NULL, PRIMARY KEY (issuer, client_id, user), UNIQUE (issuer, client_id, student));
CREATE TABLE IF NOT EXISTS line_items (
    course INTEGER NOT NULL, assignment TEXT NOT NULL, url TEXT NOT NULL,
    PRIMARY KEY (course, assignment));
CREATE TABLE IF NOT EXISTS released (
    course INTEGER NOT NULL, assignment TEXT NOT NULL, PRIMARY KEY (course, assignment));
"""


@dataclass(frozen=True)
class Course:
    """A course on a platform, and the addresses of its services ("" where it has none)."""

    id: int
    issuer: str
    client_id: str
    deployment: str
    context: str
    title: str
    members_url: str
    line_items_url: str
    scopes: tuple[str, ...]


@dataclass(frozen=True)
class Session:
    """A person who came from a platform; `role` is instructor or student."""

    csrf: str
    course: int
    user: str
    name: str
    role: str


class Store:
    """The database; each call opens it by itself, so any thread may call.

    What a browser proves itself with (state, session) is kept as a hash: who reads the file can't
    take over a session.
    """

    def __init__(self, folder: Path, now: Callable[[], float] = time.time) -> None:
        self.file, self.now = private_folder(folder) / FILE, now
        # SQLite gives its journal the mode of the database: it must be private from the start.
        os.close(os.open(self.file, os.O_WRONLY | os.O_CREAT, 0o600))
        self.file.chmod(0o600)
        with self.connection() as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            for statement in SCHEMA.split(";"):
                connection.execute(statement)

    @contextlib.contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """Open the database outside any transaction; `begin immediate` starts one."""
        connection = sqlite3.connect(self.file, timeout=30, isolation_level=None)
        try:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA synchronous = FULL")
            yield connection
        finally:
            connection.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Open the database in a transaction: all that is written there, or none of it."""
        with self.connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    # Launches under way.

    def add_login(self, state: str, nonce: str, issuer: str, client_id: str) -> None:
        """Remember the first half of a launch."""
        now = self.now()
        with self.transaction() as connection:
            connection.execute("DELETE FROM logins WHERE expires < ?", (now,))
            connection.execute(
                "INSERT INTO logins VALUES (?, ?, ?, ?, ?)",
                (_hash(state), _hash(nonce), issuer, client_id, now + LOGIN_SECONDS))

    def take_login(self, state: str, nonce: str) -> tuple[str, str] | None:
        """Return (issuer, client id) of the first half, once; None if state or nonce is wrong."""
        with self.transaction() as connection:
            row = connection.execute(
                "DELETE FROM logins WHERE state = ? RETURNING *", (_hash(state),)).fetchone()
        if row is None or row["expires"] < self.now():
            return None
        if not hmac.compare_digest(row["nonce"], _hash(nonce)):
            return None
        return row["issuer"], row["client_id"]

    # Sessions.

    def open_session(self, course: int, visit: Visit, old: str = "") -> str:
        """Return the secret of a new session; the browser's old one ends."""
        secret, now = secrets.token_urlsafe(32), self.now()
        with self.transaction() as connection:
            connection.execute(
                "DELETE FROM sessions WHERE expires < ? OR key = ?", (now, _hash(old)))
            connection.execute("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?)", (
                _hash(secret), secrets.token_urlsafe(32), course, visit.user, visit.name,
                visit.role, now + SESSION_SECONDS))
        return secret

    def session(self, secret: str) -> Session | None:
        """Return the session with this secret, None if there is none any more."""
        with self.connection() as connection:
            row = connection.execute(
                "SELECT csrf, course, user, name, role FROM sessions WHERE key = ? AND expires > ?",
                (_hash(secret), self.now())).fetchone()
        return Session(**row) if row else None

    def close_session(self, secret: str) -> None:
        """End a session."""
        with self.transaction() as connection:
            connection.execute("DELETE FROM sessions WHERE key = ?", (_hash(secret),))

    # Courses.

    def save_course(self, visit: Visit) -> int:
        """Write down the course of a launch with its services; returns its number here."""
        key = (visit.issuer, visit.client_id, visit.deployment, visit.context)
        with self.transaction() as connection:
            row = connection.execute(
                "INSERT INTO courses VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (issuer, client_id, deployment, context) DO UPDATE SET"
                " title = excluded.title,"
                # A launch that offers fewer services does not make us forget those we know.
                " members_url = CASE excluded.members_url WHEN '' THEN members_url"
                "   ELSE excluded.members_url END,"
                " scopes = CASE excluded.line_items_url WHEN '' THEN scopes"
                "   ELSE excluded.scopes END,"
                " line_items_url = CASE excluded.line_items_url WHEN '' THEN line_items_url"
                "   ELSE excluded.line_items_url END"
                " RETURNING id",
                (*key, visit.title, visit.members_url, visit.line_items_url,
                 json.dumps(visit.scopes))).fetchone()
        return row["id"]

    def course(self, number: int) -> Course:
        """Return a course by its number here."""
        return next(course for course in self.courses() if course.id == number)

    def courses(self) -> list[Course]:
        """Return all courses that somebody came from."""
        with self.connection() as connection:
            rows = connection.execute("SELECT * FROM courses ORDER BY id").fetchall()
        return [Course(**{**row, "scopes": tuple(json.loads(row["scopes"]))}) for row in rows]

    # Who is who.

    def save_members(self, course: int, members: dict[str, dict]) -> None:
        """Put a platform's roster, by user id, in the place of the one we had."""
        with self.transaction() as connection:
            connection.execute("DELETE FROM members WHERE course = ?", (course,))
            connection.executemany(
                "INSERT INTO members VALUES (?, ?, ?)",
                [(course, user, json.dumps(record)) for user, record in members.items()])

    def members(self, course: int) -> dict[str, dict]:
        """Return the platform's roster as it was last fetched, by user id."""
        with self.connection() as connection:
            rows = connection.execute(
                "SELECT user, record FROM members WHERE course = ?", (course,)).fetchall()
        return {row["user"]: json.loads(row["record"]) for row in rows}

    def links(self, course: Course) -> dict[str, tuple[str, str]]:
        """Return which platform user is which student: user -> (student, how we know)."""
        with self.connection() as connection:
            rows = connection.execute(
                "SELECT user, student, how FROM links WHERE issuer = ? AND client_id = ?",
                (course.issuer, course.client_id)).fetchall()
        return {row["user"]: (row["student"], row["how"]) for row in rows}

    def add_links(self, course: Course, links: dict[str, tuple[str, str]]) -> None:
        """Write down which platform user is which student; what is there stays as it is."""
        with self.transaction() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO links VALUES (?, ?, ?, ?, ?)",
                [(course.issuer, course.client_id, user, student, how)
                 for user, (student, how) in links.items()])

    def remove_link(self, course: Course, user: str) -> None:
        """Forget which student a platform user is."""
        with self.transaction() as connection:
            connection.execute(
                "DELETE FROM links WHERE issuer = ? AND client_id = ? AND user = ?",
                (course.issuer, course.client_id, user))

    # Line items, and whose feedback students may read.

    def save_line_item(self, course: int, assignment: str, url: str) -> None:
        """Write down an assignment's column in the platform's gradebook."""
        with self.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO line_items VALUES (?, ?, ?)", (course, assignment, url))

    def line_item(self, course: int, assignment: str) -> str:
        """Return the URL of an assignment's line item, "" if none is known."""
        with self.connection() as connection:
            row = connection.execute(
                "SELECT url FROM line_items WHERE course = ? AND assignment = ?",
                (course, assignment)).fetchone()
        return row["url"] if row else ""

    def release(self, course: int, assignment: str) -> None:
        """Let students of a course see an assignment's results."""
        with self.transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO released VALUES (?, ?)", (course, assignment))

    def released(self, course: int) -> set[str]:
        """Return the assignments whose results students of a course may see."""
        with self.connection() as connection:
            rows = connection.execute(
                "SELECT assignment FROM released WHERE course = ?", (course,)).fetchall()
        return {row["assignment"] for row in rows}


def _hash(secret: str) -> str:
    """Return a secret's hash: long random secrets need no salt."""
    return hashlib.sha256(secret.encode()).hexdigest()
