"""What a statement about all calls rests on: a proof, a call that was found, or a search without a find."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, TypeAlias

Exactness: TypeAlias = Literal["exact", "sampled"]
"""How a tool was examined: `exact` where no kind of call is missing, `sampled` where one may be."""


class Proof(StrEnum):
    """What a statement rests on; nothing but these three is ever said.

    `proved`: it holds for all calls, since every kind of call was examined. `found`: a whole call shows it,
    and was decided. `not found`: nothing to the contrary was found, but not every kind of call was examined,
    or not every one could be made into a valid call.
    """

    PROVED = "proved"
    FOUND = "found"
    NOT_FOUND = "not found"
