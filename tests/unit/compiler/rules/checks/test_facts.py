"""Compile errors of declared facts and of the rules that test them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.generators.spaces_facts import DECLARED, TOOLS
from support.projects.policies import CALLER, annotations_of

from ironcurtain.compiler.rules.checks.policy import check_policy
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import RuleError
from ironcurtain.model.policy import CompiledPolicy


def check(facts: dict[str, Any], *tests: dict[str, Any], then: str = "deny") -> None:
    """Check a policy with declarations, and one rule if there are tests for it."""
    condition = {"tool": ["pay"], "facts": list(tests)}
    rule = {"name": "r", "clause": "C1", "reason": "r", "then": then, "if": condition}
    document = {
        "format": "ironcurtain/policy/v1",
        "clauses": [{"id": "C1", "text": "As said."}],
        "facts": facts,
        "caller": CALLER,
        "rules": [rule] if tests else [],
    }
    check_policy(
        CompiledPolicy.model_validate_json(json.dumps(document)),
        annotations_of({"shop": TOOLS}),
        None,
        Registry(),
    )


def fact(name: str, op: str, value: Any) -> dict[str, Any]:
    return {"fact": name, "op": op, "value": value}


def order(**changes: Any) -> dict[str, Any]:
    return {"order": {**DECLARED["order"], **changes}}


GOOD = {
    "a text": fact("order/status", "equals", "pending"),
    "texts": fact("order/status", "in", ["pending", "open"]),
    "an expression": fact("order/status", "matches", "p.*"),
    "an argument": fact("order/user", "equals", {"arg": "/note"}),
    "a caller fact": fact("order/user", "not_equals", {"caller": "/sub"}),
    "another fact": fact("order/user", "equals", {"fact": "owner/id"}),
    "a set": fact("owner/methods", "contains", {"arg": "/method"}),
    "a set and a fact": fact("owner/methods", "not_contains", {"fact": "order/status"}),
    "a number": fact("order/total", "ge", 5),
    "an argument that is no greater": fact("order/total", "ge", {"arg": "/amount"}),
    "a total within another fact": fact("paid", "le", {"fact": "order/total", "times": 2, "plus": -1}),
    "a number and how many": fact("order/total", "lt", {"fact": "order/items", "measure": "count"}),
    "a total": fact("paid", "le", 100),
    "a label": fact("private", "equals", True),
    "the user's words": fact("named", "equals", False),
    "an age": fact("order/placed", "older_than", "24h"),
    "a time": fact("now", "within", ["mon-fri 09:00-17:00"]),
    "an absent one": fact("order/status", "present", False),
}
BAD = {
    "an unknown fact": (fact("order/state", "equals", "a"), "declared; did you mean .order/status."),
    "a record as a whole": (fact("order", "equals", "a"), "no such fact is declared"),
    "a field of a counter": (fact("paid/today", "le", 5), "no such fact is declared"),
    "an order of texts": (fact("order/status", "lt", 5), "does not test a value of type string"),
    "equality of sets": (fact("owner/methods", "equals", "a"), "type strings"),
    "a member of a text": (fact("order/status", "contains", "a"), "type string"),
    "the age of a text": (fact("order/status", "older_than", "1h"), "type string"),
    "an instant as text": (fact("order/placed", "equals", "2026-01-01T00:00:00Z"), "type instant"),
    "hours of a total": (fact("paid", "within", ["sat"]), "type number"),
    "a number as text": (fact("order/total", "equals", "5"), "compared with a number"),
    "true as a number": (fact("paid", "le", True), "compared with a number"),
    "a list of several types": (fact("order/status", "in", ["a", 1]), "compared with a string"),
    "no list": (fact("order/status", "in", "a"), "not empty"),
    "an empty list": (fact("order/status", "not_in", []), "not empty"),
    "a label as text": (fact("private", "equals", "true"), "compared with a boolean"),
    "null": (fact("order/status", "equals", None), "compared with a string"),
    "present with a text": (fact("order/status", "present", "yes"), "true or false"),
    "a broken expression": (fact("order/status", "matches", "a("), "regular expression"),
    "an order over texts": (fact("order/total", "le", {"fact": "order/user"}), "of type string"),
    "a multiple of a text": (fact("order/user", "equals", {"arg": "/note", "times": 2}), "without times"),
    "a fraction of a number": (fact("order/total", "le", {"arg": "/amount", "times": 0.5}), "whole number"),
    "the number of a number": (
        fact("order/total", "le", {"fact": "paid", "measure": "count"}),
        "of type number",
    ),
    "a set as a number": (fact("order/total", "le", {"fact": "order/items"}), "of type strings"),
    "an unknown argument": (fact("order/user", "equals", {"arg": "/usr"}), "no tool of this rule has"),
    "a fact of another type": (fact("order/user", "equals", {"fact": "order/total"}), "of type number"),
    "an undeclared operand": (fact("order/user", "equals", {"fact": "owner/name"}), "no fact"),
}


@pytest.mark.parametrize("test", GOOD.values(), ids=GOOD)
def test_what_means_something_is_accepted(test: dict[str, Any]) -> None:
    check(DECLARED, test)


@pytest.mark.parametrize(("test", "words"), BAD.values(), ids=BAD)
def test_what_means_nothing_is_refused(test: dict[str, Any], words: str) -> None:
    with pytest.raises(RuleError, match=words):
        check(DECLARED, test)


def test_a_missing_fact_makes_no_rule_allow() -> None:
    with pytest.raises(RuleError, match="must not make a rule allow"):
        check(DECLARED, fact("order/status", "present", False), then="allow")


DECLARATIONS = {
    "an unknown clause": (order(clause="C9"), "no clause"),
    "an unknown tool": (order(tool="get_ordr"), "no tool"),
    "a tool that writes": (order(tool="pay", arguments={"order_id": "1"}), "nobody confirmed"),
    "an unknown argument": (order(arguments={"number": {"arg": "/order_id"}}), "takes no argument"),
    "nothing counted": ({"n": {**DECLARED["paid"], "of": {"tool": ["paid"]}}}, 'no tool "paid"'),
    "facts that count": (
        {
            "now": DECLARED["now"],
            "n": {**DECLARED["paid"], "of": {"facts": [fact("now", "within", ["sat"])]}},
        },
        "does not depend on facts",
    ),
    "words about no argument": ({"named": {**DECLARED["named"], "args": ["/tp"]}}, 'the argument "/tp"'),
}


@pytest.mark.parametrize(("facts", "words"), DECLARATIONS.values(), ids=DECLARATIONS)
def test_a_declaration_without_its_ground_is_refused(facts: dict[str, Any], words: str) -> None:
    with pytest.raises(RuleError, match=words):
        check(facts)


def test_words_are_tested_of_tools_that_can_name_something() -> None:
    named = {"named": {**DECLARED["named"], "args": ["/to"]}}
    with pytest.raises(RuleError, match="pay has none of its arguments"):
        check(named, fact("named", "equals", False))


def test_a_call_needs_no_more_records_than_can_be_looked_up() -> None:
    facts = {f"o{number}": DECLARED["order"] for number in range(9)}
    tests = [fact(f"o{number}/status", "equals", "a") for number in range(9)]
    check(facts, *tests[:8])
    with pytest.raises(RuleError, match="a call of pay would need 9 records"):
        check(facts, *tests)
