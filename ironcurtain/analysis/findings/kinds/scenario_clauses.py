"""Scenarios of a clause that does not exist (`unknown-clause`) or does not decide them (`other-clause`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ironcurtain.analysis.clauses.cited import deciding_clauses, demands_its_clause, wrong_clause
from ironcurtain.analysis.engine.search import FoundCall
from ironcurtain.analysis.findings.draft import FindingDraft, WitnessQuery
from ironcurtain.analysis.findings.finder import FinderInputs
from ironcurtain.analysis.findings.report import Severity
from ironcurtain.model.scenarios import Scenario
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
