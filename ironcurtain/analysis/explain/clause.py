"""The effects of one clause: its rules, the places where they decide, example calls, scenarios."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ironcurtain.analysis.clauses.outcomes import cells_of, clause_report
from ironcurtain.analysis.clauses.report import ClauseExplanation, ClauseReport, ClauseRule, ExampleCall
from ironcurtain.analysis.engine.evaluate import decide_prepared, load_described, prepare_scenarios
from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.policies_under_test import PoliciesUnderTest
from ironcurtain.analysis.engine.policy_analysis import PolicyAnalysis, analyse_policy
from ironcurtain.analysis.engine.proof import exactness_of
from ironcurtain.analysis.engine.search import CallSearch, FoundCall
from ironcurtain.analysis.explain.report import clauses_of
from ironcurtain.analysis.findings.decided_scenarios import RECORD
from ironcurtain.analysis.sequences.steps import single_calls
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.decide import Call, prepare
from ironcurtain.engine.command import OpaCommand
from ironcurtain.errors import EvidenceError
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.text import quoted

_PER_TOOL = 2
_MAX_EXAMPLES = 20


def explain_clause(bundle: Bundle, clause: str, scenarios: Scenarios, opa: OpaCommand) -> ClauseExplanation:
    """Return the effects of a clause.

    Args:
        bundle: The policy.
        clause: The clause's id.
        scenarios: The scenarios, and the world that the answers assume.
        opa: The engine.

    Raises:
        EvidenceError: If there is no such clause, or the policy cannot be examined.
        EngineFailedError: If OPA does not run.
        VerificationError: If OPA decides otherwise than the bundle's rules say.
    """
    analysis = analyse_policy(bundle, scenarios.world, opa)
    report = clause_report(bundle, scenarios, opa, analysis)
    return explain_examined(analysis, report, clause, scenarios, opa)


def explain_examined(
    analysis: PolicyAnalysis, report: ClauseReport, clause: str, scenarios: Scenarios, opa: OpaCommand
) -> ClauseExplanation:
    """Return the effects of a clause of a policy that is examined already.

    Args:
        analysis: The policy.
        report: What becomes of each of its clauses.
        clause: The clause's id.
        scenarios: The scenarios, in whose world it was examined.
        opa: The engine.

    Raises:
        EvidenceError: If there is no such clause.
        EngineFailedError: If OPA does not run.
        VerificationError: If OPA decides otherwise than the bundle's rules say.
    """
    bundle, content = analysis.bundle, analysis.content
    clauses = clauses_of(content)
    if clause not in clauses:
        known = ", ".join(sorted(clauses, key=lambda id_: (len(id_), id_)))
        raise EvidenceError(f"the bundle has no clause {quoted(clause)}", hint=f"It has: {known or 'none'}.")
    examined = [analysis.tools[place] for place in _tools(content, clause)]
    return ClauseExplanation(
        revision=bundle.revision,
        clause=clauses[clause],
        outcome=next(outcome for outcome in report.clauses if outcome.clause.id == clause),
        rules=tuple(_rules(content, clause)),
        cells=tuple(cell for tool in examined for cell in cells_of(tool, clause)),
        examples=_examples(examined, clause, analysis.policies, opa),
        scenarios=tuple(_scenarios(bundle, clause, scenarios, opa)),
        exactness=exactness_of({gap for tool in examined for gap in tool.gaps}),
        reasons={
            f"{tool.space.server}/{tool.space.tool}": tuple(sorted(tool.gaps))
            for tool in examined
            if tool.gaps
        },
    )


def _tools(content: PolicyContent, clause: str) -> Iterator[tuple[str, str]]:
    """Yield the tools that a rule of the clause can concern."""
    conditions = [rule.if_ for rule in content.rules.values() if rule.clause == clause]
    for place in content.tools:
        if any(condition is None or condition.is_about(*place) for condition in conditions):
            yield place


def _rules(content: PolicyContent, clause: str) -> Iterator[ClauseRule]:
    for name, rule in sorted(content.rules.items(), key=lambda item: item[1].order):
        if rule.clause == clause:
            yield ClauseRule(
                name=name, order=rule.order, then=rule.then, description=rule.description, reason=rule.reason
            )


def _examples(
    examined: list[Examined], clause: str, policies: PoliciesUnderTest, opa: OpaCommand
) -> tuple[ExampleCall, ...]:
    """Return calls that the clause decides, as OPA says of each of them."""
    calls: dict[str, tuple[Examined, FoundCall]] = {}
    for tool in examined:
        of_tool = list(_decided_calls(tool, clause))
        calls |= {f"{len(calls) + number:04}": (tool, call) for number, call in enumerate(of_tool)}
    policy = policies[0].policy
    prepared = {
        id_: prepare(
            Call(tool.space.server, tool.space.tool, call.arguments, call.caller, facts=call.facts), policy
        )
        for id_, (tool, call) in list(calls.items())[:_MAX_EXAMPLES]
    }
    decisions = decide_prepared(prepared, policies[0].bundle, policy, opa)
    return tuple(
        ExampleCall(
            server=decision.server,
            tool=decision.tool,
            arguments=calls[id_][1].arguments,
            caller=calls[id_][1].caller,
            facts=calls[id_][1].facts,
            verdict=decision.verdict,
        )
        for id_, decision in sorted(decisions.items())
        if decision.clause == clause
    )


def _decided_calls(examined: Examined, clause: str) -> Iterator[FoundCall]:
    """Yield a few calls of a tool that a clause decides, of each verdict."""
    search = CallSearch(examined)
    by_verdict: Mapping[Verdict, list[FoundCall]] = {verdict: [] for verdict in Verdict}
    for keys, cell in examined.space.cells.items():
        for answered in examined.answers.get(keys, ()):
            outcome = answered.outcomes[0]
            if outcome is None or outcome.clause != clause or len(by_verdict[outcome.verdict]) >= _PER_TOOL:
                continue
            call = search.find(cell, lambda resource, whole: resource == whole, path=answered.path).call
            if call is not None and call not in by_verdict[outcome.verdict]:
                by_verdict[outcome.verdict].append(call)
    for calls in by_verdict.values():
        yield from calls


def _scenarios(bundle: Bundle, clause: str, scenarios: Scenarios, opa: OpaCommand) -> Iterator[str]:
    """Yield the ids of scenarios that name the clause, or that it decides; records demand nothing."""
    policy = load_described(bundle, scenarios.world)
    listed = single_calls(scenarios, bundle).scenarios
    demanded = [scenario for scenario in listed if scenario.origin != RECORD]
    prepared = prepare_scenarios(demanded, policy)
    decisions = decide_prepared(prepared, bundle, policy, opa)
    for scenario in demanded:
        if clause in (scenario.clause, decisions[scenario.id].clause):
            yield scenario.id
