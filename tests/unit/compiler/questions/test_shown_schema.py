"""What questions show of a tool's schema: what stands behind a reference is seen."""

from __future__ import annotations

import json
from typing import Any

from support.documents import at, object_at

from ironcurtain.compiler.questions.shown_schema import MAX_FOLLOWED, shown_schema


def object_of(definitions: dict[str, Any], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "$defs": definitions}


def test_an_enumeration_behind_a_reference_is_visible() -> None:
    schema = object_of(
        {"Mode": {"enum": ["soft", "hard"]}},
        mode={"anyOf": [{"$ref": "#/$defs/Mode"}, {"type": "null"}], "default": None},
        modes={"type": "array", "items": {"$ref": "#/$defs/Mode", "description": "One."}},
    )
    shown = shown_schema(schema)
    assert at(shown, "properties", "mode", "anyOf", 0) == {"enum": ["soft", "hard"]}
    assert at(shown, "properties", "modes", "items") == {"enum": ["soft", "hard"], "description": "One."}
    assert "$ref" not in json.dumps(shown)


def test_a_schema_without_references_is_shown_as_it_is() -> None:
    schema: dict[str, Any] = {"properties": {"a": {"type": "string"}}, "required": ["a"]}
    assert shown_schema({"type": "object", **schema, "title": "X"}) == schema
    assert shown_schema(None) == {}


def test_a_reference_to_itself_ends_and_what_it_names_is_shown() -> None:
    node = {"properties": {"kind": {"$ref": "#/$defs/Kind"}, "child": {"$ref": "#/$defs/Node"}}}
    shown = shown_schema(object_of({"Node": node, "Kind": {"enum": ["leaf"]}}, root={"$ref": "#/$defs/Node"}))
    inner = object_at(shown, "properties", "root", "properties")
    assert inner["kind"] == {"enum": ["leaf"]}
    assert inner["child"] == {"$ref": "#/$defs/Node"}
    assert object_at(shown, "definitions").keys() == {"#/$defs/Node", "#/$defs/Kind"}


def test_a_schema_that_would_grow_without_bound_is_cut_and_nothing_of_it_is_hidden() -> None:
    doubling: dict[str, Any] = {
        f"D{n}": {"properties": {side: {"$ref": f"#/$defs/D{n + 1}"} for side in ("a", "b")}}
        for n in range(30)
    }
    doubling["D30"] = {"enum": ["bottom"]}
    shown = shown_schema(object_of(doubling, root={"$ref": "#/$defs/D0"}))
    text = json.dumps(shown)
    assert '"bottom"' in text
    assert len(text) < 500 * MAX_FOLLOWED


def test_references_that_lead_nowhere_stay() -> None:
    schema = object_of(
        {}, a={"$ref": "#/$defs/None"}, b={"$ref": "https://example.com/s"}, c={"$ref": "#anchor"}
    )
    assert shown_schema(schema)["properties"] == schema["properties"]
