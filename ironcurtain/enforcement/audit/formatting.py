"""Audit records and reports as people read them; everything that an agent or a server wrote is escaped."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from ironcurtain.enforcement.audit.record_types import AuditVerification, DecisionRecord, Record, ResultRecord
from ironcurtain.enforcement.audit.summary import AuditEntry, AuditReport, AuditStats
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import marked, printable, visible

_SHOWN_TIME = len("2026-01-01T00:00:00")


def record_line(record: Record) -> str:
    """Return a record as one line."""
    time = record.time[:_SHOWN_TIME]
    if isinstance(record, DecisionRecord):
        return f"{time} {record.id} {_decision(record)}"
    if isinstance(record, ResultRecord):
        error = f": {visible(record.error)}" if record.error else ""
        return f"{time} {record.id} result {record.status} ({record.size:,} bytes){error}"
    return f"{time} {record.event} {marked(_json(record.detail))}"


def _decision(record: DecisionRecord) -> str:
    shown = f"{record.verdict.upper()} {visible(record.server)}/{visible(record.tool)}"
    values = [visible(s.value) for s in record.subjects if s.value is not None and s.role != "none"]
    asked = ""
    if record.approval is not None:
        by = f" by {visible(record.approval.approver)}" if record.approval.approver else ""
        asked = f", {record.approval.state}{by}"
    sent = "" if record.forwarded else ", not sent"
    return f"{shown} {' '.join(values)} [{_cause(record)}{asked}{sent}]".replace("  ", " ")


def _cause(record: DecisionRecord) -> str:
    return visible(f"{record.clause} {record.rule}" if record.clause else record.rule)


def entry_lines(entry: AuditEntry) -> Iterator[str]:
    """Yield a decision in full, with its result."""
    yield record_line(entry.decision)
    yield f"  {printable(entry.decision.reason)}"
    yield from _pretty(entry.decision.model_dump(mode="json"))
    if entry.result is None:
        yield "no result" if entry.decision.forwarded else "not sent, so there is no result"
    else:
        yield from _pretty(entry.result.model_dump(mode="json"))


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
    stats, found = report.stats, report.verification
    yield f"{stats.first or '-'} to {stats.last or '-'}"
    yield f"{_count(stats.decisions, 'call')}: {_words(stats.verdicts) or 'none'}; {stats.forwarded} sent"
    if stats.approvals:
        yield f"asked: {_words(stats.approvals)}"
    yield f"policy: {', '.join(stats.revisions) or '-'}"
    yield "log: " + "; ".join(verification_lines(found))


def _words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {visible(name)}" for name, count in counts.items())


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _pretty(value: JsonValue) -> Iterator[str]:
    # ASCII only: whatever could mislead a reader is an escape.
    return (f"  {line}" for line in json.dumps(value, indent=2, ensure_ascii=True).splitlines())


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def _markdown(text: str) -> str:
    for mark in "\\`*_[]<>|#":
        text = text.replace(mark, f"\\{mark}")
    return text
