"""Findings about a policy: what no call can reach, what is open by mistake, what nobody tests.

The analysis has asked OPA every question before, and finders read its answers (`finder.py`; `kinds/` has a
module for each kind). What holds for every finding of a report:

- A witness was decided by the real steps and OPA, apart from the examination that led to it.
- Nothing that a scenario or a record contradicts is reported: their decisions overrule the examination.
- Its id depends on what the policy says, not on names or on the order of rules and clauses.

    report = find(analyse_policy(bundle, world, opa), Material(languages, scenarios), opa)
    report = waived(report, waivers, date.today())
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date

from ironcurtain.analysis.clauses.outcomes import clause_outcomes
from ironcurtain.analysis.engine.evaluate import decide_prepared
from ironcurtain.analysis.engine.policy_analysis import PlainAnalysis, PolicyAnalysis
from ironcurtain.analysis.engine.proof import NOT_EXAMINED
from ironcurtain.analysis.findings.context import TOO_MANY, FindingContext, FindingDraft
from ironcurtain.analysis.findings.contradictions import contradiction_drafts, contradictions, overruled
from ironcurtain.analysis.findings.decided_scenarios import DecidedScenarios, demanded, recorded
from ironcurtain.analysis.findings.finder import FinderInputs, Languages
from ironcurtain.analysis.findings.kinds.all_kinds import FINDERS
from ironcurtain.analysis.findings.kinds.unknown_names import find_unknown_names
from ironcurtain.analysis.findings.report import Finding, FindingReport, StaleWaiver
from ironcurtain.analysis.findings.waivers import Waivers
from ironcurtain.analysis.guarantees.guarantees import witness_call
from ironcurtain.decision.decide import Call, prepare
from ironcurtain.engine.command import OpaCommand
from ironcurtain.model.decision import Decision
from ironcurtain.model.reserved_rules import RuleKind, kind_of
from ironcurtain.model.scenarios import Scenario
from ironcurtain.model.severity import SEVERITIES
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.structs import Struct

_OF_SCENARIOS = ("contradictory-scenarios", "contradicted-proof")
"""What is shown by a call that somebody wrote, whatever becomes of it."""


class Material(Struct):
    """What findings are about besides the bundle.

    Attributes:
        languages: Returns the language of each argument of a tool that holds one, by its name.
        scenarios: The scenarios; None where it is unknown which there are.
        decided: The scenarios that demand something, where they have been decided before.
    """

    languages: Languages
    scenarios: tuple[Scenario, ...] | None = None
    decided: DecidedScenarios | None = None


def find(analysis: PlainAnalysis, material: Material, opa: OpaCommand) -> FindingReport:
    """Return all findings about an analysed policy, the gravest first, nothing waived.

    1. Decide the scenarios that demand something.
    2. Draft findings, and drop what scenarios or records contradict.
    3. Decide the drafts' witnesses, and drop those that were refused before the policy was asked.

    Raises:
        EvidenceError: If the policy cannot be examined.
        EngineFailedError: If OPA does not run.
        VerificationError: If a decision is undefined.
    """
    decided = material.decided
    if decided is None and material.scenarios is not None:
        decided = demanded(analysis, material.scenarios, opa)
    context, drafts = _uncontradicted(analysis, material, decided, opa)
    decisions = _decided(drafts, context.analysis, opa)
    sources = analysis.content.sources
    ids = _ids(drafts)
    findings = [
        _finding(draft, ids[number], sources, decision)
        for number, draft in enumerate(drafts)
        for decision in [decisions.get(f"w{number}")]
        if decision is None or draft.universal or not _is_refused(decision) or draft.kind in _OF_SCENARIOS
    ]
    reasons: dict[str, tuple[str, ...]] = {}
    for tool, examined in context.analysis.tools.items():
        more = [TOO_MANY] if tool in context.given_up else []
        gaps = {*examined.gaps, *more}
        unexamined = {gap for gap in gaps if gap.startswith(NOT_EXAMINED)}
        if gaps:  # of a tool that is not examined, nothing is sampled
            reasons["/".join(tool)] = tuple(sorted(unexamined or gaps))
    findings.sort(key=lambda finding: (SEVERITIES.index(finding.severity), finding.kind, finding.id))
    return FindingReport(revision=analysis.bundle.revision, findings=tuple(findings), reasons=reasons)


def _uncontradicted(
    analysis: PolicyAnalysis, material: Material, decided: DecidedScenarios | None, opa: OpaCommand
) -> tuple[FindingContext, list[FindingDraft]]:
    """Return the drafts that neither scenario nor record contradicts, and the context without those.

    Records are many, so they are decided only where a draft says of a rule that it decides nothing.
    """
    wrong = contradictions(analysis, decided)
    context = FindingContext(overruled(analysis, wrong))
    drafts = _drafts(context, material, decided, opa)
    if decided is None or all(draft.rule is None for draft in drafts):
        return context, [*drafts, *contradiction_drafts(wrong)]
    records = recorded(context.analysis, material.scenarios or (), opa)
    by_records = contradictions(context.analysis, records)
    if by_records:
        context = FindingContext(overruled(context.analysis, by_records))
        drafts = _drafts(context, material, decided, opa)
    deciding = {*decided.deciding(), *records.deciding()}
    drafts = [draft for draft in drafts if draft.rule is None or draft.rule not in deciding]
    return context, [*drafts, *contradiction_drafts((*wrong, *by_records))]


def waived(report: FindingReport, waivers: Waivers, today: date) -> FindingReport:
    """Return a report with its accepted findings marked, and with the waivers that count no longer.

    A waiver counts until the end of the day on which it expires.
    """
    known = {finding.id for finding in report.findings}
    stale = [
        StaleWaiver(waiver=waiver, problem="gone" if waiver.id not in known else "expired")
        for waiver in waivers.waivers
        if waiver.id not in known or waiver.expires < today
    ]
    counting = {waiver.id: waiver for waiver in waivers.waivers if waiver.expires >= today}
    findings = tuple(f.model_copy(update={"waiver": counting.get(f.id)}) for f in report.findings)
    return report.model_copy(update={"findings": findings, "stale": tuple(stale)})


def _is_refused(decision: Decision) -> bool:
    return decision.verdict is Verdict.DENY and kind_of(decision.rule) is RuleKind.STRUCTURAL


def _drafts(
    context: FindingContext, material: Material, decided: DecidedScenarios | None, opa: OpaCommand
) -> list[FindingDraft]:
    inputs = FinderInputs(
        context=context,
        languages=material.languages,
        decided=decided,
        outcomes=clause_outcomes(context, decided, opa),
        unknown_names=tuple(find_unknown_names(context)),
    )
    return [draft for finder in FINDERS for draft in finder(inputs)]


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
    drafts: Sequence[FindingDraft], analysis: PolicyAnalysis, opa: OpaCommand
) -> dict[str, Decision]:
    """Let the real steps and OPA decide the calls that show findings."""
    side = analysis.policies[0]
    prepared = {
        f"w{number}": prepare(
            Call(
                draft.witness.server,
                draft.witness.tool,
                draft.witness.call.arguments,
                draft.witness.call.caller,
                facts=draft.witness.call.facts,
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
