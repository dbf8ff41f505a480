"""Respelling a call as a whole: lists, absent values, names and order of arguments, the text of the JSON."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator

from ironcurtain.analysis.attack.spellings.leaves import ResourceLeaf
from ironcurtain.analysis.attack.spellings.spelling import TOOLS
from ironcurtain.decision.canonical import pointers
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct

PARSERS = "parsers of JSON"


class Shaped(Struct):
    """Another call, or JSON text of arguments, that stands for the same."""

    kind: str
    taken_by: str
    arguments: JsonValue


def shaped(
    tool: ToolAnnotation,
    arguments: dict[str, JsonValue],
    leaves: list[ResourceLeaf],
    other: dict[str, JsonValue] | None,
) -> Iterator[Shaped]:
    """Yield other shapes of a call.

    `other` are arguments of a call of the tool that gets further, if there is one.
    """
    for leaf in leaves:
        yield from _lists(arguments, leaf)
    yield from _absent(tool, arguments)
    yield from _names(arguments)
    yield from _texts(arguments, other)
    if other is not None:
        yield from _beside(arguments, leaves, other)


def _lists(arguments: dict[str, JsonValue], leaf: ResourceLeaf) -> Iterator[Shaped]:
    if leaf.part is not None:
        return
    several: list[JsonValue] = [[leaf.text], [[leaf.text]], [leaf.text, leaf.text], {"value": leaf.text}]
    for value in several:
        yield Shaped("scalar and list", TOOLS, leaf.with_value(arguments, value))
    for steps, holder in pointers.matches(arguments, leaf.steps[:-1]):
        if isinstance(holder, list) and steps:
            changed = copy.deepcopy(arguments)
            pointers.assign(changed, steps, leaf.text if len(holder) == 1 else [holder])
            yield Shaped("scalar and list", TOOLS, changed)
            changed = copy.deepcopy(arguments)
            pointers.assign(changed, steps, [*holder[::-1], holder[0]])
            yield Shaped("reordered elements", TOOLS, changed)


def _absent(tool: ToolAnnotation, arguments: dict[str, JsonValue]) -> Iterator[Shaped]:
    properties = tool.properties
    for name in dict.fromkeys((*tool.argument_names, *properties)):
        described = properties.get(name)
        default = described.get("default") if isinstance(described, dict) else None
        if name not in arguments:
            yield Shaped("null and default", TOOLS, {**arguments, name: None})
            if default is not None:
                yield Shaped("null and default", TOOLS, {**arguments, name: default})
        elif arguments[name] is None or (default is not None and arguments[name] == default):
            yield Shaped("null and default", TOOLS, {k: v for k, v in arguments.items() if k != name})


def _names(arguments: dict[str, JsonValue]) -> Iterator[Shaped]:
    yield Shaped("reordered arguments", TOOLS, dict(reversed(arguments.items())))
    yield Shaped("extra arguments", TOOLS, {**arguments, "ironcurtain_attack": True})
    yield Shaped("extra arguments", TOOLS, {**arguments, "__proto__": {}})
    for name, value in arguments.items():
        for spelled in dict.fromkeys((name.upper(), name.title(), f"{name} ", f"{name}[]")):
            if spelled not in arguments:
                renamed = {spelled if key == name else key: kept for key, kept in arguments.items()}
                yield Shaped("names of arguments", TOOLS, renamed)
                yield Shaped("extra arguments", TOOLS, {**arguments, spelled: value})


def _texts(arguments: dict[str, JsonValue], other: dict[str, JsonValue] | None) -> Iterator[Shaped]:
    escaped = json.dumps(arguments).replace("/", "\\u002f").replace(".", "\\u002e")
    yield Shaped("escapes", PARSERS, escaped)
    for name, value in (other or {}).items():
        if name in arguments and arguments[name] != value:
            others = json.dumps({k: v for k, v in arguments.items() if k != name})[1:-1]
            rest = f", {others}" if others else ""
            ours, theirs = (f"{json.dumps(name)}: {json.dumps(v)}" for v in (arguments[name], value))
            yield Shaped("said twice", PARSERS, f"{{{ours}, {theirs}{rest}}}")
            yield Shaped("said twice", PARSERS, f"{{{theirs}, {ours}{rest}}}")


def _beside(
    arguments: dict[str, JsonValue], leaves: list[ResourceLeaf], other: dict[str, JsonValue]
) -> Iterator[Shaped]:
    """Put a value that gets further beside one that does not."""
    for leaf in leaves:
        others = [v for _, v in pointers.matches(other, pointers.steps_of(leaf.argument.name))]
        friend = next((text for value in others for _, text in pointers.leaves(value)), None)
        if not isinstance(friend, str) or friend == leaf.text or leaf.part is not None:
            continue
        for changed in _pairs(arguments, leaf, friend):
            yield Shaped("beside another", TOOLS, changed)
        if any(role.name == "recipient" for role in leaf.roles):
            for joined in (f"{friend},{leaf.text}", f"{leaf.text},{friend}"):
                yield Shaped("several in one text", TOOLS, leaf.with_value(arguments, joined))


def _pairs(
    arguments: dict[str, JsonValue], leaf: ResourceLeaf, friend: str
) -> Iterator[dict[str, JsonValue]]:
    inside = leaf.steps[:-1] if leaf.steps[-1].isdecimal() else leaf.steps
    there = next(v for _, v in pointers.matches(arguments, inside))
    values = there if isinstance(there, list) else [leaf.text]
    orders: list[list[JsonValue]] = [[friend, *values], [*values, friend]]
    for both in orders:
        changed = copy.deepcopy(arguments)
        pointers.assign(changed, inside, both)
        yield changed
