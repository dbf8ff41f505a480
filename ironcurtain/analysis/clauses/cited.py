"""Whether the clause that a scenario names exists, and whether its rules decide the scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.model.decision import Decision
from ironcurtain.model.scenarios import Scenario

WrongClause: TypeAlias = Literal["unknown", "other"]


def deciding_clauses(content: PolicyContent, decision: Decision) -> Mapping[str, str]:
    """Return the clauses whose rules give a call its verdict, each with one such rule."""
    deciding = [resource.rule for resource in decision.subjects if resource.verdict is decision.verdict]
    rules = content.rules
    return {rules[name].clause: name for name in (*deciding, decision.rule) if name in rules}


def wrong_clause(scenario: Scenario, decision: Decision, content: PolicyContent) -> WrongClause | None:
    """Tell what is wrong with the clause that a scenario names, None if nothing is.

    Where no rule decides (a denial by default, a structural check), any clause may; a clause that is merged
    into others, as an answer says, is kept by their rules, too.
    """
    if scenario.clause is None or not content.clauses:
        return None
    if scenario.clause not in content.clauses:
        return "unknown"
    merged = {other for claim in content.claims if claim.clause == scenario.clause for other in claim.into}
    deciding = deciding_clauses(content, decision)
    return "other" if deciding and not {scenario.clause, *merged} & deciding.keys() else None


def demands_its_clause(scenario: Scenario, wrong: WrongClause) -> bool:
    """Tell whether a person wrote the clause's id; those that a model or a command noted may be wrong."""
    return scenario.origin == "handwritten" or (scenario.origin == "answer" and wrong == "unknown")
