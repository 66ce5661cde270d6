"""Generators of random numbers that both processes know: those that a test passed."""

from __future__ import annotations

import ctypes
import random
import struct

import torch

from grading.wire.channel import WireError
from grading.wire.storages import memcmp


class PythonsNumbers:
    """Tells whether Python's own generator drew numbers or was seeded.

    Asked before each message: its state as a tuple, of 625 numbers, takes as long as some calls. So
    the memory behind the object's head is compared, where this Python keeps the numbers there.
    """

    FORM = struct.Struct("=i624I")

    def __init__(self) -> None:
        self.place = id(random._inst) + object.__basicsize__
        index_last = (*random.getstate()[1][-1:], *random.getstate()[1][:-1])
        fits = random._inst.__sizeof__() >= object.__basicsize__ + self.FORM.size
        self.fits = fits and self.FORM.unpack(self.read()) == index_last
        self.known: object = None

    def read(self) -> object:
        """Return what is compared."""
        return ctypes.string_at(self.place, self.FORM.size)

    def changed(self) -> bool:
        """Tell whether the state is another one than when this was asked last."""
        if self.fits:
            if self.known and not memcmp(self.place, self.known, self.FORM.size):
                return False
            self.known = self.read()
            return True
        before, self.known = self.known, random.getstate()[1]
        return self.known != before


class Generators:
    """Generators that a test passed, by id; kept as long as the process."""

    def __init__(self) -> None:
        self.entries: dict[
            int, list
        ] = {}  # id -> [generator, state that both sides know]
        self.next = 0

    def id_of(
        self, generator: torch.Generator | random.Random, add: bool
    ) -> int | None:
        """Return a generator's id, or None; add: enter it if need be."""
        for number, entry in self.entries.items():
            if entry[0] is generator:
                return number
        if not add:
            return None
        self.entries[self.next] = [generator, None]
        self.next += 1
        return self.next - 1

    def changed(self) -> list[list]:
        """Return [id, kind, state] of those that drew numbers or were seeded."""
        found = []
        for number, entry in self.entries.items():
            state = read_state(entry[0])
            if state != entry[1]:
                entry[1] = state
                kind = "torch" if isinstance(entry[0], torch.Generator) else "python"
                found.append([number, kind, state])
        return found

    def write(self, number: int, kind: str, state: object, create: bool) -> None:
        """Take over the state that the other side sent.

        Raises:
            WireError: if there is no such generator, or this is no state.

        """
        if number not in self.entries and create:
            self.entries[number] = [
                torch.Generator() if kind == "torch" else random.Random(),
                None,
            ]
        try:
            entry = self.entries[number]
            write_state(entry[0], state)
            entry[1] = read_state(entry[0])
        except (KeyError, TypeError, ValueError, RuntimeError, OverflowError) as error:
            raise WireError(
                f"the state of a generator: {type(error).__name__}"
            ) from None


def read_state(generator: torch.Generator | random.Random) -> object:
    """Return a generator's state in a form that JSON holds."""
    if isinstance(generator, torch.Generator):
        return generator.get_state().numpy().tobytes().hex()
    version, numbers, gauss = generator.getstate()
    return [version, list(numbers), gauss]


def write_state(generator: torch.Generator | random.Random, state: object) -> None:
    """Set a generator to a state of `read_state`."""
    if isinstance(generator, torch.Generator):
        generator.set_state(
            torch.frombuffer(bytearray(bytes.fromhex(state)), dtype=torch.uint8)
        )
    else:
        version, numbers, gauss = state
        generator.setstate((version, tuple(numbers), gauss))
