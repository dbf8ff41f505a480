"""Conditional roles: type-strict, first match wins, everything unnamed gets the default."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ironcurtain.decision.canonical.conditional import roles_in_call, same_json
from ironcurtain.model.annotations import Argument

ALL, READ = ("read-path", "write-path"), ("read-path",)


def argument(*when: dict[str, Any]) -> Argument:
    document = {"name": "path", "conditional": {"default": ALL, "when": when}}
    return Argument.model_validate_json(json.dumps(document))


def when(roles: tuple[str, ...] = READ, **test: Any) -> dict[str, Any]:
    return {"arg": "mode", "roles": roles, **test}


@pytest.mark.parametrize(
    ("test", "value", "roles"),
    [
        ({"equals": True}, True, READ),
        ({"equals": True}, "true", ALL),
        ({"equals": True}, 1, ALL),
        ({"equals": 1}, True, ALL),
        ({"equals": 1}, 1.0, READ),
        ({"equals": False}, None, ALL),
        ({"equals": False}, 0, ALL),
        ({"equals": "list"}, "LIST", ALL),
        ({"equals": "list"}, ["list"], ALL),
        ({"equals": ["list"]}, ["list"], READ),
        ({"equals": {"a": 1}}, {"a": True}, ALL),
        ({"in": ["list", "show"]}, "show", READ),
        ({"in": ["list", "show"]}, "delete", ALL),
        ({"in": [1, 2]}, True, ALL),
        ({"in": [None]}, None, ALL),
        ({"present": True}, "x", READ),
        ({"present": True}, False, READ),
        ({"present": True}, None, ALL),
        ({"present": False}, None, READ),
        ({"present": False}, "", ALL),
    ],
)
def test_a_branch(test: dict[str, Any], value: Any, roles: tuple[str, ...]) -> None:
    assert roles_in_call(argument(when(**test)), {"mode": value}) == roles


def test_an_absent_argument_equals_nothing() -> None:
    assert roles_in_call(argument(when(equals="list")), {}) == ALL
    assert roles_in_call(argument(when(present=False)), {}) == READ


def test_the_first_branch_that_holds_decides() -> None:
    found = argument(when(ALL, equals="x"), when(READ, present=True))
    assert roles_in_call(found, {"mode": "x"}) == ALL
    assert roles_in_call(found, {"mode": "y"}) == READ


@pytest.mark.parametrize("value", [None, True, 0, 1.5, "", "a", [], [1], {}, {"a": [None]}])
def test_equality_is_reflexive_and_strict(value: Any) -> None:
    others: list[Any] = [None, True, 0, 1.5, "", "a", [], [1], {}, {"a": [None]}]
    assert [same_json(value, other) for other in others].count(True) == 1
