"""The outbox of scores: each is noted before it is sent, and what came of it after.

A row is one message (by its digest) about one user in one line item of one platform. Its states:

    intended    written, and perhaps sent: the run may have been killed in between
    sent        the platform has it
    refused     the platform said no; the reason is there

A killed run leaves at most one row `intended`. The next one reads the platform's result: if it is
the message's, the row becomes `sent`. If not, or if it can't be read, the *same* message goes out
with the *same* time. A platform takes a time once for each user, so a message that had arrived
after all changes nothing: it answers with a conflict, which then says that it has it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from grading.lms.lti.grades.scores import Message
from grading.lms.lti.protocol.errors import LtiError
from grading.lms.lti.protocol.store import Store

INTENDED, SENT, REFUSED = "intended", "sent", "refused"

SCHEMA = """
CREATE TABLE IF NOT EXISTS scores (
    platform TEXT NOT NULL, line_item TEXT NOT NULL, user TEXT NOT NULL, digest TEXT NOT NULL,
    body TEXT NOT NULL, stamp INTEGER NOT NULL, detail TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('intended', 'sent', 'refused')),
    settled REAL, PRIMARY KEY (platform, line_item, user, digest))
"""


@dataclass(frozen=True)
class Entry:
    """One row: `stamp` is the message's time in milliseconds, `body` its text."""

    user: str
    digest: str
    body: str
    stamp: int
    state: str
    detail: str


class Outbox:
    """The rows of one line item."""

    def __init__(
        self,
        store: Store,
        platform: str,
        line_item: str,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.store, self.now = store, now
        self.key = (platform, line_item)
        with store.connection() as connection:
            connection.execute(SCHEMA)

    def latest(self) -> dict[str, Entry]:
        """Return each user's newest row."""
        with self.store.connection() as connection:
            rows = connection.execute(
                "SELECT user, digest, body, stamp, state, detail FROM scores"
                " WHERE platform = ? AND line_item = ? ORDER BY stamp",
                self.key,
            ).fetchall()
        return {row["user"]: Entry(**row) for row in rows}

    def scored(self) -> set[str]:
        """Return the users who may have a score by us, whatever came after it."""
        with self.store.connection() as connection:
            rows = connection.execute(
                "SELECT user, body FROM scores WHERE platform = ? AND line_item = ?",
                self.key,
            )
            return {
                row["user"] for row in rows if "scoreGiven" in json.loads(row["body"])
            }

    def intend(self, user: str, message: Message) -> Entry:
        """Write down that a message is about to be sent; returns its row.

        Its time is later than that of every other message about the user in this line item, also
        where the machine's clock was set back. A message that was sent before, with another one
        since, gets a new time: going back to an old grade is news.
        """
        with self.store.transaction() as connection:
            last = connection.execute(
                "SELECT max(stamp) FROM scores WHERE platform = ? AND line_item = ? AND user = ?",
                (*self.key, user),
            ).fetchone()[0]
            now = int(self.now() * 1000)
            stamp = max(now, (last or 0) + 1)
            body = message.text(user, stamp, now)
            connection.execute(
                "INSERT OR REPLACE INTO scores VALUES (?, ?, ?, ?, ?, ?, '', 'intended', NULL)",
                (*self.key, user, message.digest, body, stamp),
            )
        return Entry(user, message.digest, body, stamp, INTENDED, "")

    def settle(self, entry: Entry, state: str, detail: str) -> None:
        """Write down what became of a message."""
        with self.store.transaction() as connection:
            connection.execute(
                "UPDATE scores SET state = ?, detail = ?, settled = ? WHERE platform = ?"
                " AND line_item = ? AND user = ? AND digest = ? AND stamp = ?",
                (
                    state,
                    detail[:300],
                    self.now(),
                    *self.key,
                    entry.user,
                    entry.digest,
                    entry.stamp,
                ),
            )


@contextlib.contextmanager
def alone(store: Store) -> Iterator[None]:
    """Be the only one who publishes; the system takes the lock back from a process that died.

    Raises:
        LtiError: if another process or thread is publishing.

    """
    with store.file.with_name("publish.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LtiError(
                "scores are being published right now; wait until that is done"
            ) from error
        yield
