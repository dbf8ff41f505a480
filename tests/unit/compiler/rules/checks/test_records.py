"""Records can be had: look-ups are not decided by records, and what they need stands in the calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.projects.policies import CALLER, write_bundle

from ironcurtain.errors import RuleError

TEXT = {"type": "string"}
NUMBER = {"type": "number"}
TEXTS = {"type": "array", "items": TEXT}
PAID = {
    "type": "array",
    "items": {"type": "object", "properties": {"payment_id": TEXT, "amount": NUMBER}},
}


def tool(name: str, side_effects: bool, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": [*properties]}
    args = [{"name": each, "roles": ["none"]} for each in properties]
    return {
        "tool": name,
        "side_effects": side_effects,
        "reads": not side_effects,
        "input_schema": schema,
        "args": args,
    }


SHOP = [
    tool("get_order", False, order_id=TEXT),
    tool("get_user", False, user_id=TEXT),
    tool("cancel_order", True, order_id=TEXT),
    tool("book", True, order_id=TEXT, ids=TEXTS, payment_methods=PAID, seats=NUMBER),
]


def record(tool: str = "get_order", **more: Any) -> dict[str, Any]:
    return {
        "source": "record",
        "clause": "C1",
        "server": "shop",
        "tool": tool,
        "arguments": {"order_id": {"arg": "/order_id"}},
        "fields": {"owner": {"at": "/user", "type": "string"}},
        **more,
    }


OWN = {"fact": "order/owner", "op": "equals", "value": {"caller": "sub"}}
OTHERS = OWN | {"op": "not_equals"}
LISTED = {"fact": "order/owner", "op": "contains", "value": "ada"}


def rule(name: str, then: str, tools: list[str], *facts: dict[str, Any], **more: Any) -> dict[str, Any]:
    condition = {"tool": tools, **({"facts": list(facts)} if facts else {}), **more}
    return {"name": name, "clause": "C1", "reason": "So.", "then": then, "if": condition}


def bundled(tmp_path: Path, rules: list[dict[str, Any]], **facts: Any) -> Path:
    """Assemble a policy, as a compile and `ironcurtain bundle` do."""
    return write_bundle(
        tmp_path, {"shop": SHOP}, rules, policy={"caller": CALLER, "facts": facts or {"order": record()}}
    )


RESTRICTED = {
    "own": [rule("own", "allow", ["get_order", "cancel_order"], OWN)],
    "others": [
        rule("own", "deny", ["get_order"], OTHERS),
        rule("all", "allow", ["get_order", "cancel_order"]),
    ],
    "asked": [rule("own", "escalate", ["get_order"], OTHERS), rule("all", "allow", ["get_order"])],
    "alone": [rule("own", "allow", ["get_order"], OWN)],
}


@pytest.mark.parametrize("rules", RESTRICTED.values(), ids=RESTRICTED)
def test_a_look_up_is_not_decided_by_the_record_that_it_reads(
    tmp_path: Path, rules: list[dict[str, Any]]
) -> None:
    with pytest.raises(RuleError) as refused:
        bundled(tmp_path, rules)
    assert 'rule "own": it decides calls of get_order by the record "order"' in refused.value.what
    assert "refused, and with it every call that needs" in refused.value.what
    assert "`args` and `caller` alone" in (refused.value.hint or "")


def test_a_look_up_is_not_decided_by_another_record(tmp_path: Path) -> None:
    user = record("get_user", arguments={"user_id": {"caller": "sub"}})
    rules = [
        rule("own", "allow", ["cancel_order"], OWN),
        rule("known", "allow", ["get_order"], {"fact": "user/owner", "op": "present", "value": True}),
        rule("users", "allow", ["get_user"]),
    ]
    with pytest.raises(RuleError, match='it decides calls of get_order by the record "user"'):
        bundled(tmp_path, rules, order=record(), user=user)


ALLOWED = {
    "by itself": [rule("own", "allow", ["cancel_order"], OWN), rule("read", "allow", ["get_order"])],
    "first": [
        rule("read", "allow", ["get_order"]),
        rule("others", "deny", ["get_order", "cancel_order"], OTHERS),
    ],
    "also": [rule("own", "allow", ["get_order", "cancel_order"], OWN), rule("read", "allow", ["get_order"])],
    "what changes": [
        rule("others", "deny", ["get_order", "cancel_order"], OTHERS, side_effects=True),
        rule("all", "allow", ["get_order", "cancel_order"]),
    ],
}


@pytest.mark.parametrize("rules", ALLOWED.values(), ids=ALLOWED)
def test_a_look_up_that_some_rule_allows_is_let_be(tmp_path: Path, rules: list[dict[str, Any]]) -> None:
    assert bundled(tmp_path, rules).exists()


def each(pointer: str) -> dict[str, Any]:
    return record(each=pointer, arguments={"order_id": {"each": pointer}})


PLACES = {
    "below a list": (
        each("/payment_methods/payment_id"),
        "names nothing in calls of book: /payment_methods is a list of objects",
    ),
    "objects": (
        each("/payment_methods"),
        'is an object in calls of book, and get_order takes a string as "order_id"',
    ),
    "no list": (each("/order_id"), "names no list in calls of book: /order_id is a string"),
    "nothing": (each("/payments"), "names nothing in calls of book, which has no such argument"),
    "below a text": (
        record(arguments={"order_id": {"arg": "/order_id/id"}}),
        "names nothing in calls of book: /order_id is a string",
    ),
    "another type": (
        record(arguments={"order_id": {"arg": "/seats"}}),
        'is a number in calls of book, and get_order takes a string as "order_id"',
    ),
    "in a field": (
        record(
            fields={
                "owner": {
                    "at": "/items/*/user",
                    "type": "string",
                    "where": {"/items/*/id": {"arg": "/ids/id"}},
                }
            }
        ),
        "names nothing in calls of book: /ids is a list of strings",
    ),
}


@pytest.mark.parametrize(("fact", "said"), PLACES.values(), ids=PLACES)
def test_what_a_record_is_asked_with_stands_in_the_calls(
    tmp_path: Path, fact: dict[str, Any], said: str
) -> None:
    test = LISTED if "each" in fact else OWN
    with pytest.raises(RuleError) as refused:
        bundled(
            tmp_path, [rule("r", "allow", ["book"], test), rule("read", "allow", ["get_order"])], order=fact
        )
    assert 'fact "order": {' in refused.value.what
    assert said in refused.value.what


def test_a_list_of_values_and_a_value_are_looked_up(tmp_path: Path) -> None:
    rules = [rule("r", "allow", ["book"], LISTED), rule("read", "allow", ["get_order"])]
    assert bundled(tmp_path, rules, order=each("/ids")).exists()
    assert bundled(tmp_path, [rule("r", "allow", ["book"], OWN), rules[1]]).exists()
