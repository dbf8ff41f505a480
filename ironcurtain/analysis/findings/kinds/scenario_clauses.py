"""Scenarios of an unknown clause or one that does not decide them, and scenarios that contradict others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ironcurtain.analysis.clauses.cited import deciding_clauses, demands_its_clause, wrong_clause
from ironcurtain.analysis.engine.search import FoundCall
from ironcurtain.analysis.findings.context import FindingDraft, WitnessQuery
from ironcurtain.analysis.findings.finder import FinderInputs
from ironcurtain.decision.decide import Prepared
from ironcurtain.model.scenarios import Scenario
from ironcurtain.model.severity import Severity
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import replace
from ironcurtain.system.text import quoted, visible


def scenario_clauses(inputs: FinderInputs) -> Iterator[FindingDraft]:
    """Yield scenarios of clauses that do not exist, and those that other clauses decide."""
    decided, content = inputs.decided, inputs.context.analysis.content
    if decided is None:
        return
    for scenario in decided.scenarios:
        decision = decided.decisions[scenario.id]
        wrong = wrong_clause(scenario, decision, content)
        if wrong == "unknown":
            yield _cited(
                scenario,
                f"the scenario {scenario.id} is of {quoted(scenario.clause or '')}, which is no clause",
                "Name the clause that demands what it expects.",
            )
        elif wrong == "other":
            yield _other(scenario, deciding_clauses(content, decision))


def _other(scenario: Scenario, deciding: Mapping[str, str]) -> FindingDraft:
    shown = ", ".join(f"{clause} (by {visible(rule)})" for clause, rule in sorted(deciding.items()))
    draft = _cited(
        scenario,
        f"the scenario {scenario.id} is of the clause {scenario.clause}, and what decides it is {shown}",
        f"Name {min(deciding)} in the scenario; or, if {scenario.clause} has to decide, correct the rules.",
    )
    severity: Severity = "error" if demands_its_clause(scenario, "other") else "note"
    return replace(draft, kind="other-clause", severity=severity)


def _cited(scenario: Scenario, message: str, suggestion: str) -> FindingDraft:
    call = scenario.call
    return FindingDraft(
        kind="unknown-clause",
        severity="error",
        about=[scenario.id, scenario.clause],
        where=f"scenario {scenario.id}",
        message=message,
        suggestion=suggestion,
        clause=scenario.clause,
        witness=WitnessQuery(
            call.server, call.tool, FoundCall(dict(call.arguments), dict(call.caller or {}), "", "call")
        ),
    )


def contradictory_scenarios(inputs: FinderInputs) -> Iterator[FindingDraft]:
    """Yield scenarios that demand different verdicts for one call, however it is spelt."""
    decided = inputs.decided
    if decided is None:
        return
    first: dict[bytes, Scenario] = {}
    for scenario in sorted(decided.scenarios, key=lambda scenario: scenario.id):
        prepared = decided.prepared[scenario.id]
        call = scenario.call
        arguments = prepared.call.arguments if isinstance(prepared, Prepared) else call.arguments
        asked: list[JsonValue] = [call.server, call.tool, arguments, call.caller or {}]
        facts = prepared.facts if isinstance(prepared, Prepared) else {}
        asked += [dict(facts)] if facts else []
        other = first.setdefault(json_text.canonical(asked), scenario)
        if other.expect is scenario.expect:
            continue
        yield FindingDraft(
            kind="contradictory-scenarios",
            severity="error",
            about=[asked, list[JsonValue](sorted([other.expect.value, scenario.expect.value]))],
            where=f"scenario {scenario.id}",
            message=f"the scenario {scenario.id} expects {scenario.expect}, and {other.id} expects "
            f"{other.expect} of the same call",
            suggestion="Delete one of the two, or say in their arguments what tells them apart.",
            clause=scenario.clause,
            witness=WitnessQuery(
                call.server,
                call.tool,
                FoundCall(dict(call.arguments), dict(call.caller or {}), "", "call", facts),
            ),
        )
