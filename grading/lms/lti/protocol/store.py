"""The tool's SQLite database: logins under way, sessions, courses, links to students.

A course is a context of a deployment of a platform. Only those that were set up are let in;
sessions, roster, links, line items and releases hang on the course's number here.
"""

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

from grading.lms.lti.protocol.errors import Refused
from grading.lms.lti.protocol.keys import private_folder
from grading.lms.lti.protocol.visit import Visit

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
    line_items_url TEXT NOT NULL, scopes TEXT NOT NULL, product TEXT NOT NULL DEFAULT '?',
    root TEXT NOT NULL DEFAULT '', set_up INTEGER,
    UNIQUE (issuer, client_id, deployment, context));
CREATE TABLE IF NOT EXISTS members (
    course INTEGER NOT NULL, user TEXT NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (course, user));
CREATE TABLE IF NOT EXISTS links (
    course INTEGER NOT NULL, user TEXT NOT NULL, student TEXT NOT NULL, how TEXT NOT NULL,
    PRIMARY KEY (course, user), UNIQUE (course, student));
CREATE TABLE IF NOT EXISTS line_items (
    course INTEGER NOT NULL, assignment TEXT NOT NULL, url TEXT NOT NULL,
    PRIMARY KEY (course, assignment));
CREATE TABLE IF NOT EXISTS released (
    course INTEGER NOT NULL, assignment TEXT NOT NULL, PRIMARY KEY (course, assignment));
"""

#: An earlier version let in every course of a deployment, and kept links by platform. None of those
#: courses is set up: nobody had decided on it. Links are kept where a platform had only one course
#: here: they can come from no other. Elsewhere the roster has to be matched anew.
BEFORE = """
ALTER TABLE courses ADD COLUMN product TEXT NOT NULL DEFAULT '?';
ALTER TABLE courses ADD COLUMN root TEXT NOT NULL DEFAULT '';
ALTER TABLE courses ADD COLUMN set_up INTEGER;
ALTER TABLE links RENAME TO old_links;
"""
AFTER = """
INSERT INTO links SELECT courses.id, user, student, how FROM old_links
    JOIN courses USING (issuer, client_id) GROUP BY issuer, client_id, user HAVING count(*) = 1;
DROP TABLE old_links;
DELETE FROM sessions;
"""

#: What is said where two courses would write into one.
SHARED = (
    "The learning platform names the same roster or the same column for two courses. Whoever "
    "runs the tool can see them with `python -m grading lms course`, and take one away."
)

_KEY = "issuer = ? AND client_id = ? AND deployment = ? AND context = ?"


@dataclass(frozen=True)
class Course:
    """A course on a platform, and the addresses of its services ("" where it has none).

    `product` is what the platform calls itself, "?" before the first launch. `root` is the folder
    whose gradebook belongs to it, "" for the tool's own. `set_up` is None for a course that only an
    earlier version let in, and false for one that was taken away.
    """

    id: int
    issuer: str
    client_id: str
    deployment: str
    context: str
    title: str
    members_url: str
    line_items_url: str
    scopes: tuple[str, ...]
    product: str
    root: str
    set_up: bool | None

    @property
    def hides_grades(self) -> bool:
        """Whether the platform may have grades that its services don't show.

        Canvas shows only those that a tool gave, and none that a teacher typed in.
        """
        return self.product in ("canvas", "?")


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
        with self.transaction() as connection:
            there = [
                row["name"] for row in connection.execute("PRAGMA table_info(courses)")
            ]
            old = there and "set_up" not in there
            for statement in (f"{BEFORE}{SCHEMA}{AFTER}" if old else SCHEMA).split(";"):
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
                (_hash(state), _hash(nonce), issuer, client_id, now + LOGIN_SECONDS),
            )

    def take_login(self, state: str, nonce: str) -> tuple[str, str] | None:
        """Return (issuer, client id) of the first half, once; None if state or nonce is wrong."""
        with self.transaction() as connection:
            row = connection.execute(
                "DELETE FROM logins WHERE state = ? RETURNING *", (_hash(state),)
            ).fetchone()
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
                "DELETE FROM sessions WHERE expires < ? OR key = ?", (now, _hash(old))
            )
            connection.execute(
                "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    _hash(secret),
                    secrets.token_urlsafe(32),
                    course,
                    visit.user,
                    visit.name,
                    visit.role,
                    now + SESSION_SECONDS,
                ),
            )
        return secret

    def session(self, secret: str) -> Session | None:
        """Return the session with this secret, None if there is none any more."""
        with self.connection() as connection:
            row = connection.execute(
                "SELECT csrf, course, user, name, role FROM sessions"
                " JOIN courses ON courses.id = course AND set_up WHERE key = ? AND expires > ?",
                (_hash(secret), self.now()),
            ).fetchone()
        return Session(**row) if row else None

    def close_session(self, secret: str) -> None:
        """End a session."""
        with self.transaction() as connection:
            connection.execute("DELETE FROM sessions WHERE key = ?", (_hash(secret),))

    # Courses.

    def set_up(
        self, issuer: str, client_id: str, deployment: str, context: str, root: str = ""
    ) -> Course:
        """Let a course in, with the gradebook of a folder ("" for the tool's own).

        Raises:
            Refused: if another course has the same services.

        """
        key = (issuer, client_id, deployment, context)
        with self.transaction() as connection:
            _set_up(connection, key, root)
            _check_addresses(connection)
        return next(
            course
            for course in self.courses()
            if (course.issuer, course.client_id, course.deployment, course.context)
            == key
        )

    def take_away(self, number: int) -> None:
        """Let a course in no more, and end its sessions. What is known of it is kept."""
        with self.transaction() as connection:
            connection.execute("UPDATE courses SET set_up = 0 WHERE id = ?", (number,))
            connection.execute("DELETE FROM sessions WHERE course = ?", (number,))

    def enter(self, visit: Visit, *, owner: bool = False) -> int | None:
        """Write down a launch's course with its services.

        Args:
            visit: the launch.
            owner: set the course up, if the platform never had one that was. An owner who opens a
                second course does not: its other teachers would get in, too.

        Returns:
            The course's number here; None, and nothing is written, if it is not set up.

        Raises:
            Refused: if another course has the same services.

        """
        key = (visit.issuer, visit.client_id, visit.deployment, visit.context)
        with self.transaction() as connection:
            if (
                owner
                and not connection.execute(
                    "SELECT 1 FROM courses WHERE issuer = ? AND client_id = ?"
                    " AND set_up IS NOT NULL",
                    key[:2],
                ).fetchone()
            ):
                _set_up(connection, key, "")
            row = connection.execute(
                "UPDATE courses SET title = ?,"
                # A launch that says less does not make us forget what we know.
                " product = CASE WHEN ? = '' AND product != '?' THEN product ELSE ? END,"
                " members_url = ifnull(nullif(?, ''), members_url),"
                " scopes = CASE ? WHEN '' THEN scopes ELSE ? END,"
                " line_items_url = ifnull(nullif(?, ''), line_items_url)"
                f" WHERE set_up AND {_KEY} RETURNING id",
                (
                    visit.title,
                    visit.product,
                    visit.product,
                    visit.members_url,
                    visit.line_items_url,
                    json.dumps(visit.scopes),
                    visit.line_items_url,
                    *key,
                ),
            ).fetchone()
            _check_addresses(connection)
        return row["id"] if row else None

    def course(self, number: int) -> Course:
        """Return a course that is set up by its number here."""
        return next(course for course in self.courses() if course.id == number)

    def courses(self, *, all_known: bool = False) -> list[Course]:
        """Return the courses that are set up, or all that are known here."""
        with self.connection() as connection:
            rows = connection.execute("SELECT * FROM courses ORDER BY id").fetchall()
        return [
            Course(**{**row, "scopes": tuple(json.loads(row["scopes"]))})
            for row in rows
            if row["set_up"] or all_known
        ]

    def several_platforms(self, course: Course) -> bool:
        """Tell whether courses of several platforms share a course's gradebook."""
        return (
            len(
                {
                    (one.issuer, one.client_id)
                    for one in self.courses()
                    if one.root == course.root
                }
            )
            > 1
        )

    # Who is who.

    def save_members(self, course: int, members: dict[str, dict]) -> None:
        """Put a platform's roster, by user id, in the place of the one we had."""
        with self.transaction() as connection:
            connection.execute("DELETE FROM members WHERE course = ?", (course,))
            connection.executemany(
                "INSERT INTO members VALUES (?, ?, ?)",
                [
                    (course, user, json.dumps(record))
                    for user, record in members.items()
                ],
            )

    def members(self, course: int) -> dict[str, dict]:
        """Return the platform's roster as it was last fetched, by user id."""
        with self.connection() as connection:
            rows = connection.execute(
                "SELECT user, record FROM members WHERE course = ?", (course,)
            ).fetchall()
        return {row["user"]: json.loads(row["record"]) for row in rows}

    def links(self, course: int) -> dict[str, tuple[str, str]]:
        """Return which of a course's users is which student: user -> (student, how we know)."""
        with self.connection() as connection:
            rows = connection.execute(
                "SELECT user, student, how FROM links WHERE course = ?", (course,)
            ).fetchall()
        return {row["user"]: (row["student"], row["how"]) for row in rows}

    def add_links(self, course: int, links: dict[str, tuple[str, str]]) -> None:
        """Write down which user is which student; what is there stays as it is."""
        with self.transaction() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO links VALUES (?, ?, ?, ?)",
                [
                    (course, user, student, how)
                    for user, (student, how) in links.items()
                ],
            )

    def remove_link(self, course: int, user: str) -> None:
        """Forget which student a user is."""
        with self.transaction() as connection:
            connection.execute(
                "DELETE FROM links WHERE course = ? AND user = ?", (course, user)
            )

    # Line items, and whose feedback students may read.

    def save_line_item(self, course: int, assignment: str, url: str) -> None:
        """Write down an assignment's column in the platform's gradebook.

        Raises:
            Refused: if it is another course's.

        """
        with self.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO line_items VALUES (?, ?, ?)",
                (course, assignment, url),
            )
            _check_addresses(connection)

    def line_item(self, course: int, assignment: str) -> str:
        """Return the URL of an assignment's line item, "" if none is known."""
        with self.connection() as connection:
            row = connection.execute(
                "SELECT url FROM line_items WHERE course = ? AND assignment = ?",
                (course, assignment),
            ).fetchone()
        return row["url"] if row else ""

    def release(self, course: int, assignment: str) -> None:
        """Let students of a course see an assignment's results."""
        with self.transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO released VALUES (?, ?)", (course, assignment)
            )

    def released(self, course: int) -> set[str]:
        """Return the assignments whose results students of a course may see."""
        with self.connection() as connection:
            rows = connection.execute(
                "SELECT assignment FROM released WHERE course = ?", (course,)
            ).fetchall()
        return {row["assignment"] for row in rows}


def _set_up(connection: sqlite3.Connection, key: tuple[str, ...], root: str) -> None:
    """Let a course in; what was known of it stays known, except about another gradebook."""
    for table in ("links", "released", "sessions"):
        connection.execute(
            f"DELETE FROM {table} WHERE course IN"
            f" (SELECT id FROM courses WHERE {_KEY} AND root != ?)",
            (*key, root),
        )
    connection.execute(
        "INSERT INTO courses (issuer, client_id, deployment, context, title, members_url,"
        " line_items_url, scopes, root, set_up) VALUES (?, ?, ?, ?, '', '', '', '[]', ?, 1)"
        " ON CONFLICT (issuer, client_id, deployment, context)"
        " DO UPDATE SET set_up = 1, root = excluded.root",
        (*key, root),
    )


def _check_addresses(connection: sqlite3.Connection) -> None:
    """Check that no two courses have one roster or column: one's grades would go to the other.

    Raises:
        Refused: if two have.

    """
    if connection.execute(
        "SELECT 1 FROM courses AS one JOIN courses AS other"
        " ON one.set_up AND other.set_up AND one.id < other.id WHERE"
        " nullif(one.members_url, '') = other.members_url"
        " OR nullif(one.line_items_url, '') = other.line_items_url"
        " OR EXISTS (SELECT url FROM line_items WHERE course = one.id"
        "  INTERSECT SELECT url FROM line_items WHERE course = other.id)"
    ).fetchone():
        raise Refused(SHARED, log="two courses have a roster or a column in common")


def _hash(secret: str) -> str:
    """Return a secret's hash: long random secrets need no salt."""
    return hashlib.sha256(secret.encode()).hexdigest()
