"""The JSON Schema of an answer of the annotate stage: it knows its own tools, arguments and roles only.

It is made of lists, never of maps with free keys, which structured output cannot express. It has one shape
for all tools of a batch: a variant for each would exceed what structured output permits, so which argument
belongs to which tool is left to the checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from ironcurtain.compiler.annotate.schema_leaves import schema_leaves
from ironcurtain.compiler.questions.schema_parts import array_of, closed_object, reference, with_definitions
from ironcurtain.decision.roles import Registry
from ironcurtain.model.annotations import Codec
from ironcurtain.servers.tools import ToolListing
from ironcurtain.system.frozen import JsonValue

_STRING: dict[str, JsonValue] = {"type": "string"}
_BOOLEAN: dict[str, JsonValue] = {"type": "boolean"}


def annotation_schema(
    tools: Sequence[ToolListing], registry: Registry, *, servers: Sequence[str]
) -> dict[str, JsonValue]:
    """Return the schema for a batch of tools; with several servers each entry names its own."""
    places = sorted({leaf.name for tool in tools for leaf in schema_leaves(tool.input_schema)})
    definitions: dict[str, JsonValue] = {
        "place": {"enum": places} if places else _STRING,
        "roles": array_of({"enum": [role.name for role in registry.all]}),
        "scalar": {"anyOf": [_STRING, {"type": "number"}, _BOOLEAN]},
    }
    name = reference("place")
    identifiers = [role.name for role in registry.resources if role.category == "identifier"]
    of_server: dict[str, JsonValue] = {"server": {"enum": list(servers)}} if len(servers) > 1 else {}
    tool = closed_object(
        required={
            **of_server,
            "tool": {"enum": list(dict.fromkeys(tool.name for tool in tools))},
            "side_effects": _BOOLEAN,
            "contained": _BOOLEAN,
            "comment": _STRING,
            "args": array_of(_argument(places)),
        },
        optional={
            "composites": array_of(
                closed_object({"role": {"enum": identifiers}, "join": array_of(name), "with": _STRING})
            ),
            "proposed_roles": array_of(_proposal(name)),
        },
    )
    return with_definitions(closed_object({"tools": array_of(tool)}), definitions)


def _argument(places: Sequence[str]) -> dict[str, JsonValue]:
    name, roles, scalar = reference("place"), reference("roles"), reference("scalar")
    branch = closed_object(
        required={"arg": name, "roles": roles},
        optional={"equals": scalar, "in": array_of(scalar), "present": _BOOLEAN},
    )
    return closed_object(
        required={"name": name},
        optional={
            "roles": roles,
            "conditional": closed_object({"default": roles, "when": array_of(branch)}),
            "required": _BOOLEAN,
            "codec": {"enum": list(get_args(Codec))},
            "relative_to": _base(places),
            "recursive": _BOOLEAN,
            "repository": _BOOLEAN,
            "assume_scheme": _STRING,
        },
    )


def _base(places: Sequence[str]) -> JsonValue:
    """Return what `relative_to` can name: a place by its name, and a top-level one by its pointer too."""
    names = [place for place in places if not place.startswith("/")]
    pointers = ["/" + name.replace("~", "~0").replace("/", "~1") for name in names]
    return {"anyOf": [reference("place"), {"enum": pointers}]} if pointers else reference("place")


def _proposal(name: JsonValue) -> dict[str, JsonValue]:
    return closed_object(
        required={
            "arg": name,
            "name": _STRING,
            "description": _STRING,
            "guidance": _STRING,
            "case": {"enum": ["exact", "fold"]},
        },
        optional={"separator": _STRING, "decode": {"enum": ["none", "percent"]}, "numbers": _BOOLEAN},
    )
