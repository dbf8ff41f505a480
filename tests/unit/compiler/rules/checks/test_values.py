"""Values that rules of a model wait for and that can never stand there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ironcurtain.compiler.rules.checks.values import value_mistakes
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.conditions import If

MODES = {"enum": ["soft", "hard"]}
PROPERTIES = {
    "mode": MODES,
    "named": {"$ref": "#/$defs/Mode"},
    "maybe": {"anyOf": [{"$ref": "#/$defs/Mode"}, {"type": "null"}], "default": None},
    "either": {"oneOf": [{"const": "a"}, {"const": "b"}]},
    "force": {"type": "boolean"},
    "forced": {"type": ["boolean", "null"]},
    "count": {"type": "integer", "minimum": 1},
    "tags": {"type": "array", "items": MODES},
    "free": {"type": "string"},
    "any": {},
    "open": {"type": "object", "properties": {"known": MODES}},
    "tuple": {"type": "array", "prefixItems": [{"const": 1}], "items": {"const": 2}},
    "filled": {"enum": ["hard"], "default": "soft"},
    "filled-below": {
        "type": "object",
        "properties": {"mode": {"const": "hard"}},
        "default": {"mode": "soft"},
    },
    "branch": {"anyOf": [{"type": "object", "properties": {"kind": MODES}}, {"type": "object"}]},
    "narrowed": {"type": "object", "properties": {"kind": MODES}, "anyOf": [{"required": ["kind"]}, True]},
    "recursive": {"$ref": "#/$defs/Node"},
}
DEFS = {"Mode": MODES, "Node": {"properties": {"mode": MODES, "child": {"$ref": "#/$defs/Node"}}}}


def tool(name: str = "t", **properties: Any) -> ToolAnnotation:
    schema = {"type": "object", "properties": properties or PROPERTIES, "$defs": DEFS}
    document = {"tool": name, "side_effects": True, "args": [], "input_schema": schema}
    return ToolAnnotation.model_validate_json(json.dumps(document))


def mistakes(name: str, op: str, value: Any, *tools: ToolAnnotation, **more: Any) -> list[str]:
    condition = If.model_validate_json(
        json.dumps({"args": [{"name": name, "op": op, "value": value, **more}]})
    )
    return list(value_mistakes(condition, tools or (tool(),)))


@pytest.mark.parametrize(
    ("name", "op", "value", "said"),
    [
        ("mode", "equals", "hrad", '"hrad" can never stand there; it takes "soft", "hard"'),
        ("mode", "in", ["hard", "hrad"], '"hrad"'),
        ("mode", "equals", True, "true"),
        ("named", "equals", "hrad", '"soft", "hard"'),
        ("maybe", "equals", "hrad", '"soft", "hard"'),
        ("either", "equals", "c", 'it takes "a", "b"'),
        ("force", "equals", "true", '"true" can never stand there; it takes true, false'),
        ("forced", "equals", 1, "true, false"),
        ("count", "equals", "1", "integer"),
        ("count", "equals", 0, "its schema"),
        ("/tags/*", "equals", "hrad", '"soft", "hard"'),
        ("/open/known", "equals", "hrad", '"soft", "hard"'),
        ("/narrowed/kind", "equals", "hrad", '"soft", "hard"'),
        ("/recursive/child/mode", "equals", "hrad", ""),
        ("/recursive/mode", "equals", "hrad", '"soft", "hard"'),
        ("mode", "matches", "hrad.*", "matches none of the values that there are"),
    ],
)
def test_a_value_that_no_call_can_hold_is_told_with_those_that_one_can(
    name: str, op: str, value: Any, said: str
) -> None:
    found = mistakes(name, op, value)
    assert len(found) == (1 if said else 0)
    assert said in "".join(found)


@pytest.mark.parametrize(
    ("name", "op", "value", "more"),
    [
        ("mode", "equals", "hard", {}),
        ("named", "in", ["soft", "hard"], {}),
        ("maybe", "not_in", ["soft"], {}),
        ("either", "equals", "b", {}),
        ("force", "equals", False, {}),
        ("count", "ge", 5, {}),
        ("free", "equals", "anything", {}),
        ("any", "equals", 7, {}),
        ("mode", "matches", "s.*", {}),
        ("mode", "equals", {"arg": "free"}, {}),
        ("mode", "present", True, {}),
        ("/open/unknown", "equals", "x", {}),
        ("/tuple/*", "equals", 1, {}),
        ("tags", "le", 3, {"measure": "count"}),
        ("missing", "equals", "x", {}),
        ("mode", "not_equals", "hrad", {}),
        ("mode", "not_in", ["soft", "hrad"], {}),
        ("filled", "equals", "soft", {}),
        ("/filled-below/mode", "in", ["soft"], {}),
        ("filled", "matches", "so.*", {}),
        ("/branch/kind", "equals", "anything", {}),
    ],
)
def test_a_value_that_a_call_may_hold_is_no_mistake(
    name: str, op: str, value: Any, more: dict[str, Any]
) -> None:
    assert mistakes(name, op, value, **more) == []


def test_a_value_that_one_of_several_tools_takes_is_no_mistake() -> None:
    other = tool("other", mode={"enum": ["hrad"]})
    assert mistakes("mode", "equals", "hrad", tool(), other) == []
    assert mistakes("mode", "equals", "hrad", tool(), tool("without", other={})) != []
