"""What a statement about all calls rests on: a proof, a call that was found, or a search without a find."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Literal, TypeAlias

Exactness: TypeAlias = Literal["exact", "sampled", "not examined"]
"""How a tool was examined: `exact` where no kind of call is missing, `sampled` where one may be, `not
examined` where no call could be made, so that nothing is known."""
NOT_EXAMINED = "not examined: "
"""What a gap begins with because of which nothing is known."""


def exactness_of(gaps: Collection[str]) -> Exactness:
    """Return how was examined what may miss something for some reasons."""
    if any(gap.startswith(NOT_EXAMINED) for gap in gaps):
        return "not examined"
    return "sampled" if gaps else "exact"


def reason_line(reason: str, tool: str = "") -> str:
    """Return a gap as a line of a report, with the tool that it concerns."""
    place, why = f"{tool}: " if tool else "", reason.removeprefix(NOT_EXAMINED)
    return f"{'sampled: ' if why == reason else NOT_EXAMINED}{place}{why}"


class Proof(StrEnum):
    """What a statement rests on; nothing but these four is ever said.

    `proved`: it holds for all calls, since every kind of call was examined. `found`: a whole call shows it,
    and was decided. `not found`: nothing to the contrary was found, but not every kind of call was examined,
    or not every one could be made into a valid call. `not examined`: no call could be made that it speaks of.
    """

    PROVED = "proved"
    FOUND = "found"
    NOT_FOUND = "not found"
    NOT_EXAMINED = "not examined"
