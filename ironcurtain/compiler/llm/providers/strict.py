"""JSON Schemas in the strict form that OpenAI demands, and answers back in ours.

Strict form knows no optional properties: each becomes required and may be null instead. In an answer, a
null that our schema does not allow stands for a property that was left out.
"""

from __future__ import annotations

from jsonschema import Draft202012Validator

from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue

_KEPT = (
    "$ref",
    "type",
    "enum",
    "const",
    "description",
    "pattern",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
)
_NULL: dict[str, JsonValue] = {"type": "null"}
_TYPES = {str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}


def strict(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a schema in strict form.

    Ours are made of objects, arrays, `anyOf`, enums, and references to `$defs` that do not go in circles.
    """
    found = {key: schema[key] for key in _KEPT if key in schema}
    if "$defs" in schema:
        found["$defs"] = {name: strict(each) for name, each in schema["$defs"].items()}
    if "enum" in schema and "type" not in schema:
        types = sorted({_TYPES[type(value)] for value in schema["enum"]})
        found["type"] = types[0] if len(types) == 1 else types
    if "anyOf" in schema:
        found["anyOf"] = [strict(branch) for branch in schema["anyOf"]]
    if "items" in schema:
        found["items"] = strict(schema["items"])
    if "properties" in schema:
        required = schema.get("required", ())
        found["properties"] = {
            name: strict(each) if name in required else {"anyOf": [strict(each), _NULL]}
            for name, each in schema["properties"].items()
        }
        found["required"] = list(schema["properties"])
        found["additionalProperties"] = False
    return found


def relaxed(text: str, schema: dict[str, JsonValue]) -> str:
    """Return an answer without the nulls that stand for absent properties; any other text as it is."""
    try:
        content = json_text.parse(text)
    except json_text.MalformedJsonError:
        return text
    found = _without_nulls(content, _resolved(schema, schema.get("$defs", {})))
    return text if found == content else json_text.canonical(found).decode()


def _resolved(schema: JsonValue, definitions: dict[str, JsonValue]) -> JsonValue:
    """Return a schema with every reference replaced by what it names."""
    if isinstance(schema, list):
        return [_resolved(each, definitions) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _resolved(definitions[schema["$ref"].removeprefix("#/$defs/")], definitions)
    return {key: _resolved(value, definitions) for key, value in schema.items() if key != "$defs"}


def _without_nulls(value: JsonValue, schema: dict[str, JsonValue]) -> JsonValue:
    if "anyOf" in schema:
        tried = ((_without_nulls(value, branch), branch) for branch in schema["anyOf"])
        return next((found for found, branch in tried if _fits(found, branch)), value)
    if isinstance(value, list) and "items" in schema:
        return [_without_nulls(item, schema["items"]) for item in value]
    if not isinstance(value, dict) or "properties" not in schema:
        return value
    required, known = schema.get("required", ()), schema["properties"]
    return {
        key: _without_nulls(item, known.get(key, {}))
        for key, item in value.items()
        if item is not None or key in required or key not in known or _fits(None, known[key])
    }


def _fits(value: JsonValue, schema: dict[str, JsonValue]) -> bool:
    return Draft202012Validator(schema).is_valid(value)
