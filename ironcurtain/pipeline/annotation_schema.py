"""The JSON Schema of an answer of the annotate stage: it knows its own tools, arguments and roles only.

It is made of lists, never of maps with free keys, which structured output cannot express.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from ironcurtain.model.annotations import Codec
from ironcurtain.model.base import Json
from ironcurtain.pipeline.schema_leaves import schema_leaves
from ironcurtain.roles.registry import Registry
from ironcurtain.servers.tools import ToolListing


def annotation_schema(tools: Sequence[ToolListing], registry: Registry) -> dict[str, Json]:
    """Return the schema for a batch of tools."""
    places = sorted({leaf.name for tool in tools for leaf in schema_leaves(tool.input_schema)})
    name: Json = {"enum": places} if places else {"type": "string"}
    roles = _array({"enum": [role.name for role in registry.all]})
    identifiers = [role.name for role in registry.resources if role.category == "identifier"]
    tool = _object(
        required={
            "tool": {"enum": [tool.name for tool in tools]},
            "side_effects": {"type": "boolean"},
            "contained": {"type": "boolean"},
            "comment": {"type": "string"},
            "args": _array(_argument(name, roles)),
        },
        optional={
            "composites": _array(
                _object({"role": {"enum": identifiers}, "join": _array(name), "with": {"type": "string"}})
            )
        },
    )
    return _object({"tools": _array(tool)})


def _argument(name: Json, roles: Json) -> dict[str, Json]:
    scalar = {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]}
    branch = _object(
        required={"arg": name, "roles": roles},
        optional={"equals": scalar, "in": _array(scalar), "present": {"type": "boolean"}},
    )
    return _object(
        required={"name": name},
        optional={
            "roles": roles,
            "conditional": _object({"default": roles, "when": _array(branch)}),
            "required": {"type": "boolean"},
            "codec": {"enum": list(get_args(Codec))},
            "relative_to": name,
            "recursive": {"type": "boolean"},
            "repository": {"type": "boolean"},
            "assume_scheme": {"type": "string"},
        },
    )


def _object(required: dict[str, Json], optional: dict[str, Json] | None = None) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def _array(items: Json) -> dict[str, Json]:
    return {"type": "array", "items": items}
