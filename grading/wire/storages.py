"""Memory that both processes share, and in which their tensors lie.

Each side keeps the same tables. An entry's id is even if the trusted side made it, odd if the
student's did. Before each message a side looks which entries changed and sends those: so a change
in place, also through a view, `.data` or an optimiser, shows on the other side. It looks at memory
that the messages of the moment name, and at what the student's code holds; nobody there could tell
whether the rest has changed, and it is looked at once it is named again.
"""

from __future__ import annotations

import ctypes
import sys

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from grading.wire.channel import WireError

memcmp = ctypes.CDLL(None).memcmp
memcmp.argtypes = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
#: So many bytes of new memories may come until it is asked which are gone.
WAITING_BYTES = 1 << 20
#: After so many messages it is asked anew what student's code still holds.
LOOK_AGAIN = 8
#: So many entries may wait until it is asked which are gone.
WAITING = 12


def octets(storage: torch.UntypedStorage) -> torch.Tensor:
    """Return the bytes of a memory as a tensor that shares it."""
    return torch.empty(0, dtype=torch.uint8).set_(storage)


def octets_under(tensor: torch.Tensor, octets: torch.Tensor) -> torch.Tensor:
    """Return those of the octets of a memory in which a tensor lies, as a view of them."""
    width = tensor.itemsize
    return torch.empty(0, dtype=torch.uint8).set_(
        octets.untyped_storage(),
        tensor.storage_offset() * width,
        (*tensor.shape, width),
        (*(step * width for step in tensor.stride()), 1),
    )


def content(storage: torch.UntypedStorage) -> bytes:
    """Return a copy of the bytes of a memory."""
    return ctypes.string_at(storage.data_ptr(), storage.nbytes())


def is_integer(value: object) -> bool:
    """Tell whether a part of a message is a whole number, and not true or false."""
    return type(value) is int


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


class Storages(Watched):
    """Memory by id; on the trusted side held weakly, on the student's side strongly."""

    def __init__(self, first: int, weak: bool) -> None:
        super().__init__()
        #: An entry is [storage or weak reference, the bytes that both sides know, which may be
        #: seen: a tensor of 0 and 255, None for all, False before it is exposed].
        self.next, self.weak = first, weak
        self.waiting = (
            0  # bytes that have come since it was asked which memories are gone
        )
        self.ids: dict[int, int] = {}
        #: Those that code here had when it was looked for changes: held until that is done again,
        #: else what code does just before it lets go of one would be told to nobody.
        self.kept: list[torch.UntypedStorage] = []
        #: id -> which bytes truth values lie in: a tensor of 0 and 255, or None for all
        self.booleans: dict[int, torch.Tensor | None] = {}

    def id_of(self, storage: torch.UntypedStorage) -> int | None:
        """Return a memory's id, or None if it is not in the table."""
        return self.ids.get(storage._cdata)

    def add(
        self,
        storage: torch.UntypedStorage,
        number: int | None = None,
        known: bytes = b"",
    ) -> int:
        """Enter a memory, by a new id, or by the other side's with the bytes that it sent."""
        seen = None
        if number is None:
            number, self.next = self.next, self.next + 2
            seen = False if self.weak else None
        holder = StorageWeakRef(storage) if self.weak else storage
        self.entries[number] = [holder, known, seen]
        self.ids[storage._cdata] = number
        self.waiting += storage.nbytes()
        return number

    def expose(self, number: int, tensor: torch.Tensor) -> None:
        """Let the other side see, and change, the part of a memory in which a tensor lies.

        A test may pass half of a tensor whose other half holds what it expects.
        """
        self.named.add(number)
        if tensor.dtype is torch.bool:
            self.note_booleans(number, tensor)
        entry = self.entries[number]
        if entry[2] is None:
            return
        size = tensor.untyped_storage().nbytes()
        if tensor.is_contiguous() and tensor.nbytes == size:
            entry[2] = None
            return
        if entry[2] is False:
            entry[2] = torch.zeros(size, dtype=torch.uint8)
        if tensor.numel():
            octets_under(tensor, entry[2]).fill_(255)

    def note_booleans(self, number: int, tensor: torch.Tensor) -> None:
        """Note in which part of a memory truth values lie.

        What lies beside them may be anything, as in a part of what `torch.empty` returns.
        """
        size = tensor.untyped_storage().nbytes()
        if tensor.is_contiguous() and tensor.numel() == size:
            self.booleans[number] = None
            return
        noted = self.booleans.get(number, torch.zeros(size, dtype=torch.uint8))
        if noted is None or not tensor.numel():
            return
        if noted.numel() < size:  # the memory has grown
            noted = torch.cat([noted, noted.new_zeros(size - noted.numel())])
        octets_under(tensor, noted).fill_(255)
        self.booleans[number] = noted

    def check_booleans(self, number: int) -> None:
        """Raise WireError unless truth values are 0 or 1: others compare in odd ways."""
        if number not in self.booleans:
            return
        here, noted = octets(self.get(number)), self.booleans[number]
        if noted is not None:
            here = here[: noted.numel()] & noted
        if here.numel() and int(here.max()) > 1:
            raise WireError("truth values that are neither 0 nor 1")

    def shows(self, number: int, tensor: torch.Tensor) -> bool:
        """Tell whether the other side may see all of the memory in which a tensor lies."""
        seen = self.entries[number][2]
        return seen is None or bool(octets_under(tensor, seen).all())

    def read(self, number: int, storage: torch.UntypedStorage) -> bytes:
        """Return a copy of the bytes of a memory that may be seen; the others are 0."""
        seen = self.entries[number][2]
        return content(storage) if seen is None else masked(octets(storage), seen)

    def renew(self, number: int) -> None:
        """Note that the other side is being told what a memory holds."""
        self.entries[number][1] = self.read(number, self.get(number))

    def get(self, number: object) -> torch.UntypedStorage | None:
        """Return the memory with an id, or None if there is none any more."""
        entry = self.entries.get(number) if is_integer(number) else None
        if entry is None:
            return None
        if self.weak:
            return torch.UntypedStorage._new_with_weak_ptr(entry[0].cdata)
        return entry[0]

    def forget(self, number: int) -> None:
        """Take an entry out."""
        entry = self.entries.pop(number, None)
        if entry is not None:
            self.ids.pop(entry[0].cdata if self.weak else entry[0]._cdata, None)
            self.booleans.pop(number, None)

    def scan(
        self, everything: bool, new: list[int]
    ) -> tuple[list[int], list[int], list[torch.UntypedStorage]]:
        """Return which entries died, which changed, and what keeps the others alive.

        Args:
            everything: whether also those are looked at that nobody there could ask about.
            new: which need no look.

        """
        dead, changed, alive = [], [], []
        lock, weak = torch.UntypedStorage._new_with_weak_ptr, self.weak
        everything |= len(self.entries) >= self.due or self.waiting > WAITING_BYTES
        for number, entry in self.chosen(everything):
            if number in new:
                continue
            holder, known, seen = entry
            storage = lock(holder.cdata) if weak else holder
            if storage is None:
                dead.append(number)
                continue
            alive.append(storage)
            if seen is None:
                # Asked for every memory before every message: so no function of ours is called.
                size = storage.nbytes()
                if size == len(known) and not memcmp(storage.data_ptr(), known, size):
                    continue
                now = content(storage)
            else:
                now = masked(octets(storage), seen)
                if now == known:
                    continue
            entry[1] = now
            changed.append(number)
        if everything:
            self.due = max(WAITING, 2 * (len(self.entries) - len(dead)))
            self.waiting = 0
        if weak:
            count = torch._C._storage_Use_Count
            self.kept = [one for one in alive if count(one._cdata) > 1]
        return dead, changed, alive

    def is_held(self, number: int) -> bool:
        """Tell whether a tensor lies in a memory, or code has it, on the student's side.

        Of what numpy or a buffer has as well, nobody can tell who still does.
        """
        storage = self.entries[number][0]
        # The table's, this name's, and getrefcount's own.
        return (
            torch._C._storage_Use_Count(storage._cdata) > 1
            or sys.getrefcount(storage) > 3
            or not storage.resizable()
        )

    def grow(self, number: int, storage: torch.UntypedStorage, size: int) -> None:
        """Give a memory the size that it has on the other side.

        It never shrinks: PyTorch doesn't look whether the tensors that lie in it still fit, and
        would read what lies behind it.

        Raises:
            WireError: if it can't have that size.

        """
        if size < storage.nbytes() or (
            size > storage.nbytes() and self.entries[number][2] is not None
        ):
            raise WireError("a memory of another size")
        if size > storage.nbytes():
            try:
                storage.resize_(size)
            except RuntimeError as error:
                raise WireError(
                    f"a memory that can't change its size: {error}"
                ) from None

    def write(self, number: object, blob: bytes) -> None:
        """Take over the bytes that the other side sent.

        Raises:
            WireError: if it can't have that size, or the bytes are no truth values where those are.

        """
        storage = self.get(number)
        if storage is None:
            return  # it died here in the meantime
        entry = self.entries[number]
        self.grow(number, storage, len(blob))
        if entry[2] is not None:
            here = octets(storage)
            here.copy_(torch.where(entry[2].bool(), as_octets(blob), here))
        else:
            fill(storage, blob)
        entry[1] = self.read(number, storage)
        self.check_booleans(number)


def as_octets(blob: bytes) -> torch.Tensor:
    """Return bytes as a tensor of its own."""
    return torch.frombuffer(bytearray(blob) or bytearray(1), dtype=torch.uint8)[
        : len(blob)
    ]


def masked(there: torch.Tensor, seen: torch.Tensor) -> bytes:
    """Return the octets that may be seen, and 0 for the others."""
    return (there & seen).numpy().tobytes()


def fill(storage: torch.UntypedStorage, blob: bytes) -> None:
    """Write bytes into a memory of their size.

    Raises:
        ValueError: if it has another.

    """
    if storage.nbytes() != len(blob):
        raise ValueError(f"{len(blob)} bytes for a memory of {storage.nbytes()}")
    ctypes.memmove(storage.data_ptr(), blob, len(blob))
