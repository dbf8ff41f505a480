"""Writing what is live into a tool's JSON Schema.

Every keyword that is written follows from a test that all live classes of an argument share, or from a
finite list of values that were compared with the classes one by one. Resources are described in words only:
an agent writes relative paths, links and other spellings, of which no keyword could be exact.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from ironcurtain.analysis.engine.indexes import SourceIndex, VariableIndex, indexed
from ironcurtain.analysis.engine.rules.regions import Region, grouped
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass
from ironcurtain.analysis.engine.space.variables import Variable
from ironcurtain.analysis.engine.values.shapes import SchemaReader
from ironcurtain.analysis.engine.values.witnesses import OUTSIDE
from ironcurtain.analysis.narrowing.keywords import (
    add_keywords,
    below,
    equal_operands,
    presence,
    required,
)
from ironcurtain.analysis.narrowing.live import LiveTool
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.roles import BUILT_IN, GIT_REMOTE
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.unknown_facts import values_by_root
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import visible

_SHOWN = 8
_DONE = {role.name: role.verb.participle for role in BUILT_IN if role.verb and role.verb.participle}
_DEFINITIONS = ("#/$defs/", "#/definitions/")
_NO_ARGUMENTS = frozenset({"$schema", "$id", "$defs", "definitions"})
_DATA = frozenset({"enum", "const", "default", "examples"})


def narrowed_schema(tool: ToolAnnotation, space: CallSpace, live: LiveTool) -> dict[str, JsonValue] | None:
    """Return a tool's schema with what the policy leaves of it, None if the tool has none."""
    if tool.input_schema is None:
        return None
    schema = _detached(tool.input_schema)
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return schema
    _Narrower(schema, properties, tool, space, live).run()
    return schema


class _Narrower:
    """Works on a copy of one schema."""

    def __init__(
        self,
        schema: dict[str, JsonValue],
        properties: dict[str, JsonValue],
        tool: ToolAnnotation,
        space: CallSpace,
        live: LiveTool,
    ) -> None:
        self._schema = schema
        self._properties = properties
        self._tool = tool
        self._space = space
        self._live = live
        self._shapes = SchemaReader(schema)

    def run(self) -> None:
        resources = {name for source in self._space.sources for name in source.places}
        for index, variable in indexed(VariableIndex, self._space.variables):
            # Values that are compared with one another have no limits of their own.
            if len(variable.places) > 1 or variable.places[0][0] != "args":
                continue
            name = variable.places[0][1]
            described = self._properties.get(name)
            if not isinstance(described, dict):
                continue
            alive = frozenset(number for number in variable.indexes if self._live.possible(index, number))
            if name in resources:
                self._demand(name, variable, alive)
            else:
                self._value(name, described, variable, alive)
        for number, source in indexed(SourceIndex, self._space.sources):
            self._resource(number, source.places)

    # -- arguments that are tested ----------------------------------------------------------------

    def _value(
        self, name: str, described: dict[str, JsonValue], variable: Variable, alive: frozenset[int]
    ) -> None:
        default = self._space.arguments.default(name)
        if default is None:
            self._demand(name, variable, alive)
        elif not _holds(variable, alive, name, default):
            described.pop("default", None)
            self._require(name)
        live = [class_.true for number, class_ in enumerate(variable.classes) if number in alive]
        if _never_given(variable, live):
            self._remove(name, described)
            return
        finite = listed = _finite(described)
        if finite is None:
            finite = equal_operands(variable.predicates, live)
            if finite is not None and self._shapes.may_be_null(described):
                finite.append(None)
        if finite is not None:
            left = [value for value in finite if value is None or _holds(variable, alive, name, value)]
            if left != listed:
                _replace_values(described, left)
            return
        for predicate in variable.predicates:
            held = {predicate.key in true for true in live}
            if len(held) == 1:
                add_keywords(described, predicate, self._shapes, truth=held.pop())

    def _demand(self, name: str, variable: Variable, alive: frozenset[int]) -> None:
        """Require an argument without which every call is denied."""
        filled = any(a.repository and a.top_level == name for a in self._tool.args)
        if filled or self._space.arguments.default(name) is not None:
            return
        absent = variable.class_of(values_by_root())
        if absent is not None and absent not in alive:
            self._require(name)

    def _require(self, name: str) -> None:
        names = required(self._schema)
        if name not in names:
            self._schema["required"] = [*names, name]

    def _remove(self, name: str, described: dict[str, JsonValue]) -> None:
        """Leave out an argument that no permitted call gives; null counts as not given."""
        if self._shapes.may_be_null(described):
            described["enum"] = [None]
        else:
            del self._properties[name]

    # -- arguments that name resources ------------------------------------------------------------

    def _resource(self, index: SourceIndex, places: tuple[str, ...]) -> None:
        source = self._space.sources[index]
        described = self._properties.get(places[0])
        if source.argument is None or not isinstance(described, dict):
            return
        plain = source.pointer == (places[0],) and source.argument.codec is None
        if plain and not self._live.usable(index):
            self._unusable(places[0], described, many=source.many)
        elif GIT_REMOTE not in source.argument.possible_roles:
            target = below(described, source.pointer[1:])
            if target is not None:
                _describe_places(target, index, self._space, self._live)

    def _unusable(self, name: str, described: dict[str, JsonValue], *, many: bool) -> None:
        if not many:
            if described.get("type") == "string" and described.get("default") is None:
                self._properties.pop(name)
        elif described.get("type") == "array":
            described["maxItems"] = 0


def _never_given(variable: Variable, live: list[frozenset[str]]) -> bool:
    """Tell whether every live class is one of an absent argument."""
    for predicate in variable.predicates:
        wanted = presence(predicate)
        if wanted is not None and all((predicate.key in true) is not wanted for true in live):
            return True
    return False


def _holds(variable: Variable, alive: frozenset[int], name: str, value: JsonValue) -> bool:
    """Tell whether a value belongs to a live class; one that was not examined counts as live."""
    class_ = variable.class_of(values_by_root() | {"args": {name: value}})
    return class_ is None or class_ in alive


def _finite(described: dict[str, JsonValue]) -> list[JsonValue] | None:
    """Return all values that a schema permits, None where it does not list them."""
    listed = described.get("enum")
    if isinstance(listed, list):
        return list(listed)
    if "const" in described:
        return [described["const"]]
    return [False, True] if described.get("type") == "boolean" else None


def _replace_values(described: dict[str, JsonValue], values: list[JsonValue]) -> None:
    for key in ("enum", "const"):
        described.pop(key, None)
    if len(values) == 1 and values[0] is not None:
        described["const"] = values[0]
    elif described.get("type") != "boolean":
        described["enum"] = values


# -- where an argument may point, in words ----------------------------------------------------------


def _describe_places(target: dict[str, JsonValue], source: int, space: CallSpace, live: LiveTool) -> None:
    """Add to an argument's description what of it could be permitted.

    Args:
        target: The schema of the argument, or of its elements; changed in place.
        source: The argument's place among the tool's sources.
        space: The tool.
        live: What of it is live.
    """
    sentences = []
    cells = [cell for cell in space.cells.values() if any(home == source for home, _ in cell.homes)]
    for role in sorted({cell.role for cell in cells}):
        sentences += _sentences(role, [cell for cell in cells if cell.role == role], live)
    if sentences:
        text = target.get("description")
        known = f"{text} " if isinstance(text, str) and text else ""
        target["description"] = f"{known}{' '.join(sentences)}"


def _sentences(role: str, cells: list[EquivalenceClass], live: LiveTool) -> list[str]:
    regions = [Region(chain, label, live.mildest(cell)) for cell in cells for chain, label in cell.regions]
    places = grouped(regions)
    if set(places) == {Verdict.ALLOW}:
        return []
    doing = _DONE.get(role, "used")
    if set(places) == {Verdict.ESCALATE}:
        return [f"May be {doing} with a person's approval only."]
    sentences = []
    if allowed := places.get(Verdict.ALLOW):
        sentences.append(f"May be {doing}: {_labels(allowed)}.")
    if asked := places.get(Verdict.ESCALATE):
        sentences.append(f"May be {doing} with a person's approval: {_labels(asked)}.")
    return sentences or [f"Nothing may be {doing}."]


def _labels(labels: tuple[str, ...]) -> str:
    named = dict.fromkeys("listed ones" if label.startswith("@") else visible(label) for label in labels)
    ordered = sorted(named, key=lambda label: (label == OUTSIDE, label))
    more = f" and {len(ordered) - _SHOWN} more" if len(ordered) > _SHOWN else ""
    return ", ".join(ordered[:_SHOWN]) + more


# -- references of a schema to its own arguments ----------------------------------------------------


def _detached(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a copy of a tool's schema whose arguments can be changed one by one.

    Some servers write the schema of one argument as a reference to another one's, and what a policy takes
    away from the other one is not taken from this one. References to definitions stay, since those are not
    changed. What all others refer to is added to the definitions as the server published it.
    """
    copied = copy.deepcopy(schema)
    references = [each for each in _references(copied) if not each[1].startswith(_DEFINITIONS)]
    definitions = copied.get("$defs")
    made: dict[str, JsonValue] = {**definitions} if isinstance(definitions, dict) else {}
    targets = dict.fromkeys(target for _, target in references)
    names = {target: _free(made, number) for number, target in enumerate(targets)}
    for node, target in references:
        node["$ref"] = f"#/$defs/{names[target]}"
    made |= {name: copy.deepcopy(_at(copied, target)) for target, name in names.items()}
    return {**copied, "$defs": made} if names else copied


def _free(definitions: Mapping[str, JsonValue], number: int) -> str:
    """Return a name that no definition has."""
    name = f"published{number or ''}"
    while name in definitions:
        name += "-"
    return name


def _at(schema: dict[str, JsonValue], target: str) -> JsonValue:
    """Return what a reference names; the schema itself without its definitions, which stay where they are."""
    if target == "#":
        return {key: value for key, value in schema.items() if key not in _NO_ARGUMENTS}
    pointer = unquote(target.removeprefix("#"))
    return next((found for _, found in pointers.matches(schema, pointers.tokens(pointer))), {})


def _references(value: JsonValue) -> Iterator[tuple[dict[str, JsonValue], str]]:
    """Yield every schema in a schema that refers to another place of it, with the reference."""
    if isinstance(value, dict):
        target = value.get("$ref")
        if isinstance(target, str) and (target == "#" or target.startswith("#/")):
            yield value, target
        for key, child in value.items():
            if key not in _DATA:
                yield from _references(child)
    elif isinstance(value, list):
        for child in value:
            yield from _references(child)
