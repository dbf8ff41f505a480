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


def outcomes_of(bundle: Bundle) -> dict[str, list[tuple[str, ...]]]:
    """Return what the matrix says of paying: by verdict, under which conditions."""
    tables = decision_matrix(bundle, WORLD, OPA).servers["shop"]
    found: dict[str, list[tuple[str, ...]]] = {}
    for row in (row for table in tables if "pay" in table.tools for row in table.rows):
        for outcome in row.outcomes:
            found.setdefault(outcome.verdict, []).append(outcome.when)
    return found


def test_the_matrix_names_facts_and_times() -> None:
    found = outcomes_of(policy(IS_PENDING, ("now", "within", ["sat"])))
    assert found["allow"] == [("now within sat", 'order/status = "pending"')]


@pytest.mark.parametrize(
    ("test", "holds", "fails"),
    [
        (("now", "within", ["sat"]), "now within sat", "now outside sat or unknown"),
        (
            ("order/placed", "older_than", "24h"),
            "order/placed is more than 24 hours ago",
            "order/placed is at most 24 hours ago or unknown",
        ),
        (
            ("order/placed", "younger_than", "30m"),
            "order/placed is less than 30 minutes ago",
            "order/placed is at least 30 minutes ago or unknown",
        ),
        (("private", "equals", True), "private = true", "private = false or unknown"),
        (("paid", "le", 100), "paid ≤ 100", "paid > 100 or unknown"),
        (
            ("order/items", "contains", "lamp"),
            'order/items holds "lamp"',
            'order/items does not hold "lamp" or unknown',
        ),
        (
            ("order/status", "equals", {"arg": "/note"}),
            "order/status = the argument's /note",
            "not (order/status = the argument's /note)",
        ),
    ],
)
def test_the_matrix_says_plainly_that_a_fact_is_otherwise(
    test: tuple[str, str, Any], holds: str, fails: str
) -> None:
    found = outcomes_of(policy(test))
    assert found == {"allow": [(holds,)], "deny": [(fails,)]}


def test_the_matrix_leaves_out_what_makes_no_difference() -> None:
    """Two rules that test three facts: what the second one denies does not depend on those of the first."""

    def rule(name: str, then: str, *facts: dict[str, Any]) -> dict[str, Any]:
        condition = {"tool": ["pay"], "facts": [*facts]}
        return {"name": name, "clause": "C1", "reason": "So.", "then": then, "if": condition}

    (private,) = fact("private", "equals", True)
    (pending,) = fact("order/status", "equals", "pending")
    (few,) = fact("paid", "le", 100)
    found = outcomes_of(bundle_of([rule("kept", "deny", private), rule("pays", "allow", pending, few)]))
    assert found["allow"] == [('order/status = "pending"', "paid ≤ 100", "private = false")]
    assert ("private = true or unknown",) in found["deny"]


def test_a_difference_is_shown_by_a_call_with_facts() -> None:
    change = difference(policy(IS_PENDING), policy(("order/status", "in", ["pending", "open"])), WORLD, OPA)
    (loosened,) = change.changes
    assert loosened.direction == "loosened"
    assert loosened.witness is not None
    assert loosened.witness.facts["order/status"] == "open"
