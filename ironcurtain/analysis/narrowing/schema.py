"""Writing what is live into a tool's JSON Schema.

Every keyword put here follows from a test that all live classes of an argument share, or from a finite
list of values that were held against the classes one by one.
"""

from __future__ import annotations

from ironcurtain.analysis.engine.policies_under_test import GIT_REMOTE
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.analysis.engine.space.variables import Variable
from ironcurtain.analysis.engine.values.shapes import Shapes
from ironcurtain.analysis.narrowing.keywords import (
    add_keywords,
    below,
    equal_operands,
    presence,
    required,
)
from ironcurtain.analysis.narrowing.live import Live
from ironcurtain.analysis.narrowing.places import describe_places
from ironcurtain.analysis.narrowing.references import detached
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.system.frozen import JsonValue


def narrowed_schema(tool: ToolAnnotation, space: CallSpace, live: Live) -> dict[str, JsonValue] | None:
    """Return a tool's schema with what the policy leaves of it, None if the tool has none."""
    if tool.input_schema is None:
        return None
    schema = detached(tool.input_schema)
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
        live: Live,
    ) -> None:
        self._schema = schema
        self._properties = properties
        self._tool = tool
        self._space = space
        self._live = live
        self._shapes = Shapes(schema)

    def run(self) -> None:
        resources = {name for source in self._space.sources for name in source.places}
        for index, variable in enumerate(self._space.variables):
            # Values that are compared with one another have no limits of their own.
            if len(variable.places) > 1 or variable.places[0][0] != "args":
                continue
            name = variable.places[0][1]
            described = self._properties.get(name)
            if not isinstance(described, dict):
                continue
            alive = frozenset(
                number for number in range(len(variable.classes)) if self._live.possible(index, number)
            )
            if name in resources:
                self._demand(name, variable, alive)
            else:
                self._value(name, described, variable, alive)
        for index, source in enumerate(self._space.sources):
            self._resource(index, source.places)

    # -- arguments that are tested ----------------------------------------------------------------

    def _value(
        self, name: str, described: dict[str, JsonValue], variable: Variable, alive: frozenset[int]
    ) -> None:
        default = self._space.default(name)
        if default is None:
            self._demand(name, variable, alive)
        elif not _holds(variable, alive, name, default):
            described.pop("default", None)
            self._require(name)
        live = [each.true for number, each in enumerate(variable.classes) if number in alive]
        if _never_given(variable, live):
            self._remove(name, described)
            return
        finite = own = _finite(described)
        if finite is None:
            finite = equal_operands(variable.atoms, live)
            if finite is not None and self._shapes.may_be_null(described):
                finite.append(None)
        if finite is not None:
            left = [value for value in finite if value is None or _holds(variable, alive, name, value)]
            if left != own:
                _replace_values(described, left)
            return
        for atom in variable.atoms:
            held = {atom.key in true for true in live}
            if len(held) == 1:
                add_keywords(described, atom, self._shapes, truth=held.pop())

    def _demand(self, name: str, variable: Variable, alive: frozenset[int]) -> None:
        """Require an argument without which every call is denied."""
        filled = any(a.repository and a.top_level == name for a in self._tool.args)
        if filled or self._space.default(name) is not None:
            return
        absent = variable.class_of({"args": {}, "caller": {}})
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

    def _resource(self, index: int, places: tuple[str, ...]) -> None:
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
                describe_places(target, index, self._space, self._live)

    def _unusable(self, name: str, described: dict[str, JsonValue], *, many: bool) -> None:
        if not many:
            if described.get("type") == "string" and described.get("default") is None:
                self._properties.pop(name)
        elif described.get("type") == "array":
            described["maxItems"] = 0


def _never_given(variable: Variable, live: list[frozenset[str]]) -> bool:
    """Tell whether every live class is one of an absent argument."""
    for atom in variable.atoms:
        wanted = presence(atom)
        if wanted is not None and all((atom.key in true) is not wanted for true in live):
            return True
    return False


def _holds(variable: Variable, alive: frozenset[int], name: str, value: JsonValue) -> bool:
    """Tell whether a value belongs to a live class; one that was not examined counts as live."""
    class_ = variable.class_of({"args": {name: value}, "caller": {}})
    return class_ is None or class_ in alive


def _finite(described: dict[str, JsonValue]) -> list[JsonValue] | None:
    """Return all values that a schema permits, where it lists them."""
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
