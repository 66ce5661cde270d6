"""The database behind a gradebook: made whole or not at all, opened, and its errors in plain words.

SQLite in a file, or PostgreSQL by URL (postgresql://user@host/name): whatever nbgrader takes.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import nbgrader
from alembic.script import ScriptDirectory
from nbgrader.api import Base
from sqlalchemy import MetaData, create_engine, event, inspect, text
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

#: Columns by which a submission's rows are found, and nbgrader makes no index for: without one,
#: each submission reads the rows of everybody who was graded before.
INDEXED = (
    ("grade", "notebook_id"),
    ("comment", "notebook_id"),
    ("submitted_notebook", "assignment_id"),
)

#: What a database says, and what it means for a teacher.
ADVICE = {
    "unable to open database file": "does its folder exist, and may you write there?",
    "readonly database": "the file or its folder is read-only: give yourself the right to write",
    "database or disk is full": "the disk is full: make room, then run the command again",
    "no space left": "the disk is full: make room, then run the command again",
    "file is not a database": "the file is damaged, or is something else: put a copy of the "
    "gradebook there",
    "malformed": "the file is damaged: put a copy of the gradebook there",
    "database is locked": "another program is writing to it: wait until that has ended",
    "no such column": "another version of nbgrader made it: run `nbgrader db upgrade`",
    "does not exist": "is the name in the URL right? `createdb` makes a database",
    "password": "are the user and the password in the URL right?",
    "authentication": "are the user and the password in the URL right?",
    "connection": "is the server running, and is the URL right?",
    "could not translate host name": "is the server's name in the URL right?",
    "failed to resolve host": "is the server's name in the URL right?",
    "no module named": "install the driver: make env EXTRAS=grade",
    "can't load plugin": "expected sqlite:///FILE or postgresql://USER@HOST/NAME",
}


class GradebookError(RuntimeError):
    """The gradebook can't be used so; the message says what to do."""


def address(url: str) -> URL:
    """Return the parts of a database's URL.

    Raises:
        GradebookError: if it is no URL.

    """
    try:
        return make_url(url)
    except ArgumentError:
        raise GradebookError(
            f"the gradebook's URL can't be read: expected sqlite:///FILE or "
            f"postgresql://USER@HOST/NAME, got {url[:60]!r}"
        ) from None


def shown(url: str) -> str:
    """Return a URL without its password."""
    return address(url).render_as_string(hide_password=True)


def problem(url: str, what: str, error: Exception) -> GradebookError:
    """Return the error that says what can't be done with a gradebook, why, and what helps."""
    said = str(getattr(error, "orig", None) or error).strip()
    advice = next((hint for key, hint in ADVICE.items() if key in said.lower()), "")
    line = " ".join(said.split())[:300]
    return GradebookError(
        f"the gradebook {shown(url)} can't be {what}: {line}"
        + (f". {advice}" if advice else "")
    )


@contextlib.contextmanager
def explained(url: str, what: str) -> Iterator[None]:
    """Raise a database's errors in a block as a GradebookError."""
    try:
        yield
    except (SQLAlchemyError, ImportError, OSError) as error:
        raise problem(url, what, error) from error


def file_of(url: str) -> Path | None:
    """Return the file of an SQLite gradebook, None for another."""
    parts = address(url)
    if parts.get_backend_name() == "sqlite" and parts.database not in (
        None,
        "",
        ":memory:",
    ):
        return Path(parts.database)
    return None


def prepare(url: str, tables: MetaData) -> None:
    """Make a gradebook if there is none; a killed process leaves none, or a whole.

    nbgrader makes its tables, and notes its version, in several steps; here they are one.

    Args:
        url: where it is, or will be.
        tables: the tables that it has beside nbgrader's.

    Raises:
        GradebookError: if that isn't possible.

    """
    with explained(url, "opened"):
        if address(url).get_backend_name() == "postgresql":
            _make(url, tables)
        elif (target := file_of(url)) is not None and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(
                dir=target.parent, prefix=".gradebook-"
            ) as folder:
                made = Path(folder) / "gradebook.db"
                _make(f"sqlite:///{made}", tables)
                with contextlib.suppress(FileExistsError):  # somebody else was faster
                    os.link(made, target)


def _make(url: str, tables: MetaData) -> None:
    """Make the tables; PostgreSQL does it in one transaction."""
    engine = create_engine(url)
    try:
        with engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(
                    text("SELECT pg_advisory_xact_lock(:key)"), {"key": key_of("make")}
                )
            there = inspect(connection).get_table_names()
            Base.metadata.create_all(connection)
            if "alembic_version" not in there:
                connection.execute(
                    text(
                        "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"
                    )
                )
                connection.execute(
                    text("INSERT INTO alembic_version VALUES (:version)"),
                    {"version": version()},
                )
            tables.create_all(connection)
    finally:
        engine.dispose()


def index(engine: Engine) -> None:
    """Make an SQLite gradebook's indexes, if need be; a server's belong to who runs it."""
    if engine.dialect.name != "sqlite":
        return
    with engine.begin() as connection:
        there = {
            row.name
            for row in connection.execute(
                text("SELECT name FROM sqlite_master WHERE type = 'index'")
            )
        }
        for table, column in INDEXED:
            name = f"grading_{table}_{column}"
            if name not in there:
                connection.execute(
                    text(f"CREATE INDEX IF NOT EXISTS {name} ON {table} ({column})")
                )


def version() -> str:
    """Return the version of the tables that this nbgrader makes, for `nbgrader db upgrade`."""
    return ScriptDirectory(
        str(Path(nbgrader.__file__).parent / "alembic")
    ).get_current_head()


def key_of(name: str) -> int:
    """Return the number by which PostgreSQL knows a lock of this program."""
    return zlib.crc32(f"grading:{name}".encode())


def take(connection: Connection, name: str) -> bool:
    """Take a lock that ends with its connection, however that ends; False if another has it.

    SQLite has none: there a lock on a file of the course does this.
    """
    if connection.dialect.name != "postgresql":
        return True
    with connection.begin():
        return bool(
            connection.execute(
                text("SELECT pg_try_advisory_lock(:key)"), {"key": key_of(name)}
            ).scalar()
        )


@contextlib.contextmanager
def reading(url: str) -> Iterator[Engine]:
    """Yield an engine to read a gradebook that must be there already.

    All that a session reads is of one moment, also while a run writes: a state belongs to the
    points beside it.

    Raises:
        GradebookError: if there is none, or it can't be read.

    """
    path = file_of(url)
    if path is not None and not path.exists():
        raise GradebookError(
            f"there is no gradebook {shown(url)}. Grade first; or, if {path.parent} is not the "
            "course's folder, name that with --root"
        )
    with explained(url, "read"):
        server = address(url).get_backend_name() == "postgresql"
        engine = create_engine(
            url, **({"isolation_level": "REPEATABLE READ"} if server else {})
        )
        if not server:  # Python's driver begins no transaction to read: do it here
            event.listen(engine, "connect", _no_own_transactions)
            event.listen(engine, "begin", _begin)
        try:
            yield engine
        finally:
            engine.dispose()


def _no_own_transactions(connection: object, record: object) -> None:
    """Leave transactions to SQLAlchemy; called with each new connection of SQLite's driver."""
    connection.isolation_level = None


def _begin(connection: Connection) -> None:
    """Begin a transaction of SQLite."""
    connection.exec_driver_sql("BEGIN")
