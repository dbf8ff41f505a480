"""The shapes that the JSON Schemas of all questions are put together from.

What a schema says in several places stands once under `$defs`: schemas are sent, and paid for, with each
question.
"""

from __future__ import annotations

from ironcurtain.system.frozen import JsonValue


def closed_object(
    required: dict[str, JsonValue], optional: dict[str, JsonValue] | None = None
) -> dict[str, JsonValue]:
    """Return the schema of an object with these members and no others."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def array_of(items: JsonValue) -> dict[str, JsonValue]:
    """Return the schema of an array."""
    return {"type": "array", "items": items}


def reference(name: str) -> dict[str, JsonValue]:
    """Return the schema that stands under a name in `$defs`."""
    return {"$ref": f"#/$defs/{name}"}


def with_definitions(schema: dict[str, JsonValue], definitions: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a schema with what its references name."""
    return {**schema, "$defs": definitions}
