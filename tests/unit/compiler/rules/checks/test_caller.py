"""Tests of facts about the caller: each is declared, and compared with values of its type."""

from __future__ import annotations

from typing import Any

import pytest
from support.projects.policies import annotations_of, compiled, of_caller, rule, tool

from ironcurtain.compiler.rules.checks.policy import check_policy
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import RuleError

SCHEMA = {"type": "object", "properties": {"user_id": {"type": "string"}, "amount": {"type": "number"}}}
PAY = tool("pay", user_id=["none"], amount=["none"]) | {"input_schema": SCHEMA}
ORDER = {
    "source": "record",
    "clause": "C1",
    "server": "s",
    "tool": "get",
    "arguments": {"id": {"caller": "/sub"}},
    "fields": {"owner": {"at": "/owner", "type": "string"}, "paid": {"at": "/paid", "type": "number"}},
}
GET = tool("get", side_effects=False, id=["none"]) | {"reads": True}
CALLER = {
    "sub": of_caller("string", "u17"),
    "age": of_caller("number", 41),
    "staff": of_caller("boolean", True),
    "groups": of_caller("strings", ["it"]),
    "team": of_caller("object", {"lead": "u1"}),
    "/team/lead": of_caller("string", "u1"),
    "https://example.com/role": of_caller("string", "agent"),
}


def check(order: dict[str, Any] | None = None, **conditions: Any) -> None:
    declared = {"order": order} if order else {}
    policy = compiled([rule("r", "deny", tool=["pay"], **conditions)], caller=CALLER, facts=declared)
    check_policy(policy, annotations_of({"s": [PAY, GET]}), None, Registry())


def of(name: str, op: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "op": op, "value": value, **more}


GOOD = {
    "a text": of("sub", "equals", "u17"),
    "a pointer": of("/sub", "matches", "u.*"),
    "a number": of("/age", "ge", 18),
    "a length": of("/sub", "le", 8, measure="length"),
    "yes or no": of("staff", "equals", True),
    "elements": of("/groups/*", "equals", "it", over="some"),
    "a number of elements": of("/groups", "le", 3, measure="count"),
    "a whole list": of("/groups", "equals", ["it"]),
    "a whole object": of("/team", "in", [{"lead": "u1"}, {}]),
    "what lies deeper": of("/team/lead", "equals", {"caller": "/sub"}),
    "a claim with slashes": of("https://example.com/role", "in", ["agent", "boss"]),
    "whether it is there": of("/groups", "present", False),
}
BAD = {
    "an undeclared one": (of("/level", "ge", 3), 'nobody declares "/level", a fact about the caller'),
    "one that is nearly declared": (of("/grups/*", "equals", "it"), "did you mean 'groups'"),
    "one inside a text": (of("/sub/name", "equals", "a"), "what is declared there is a string"),
    "elements of a text": (of("/sub/*", "equals", "a"), "what is declared there is a string"),
    "an undeclared member": (of("/team/size", "ge", 3), "what is declared there is an object"),
    "a number as text": (
        of("/age", "equals", "41"),
        "it is declared as a number, and the test is of a string",
    ),
    "a text as number": (of("/sub", "lt", 5), "it is declared as a string, and the test is of a number"),
    "a list as text": (of("/groups", "equals", "it"), "a list of texts, and the test is of a string"),
    "elements as numbers": (of("/groups/*", "lt", 5), "a list of texts, and the test is of a number"),
    "another type of fact": (of("/age", "equals", {"caller": "/sub"}), "and the test is of a string"),
    "an undeclared operand": (of("/sub", "equals", {"caller": "/boss"}), 'nobody declares "/boss"'),
}


@pytest.mark.parametrize("test", GOOD.values(), ids=GOOD)
def test_what_is_declared_is_tested(test: dict[str, Any]) -> None:
    check(caller=[test])


@pytest.mark.parametrize(("test", "words"), BAD.values(), ids=BAD)
def test_what_nobody_declares_or_what_is_of_another_type_is_refused(test: dict[str, Any], words: str) -> None:
    with pytest.raises(RuleError) as raised:
        check(caller=[test])
    assert words in raised.value.what


def test_the_error_says_where_to_declare_the_fact() -> None:
    with pytest.raises(RuleError) as raised:
        check(caller=[of("/level", "ge", 3)])
    assert "[caller.NAME] in ironcurtain.toml" in raised.value.hint


@pytest.mark.parametrize(
    "conditions",
    [
        {"args": [of("user_id", "equals", {"caller": "/boss"})]},
        {"args": [of("amount", "le", {"caller": "/boss", "times": 2})]},
        {"facts": [{"fact": "order/owner", "op": "equals", "value": {"caller": "/boss"}}]},
    ],
)
def test_arguments_and_records_are_compared_with_declared_facts_only(conditions: dict[str, Any]) -> None:
    with pytest.raises(RuleError, match='nobody declares "/boss"'):
        check(ORDER, **conditions)


def test_a_record_is_compared_with_facts_of_its_type() -> None:
    paid = {"fact": "order/paid", "op": "equals", "value": {"caller": "/sub"}}
    with pytest.raises(RuleError, match="is a string, not a number"):
        check(ORDER, facts=[paid])


def test_a_record_is_looked_up_by_declared_facts_only() -> None:
    check(ORDER)
    for name, words in (("/boss", 'nobody declares "/boss"'), ("/groups", "is a list of texts")):
        with pytest.raises(RuleError, match=words):
            check({**ORDER, "arguments": {"id": {"caller": name}}})
