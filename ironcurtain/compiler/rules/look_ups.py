"""The tools that records come from, and what they answer: by an output schema, or by a sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from ironcurtain.compiler.annotate.schema_leaves import SchemaLeaf, schema_leaves
from ironcurtain.decision.canonical.pointers import EVERY, escape, tokens
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.records import FactType
from ironcurtain.servers.samples import ToolSamples
from ironcurtain.servers.tools import Tools, schema_problem
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct

_TYPES: Mapping[JsonValue, FactType] = {
    "string": "string",
    "number": "number",
    "integer": "number",
    "boolean": "boolean",
}


class LookUpTool(Struct):
    """A tool that a person confirmed to only read.

    Attributes:
        arguments: What it is called with: by name, the schema.
        fields: What can be asked of its answer: by JSON pointer, the type; `strings`, `numbers`, `booleans`
            and `instants` are the values of a list.
    """

    server: str
    tool: str
    arguments: Mapping[str, JsonValue]
    fields: Mapping[str, str]


def look_up_tools(annotations: Annotations, tools: Tools, samples: ToolSamples) -> tuple[LookUpTool, ...]:
    """Return the tools that a person confirmed to only read, with what is known of their answers.

    Args:
        annotations: Says which these are.
        tools: As their servers list them.
        samples: Results that people kept.
    """
    listed = {(server, tool.name): tool for server, found in tools.items() for tool in found}
    return tuple(
        LookUpTool(
            server,
            tool.tool,
            tool.properties,
            record_fields(
                listed[server, tool.tool].output_schema if (server, tool.tool) in listed else None,
                samples.of(server, tool.tool),
            ),
        )
        for server, annotated in sorted(annotations.servers.items())
        for tool in annotated.tools
        if tool.reads
    )


def record_fields(
    schema: Mapping[str, JsonValue] | None, sample: Mapping[str, JsonValue] | None
) -> dict[str, str]:
    """Return what a record can be asked for: by JSON pointer, the type of the value, or of a list's values.

    Args:
        schema: The look-up tool's output schema, if it has one; one that is unusable counts as none.
        sample: A result of the tool; it is read where there is no schema, and shows which of the texts that
            a schema names are times: few schemas say so.
    """
    seen = _typed(_seen(dict(sample or {}), ""))
    if schema is None or schema_problem(dict(schema)) is not None:
        return seen
    times = {pointer for pointer, type_ in seen.items() if type_ == "instant"}
    described = _typed(_described(schema))
    return {
        pointer: "instant" if type_ == "string" and pointer in times else type_
        for pointer, type_ in described.items()
    }


def _typed(found: Iterator[tuple[str, FactType | None]]) -> dict[str, str]:
    typed = ((pointer, _type(kind, tokens(pointer).count(EVERY))) for pointer, kind in found)
    return {pointer: type_ for pointer, type_ in typed if type_ is not None}


def _described(schema: Mapping[str, JsonValue]) -> Iterator[tuple[str, FactType | None]]:
    for leaf in schema_leaves(dict(schema)):
        yield (leaf.name if leaf.name.startswith("/") else f"/{escape(leaf.name)}"), _of_leaf(leaf)


def _of_leaf(leaf: SchemaLeaf) -> FactType | None:
    kind = leaf.schema.get("type")
    if leaf.inner or isinstance(kind, list | dict):
        return None
    if kind == "string" and leaf.schema.get("format") == "date-time":
        return "instant"
    return _TYPES.get(kind)


def _seen(value: JsonValue, pointer: str) -> Iterator[tuple[str, FactType | None]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _seen(inner, f"{pointer}/{escape(name)}")
    elif isinstance(value, list):
        for inner in value[:1]:
            yield from _seen(inner, f"{pointer}/{EVERY}")
    else:
        yield pointer, _of_value(value)


def _of_value(value: JsonValue) -> FactType | None:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if not isinstance(value, str):
        return None
    try:
        return "instant" if datetime.fromisoformat(value).tzinfo is not None else "string"
    except ValueError:
        return "string"


def _type(kind: FactType | None, many: int) -> str | None:
    """Return the type of a field, in the plural for the values of a list."""
    if many == 0 or kind is None:
        return kind
    return f"{kind}s" if many == 1 else None
