"""Whether the values that rules test an argument for can stand there at all, by its tools' schemas.

A rule that waits for `"hrad"` where the schema knows `"hard"` never applies. It is refused where it is
written, with the values that there are. A value is refused only if no tool of the rule takes it: whatever
a schema leaves open counts as taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import re2
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from ironcurtain.canonical import pointers
from ironcurtain.model import jsontext
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.base import Json
from ironcurtain.model.policy import ArgCondition, If
from ironcurtain.pipeline.render_conditions import anchored
from ironcurtain.pipeline.shown_schema import shown_schema
from ironcurtain.text import quoted

_TESTED = frozenset({"equals", "not_equals", "in", "not_in"})
_COMBINERS = ("anyOf", "oneOf", "allOf")
_OPEN = frozenset({"patternProperties", "prefixItems", "additionalItems", "$ref", "$dynamicRef", "if", "not"})
"""Keywords of a schema below which this module does not look: what stands there may be anything."""

_FEW: dict[str, tuple[Json, ...]] = {"boolean": (True, False), "null": (None,)}
_MAX_DEPTH = 12
_SHOWN_VALUES = 30


def value_mistakes(condition: If, tools: Sequence[ToolAnnotation]) -> Iterator[str]:
    """Yield a sentence for each tested value that none of the tools takes.

    Args:
        condition: The rule's `if`, whose tests are valid in themselves.
        tools: The annotated tools that the rule concerns.
    """
    for test in condition.args or ():
        schemas = [schema for tool in tools for schema in _schemas_at(test.name, tool)]
        if schemas and not test.measure:
            yield from _test_mistakes(test, schemas)


def _test_mistakes(test: ArgCondition, schemas: Sequence[Json]) -> Iterator[str]:
    shown = f"`args` {quoted(test.name)}"
    known = _known(schemas)
    if test.op == "matches" and known and all(isinstance(value, str) for value in known):
        if not any(_matches(test.value, value) for value in known):
            yield f"{shown}: {quoted(test.value)} matches none of the values that there are: {_listed(known)}"
        return
    if test.op not in _TESTED or isinstance(test.value, dict):
        return
    values = test.value if test.op in ("in", "not_in") else [test.value]
    for value in values:
        if not any(_takes(schema, value) for schema in schemas):
            there = f"it takes {_listed(known)}" if known else f"its schema is {_listed(schemas)}"
            yield f"{shown}: {_text(value)} can never stand there; {there}"


def _schemas_at(name: str, tool: ToolAnnotation) -> list[Json]:
    """Return what may stand at a place of a tool's arguments: every alternative; none if it has no such."""
    if tool.input_schema is None:
        return [True]
    shown = shown_schema(tool.input_schema)
    return _below(shown, pointers.steps_of(name), 0)


def _below(node: Json, steps: tuple[str, ...], depth: int) -> list[Json]:
    if not isinstance(node, dict) or depth > _MAX_DEPTH:
        return [True]
    if not steps:
        return [node]
    found: list[Json] = [True] if _OPEN & node.keys() else []
    for key in _COMBINERS:
        for part in node.get(key, []):
            found += _below(part, steps, depth + 1)
    head, rest = steps[0], steps[1:]
    child = node.get("items") if head == pointers.EVERY else node.get("properties", {}).get(head)
    if child is not None:
        return [*found, *_below(child, rest, depth + 1)]
    if head != pointers.EVERY and node.get("additionalProperties", False) is not False:
        return [*found, *_below(node["additionalProperties"], rest, depth + 1)]
    return found


def _takes(schema: Json, value: Json) -> bool:
    """Tell whether a schema may take a value; true where nobody looks: in arrays, behind open references."""
    if isinstance(value, list | dict):
        return True
    try:
        return bool(_validator(schema).is_valid(value))
    except (Unresolvable, RecursionError):
        return True


def _validator(schema: Json) -> Any:  # noqa: ANN401 - jsonschema builds its classes at run time
    return validator_for(schema, default=Draft202012Validator)(schema, registry=Registry())


def _known(schemas: Sequence[Json]) -> list[Json]:
    """Return all values that a place takes besides null, if its schemas list them; else none."""
    found: list[Json] = []
    for schema in schemas:
        listed = _enumerated(schema)
        if listed is None:
            return []
        found += [value for value in listed if value is not None and value not in found]
    return found


def _enumerated(schema: Json) -> list[Json] | None:
    if not isinstance(schema, dict):
        return None
    if "enum" in schema:
        return [value for value in schema["enum"] if _takes(schema, value)]
    if "const" in schema:
        return [schema["const"]]
    types = schema.get("type")
    names = {*types} if isinstance(types, list) else {types}
    if names <= {"boolean", "null"}:
        return [value for name, values in _FEW.items() if name in names for value in values]
    for key in ("anyOf", "oneOf"):
        parts = [_enumerated(part) for part in schema.get(key, [])]
        if parts and all(part is not None for part in parts):
            return [value for part in parts for value in part or ()]
    return None


def _matches(pattern: str, value: Json) -> bool:
    return isinstance(value, str) and re2.fullmatch(anchored(pattern), value) is not None


def _listed(values: Sequence[Json]) -> str:
    shown = ", ".join(_text(value) for value in values[:_SHOWN_VALUES])
    return f"{shown}, …" if len(values) > _SHOWN_VALUES else shown


def _text(value: Json) -> str:
    return jsontext.shown(value)
