"""Whether the values that rules test an argument for can stand there at all, by its tools' schemas.

A rule that waits for `"hrad"` where the schema knows `"hard"` never applies. It is refused where it is
written, with the values that there are. A value is refused only if no tool of the rule takes it: whatever
a schema leaves open counts as taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import re2

from ironcurtain.analysis.engine.values.shapes import SchemaReader, Schemas
from ironcurtain.compiler.questions.schema_parts import entries
from ironcurtain.compiler.questions.shown_schema import shown_schema
from ironcurtain.compiler.render.conditions import anchored
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.conditional import same_json
from ironcurtain.decision.canonical.schema_patterns import UnusableSchemaError
from ironcurtain.decision.canonical.schema_validator import SchemaValidator
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.conditions import ArgCondition, If
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted

_TESTED = frozenset({"equals", "in"})
"""The tests that need a value. Their negations hold of every other value, so that they wait for none."""

_FEW: dict[str, tuple[JsonValue, ...]] = {"boolean": (True, False), "null": (None,)}
_SHOWN_VALUES = 30


class _ArgumentPlace(Struct):
    """A place of a tool's arguments.

    Attributes:
        shapes: Reads the tool's schema.
        schemas: What a call's value must fit all of.
        defaults: What may stand there without being sent, whether it fits or not.
    """

    shapes: SchemaReader
    schemas: Schemas
    defaults: tuple[JsonValue, ...]

    def takes(self, value: JsonValue) -> bool:
        """Tell whether a value may stand there; true where nobody looks: arrays, objects, open references."""
        if isinstance(value, list | dict) or any(same_json(value, each) for each in self.defaults):
            return True
        try:
            return all(_accepts(schema, value) for schema in self.schemas.parts)
        except UnusableSchemaError:
            return True

    def known(self) -> list[JsonValue] | None:
        """Return all values that may stand there, None where they are not listed."""
        found = list(self.defaults)
        for shape in self.shapes.of(self.schemas):
            listed = shape.enum
            if listed is None and shape.types <= _FEW.keys():
                listed = tuple(
                    value for name, values in _FEW.items() if name in shape.types for value in values
                )
            if listed is None:
                return None
            found += [value for value in listed if self.takes(value)]
        return found

    def below(self, step: str) -> Iterator[_ArgumentPlace]:
        """Yield what stands one step below, for each shape that the schema allows."""
        defaults = tuple(below for each in self.defaults for below in _below(each, step))
        for shape in self.shapes.of(self.schemas):
            if step == pointers.EVERY and "array" in shape.types:
                yield self._of(shape.items, defaults)
            if step != pointers.EVERY and "object" in shape.types:
                yield self._of(shape.member(step), defaults)

    def _of(self, schemas: Schemas, defaults: tuple[JsonValue, ...]) -> _ArgumentPlace:
        own = tuple(default for schema in schemas.parts for default in _defaults(schema))
        return _ArgumentPlace(self.shapes, schemas, (*defaults, *own))


def value_mistakes(condition: If, tools: Sequence[ToolAnnotation]) -> Iterator[str]:
    """Yield a sentence for each tested value that none of the tools takes.

    Args:
        condition: The rule's `if`, whose tests are valid in themselves.
        tools: The annotated tools that the rule concerns.
    """
    for test in condition.args or ():
        places = [place for tool in tools for place in _places(test.name, tool)]
        if places and not test.measure and not test.ignore_case and test.part is None:
            yield from _test_mistakes(test, places)


def _test_mistakes(test: ArgCondition, places: Sequence[_ArgumentPlace]) -> Iterator[str]:
    shown = f"`args` {quoted(test.name)}"
    known = _known(places)
    if test.op == "matches" and known and all(isinstance(value, str) for value in known):
        pattern = str(test.value)
        if not any(_matches(pattern, value) for value in known):
            yield f"{shown}: {quoted(pattern)} matches none of the values that there are: {_listed(known)}"
        return
    if test.op not in _TESTED or isinstance(test.value, dict):
        return
    for value in test.operands:
        if not any(place.takes(value) for place in places):
            there = f"it takes {_listed(known)}" if known else f"its schema is {_listed(_schemas(places))}"
            yield f"{shown}: {_text(value)} can never stand there; {there}"


def _places(name: str, tool: ToolAnnotation) -> list[_ArgumentPlace]:
    """Return what may stand at a place of a tool's arguments; none if the tool has no such argument."""
    first, *rest = pointers.steps_of(name)
    schema = shown_schema(tool.input_schema) if tool.input_schema is not None else {}
    shapes = SchemaReader(schema)
    if tool.input_schema is not None and not any(
        first in dict(shape.properties) for shape in shapes.of(Schemas((schema,)))
    ):
        return []
    found = list(_ArgumentPlace(shapes, Schemas((schema,)), tuple(_defaults(schema))).below(first))
    for step in rest:
        found = [below for place in found for below in place.below(step)]
    return found


def _below(value: JsonValue, step: str) -> Iterator[JsonValue]:
    if step == pointers.EVERY and isinstance(value, list):
        yield from value
    if step != pointers.EVERY and isinstance(value, dict) and step in value:
        yield value[step]


def _defaults(schema: JsonValue) -> Iterator[JsonValue]:
    """Yield what a schema has filled in, whichever of its alternatives names it."""
    if isinstance(schema, dict):
        if "default" in schema:
            yield schema["default"]
        for key in ("anyOf", "oneOf", "allOf"):
            for part in entries(schema, key):
                yield from _defaults(part)


def _accepts(schema: JsonValue, value: JsonValue) -> bool:
    """Tell whether a schema takes a value; what is no schema takes everything."""
    if not isinstance(schema, dict | bool):
        return True
    # A pattern of a server's own runs in linear time, and a model's value may be made to be slow for it.
    return SchemaValidator(schema).checker([schema])(value) is not False


def _known(places: Sequence[_ArgumentPlace]) -> list[JsonValue]:
    """Return all values that places take besides null, if they are listed; else none."""
    found: list[JsonValue] = []
    for place in places:
        listed = place.known()
        if listed is None:
            return []
        found += [value for value in listed if value is not None and value not in found]
    return found


def _schemas(places: Sequence[_ArgumentPlace]) -> list[JsonValue]:
    return [each for place in places for each in place.schemas.parts]


def _matches(pattern: str, value: JsonValue) -> bool:
    return isinstance(value, str) and re2.fullmatch(anchored(pattern), value) is not None


def _listed(values: Sequence[JsonValue]) -> str:
    shown = ", ".join(_text(value) for value in values[:_SHOWN_VALUES])
    return f"{shown}, …" if len(values) > _SHOWN_VALUES else shown


def _text(value: JsonValue) -> str:
    return json_text.shown(value)
