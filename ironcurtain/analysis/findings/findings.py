"""Findings about a policy: what no call can reach, what is open by mistake, what nobody tests.

OPA has answered every question before; here its answers are read, and the calls that show a finding are
decided by the real steps and OPA once more.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from ironcurtain.analysis.clauses.outcomes import clause_outcomes
from ironcurtain.analysis.engine.evaluate import decide_prepared
from ironcurtain.analysis.engine.policy_analysis import PolicyAnalysis
from ironcurtain.analysis.findings.bypass import strict_drafts
from ironcurtain.analysis.findings.claims import cited_drafts, claim_drafts
from ironcurtain.analysis.findings.clauses import clause_drafts, list_drafts, scenario_drafts
from ironcurtain.analysis.findings.contradictions import contradiction_drafts, contradictions, overruled
from ironcurtain.analysis.findings.draft import (
    TOO_MANY,
    Decided,
    FindingContext,
    FindingDraft,
    demanded,
    recorded,
)
from ironcurtain.analysis.findings.names import name_drafts
from ironcurtain.analysis.findings.open import open_drafts
from ironcurtain.analysis.findings.report import SEVERITIES, Finding, FindingReport, StaleWaiver
from ironcurtain.analysis.findings.roles import role_drafts
from ironcurtain.analysis.findings.rules import rule_drafts
from ironcurtain.analysis.findings.tools import tool_drafts
from ironcurtain.analysis.findings.waivers import Waivers
from ironcurtain.analysis.guarantees.guarantees import witness_call
from ironcurtain.decision.decide import Call, prepare
from ironcurtain.engine.command import OpaCommand
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.decision import Decision
from ironcurtain.model.reserved_rules import RuleKind, kind_of
from ironcurtain.model.scenarios import Scenario
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text

_OF_SCENARIOS = ("contradictory-scenarios", "contradicted-proof")
"""What is shown by a call that somebody wrote, whatever becomes of it."""


@dataclass(frozen=True)
class Material:
    """What findings are about besides the bundle.

    Attributes:
        languages: Returns the language of each argument of a tool that holds one, by its name.
        scenarios: The scenarios; None where it is unknown which there are.
        decided: The scenarios that demand something, where they have been decided before.
    """

    languages: Callable[[ToolAnnotation], Mapping[str, str]]
    scenarios: tuple[Scenario, ...] | None = None
    decided: Decided | None = None


def find(examined: PolicyAnalysis, material: Material, opa: OpaCommand) -> FindingReport:
    """Return everything that stands out in an examined policy, the gravest first, nothing waived.

    Raises:
        EvidenceError: If the policy cannot be examined.
        EngineFailedError: If OPA does not run.
        VerificationError: If a decision is undefined.
    """
    decided = material.decided
    if decided is None and material.scenarios is not None:
        decided = demanded(examined, material.scenarios, opa)
    looked, drafts = _held_against(examined, material, decided, opa)
    examined = looked.examined
    decisions = _decided(drafts, examined, opa)
    sources = examined.content.sources
    ids = _ids(drafts)
    found = [
        _finding(draft, ids[number], sources, decision)
        for number, draft in enumerate(drafts)
        for decision in [decisions.get(f"w{number}")]
        # A call that is refused before the policy is asked shows nothing.
        if decision is None or draft.universal or not _is_refused(decision) or draft.kind in _OF_SCENARIOS
    ]
    reasons: dict[str, tuple[str, ...]] = {}
    for tool, one in examined.tools.items():
        more = [TOO_MANY] if tool in looked.given_up else []
        if one.gaps or more:
            reasons["/".join(tool)] = tuple(sorted({*one.gaps, *more}))
    ordered = tuple(sorted(found, key=lambda each: (SEVERITIES.index(each.severity), each.kind, each.id)))
    return FindingReport(revision=examined.bundle.revision, findings=ordered, reasons=reasons)


def _held_against(
    examined: PolicyAnalysis, material: Material, decided: Decided | None, opa: OpaCommand
) -> tuple[FindingContext, list[FindingDraft]]:
    """Return the drafts that neither scenario nor record contradicts, and the examination without those.

    Records are many, so they are decided only where it is said of a rule that it decides nothing.
    """
    wrong = contradictions(examined, decided)
    looked = FindingContext(overruled(examined, wrong))
    drafts = list(_drafts(looked, material, decided, opa))
    if decided is None or all(draft.rule is None for draft in drafts):
        return looked, [*drafts, *contradiction_drafts(wrong)]
    records = recorded(looked.examined, material.scenarios or (), opa)
    by_records = contradictions(looked.examined, records)
    if by_records:
        looked = FindingContext(overruled(looked.examined, by_records))
        drafts = list(_drafts(looked, material, decided, opa))
    deciding = {*decided.deciding(), *records.deciding()}
    drafts = [draft for draft in drafts if draft.rule is None or draft.rule not in deciding]
    return looked, [*drafts, *contradiction_drafts((*wrong, *by_records))]


def waived(report: FindingReport, waivers: Waivers, today: date) -> FindingReport:
    """Return a report with its accepted findings marked, and with the waivers that count no longer.

    Args:
        report: The findings.
        waivers: What somebody accepted.
        today: The day; a waiver counts until the end of the day on which it expires.
    """
    known = {finding.id for finding in report.findings}
    stale = [
        StaleWaiver(waiver=each, problem="gone" if each.id not in known else "expired")
        for each in waivers.waivers
        if each.id not in known or each.expires < today
    ]
    counting = {each.id: each for each in waivers.waivers if each.expires >= today}
    findings = tuple(f.model_copy(update={"waiver": counting.get(f.id)}) for f in report.findings)
    return report.model_copy(update={"findings": findings, "stale": tuple(stale)})


def _is_refused(decision: Decision) -> bool:
    return decision.verdict is Verdict.DENY and kind_of(decision.rule) is RuleKind.STRUCTURAL


def _drafts(
    looked: FindingContext, material: Material, decided: Decided | None, opa: OpaCommand
) -> Iterator[FindingDraft]:
    unknown = list(name_drafts(looked))
    yield from (draft for _, draft in unknown)
    yield from rule_drafts(looked, frozenset(order for order, _ in unknown))
    yield from strict_drafts(looked)
    yield from open_drafts(looked, material.languages)
    yield from role_drafts(looked)
    yield from tool_drafts(looked)
    outcomes = clause_outcomes(looked, decided, opa)
    if decided is not None:
        yield from scenario_drafts(decided)
        yield from cited_drafts(looked, decided)
    yield from claim_drafts(looked, outcomes)
    yield from clause_drafts(looked, outcomes, decided)
    yield from list_drafts(looked)


def _ids(drafts: Sequence[FindingDraft]) -> list[str]:
    """Return an id for each draft, of its kind and content; equal ones are counted."""
    seen: Counter[str] = Counter()
    ids = []
    for draft in drafts:
        digest = hashlib.sha256(json_text.canonical([draft.kind, draft.about])).hexdigest()[:8]
        id_ = f"{draft.kind}-{digest}"
        seen[id_] += 1
        ids.append(id_ if seen[id_] == 1 else f"{id_}-{seen[id_]}")
    return ids


def _decided(
    drafts: Sequence[FindingDraft], examined: PolicyAnalysis, opa: OpaCommand
) -> dict[str, Decision]:
    """Let the real steps and OPA decide the calls that show findings."""
    side = examined.sides.sides[0]
    prepared = {
        f"w{number}": prepare(
            Call(
                draft.witness.server,
                draft.witness.tool,
                draft.witness.call.arguments,
                draft.witness.call.caller,
            ),
            side.policy,
        )
        for number, draft in enumerate(drafts)
        if draft.witness is not None
    }
    return decide_prepared(prepared, side.bundle, side.policy, opa) if prepared else {}


def _finding(draft: FindingDraft, id_: str, sources: Mapping[str, str], decision: Decision | None) -> Finding:
    witness = None
    if draft.witness is not None and decision is not None:
        witness = witness_call((draft.witness.server, draft.witness.tool), draft.witness.call, decision)
    return Finding(
        id=id_,
        kind=draft.kind,
        severity=draft.severity,
        message=draft.message,
        where=draft.where,
        clause=draft.clause,
        source=sources.get(draft.clause or "", ""),
        proof=draft.proof,
        witness=witness,
        suggestion=draft.suggestion,
        docs=f"docs/findings/{draft.kind}.md",
    )
