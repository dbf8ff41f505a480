"""Labels that depend on an answer: what came back marked confidential makes the session confidential."""

from __future__ import annotations

from ironcurtain.analysis.engine.rules.predicates import rule_predicate
from ironcurtain.enforcement.facts.records.answers import ToolResult, record_of
from ironcurtain.model.conditions import ArgCondition
from ironcurtain.model.facts import LabelFact
from ironcurtain.model.unknown_facts import values_by_root
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue


def may_be_given(fact: LabelFact, result: ToolResult | None) -> bool:
    """Tell whether an answer gives its session a label: one that cannot be read does.

    Args:
        fact: The label's declaration, with conditions on the answer.
        result: The answer; None where there is none.
    """
    try:
        held = record_of(result) if result is not None else None
    except json_text.MalformedJsonError:
        held = None
    if not isinstance(held, dict):
        return True
    return all(_holds(each, held) for each in fact.from_result or ())


def _holds(test: ArgCondition, held: dict[str, JsonValue]) -> bool:
    """Tell whether a test of an answer holds; a value that is missing or of another type is not known."""
    # Rules that deny read caller facts so, too.
    return rule_predicate("caller", test, Verdict.DENY).holds({**values_by_root(), "caller": held})
