"""Evidence over declared facts: guarantees, the words of the matrix, differences, and which totals can be."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.generators.spaces_facts import WORLD, bundle_of

from ironcurtain.analysis.diff.difference import difference
from ironcurtain.analysis.guarantees.guarantees import check_guarantees
from ironcurtain.analysis.matrix.matrix import decision_matrix
from ironcurtain.bundle.archive import Bundle
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.errors import GuaranteeError
from ironcurtain.model.guarantees import GuaranteeResult, Guarantees

OPA = OpaCommand(find())
IS_PENDING = ("order/status", "equals", "pending")


def policy(*tests: tuple[str, str, Any]) -> Bundle:
    """Return a policy that allows paying where some facts hold."""
    facts = [{"fact": fact, "op": op, "value": value} for fact, op, value in tests]
    condition = {"tool": ["pay"], "facts": facts}
    rule = {"name": "pay", "clause": "C1", "reason": "So.", "then": "allow", "if": condition}
    return bundle_of([rule])


def result_of(bundle: Bundle, **when: Any) -> GuaranteeResult:
    """Return what is known of the guarantee that no such payment is allowed."""
    item = {"id": "g", "never": "allow", "when": {"tool": ["pay"], **when}}
    document = {"format": "ironcurtain/guarantees/v1", "guarantees": [item]}
    guarantees = Guarantees.model_validate_json(json.dumps(document))
    return check_guarantees(bundle, guarantees, WORLD, OPA).results[0]


def fact(name: str, op: str, value: Any) -> list[dict[str, Any]]:
    return [{"fact": name, "op": op, "value": value}]


def test_a_guarantee_about_facts_is_proved_or_broken_by_a_call_with_its_facts() -> None:
    pays = policy(IS_PENDING, ("paid", "le", 100))
    assert result_of(pays, facts=fact("order/status", "equals", "delivered")).status == "proved"
    broken = result_of(pays, facts=fact("order/gift", "equals", True))
    assert broken.status == "broken"
    assert broken.witness is not None
    assert broken.witness.facts["order/status"] == "pending"
    assert broken.witness.facts.get("order/gift") is not False  # a guarantee speaks of what is unknown, too


def test_a_guarantee_about_an_unknown_fact_is_an_error() -> None:
    with pytest.raises(GuaranteeError, match='no fact "order/state" is declared'):
        result_of(policy(IS_PENDING), facts=fact("order/state", "equals", "a"))


def test_a_total_is_never_less_than_what_the_call_adds_to_it() -> None:
    budget = policy(("paid", "le", 100))
    above = [{"name": "amount", "op": "gt", "value": 100}]
    assert result_of(budget, args=above).status == "proved"
    below = [{"name": "amount", "op": "gt", "value": 99.5}]
    found = result_of(budget, args=below)
    assert found.status == "broken"
    assert found.witness is not None
    amount, total = found.witness.arguments["amount"], found.witness.facts["paid"]
    assert isinstance(amount, int | float)
    assert isinstance(total, int | float)
    assert 99.5 < amount <= total <= 100


def test_the_matrix_names_facts_and_times() -> None:
    weekend = policy(IS_PENDING, ("now", "within", ["sat"]))
    tables = decision_matrix(weekend, WORLD, OPA).servers["shop"]
    outcomes = [o for table in tables if "pay" in table.tools for row in table.rows for o in row.outcomes]
    (allowed,) = [outcome.when for outcome in outcomes if outcome.verdict == "allow"]
    assert sorted(allowed) == ["now within sat", 'order/status = "pending"']


def test_a_difference_is_shown_by_a_call_with_facts() -> None:
    change = difference(policy(IS_PENDING), policy(("order/status", "in", ["pending", "open"])), WORLD, OPA)
    (loosened,) = change.changes
    assert loosened.direction == "loosened"
    assert loosened.witness is not None
    assert loosened.witness.facts["order/status"] == "open"
