"""What `ironcurtain attack` found: calls that get further than what they stand for."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen, JsonValue

Found: TypeAlias = Literal["found", "not found"]
"""An attack is a search: that it found nothing is no proof that there is nothing."""


class AttackCall(Frozen):
    """A call and how it is decided.

    Attributes:
        arguments: As they were given: an object, or JSON text where the spelling of the text counts.
    """

    server: str
    tool: str
    arguments: JsonValue
    caller: dict[str, JsonValue] = Field(default_factory=dict)
    verdict: Verdict
    rule: str
    clause: str | None = None


class Break(Frozen):
    """A pair that breaks the policy: a call, and another spelling of it that gets further.

    Attributes:
        kind: `looser` (the same thing, spelled otherwise) or `reached` (what is denied, by another way).
        respelling: What was done to the call.
        taken_by: Who takes both for the same.
        origin: Where the call comes from: `scenario ID`, `witness` or `recorded ID`.
        world: What was assumed beside the described world, empty if nothing.
        base: The call that it stands for.
        calls: The respelled call; two where it is split.
        count: How many pairs of this kind were found; this is the smallest.
    """

    kind: Literal["looser", "reached"]
    respelling: str
    taken_by: str
    origin: str
    world: str = ""
    base: AttackCall
    calls: tuple[AttackCall, ...]
    count: int = 1


class LeftOut(Frozen):
    """What was not attacked, and how much of it."""

    what: str
    count: int


class Stray(Frozen):
    """A call by which a real server touched what had not been judged.

    Attributes:
        arguments: As they were given; `sent` as the server got them.
        judged: The places that were judged.
        touched: What was read or changed beside them, below the scratch directory.
    """

    server: str
    tool: str
    arguments: JsonValue
    sent: dict[str, JsonValue]
    judged: tuple[str, ...]
    touched: tuple[str, ...]


class Live(Frozen):
    """What real servers did with respelled calls, in a scratch directory.

    Attributes:
        isolation: By server, what was seen to contain it.
        sent: How many calls were sent, as their canonical arguments; `answered` without an error.
        refused: How many were denied, and so not sent.
        strays: Calls that touched something else than what was judged.
    """

    isolation: dict[str, str]
    sent: int
    answered: int
    refused: int
    strays: tuple[Stray, ...] = ()


class AttackReport(Frozen):
    """The result of an attack; it holds for exactly one revision.

    Attributes:
        bases: By origin, how many calls were respelled.
        tried: By respelling, how many calls were decided.
        maximum: So many respelled calls at most.
        left_out: What was left out.
        breaks: The pairs that break the policy, the smallest first.
        live: What real servers did, where that was asked for.
    """

    format: Literal["ironcurtain/attack/v1"] = "ironcurtain/attack/v1"
    revision: str
    outcome: Found
    bases: dict[str, int]
    tried: dict[str, int]
    maximum: int
    left_out: tuple[LeftOut, ...] = ()
    breaks: tuple[Break, ...] = ()
    live: Live | None = None
