"""The JSON Schema of an answer of the annotate stage: it knows its own tools, arguments and roles only.

It is made of lists, never of maps with free keys, which structured output cannot express. It has one shape
for all tools of a batch: a variant for each would exceed what structured output permits, so which argument
belongs to which tool is left to the checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from ironcurtain.compiler.annotate.schema_leaves import schema_leaves
from ironcurtain.compiler.questions.schema_parts import (
    BOOLEAN,
    STRING,
    Schema,
    array_of,
    closed_object,
    one_of,
    reference,
    with_definitions,
)
from ironcurtain.decision.roles import Registry
from ironcurtain.model.annotations import Codec
from ironcurtain.servers.tools import ToolListing


def annotation_schema(tools: Sequence[ToolListing], registry: Registry, *, servers: Sequence[str]) -> Schema:
    """Return the schema for a batch of tools; with several servers each entry names its own."""
    places = sorted({leaf.name for tool in tools for leaf in schema_leaves(tool.input_schema)})
    definitions: Schema = {
        "place": one_of(places) if places else STRING,
        "roles": array_of(one_of(role.name for role in registry.all)),
        "scalar": {"anyOf": [STRING, {"type": "number"}, BOOLEAN]},
    }
    name = reference("place")
    identifiers = [role.name for role in registry.resources if role.category == "identifier"]
    of_server: Schema = {"server": one_of(servers)} if len(servers) > 1 else {}
    tool = closed_object(
        required={
            **of_server,
            "tool": one_of(dict.fromkeys(tool.name for tool in tools)),
            "side_effects": BOOLEAN,
            "contained": BOOLEAN,
            "comment": STRING,
            "args": array_of(_argument(places)),
        },
        optional={
            "composites": array_of(
                closed_object({"role": one_of(identifiers), "join": array_of(name), "with": STRING})
            ),
            "proposed_roles": array_of(_proposal(name)),
        },
    )
    return with_definitions(closed_object({"tools": array_of(tool)}), definitions)


def _argument(places: Sequence[str]) -> Schema:
    name, roles, scalar = reference("place"), reference("roles"), reference("scalar")
    branch = closed_object(
        required={"arg": name, "roles": roles},
        optional={"equals": scalar, "in": array_of(scalar), "present": BOOLEAN},
    )
    return closed_object(
        required={"name": name},
        optional={
            "roles": roles,
            "conditional": closed_object({"default": roles, "when": array_of(branch)}),
            "required": BOOLEAN,
            "codec": one_of(get_args(Codec)),
            "relative_to": _base(places),
            "recursive": BOOLEAN,
            "repository": BOOLEAN,
            "assume_scheme": STRING,
        },
    )


def _base(places: Sequence[str]) -> Schema:
    """Return what `relative_to` can name: a place by its name, and a top-level one by its pointer too."""
    names = [place for place in places if not place.startswith("/")]
    pointers = ["/" + name.replace("~", "~0").replace("/", "~1") for name in names]
    return {"anyOf": [reference("place"), one_of(pointers)]} if pointers else reference("place")


def _proposal(name: Schema) -> Schema:
    return closed_object(
        required={
            "arg": name,
            "name": STRING,
            "description": STRING,
            "guidance": STRING,
            "case": one_of(["exact", "fold"]),
        },
        optional={"separator": STRING, "decode": one_of(["none", "percent"]), "numbers": BOOLEAN},
    )
