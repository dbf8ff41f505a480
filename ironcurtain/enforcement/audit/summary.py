"""What an audit log amounts to (`ironcurtain audit stats`, `report` and `show`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from statistics import median
from typing import Literal

from pydantic import Field

from ironcurtain.enforcement.audit.log_paths import LogPaths
from ironcurtain.enforcement.audit.reader import read_records
from ironcurtain.enforcement.audit.record_types import (
    AuditVerification,
    DecisionRecord,
    EventRecord,
    Line,
    ResultRecord,
)
from ironcurtain.errors import UsageError
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen
from ironcurtain.system.text import quoted


class AuditStats(Frozen):
    """Counts over a log.

    Attributes:
        first: Time of the first record; `last` of the last.
        verdicts: Decisions by verdict, before any approval; `rules`, `clauses` and `tools` (as
            `server/tool`) likewise.
        approvals: What became of asking a person, by state.
        forwarded: How many calls were sent to their server.
        results: How they ended, by status; `missing` counts those of which that is not known.
        redacted: Decisions in which something is redacted.
        phases: By phase the median of its milliseconds.
    """

    format: Literal["ironcurtain/audit-stats/v1"] = "ironcurtain/audit-stats/v1"
    session: str
    records: int
    first: str | None = None
    last: str | None = None
    decisions: int
    verdicts: dict[str, int] = Field(default_factory=dict)
    rules: dict[str, int] = Field(default_factory=dict)
    clauses: dict[str, int] = Field(default_factory=dict)
    tools: dict[str, int] = Field(default_factory=dict)
    approvals: dict[str, int] = Field(default_factory=dict)
    forwarded: int = 0
    results: dict[str, int] = Field(default_factory=dict)
    missing: int = 0
    events: dict[str, int] = Field(default_factory=dict)
    redacted: int = 0
    revisions: tuple[str, ...] = ()
    phases: dict[str, float] = Field(default_factory=dict)


class AuditReport(Frozen):
    """A session in summary: what was asked of people, what was refused, what went wrong.

    Attributes:
        asked: Decisions about which a person was, or would have been, asked.
        refused: Decisions that were denied.
        failed: Results other than `ok`; `missing` are ids of calls without one.
        events: What else happened.
    """

    format: Literal["ironcurtain/audit-report/v1"] = "ironcurtain/audit-report/v1"
    stats: AuditStats
    verification: AuditVerification
    asked: tuple[DecisionRecord, ...] = ()
    refused: tuple[DecisionRecord, ...] = ()
    failed: tuple[ResultRecord, ...] = ()
    missing: tuple[str, ...] = ()
    events: tuple[EventRecord, ...] = ()


class AuditEntry(Frozen):
    """One decision with its result (`ironcurtain audit show`)."""

    format: Literal["ironcurtain/audit-entry/v1"] = "ironcurtain/audit-entry/v1"
    decision: DecisionRecord
    result: ResultRecord | None = None


def statistics(session: str, lines: Iterable[Line]) -> AuditStats:
    """Count what a log holds."""
    records = [line.record for line in lines]
    decisions = [record for record in records if isinstance(record, DecisionRecord)]
    results = [record for record in records if isinstance(record, ResultRecord)]
    answered = {result.id for result in results}
    forwarded = [decision for decision in decisions if decision.forwarded]
    phases: dict[str, list[float]] = {}
    for decision in decisions:
        for phase, taken in decision.phases.items():
            phases.setdefault(phase, []).append(taken)
    return AuditStats(
        session=session,
        records=len(records),
        first=records[0].time if records else None,
        last=records[-1].time if records else None,
        decisions=len(decisions),
        verdicts=_counts(decision.verdict.value for decision in decisions),
        rules=_counts(decision.rule for decision in decisions),
        clauses=_counts(decision.clause for decision in decisions if decision.clause),
        tools=_counts(f"{decision.server}/{decision.tool}" for decision in decisions),
        approvals=_counts(decision.approval.state for decision in decisions if decision.approval),
        forwarded=len(forwarded),
        results=_counts(result.status for result in results),
        missing=sum(decision.id not in answered for decision in forwarded),
        events=_counts(record.event for record in records if isinstance(record, EventRecord)),
        redacted=sum(
            bool(decision.redacted) or any(resource.redacted for resource in decision.subjects)
            for decision in decisions
        ),
        revisions=tuple(dict.fromkeys(decision.revision for decision in decisions)),
        phases={phase: median(taken) for phase, taken in sorted(phases.items())},
    )


def report(lines: Iterable[Line], verification: AuditVerification) -> AuditReport:
    """Sum up a session."""
    listed = list(lines)
    records = [line.record for line in listed]
    decisions = [record for record in records if isinstance(record, DecisionRecord)]
    results = [record for record in records if isinstance(record, ResultRecord)]
    answered = {result.id for result in results}
    return AuditReport(
        stats=statistics(verification.session, listed),
        verification=verification,
        asked=tuple(d for d in decisions if d.approval is not None or d.verdict is Verdict.ESCALATE),
        refused=tuple(d for d in decisions if d.verdict is Verdict.DENY),
        failed=tuple(result for result in results if result.status != "ok"),
        missing=tuple(d.id for d in decisions if d.forwarded and d.id not in answered),
        events=tuple(record for record in records if isinstance(record, EventRecord)),
    )


def find_entry(paths: LogPaths, id_: str) -> AuditEntry:
    """Return a decision with its result. Several records of one id: the last decision is meant.

    Args:
        paths: The log.
        id_: The decision's id, or a beginning of it that no other has.

    Raises:
        UsageError: If there is none, or there are several.
    """
    decisions: dict[str, DecisionRecord] = {}
    results: dict[str, ResultRecord] = {}
    for line in read_records(paths):
        record = line.record
        if isinstance(record, DecisionRecord) and record.id.startswith(id_):
            decisions[record.id] = record
        elif isinstance(record, ResultRecord):
            results[record.id] = record
    found = decisions.get(id_) or (next(iter(decisions.values())) if len(decisions) == 1 else None)
    if found is None:
        what = "there is no decision" if not decisions else f"there are {len(decisions)} decisions"
        raise UsageError(
            f"{what} whose id begins with {quoted(id_)}", where=str(paths.path), hint="See `audit tail`."
        )
    return AuditEntry(decision=found, result=results.get(found.id))


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items(), key=lambda item: (-item[1], item[0])))
