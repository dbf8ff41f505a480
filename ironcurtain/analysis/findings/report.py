"""Findings: what stands out in a policy, each with a call that shows it and an edit that would mend it."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from ironcurtain.analysis.engine.proof import Proof
from ironcurtain.analysis.findings.waivers import Waiver
from ironcurtain.model.guarantees import WitnessCall
from ironcurtain.system.frozen import Frozen

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""The severities, the gravest first."""

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
    "language-argument",
    "unusable-tool",
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
            nothing to the contrary was found, but not every kind of call could be examined.
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
