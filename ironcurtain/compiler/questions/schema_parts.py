"""The shapes that the JSON Schemas of all questions are put together from.

What a schema says in several places stands once under `$defs`: schemas are sent, and paid for, with each
question.
"""

from __future__ import annotations

from ironcurtain.system.frozen import Json


def closed_object(required: dict[str, Json], optional: dict[str, Json] | None = None) -> dict[str, Json]:
    """Return the schema of an object with these members and no others."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def array_of(items: Json) -> dict[str, Json]:
    """Return the schema of an array."""
    return {"type": "array", "items": items}


def reference(name: str) -> dict[str, Json]:
    """Return the schema that stands under a name in `$defs`."""
    return {"$ref": f"#/$defs/{name}"}


def with_definitions(schema: dict[str, Json], definitions: dict[str, Json]) -> dict[str, Json]:
    """Return a schema with what its references name."""
    return {**schema, "$defs": definitions}
