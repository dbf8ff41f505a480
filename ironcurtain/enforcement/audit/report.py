"""What an audit log amounts to (`ironcurtain audit stats` and `report`)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ironcurtain.enforcement.audit.record_types import (
    AuditVerification,
    DecisionRecord,
    EventRecord,
    ResultRecord,
)
from ironcurtain.system.frozen import Frozen


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
