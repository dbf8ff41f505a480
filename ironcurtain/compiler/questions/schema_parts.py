"""The shapes that answers have: the parts of their JSON Schemas, and the reading of what fits one.

What a schema says in several places stands once under `$defs`: schemas are sent, and paid for, with each
question.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

from pydantic import BaseModel

from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue

Schema = dict[str, JsonValue]
"""A JSON Schema that is an object, or the schemas of an object's members by their names."""

STRING: Final[Schema] = {"type": "string"}
BOOLEAN: Final[Schema] = {"type": "boolean"}
WHOLE: Final[Schema] = {"type": "integer"}

_Content = TypeVar("_Content", bound=BaseModel)


def one_of(values: Iterable[str]) -> Schema:
    """Return the schema of one of several strings."""
    return {"enum": [*values]}


def closed_object(
    required: Mapping[str, JsonValue], optional: Mapping[str, JsonValue] | None = None
) -> Schema:
    """Return the schema of an object with these members and no others."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": [*required],
        "additionalProperties": False,
    }


def array_of(items: JsonValue) -> Schema:
    """Return the schema of an array."""
    return {"type": "array", "items": items}


def reference(name: str) -> Schema:
    """Return the schema that stands under a name in `$defs`."""
    return {"$ref": f"#/$defs/{name}"}


def with_definitions(schema: Schema, definitions: Schema) -> Schema:
    """Return a schema with what its references name."""
    return {**schema, "$defs": definitions}


def read_answer(model: type[_Content], content: JsonValue) -> _Content:
    """Return the content of an answer, or a part of it, as the model that its schema corresponds to.

    Raises:
        ValidationError: If it has another form; content that fits its question's schema has this one.
    """
    return model.model_validate_json(json_text.canonical(content))


def objects(value: JsonValue) -> list[dict[str, JsonValue]] | None:
    """Return the items of an array of objects; None for any other value."""
    if not isinstance(value, list):
        return None
    items = [item for item in value if isinstance(item, dict)]
    return items if len(items) == len(value) else None


def entries(content: JsonValue, key: str) -> list[dict[str, JsonValue]]:
    """Return the objects in an array of an answer that fits its schema; none if the array is absent."""
    return (objects(content.get(key, [])) if isinstance(content, dict) else None) or []
