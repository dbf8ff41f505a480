"""What `ironcurtain attack` found: calls that get further than what they stand for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal, TypeAlias

from pydantic import Field

from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen, JsonValue
from ironcurtain.system.text import counted, marked, visible

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


_PLURALS = {"scenario": "scenarios", "witness": "witnesses", "recorded": "recorded calls"}


def report_lines(report: AttackReport) -> Iterator[str]:
    """Yield the report as lines of plain text, the smallest breaking pair first."""
    for a_break in report.breaks:
        yield from break_lines(a_break)
    if report.live is not None:
        yield from _live_lines(report.live)
    bases = ", ".join(f"{count} {_PLURALS[origin]}" for origin, count in report.bases.items())
    tried = counted(sum(report.tried.values()), "respelled call")
    yield f"{tried} of {bases or 'no calls'} (at most {report.maximum})"
    yield from (f"left out: {left_out.count} {visible(left_out.what)}" for left_out in report.left_out)
    yield summary(report)


def summary(report: AttackReport) -> str:
    """Return in one sentence what was found."""
    if report.outcome == "not found":
        return "not found: nothing respelled gets further than what it stands for; a search, no proof"
    pairs = sum(a_break.count for a_break in report.breaks)
    if not pairs:
        return "found: a real server touched what had not been judged"
    further = counted(
        pairs,
        "respelled call gets further than what it stands for",
        "respelled calls get further than what they stand for",
    )
    return f"found: {further} ({counted(len(report.breaks), 'kind')})"


def break_lines(a_break: Break) -> Iterator[str]:
    """Yield a breaking pair: what was done, the call, and what it stands for."""
    times = f", {a_break.count} times" if a_break.count > 1 else ""
    yield f"{a_break.kind}  {visible(a_break.respelling)}, the same to {visible(a_break.taken_by)}{times}"
    yield f"  {_words(a_break.base)} ({visible(a_break.origin)})"
    yield from (f"  {_words(call)}" for call in a_break.calls)
    if a_break.world:
        yield f"  with {visible(a_break.world)}"


def _live_lines(live: Live) -> Iterator[str]:
    for stray in live.strays:
        given = marked(json.dumps(stray.arguments, ensure_ascii=False))
        yield f"stray  {visible(stray.server)}/{visible(stray.tool)} {given}"
        yield f"  judged:  {', '.join(map(visible, stray.judged))}"
        yield f"  touched: {', '.join(map(visible, stray.touched))}"
    contained = ", ".join(f"{visible(name)} ({visible(how)})" for name, how in live.isolation.items())
    yield (
        f"live: {counted(live.sent, 'call')} sent to {contained or 'no server'}, {live.answered} answered, "
        f"{live.refused} denied and not sent, {len(live.strays)} touched what was not judged"
    )


def _words(call: AttackCall) -> str:
    given = call.arguments
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    caller = f" as {marked(json.dumps(call.caller, ensure_ascii=False))}" if call.caller else ""
    clause = f" ({call.clause})" if call.clause else ""
    decided = f"{call.verdict} by {visible(call.rule)}{clause}"
    return f"{decided}: {visible(call.server)}/{visible(call.tool)} {marked(text)}{caller}"
