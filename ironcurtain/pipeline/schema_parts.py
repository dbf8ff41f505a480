"""The shapes that the JSON Schemas of all questions are put together from."""

from __future__ import annotations

from ironcurtain.model.base import Json


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
