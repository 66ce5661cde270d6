"""How often one address may begin a launch: each beginning is a row in the database."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

#: A class of 500 behind one address of its school opens the link at once, and that is right.
AT_ONCE, PER_SECOND = 1000, 5.0
#: So many addresses are remembered before those that have been quiet are forgotten.
MOST_ADDRESSES = 10_000


@dataclass
class Rate:
    """A token bucket for each address."""

    at_once: float = AT_ONCE
    per_second: float = PER_SECOND
    now: Callable[[], float] = time.monotonic
    _left: dict[str, tuple[float, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def allows(self, address: str) -> bool:
        """Count a try of an address, and tell whether it is one too many."""
        with self._lock:
            now = self.now()
            if len(self._left) > MOST_ADDRESSES:
                full = self.at_once / self.per_second
                self._left = {
                    key: (left, then)
                    for key, (left, then) in self._left.items()
                    if now - then < full
                }
            left, then = self._left.get(address, (self.at_once, now))
            left = min(self.at_once, left + (now - then) * self.per_second)
            self._left[address] = (max(0.0, left - 1), now)
            return left >= 1


def address(peer: str, forwarded: str) -> str:
    """Return whose request it is: a web server on this machine says for whom it asks.

    Args:
        peer: the other end of the connection.
        forwarded: its X-Forwarded-For; the last part is that server's own word.

    """
    last = forwarded.rpartition(",")[2].strip()
    try:
        own = ipaddress.ip_address(peer).is_loopback
        return str(ipaddress.ip_address(last)) if own and last else peer
    except ValueError:
        return peer
