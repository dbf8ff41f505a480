"""Values to try, together with what is known to be missing from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from ironcurtain.system.structs import Struct

T = TypeVar("T")
S = TypeVar("S")


class Enumeration(Struct, Generic[T]):
    """Values to try, one at least for every kind there is, unless there are `gaps`.

    What is not among the values does not exist only where `gaps` is empty: then it is proved that no call
    has it. So there are no values without their gaps, and whatever is made of a domain keeps them.

    Attributes:
        values: The values.
        gaps: Why kinds of values may be missing; empty where it is proved that none is.
    """

    values: tuple[T, ...]
    gaps: frozenset[str] = frozenset()

    @property
    def is_complete(self) -> bool:
        """Whether nothing can be missing."""
        return not self.gaps

    def mapped(self, change: Callable[[tuple[T, ...]], tuple[S, ...]]) -> Enumeration[S]:
        """Return the domain of what the values become; whoever calls it must keep a value of each kind."""
        return Enumeration(change(self.values), self.gaps)

    def with_gaps(self, *gaps: str) -> Enumeration[T]:
        """Return the domain with further reasons."""
        return Enumeration(self.values, self.gaps | set(gaps))
