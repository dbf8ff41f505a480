"""Findings as people read them: plain text and Markdown."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from ironcurtain.analysis.engine.proof import Proof
from ironcurtain.analysis.findings.report import SEVERITIES, Finding, FindingReport
from ironcurtain.model.guarantees import WitnessCall
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import marked, printable, visible

_MARKS = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>#|~"})


def text_lines(report: FindingReport) -> Iterator[str]:
    """Yield a report as lines of plain text."""
    for finding in report.findings:
        if finding.waiver is not None:
            continue
        place = f" ({finding.source})" if finding.source else ""
        yield f"{finding.severity}: {printable(finding.message)} [{finding.id}]{place}"
        yield from (f"    {line}" for line in _witness_lines(finding.witness))
        yield f"    {printable(finding.suggestion)} See {finding.docs}."
        if finding.proof is Proof.NOT_FOUND:
            yield "    Not proved: nothing to the contrary was found, but not every kind of call is known."
    for tool, reasons in report.reasons.items():
        yield from (f"sampled: {visible(tool)}: {visible(reason)}" for reason in reasons)
    yield summary(report)


def markdown_lines(report: FindingReport) -> Iterator[str]:
    """Yield a report as lines of Markdown."""
    yield "# Findings"
    yield ""
    yield f"{summary(report)}"
    for finding in report.findings:
        yield from _markdown(finding)
    if report.reasons:
        yield from ("", "## Sampled", "")
        for tool, reasons in report.reasons.items():
            yield from (f"- {_plain(tool)}: {_plain(reason)}" for reason in reasons)


def summary(report: FindingReport) -> str:
    """Return how many findings there are, in one line."""
    counts = Counter(finding.severity for finding in report.findings if finding.waiver is None)
    waived = sum(finding.waiver is not None for finding in report.findings)
    shown = ", ".join(
        f"{counts[severity]} {severity}{'s' if counts[severity] != 1 else ''}" for severity in SEVERITIES
    )
    return f"{shown}, {waived} waived"


def _markdown(finding: Finding) -> Iterator[str]:
    yield ""
    yield f"## {finding.severity}: {_plain(finding.where)}"
    yield ""
    yield f"{_plain(finding.message)} ([{finding.kind}]({finding.docs}), `{finding.id}`)"
    place = f" ({_plain(finding.source)})" if finding.source else ""
    if finding.clause is not None:
        yield from ("", f"Clause {_plain(finding.clause)}{place}.")
    lines = list(_witness_lines(finding.witness))
    if lines:
        yield ""
        yield from (f"    {line}" for line in lines)
    yield ""
    yield _plain(finding.suggestion)
    if finding.waiver is not None:
        yield from ("", f"Waived until {finding.waiver.expires}: {_plain(finding.waiver.reason)}")


def _witness_lines(witness: WitnessCall | None) -> Iterator[str]:
    if witness is None:
        return
    caller = f" as caller {_json(witness.caller)}" if witness.caller else ""
    yield f"{visible(witness.server)}/{visible(witness.tool)} {_json(witness.arguments)}{caller}"
    clause = f" (clause {visible(witness.clause)})" if witness.clause else ""
    yield f"is decided {witness.verdict} by {visible(witness.rule)}{clause}"


def _plain(text: str) -> str:
    """Return text that Markdown shows as it is."""
    return visible(text).translate(_MARKS)


def _json(value: JsonValue) -> str:
    return marked(json.dumps(value, ensure_ascii=False, sort_keys=True))
