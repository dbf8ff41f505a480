"""Findings: what stands out in a policy, each with a call that shows it and an edit that would mend it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Literal, get_args

from pydantic import Field

from ironcurtain.analysis.engine.proof import Proof, reason_line
from ironcurtain.analysis.findings.waivers import Waiver
from ironcurtain.model.guarantees import WitnessCall
from ironcurtain.model.severity import SEVERITIES, Severity
from ironcurtain.system.frozen import Frozen, JsonValue
from ironcurtain.system.text import marked, printable, visible

Kind = Literal[
    "dead-rule",
    "shadowed-rule",
    "vacuous-condition",
    "unknown-name",
    "uncovered-role",
    "clause-without-rule",
    "unkept-clause",
    "false-claim",
    "rule-without-clause",
    "open-allow",
    "evadable-rule",
    "sandbox-bypass",
    "unstated-exemption",
    "foreign-record",
    "language-argument",
    "unusable-tool",
    "unexamined-tool",
    "untested-clause",
    "contradictory-scenarios",
    "contradicted-proof",
    "unknown-clause",
    "other-clause",
    "unused-list",
    "empty-list",
]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Finding(Frozen):
    """One thing that stands out.

    Attributes:
        id: The kind and eight digits of a digest of what it is about; the same on every machine, and
            whatever rules and clauses are named or in whatever order they stand.
        message: What is the matter, in one sentence.
        where: What it is about: `rule NAME`, `clause ID`, `SERVER/TOOL`, `list @NAME`, `scenario ID`.
        clause: The clause concerned, if one is.
        source: `file:line` of that clause, empty if it is not known.
        proof: `found` where the witness shows it; `proved` where it holds for all calls; `not found` where
            nothing to the contrary was found, but not every kind of call could be examined; `not examined`
            where no call of the tool could be made.
        witness: A whole call that shows it, as it is decided; None where no call can.
        suggestion: An edit that would mend it.
        docs: The page that explains findings of this kind.
        waiver: Who accepted it counts no longer as a problem.
    """

    id: str
    kind: Kind
    severity: Severity
    message: str
    where: str
    clause: str | None = None
    source: str = ""
    proof: Proof = Proof.PROVED
    witness: WitnessCall | None = None
    suggestion: str
    docs: str
    waiver: Waiver | None = None


class StaleWaiver(Frozen):
    """A waiver that counts no longer.

    Attributes:
        problem: `expired` where its day has passed, `gone` where there is no such finding.
    """

    waiver: Waiver
    problem: Literal["expired", "gone"]


class FindingReport(Frozen):
    """All findings about a bundle, the gravest first.

    Attributes:
        reasons: Per tool (`SERVER/TOOL`) that could not be examined exactly, why.
        stale: Waivers that count no longer.
    """

    format: Literal["ironcurtain/findings/v1"] = "ironcurtain/findings/v1"
    revision: str
    findings: tuple[Finding, ...]
    reasons: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    stale: tuple[StaleWaiver, ...] = ()

    def unwaived(self, least: Severity = "warning") -> tuple[Finding, ...]:
        """Return the findings of at least a severity that no waiver accepts."""
        grave = SEVERITIES[: SEVERITIES.index(least) + 1]
        return tuple(
            finding for finding in self.findings if finding.waiver is None and finding.severity in grave
        )


_MARKS = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>#|~"})


def text_lines(report: FindingReport) -> Iterator[str]:
    """Yield a report as lines of plain text."""
    for finding in report.findings:
        if finding.waiver is None:
            yield from finding_lines(finding)
    for tool, reasons in report.reasons.items():
        yield from (reason_line(visible(reason), visible(tool)) for reason in reasons)
    yield summary(report)


def finding_lines(finding: Finding) -> Iterator[str]:
    """Yield one finding as lines of plain text."""
    place = f" ({finding.source})" if finding.source else ""
    yield f"{finding.severity}: {printable(finding.message)} [{finding.id}]{place}"
    yield from (f"    {line}" for line in _witness_lines(finding.witness))
    yield f"    {printable(finding.suggestion)} See `ironcurtain error {finding.kind}`."
    if finding.proof is Proof.NOT_FOUND:
        yield "    Not proved: nothing to the contrary was found, but not every kind of call is known."


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
    caller += f" with the facts {_json(witness.facts)}" if witness.facts else ""
    yield f"{visible(witness.server)}/{visible(witness.tool)} {_json(witness.arguments)}{caller}"
    clause = f" (clause {visible(witness.clause)})" if witness.clause else ""
    yield f"is decided {witness.verdict} by {visible(witness.rule)}{clause}"


def _plain(text: str) -> str:
    """Return text that Markdown shows as it is."""
    return visible(text).translate(_MARKS)


def _json(value: JsonValue) -> str:
    return marked(json.dumps(value, ensure_ascii=False, sort_keys=True))
