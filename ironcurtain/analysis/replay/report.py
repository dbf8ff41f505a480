"""What recorded calls would be decided under another policy (`ironcurtain replay`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from ironcurtain.enforcement.audit.record_types import DecisionRecord
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen
from ironcurtain.system.text import counted, visible


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
        skipped: How many were no decision of a policy: the engine failed, or the proxy itself refused, as it
            does where a server's sandbox does not reach what the policy permits.
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


_SHOWN_IDS = 10
_SEVERAL = "several"


def summed_up(
    session: str, revision: str, records: Sequence[DecisionRecord], replayed: Iterable[Replayed], skipped: int
) -> Replay:
    """Return the summary of a replay.

    `replayed` has the decisions of `records` now, in the same order; `skipped` counts those left out.
    """
    flips: dict[tuple[Verdict, Verdict, str, str], list[DecisionRecord]] = {}
    unknown: dict[str, list[DecisionRecord]] = {}
    same = 0
    for record, now in zip(records, replayed, strict=True):
        if now.verdict is None:
            unknown.setdefault(now.unknown, []).append(record)
        elif now.verdict is record.verdict:
            same += 1
        else:
            causes = (record.clause or record.rule, now.clause or now.rule or _SEVERAL)
            flips.setdefault((record.verdict, now.verdict, *causes), []).append(record)
    return Replay(
        session=session,
        revision=revision,
        recorded=tuple(dict.fromkeys(record.revision for record in records)),
        calls=len(records) + skipped,
        same=same,
        skipped=skipped,
        flips=tuple(
            sorted(
                (_flips(*key, records) for key, records in flips.items()),
                key=lambda f: (f.direction, -f.count),
            )
        ),
        unknown=tuple(
            Unknowns(reason=reason, count=len(records), ids=_ids(records))
            for reason, records in sorted(unknown.items())
        ),
    )


def text_lines(result: Replay) -> Iterator[str]:
    """Yield a replay as plain text: what is looser first."""
    flipped = sum(flip.count for flip in result.flips)
    unknown = sum(unknown.count for unknown in result.unknown)
    yield f"{counted(result.calls, 'call')}: {result.same} the same, {flipped} flipped, {unknown} unknown"
    for flip in result.flips:
        causes = f"{visible(flip.old_clause)} → {visible(flip.new_clause)}"
        yield f"{flip.direction}: {counted(flip.count, 'call')} {flip.old} → {flip.new}, {causes}"
        yield f"  {', '.join(visible(tool) for tool in flip.tools)}"
        yield f"  {' '.join(visible(id_) for id_ in flip.ids)}{' …' if flip.count > len(flip.ids) else ''}"
    for each in result.unknown:
        yield f"unknown: {counted(each.count, 'call')}: {visible(each.reason)}"
    if result.skipped:
        yield f"left out: {result.skipped} that no policy decided (no engine, or the proxy itself refused)"


def _flips(
    old: Verdict, new: Verdict, old_cause: str, new_cause: str, records: list[DecisionRecord]
) -> Flips:
    return Flips(
        direction="loosened" if new.severity < old.severity else "tightened",
        old=old,
        new=new,
        old_clause=old_cause,
        new_clause=new_cause,
        tools=tuple(sorted({f"{record.server}/{record.tool}" for record in records})),
        count=len(records),
        ids=_ids(records),
    )


def _ids(records: Sequence[DecisionRecord]) -> tuple[str, ...]:
    return tuple(record.id for record in records[:_SHOWN_IDS])
