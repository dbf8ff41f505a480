"""Arguments for generated scenarios: valid against the tool's schema, with a resource where a role is."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ironcurtain.analysis.engine.values.shapes import Schemas
from ironcurtain.analysis.engine.values.taken_schema import schema_of_some
from ironcurtain.analysis.engine.values.value_generator import ValueGenerator
from ironcurtain.compiler.annotate.schema_leaves import argument_schemas, required_arguments
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.json_schema import ArgumentSchema
from ironcurtain.decision.canonical.validate import InvalidArgumentsError, ValidatedTool
from ironcurtain.decision.roles import Registry
from ironcurtain.model.annotations import Argument, ToolAnnotation
from ironcurtain.system.frozen import JsonValue


class Filler:
    """Fills in the arguments of one tool.

    `fresh` are readable words that no policy names.
    """

    def __init__(self, tool: ValidatedTool, registry: Registry, fresh: tuple[str, ...]) -> None:
        self._tool = tool
        self._registry = registry
        self._schema = tool.annotation.input_schema or {}
        self._builder = ValueGenerator(schema_of_some(tool, registry), fresh)
        self._fresh = fresh
        self._checkers: dict[str, ArgumentSchema] = {}

    @property
    def annotation(self) -> ToolAnnotation:
        """The tool's annotation."""
        return self._tool.annotation

    def resources(self) -> list[Argument]:
        """Return the arguments that can carry a resource, in their order."""
        return [a for a in self.annotation.args if any(self._registry[r].resource for r in a.possible_roles)]

    def base(self, places: Mapping[str, str]) -> dict[str, JsonValue]:
        """Return the least arguments that the tool takes, each resource among them in its given place."""
        needed = {
            *required_arguments(self._schema),
            *(a.top_level for a in self.annotation.args if a.required),
        }
        members = {name for composite in self.annotation.composites for name in composite.join}
        arguments: dict[str, JsonValue] = {
            name: self._plain(name) for name in self.annotation.argument_names if name in needed | members
        }
        for argument in self.resources():
            if argument.top_level in needed and argument.name in places:
                arguments = self.placed(arguments, argument, [places[argument.name]])
        return arguments

    def placed(
        self, arguments: Mapping[str, JsonValue], argument: Argument, values: list[str]
    ) -> dict[str, JsonValue]:
        """Return the arguments with a resource argument set to a value, or to several where it takes them."""
        name = argument.top_level
        schema = self._tool.annotation.properties.get(name, {})
        inside = pointers.steps_of(argument.name)[1:]
        return {**arguments, name: self._set(arguments.get(name), schema, inside, argument, values)}

    def joined(
        self, arguments: Mapping[str, JsonValue], names: tuple[str, ...], parts: list[str]
    ) -> dict[str, JsonValue]:
        """Return the arguments with the parts of a composite set."""
        return {**arguments, **dict(zip(names, parts, strict=True))}

    def takes_several(self, argument: Argument) -> bool:
        """Tell whether an argument holds several resources at once."""
        if argument.codec is not None or pointers.EVERY in argument.name:
            return True
        schema = self._tool.annotation.properties.get(argument.top_level, {})
        return not argument.name.startswith("/") and _is_array(schema)

    def accepts(self, argument: Argument, value: str) -> bool:
        """Tell whether an argument's own schema takes a value; unknown names inside it are passed over."""
        if argument.name.startswith("/"):
            return True
        schema = self._tool.annotation.properties.get(argument.name, {})
        if argument.name not in self._checkers:
            named: dict[str, JsonValue] = {
                key: self._schema[key] for key in ("$schema", "$defs", "definitions") if key in self._schema
            }
            self._checkers[argument.name] = ArgumentSchema({**named, "properties": {"value": schema}})
        return not self._checkers[argument.name].problems({"value": _written(argument, schema, [value])})

    def fitted(self, arguments: dict[str, JsonValue]) -> dict[str, JsonValue] | None:
        """Return the arguments with their defaults, None if the tool would not take them."""
        try:
            return self._tool.validate(arguments, has_working_root=True)
        except InvalidArgumentsError:
            return None

    def _plain(self, name: str) -> JsonValue:
        shapes, word = self._builder.shapes, self._fresh[0]
        return word if shapes.takes_text(name, word) else self._minimal(shapes.argument(name))

    def _minimal(self, schemas: Schemas) -> JsonValue:
        """Return a plain value that fits some schemas, null where none was found."""
        found = self._builder.minimal(schemas).values
        return found[0].value if found else None

    def _set(
        self,
        value: JsonValue,
        schema: JsonValue,
        inside: tuple[str, ...],
        argument: Argument,
        values: list[str],
    ) -> JsonValue:
        if not inside:
            return _written(argument, schema, values)
        head, rest = inside[0], inside[1:]
        if head == pointers.EVERY:
            items = schema.get("items", {}) if isinstance(schema, dict) else {}
            element = value[0] if isinstance(value, list) and value else self._minimal(Schemas((items,)))
            return [self._set(element, items, rest, argument, [one]) for one in values]
        properties = argument_schemas(schema) if isinstance(schema, dict) else {}
        known = value if isinstance(value, dict) else self._minimal(Schemas((schema,)))
        known = known if isinstance(known, dict) else {}
        below = self._set(known.get(head), properties.get(head, {}), rest, argument, values)
        return {**known, head: below}


def _written(argument: Argument, schema: JsonValue, values: list[str]) -> JsonValue:
    """Return resources as the argument takes them: one, an array, or a string that holds them."""
    if argument.codec in ("comma", "addresses"):
        return ", ".join(values)
    if argument.codec is not None:
        return json.dumps(values)
    return [*values] if _is_array(schema) else values[0]


def _is_array(schema: JsonValue) -> bool:
    if not isinstance(schema, dict):
        return False
    types = schema.get("type")
    return types == "array" or (isinstance(types, list) and "array" in types and "string" not in types)
