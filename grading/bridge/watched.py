"""Tables of what both sides know, by id, and which entries are looked at for changes."""

from __future__ import annotations

#: After so many messages it is asked anew what student's code still holds.
LOOK_AGAIN = 8
#: So many entries may wait until it is asked which are gone.
WAITING = 12


class Watched:
    """Which entries of a table are looked at for changes, by id.

    Attributes:
        named: those that messages of this exchange name.
        before: those that messages of the last one named.
        held: those that student's code holds; the trusted side is told with each answer.
        due: at how many entries it is asked which are gone, and all are looked at.

    """

    def __init__(self) -> None:
        self.entries: dict[int, list] = {}
        self.named: set[int] = set()
        self.before: set[int] = set()
        self.held: set[int] = set()
        self.due, self.turn = WAITING, 0

    def chosen(self, everything: bool) -> list[tuple[int, list]]:
        """Return the ids and entries that are looked at now."""
        if everything:
            return list(self.entries.items())
        asked = self.named | self.before | self.held
        return [(n, self.entries[n]) for n in asked if n in self.entries]

    def settle(self) -> None:
        """Note that an exchange of messages is over."""
        self.before, self.named = self.named, set()

    def keep_held(self) -> None:
        """On the student's side, find out which entries more than this table knows."""
        asked, self.named = self.named, set()
        self.turn = (self.turn + 1) % LOOK_AGAIN
        if not self.turn:  # who is let go is seen a little later
            asked |= self.held
        kept = {n for n in asked if n in self.entries and self.is_held(n)}
        self.held = kept if not self.turn else (self.held - asked) | kept

    def is_held(self, number: int) -> bool:
        """Tell whether more than this table knows an entry."""
        raise NotImplementedError
