"""What recorded calls would be decided under another policy (`ironcurtain replay`)."""

from __future__ import annotations

from typing import Literal

from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen


class Replayed(Frozen):
    """How one recorded call is decided now.

    Attributes:
        verdict: None where the record does not hold enough to tell, for the reason in `unknown`.
        rule: The rule behind it; None where it is unknown which of several it is, too.
    """

    id: str
    verdict: Verdict | None
    rule: str | None = None
    clause: str | None = None
    unknown: str = ""


class Flips(Frozen):
    """Calls that are decided otherwise now, by the clauses that decide them.

    Attributes:
        direction: `loosened` where the new verdict is milder.
        old_clause: The clause behind the recorded decision, or its rule where no clause is behind it.
        new_clause: The same for the new decision; `several` where the record leaves open which.
        tools: `server/tool` of the calls.
        count: How many calls there are; `ids` names the first of them.
    """

    direction: Literal["loosened", "tightened"]
    old: Verdict
    new: Verdict
    old_clause: str
    new_clause: str
    tools: tuple[str, ...]
    count: int
    ids: tuple[str, ...]


class Unknowns(Frozen):
    """Calls of which it cannot be told how they are decided now, by the reason."""

    reason: str
    count: int
    ids: tuple[str, ...]


class Replay(Frozen):
    """The result of re-deciding a log.

    Attributes:
        revision: The revision of the policy that decides now; `recorded` those of the log.
        calls: How many decisions the log holds.
        same: How many have the same verdict now.
        skipped: How many were no decision of a policy: the engine failed, or the proxy itself refused.
    """

    format: Literal["ironcurtain/replay/v1"] = "ironcurtain/replay/v1"
    session: str
    revision: str
    recorded: tuple[str, ...]
    calls: int
    same: int
    skipped: int
    flips: tuple[Flips, ...] = ()
    unknown: tuple[Unknowns, ...] = ()
