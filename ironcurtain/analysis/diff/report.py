"""What changed between two policies (`ironcurtain diff`)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ironcurtain.analysis.engine.proof import Exactness, Proof
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen, JsonValue

Direction = Literal["loosened", "tightened"]


class Decided(Frozen):
    """How one policy decides a call or a subject."""

    verdict: Verdict
    rule: str
    clause: str | None = None


class DifferentCall(Frozen):
    """A whole call that the two policies decide differently."""

    server: str
    tool: str
    arguments: dict[str, JsonValue]
    caller: dict[str, JsonValue] = Field(default_factory=dict)
    old: Decided
    new: Decided


class Change(Frozen):
    """Subjects whose verdict changed.

    Attributes:
        id: Stable over runs: a digest of what changed.
        tools: `server/tool` of every tool that it concerns.
        where: The places, as in the matrix; empty for whole tools.
        when: What else must be so.
        old: The subject's verdict before; None where there was no such tool.
        new: Its verdict now; None where there is no such tool.
        old_rules: The rules behind it before, each with its clause; `new_rules` those now.
        witness: A call whose decision differs.
        masked_by: Where no call differs: the rules that decide such calls under both policies.
        note: Why there is neither.
        meaning: Digest of all that the words stand for under both policies; approvals bind to it.
    """

    id: str
    direction: Direction
    tools: tuple[str, ...]
    roles: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    old: Verdict | None = None
    new: Verdict | None = None
    old_rules: tuple[str, ...] = ()
    new_rules: tuple[str, ...] = ()
    witness: DifferentCall | None = None
    masked_by: tuple[str, ...] = ()
    note: str = ""
    meaning: str = ""


class Difference(Frozen):
    """The result of comparing two policies in one assumed world.

    Attributes:
        exactness: `sampled` where something may have been missed, for the `reasons` given.
        changes: What was found. Where there are none, that the policies decide every call alike is `proved`
            if the comparison is exact; otherwise no difference was found, and that is all.
    """

    format: Literal["ironcurtain/difference/v1"] = "ironcurtain/difference/v1"
    old_revision: str
    new_revision: str
    exactness: Exactness
    reasons: tuple[str, ...] = ()
    changes: tuple[Change, ...]
    world: DescribedWorld

    @property
    def proof(self) -> Proof:
        """Whether a difference was found, or that there is none is proved, or none was found."""
        if self.changes:
            return Proof.FOUND
        return Proof.PROVED if self.exactness == "exact" else Proof.NOT_FOUND

    @property
    def loosened(self) -> tuple[Change, ...]:
        """The changes that permit more than before and that some call shows, or might."""
        return tuple(c for c in self.changes if c.direction == "loosened" and not c.masked_by)
