"""Totals of callers, which outlive a session and are shared by gateways: one interface for every store.

    seen = store.totals(keys)          # what a decision is made on
    store.book(seen, added)            # adds, unless a total is no longer what was seen

A booking is one transaction. Of two calls that were decided on one total only the first is booked; the other
one is told so, and is decided again on what the first has left.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from decimal import Decimal

from ironcurtain.system.structs import Struct

KEPT_SECONDS = 40 * 86_400
"""How long a total is kept after its last booking: longer than the longest window."""


class StoreError(Exception):
    """The store cannot be read or written, or holds what was not written to it."""


class TotalKey(Struct, order=True):
    """Which total.

    Attributes:
        caller: Digest of whom the agents act for.
        counter: The counter's name with the digest of what it counts.
        window: The window's name (`clock.window_of`).
    """

    caller: str
    counter: str
    window: str


class TotalsStore(ABC):
    """Keeps totals. Its methods block; each may be called from any thread."""

    @abstractmethod
    def totals(self, keys: Collection[TotalKey]) -> dict[TotalKey, Decimal]:
        """Return totals; 0 for one that nothing was booked on.

        Raises:
            StoreError: If they cannot be read.
        """

    @abstractmethod
    def book(self, seen: Mapping[TotalKey, Decimal], added: Mapping[TotalKey, Decimal]) -> bool:
        """Add amounts to totals that are still what was seen, all of them or none.

        Args:
            seen: Every total that the decision was made on.
            added: What is added; each key is one of those seen.

        Returns:
            Whether it was booked; if not, some total is another one by now.

        Raises:
            StoreError: If it cannot be told that it was booked.
        """
