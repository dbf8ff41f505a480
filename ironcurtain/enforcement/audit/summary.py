"""What an audit log amounts to (`ironcurtain audit stats`, `report` and `show`), and how people read it.

Everything that an agent or a server wrote is escaped.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from pathlib import Path
from statistics import median
from typing import Literal

from pydantic import Field

from ironcurtain.enforcement.approvals.describe import other_arguments
from ironcurtain.enforcement.audit.log_paths import LogPaths
from ironcurtain.enforcement.audit.reader import read_records
from ironcurtain.enforcement.audit.record_types import (
    AuditVerification,
    DecisionRecord,
    EventRecord,
    Line,
    Record,
    RecordedFacts,
    ResultRecord,
)
from ironcurtain.errors import UsageError
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen, JsonValue
from ironcurtain.system.text import marked, printable, quoted, visible


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


def find_entry(logs: Iterable[LogPaths], id_: str) -> tuple[LogPaths, AuditEntry]:
    """Return a decision with its result, and its log.

    Several records of one id in a log: the last decision is meant.

    Args:
        logs: At least one; they are read, one after the other, until one has exactly this id.
        id_: The id, or how it begins, if no other one in the logs begins so.

    Raises:
        UsageError: If there is none, or there are several.
    """
    places: list[Path] = []
    found: list[tuple[LogPaths, AuditEntry]] = []
    for paths in logs:
        places.append(paths.path)
        entries = _entries(paths, id_)
        if id_ in entries:
            return paths, entries[id_]
        found += [(paths, each) for each in entries.values()]
    if len(found) == 1:
        return found[0]
    what = "there is no decision" if not found else f"there are {len(found)} decisions"
    raise UsageError(
        f"{what} whose id begins with {quoted(id_)}",
        where=str(places[0] if len(places) == 1 else places[0].parent),
        hint="Write more of the id." if found else "`ironcurtain audit tail` prints ids.",
    )


def _entries(paths: LogPaths, id_: str) -> dict[str, AuditEntry]:
    """Return the decisions of a log whose id begins so, by their ids."""
    decisions: dict[str, DecisionRecord] = {}
    results: dict[str, ResultRecord] = {}
    for line in read_records(paths):
        record = line.record
        if isinstance(record, DecisionRecord) and record.id.startswith(id_):
            decisions[record.id] = record
        elif isinstance(record, ResultRecord):
            results[record.id] = record
    return {id_: AuditEntry(decision=each, result=results.get(id_)) for id_, each in decisions.items()}


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items(), key=lambda item: (-item[1], item[0])))


_SHOWN_TIME = len("2026-01-01T00:00:00")


def record_line(record: Record) -> str:
    """Return a record as one line, with its time to the second, in UTC."""
    time = f"{record.time[:_SHOWN_TIME]}Z"
    if isinstance(record, DecisionRecord):
        return f"{time} {record.id} {_decision(record)}"
    if isinstance(record, ResultRecord):
        error = f": {visible(record.error)}" if record.error else ""
        return f"{time} {record.id} result {record.status} ({record.size:,} bytes){error}"
    return f"{time} {record.event} {marked(_json(record.detail))}"


def _decision(record: DecisionRecord) -> str:
    shown = f"{record.verdict.upper()} {visible(record.server)}/{visible(record.tool)}"
    values = [visible(s.value) for s in record.subjects if s.value is not None and s.role != "none"]
    values += other_arguments(record.arguments or {}, record.subjects)
    asked = ""
    if record.approval is not None:
        by = f" by {visible(record.approval.approver)}" if record.approval.approver else ""
        of = f" as {', '.join(map(visible, record.approval.asked))}" if record.approval.asked else ""
        asked = f", {record.approval.state}{by}{of}"
    sent = "" if record.forwarded else ", not sent"
    served = f", look-up for {visible(record.parent)}" if record.parent is not None else ""
    counts = "".join(map(_count_of, repeat(record.facts), record.facts.decisive)) if record.facts else ""
    return f"{shown} {' '.join(values)} [{_cause(record)}{counts}{asked}{sent}{served}]".replace("  ", " ")


def _count_of(facts: RecordedFacts, counter: str) -> str:
    total = f" at {facts.values[counter]}" if facts.values and counter in facts.values else ""
    return f", count {visible(counter)}{total}"


def _cause(record: DecisionRecord) -> str:
    return visible(f"{record.clause} {record.rule}" if record.clause else record.rule)


def entry_lines(entry: AuditEntry) -> Iterator[str]:
    """Yield a decision in full, with its result."""
    yield record_line(entry.decision)
    yield f"  {printable(entry.decision.reason)}"
    yield from json_lines(entry.decision.model_dump(mode="json"))
    if entry.result is None:
        yield "no result" if entry.decision.forwarded else "not sent, so there is no result"
    else:
        yield from json_lines(entry.result.model_dump(mode="json"))


def verification_lines(found: AuditVerification) -> Iterator[str]:
    """Yield what verifying a log found."""
    whole = f"{found.lines} records in {_count(found.segments, 'segment')}"
    yield f"{'intact' if found.intact else 'NOT intact'}: {visible(found.session)}, {whole}"
    yield from (f"  {each.kind}: {visible(each.file)}: {visible(each.message)}" for each in found.problems)
    if found.truncation != "checked":
        yield "truncation cannot be checked: there is no head that says how long the log must be"
    elif found.intact:
        vouched = f"the key {visible(found.key)} vouches for it" if found.key else "verified without a key"
        yield f"nothing is cut off ({vouched})"
    yield from (f"not known: {words}" for words in found.unknown)
    if found.open:
        yield "a process is writing the log"
    yield from (f"no result: {visible(id_)}" for id_ in found.missing_results)


def statistics_lines(stats: AuditStats) -> Iterator[str]:
    """Yield the counts over a log."""
    yield f"{visible(stats.session)}: {stats.records} records, {stats.first or '-'} to {stats.last or '-'}"
    for title, counts in (
        ("decisions", stats.verdicts),
        ("approvals", stats.approvals),
        ("results", stats.results),
        ("rules", stats.rules),
        ("clauses", stats.clauses),
        ("tools", stats.tools),
        ("events", stats.events),
    ):
        if counts:
            yield f"{title}:"
            yield from (f"  {count:6} {visible(name)}" for name, count in counts.items())
    yield f"forwarded: {stats.forwarded}, without a result: {stats.missing}, redacted: {stats.redacted}"
    yield from (f"{visible(phase)}: {taken:.2f} ms (median)" for phase, taken in stats.phases.items())


def report_lines(report: AuditReport, *, markdown: bool = False) -> Iterator[str]:
    """Yield a session in summary, as plain text or as markdown."""
    heading = "\n## {}\n" if markdown else "\n{}"
    item = "- {}" if markdown else "  {}"
    show = _markdown if markdown else str
    stats = report.stats
    yield f"# Session {show(stats.session)}" if markdown else f"Session {stats.session}"
    yield ""
    for line in _overview(report):
        yield item.format(show(line))
    for title, records in (
        ("Asked of a person", report.asked),
        ("Refused", report.refused),
        ("Did not end well", report.failed),
        ("Events", report.events),
    ):
        if records:
            yield heading.format(f"{title}: {len(records)}")
            yield from (item.format(show(record_line(record))) for record in records)
    if report.missing:
        yield heading.format(f"Without a result: {len(report.missing)}")
        yield from (item.format(show(visible(id_))) for id_ in report.missing)


def _overview(report: AuditReport) -> Iterator[str]:
    stats, verification = report.stats, report.verification
    yield f"{stats.first or '-'} to {stats.last or '-'}"
    yield f"{_count(stats.decisions, 'call')}: {_words(stats.verdicts) or 'none'}; {stats.forwarded} sent"
    if stats.approvals:
        yield f"asked: {_words(stats.approvals)}"
    yield f"policy: {', '.join(stats.revisions) or '-'}"
    yield "log: " + "; ".join(verification_lines(verification))


def _words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {visible(name)}" for name, count in counts.items())


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def json_lines(value: JsonValue) -> Iterator[str]:
    """Yield a value as lines of JSON, in ASCII only: whatever could mislead a reader is an escape."""
    return (f"  {line}" for line in json.dumps(value, indent=2, ensure_ascii=True).splitlines())


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def _markdown(text: str) -> str:
    for mark in "\\`*_[]<>|#":
        text = text.replace(mark, f"\\{mark}")
    return text
