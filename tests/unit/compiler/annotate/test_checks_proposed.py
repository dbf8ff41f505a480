"""A confirmation that IC1102 proposes is accepted as it stands, and nothing is left to confirm after it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ironcurtain.compiler.annotate.checks import check_annotations
from ironcurtain.compiler.annotate.heuristics import check_heuristics
from ironcurtain.compiler.annotate.known import LISTS
from ironcurtain.compiler.annotate.schema_leaves import argument_schemas
from ironcurtain.decision.roles import Registry
from ironcurtain.model.annotations import Annotations
from ironcurtain.servers.tools import ToolListing, read_saved_tools, tool_digest
from ironcurtain.system.assets import KNOWN_SERVERS

FIXTURES = Path(__file__).parents[3] / "fixtures" / "tool_lists"
RECORDED = sorted([*(KNOWN_SERVERS / LISTS).glob("*.json"), *FIXTURES.glob("*.json")])
TEXT = {"type": "string"}
EMAIL = {"type": "object", "properties": {"email": TEXT, "age": {"type": "integer"}}}
MADE_UP: dict[str, dict[str, Any]] = {
    "a nested object": {"customer": EMAIL},
    "objects in objects": {"order": {"type": "object", "properties": {"by": EMAIL, "file path": TEXT}}},
    "an array of objects": {"attendees": {"type": "array", "items": EMAIL}},
    "an array of texts": {"files": {"type": "array", "items": TEXT}},
    "an array of arrays": {"rows": {"type": "array", "items": {"type": "array", "items": EMAIL}}},
    "a reference": {"customer": {"$ref": "#/$defs/customer"}},
    "an array of references": {"customers": {"type": "array", "items": {"$ref": "#/$defs/customer"}}},
    "alternatives": {"to": {"anyOf": [EMAIL, {"type": "array", "items": EMAIL}, {"type": "null"}]}},
    "parts laid over": {"to": {"allOf": [EMAIL, {"properties": {"url": TEXT}}]}},
    "a recursive reference": {"node": {"$ref": "#/$defs/node"}},
    "names that pointers escape": {"a/b~c": {"type": "object", "properties": {"x/path": TEXT}}},
    "a list in one string": {"paths": {"type": "string", "description": "Comma-separated paths"}},
}
DEFINITIONS = {
    "customer": EMAIL,
    "node": {"type": "object", "properties": {"path": TEXT, "next": {"$ref": "#/$defs/node"}}},
}


def annotated(tools: list[ToolListing], confirmed: list[dict[str, Any]]) -> Annotations:
    """Annotate each argument as a whole as nothing, as a model does that sees no resource in it."""
    entries = [
        {
            "tool": tool.name,
            "side_effects": True,
            "schema_digest": tool_digest(tool),
            "input_schema": tool.input_schema,
            "args": [{"name": name, "roles": ["none"]} for name in argument_schemas(tool.input_schema)],
            "confirmed": [
                {key: entry[key] for key in ("arg", "by", "reason")}
                for entry in confirmed
                if entry["tool"] == tool.name
            ],
        }
        for tool in tools
    ]
    document = {"format": "ironcurtain/annotations/v1", "servers": {"s": {"tools": entries}}}
    return Annotations.model_validate_json(json.dumps(document))


def proposals(annotations: Annotations) -> list[dict[str, Any]]:
    """Return the entries that the errors ask a person to write."""
    errors = check_heuristics(annotations, Registry())
    return [json.loads((error.hint or "")[(error.hint or "").index("{") :]) for error in errors]


def follow(tools: list[ToolListing]) -> int:
    """Confirm each proposal as it stands; return how many there were."""
    proposed = proposals(annotated(tools, []))
    confirmed = annotated(tools, proposed)
    check_annotations(confirmed, Registry())
    assert proposals(confirmed) == []
    return len(proposed)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_for_recorded_lists(path: Path) -> None:
    follow(list(read_saved_tools("s", path).tools))


@pytest.mark.parametrize("properties", MADE_UP.values(), ids=MADE_UP)
def test_for_schemas_of_each_shape(properties: dict[str, Any]) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": properties, "$defs": DEFINITIONS}
    assert follow([ToolListing(name="t", description="d", input_schema=schema)]) > 0
