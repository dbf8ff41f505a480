"""A JSON Schema as shapes: plain conjunctions of keywords, together at least as wide as the schema.

References are followed, `anyOf` and `oneOf` become several shapes, `allOf` is laid together. Whatever keyword
is not followed only restricts, so leaving it out makes a shape wider, never narrower: no value that the
schema accepts is outside all shapes. Where nothing was left out the shapes are `exact`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from jsonschema import (
    Draft3Validator,
    Draft4Validator,
    Draft6Validator,
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
)

from ironcurtain.analysis.engine.values.number_representatives import is_number
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.conditional import same_json
from ironcurtain.decision.canonical.json_schema import compiled_pattern
from ironcurtain.system.frozen import JsonValue

TYPES = ("string", "number", "integer", "boolean", "null", "array", "object")
_ALL = frozenset(TYPES) - {"integer"}
_MAX_SHAPES = 64
_MAX_DEPTH = 12
_TOLD = frozenset({"$defs", "definitions", "$schema", "$id", "$comment", "format", "default", "examples"})
_JOINED = frozenset({"$ref", "anyOf", "oneOf", "allOf", "items", "properties", "required", "type", "enum"})
_BOUNDS: dict[str, Callable[[float, float], float]] = {
    "minimum": max, "exclusiveMinimum": max, "minLength": max, "minItems": max,
    "maximum": min, "exclusiveMaximum": min, "maxLength": min, "maxItems": min,
}  # fmt: skip
_UNDERSTOOD = _TOLD | _JOINED | _BOUNDS.keys() | {"const", "pattern", "multipleOf", "additionalProperties"}
_DRAFTS = (
    Draft3Validator,
    Draft4Validator,
    Draft6Validator,
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
)
_RESTRICTING = frozenset(key for draft in _DRAFTS for key in draft.VALIDATORS)
Schemas: TypeAlias = tuple[JsonValue, ...]
"""Schemas that a value must fit all of."""


@dataclass(frozen=True)
class Shape:
    """A conjunction of plain keywords.

    Attributes:
        types: The JSON types that a value may have; integers are numbers that are `whole`.
        bounds: The bounds of numbers, lengths and counts, by keyword.
        enum: The only values, None where they are not listed.
        patterns: The expressions that a string must hold.
        steps: What a number must be a multiple of.
        items: What elements must fit.
        properties: What members must fit, by name.
        others: What members that `properties` does not name must fit.
        required: The members that an object must have.
        exact: Whether nothing of the schema was left out.
    """

    types: frozenset[str] = _ALL
    whole: bool = False
    bounds: tuple[tuple[str, float], ...] = ()
    enum: tuple[JsonValue, ...] | None = None
    patterns: tuple[str, ...] = ()
    steps: tuple[float, ...] = ()
    items: Schemas = ()
    properties: tuple[tuple[str, Schemas], ...] = ()
    others: Schemas = ()
    required: frozenset[str] = frozenset()
    exact: bool = True

    def bound(self, key: str) -> float | None:
        """Return a bound, None if there is none."""
        return dict(self.bounds).get(key)

    def member(self, name: str) -> Schemas:
        """Return what a member must fit."""
        return dict(self.properties).get(name, self.others)

    def takes(self, text: str) -> bool:
        """Tell whether a text fits, as far as keywords were followed."""
        least, most = self.bound("minLength"), self.bound("maxLength")
        return (
            "string" in self.types
            and (self.enum is None or text in self.enum)
            and (least is None or len(text) >= least)
            and (most is None or len(text) <= most)
            and all(compiled_pattern(each).search(text) is not None for each in self.patterns)
        )


class Shapes:
    """Reads the schemas of one tool.

    Args:
        root: The tool's whole schema, which references point into.
    """

    def __init__(self, root: Mapping[str, JsonValue]) -> None:
        self._root = root
        self._known: dict[int, tuple[Schemas, tuple[Shape, ...]]] = {}
        self._arguments: dict[str, Schemas] = {}
        named = str(root.get("$schema", ""))
        # Before 2019-09 whatever stands beside a reference is ignored.
        self._beside = not named or "2019-09" in named or "2020-12" in named

    def of(self, schemas: Schemas) -> tuple[Shape, ...]:
        """Return the shapes of what fits all of some schemas; none where nothing can."""
        # By identity, which the kept tuple makes unique: schemas cannot be hashed, and are asked for often.
        if id(schemas) not in self._known:
            found = self._of(schemas[0], 0) if schemas else (Shape(),)
            for schema in schemas[1:]:
                found = _crossed(found, self._of(schema, 0))
            self._known[id(schemas)] = schemas, found
        return self._known[id(schemas)][1]

    def argument(self, name: str) -> Schemas:
        """Return what a top-level argument must fit."""
        if name not in self._arguments:
            found = self._whole
            members = [{"allOf": list(shape.member(name))} for shape in found]
            self._arguments[name] = found[0].member(name) if len(found) == 1 else ({"anyOf": members},)
        return self._arguments[name]

    def at(self, path: Sequence[str]) -> Schemas:
        """Return what must be fitted at a path of object keys that begins with a top-level argument."""
        schemas = self.argument(path[0])
        for step in path[1:]:
            members = [_member(shape, step) for shape in self.of(schemas) if "object" in shape.types]
            schemas = members[0] if len(members) == 1 else ({"anyOf": [{"allOf": list(m)} for m in members]},)
        return schemas

    def takes_text(self, name: str, text: str) -> bool | None:
        """Tell whether a text fits as a top-level argument, whatever the others are; None if not known."""
        found = self.of(self.argument(name))
        if not self.exact or not all(shape.exact for shape in found):
            return None
        return any(shape.takes(text) for shape in found)

    def may_be_null(self, schema: JsonValue) -> bool:
        """Tell whether null may fit a schema; false is certain."""
        return any(
            "null" in shape.types and (shape.enum is None or None in shape.enum)
            for shape in self.of((schema,))
        )

    def is_whole(self, schema: JsonValue) -> bool:
        """Tell whether every number that fits a schema is an integer."""
        return all(shape.whole or "number" not in shape.types for shape in self.of((schema,)))

    @property
    def exact(self) -> bool:
        """Whether nothing of the whole schema was left out that ties arguments to each other."""
        return len(self._whole) == 1 and self._whole[0].exact and self._whole[0].enum is None

    @cached_property
    def _whole(self) -> tuple[Shape, ...]:
        return self.of((self._root,))

    @cached_property
    def required(self) -> frozenset[str]:
        """The top-level arguments that every call must name."""
        found = [shape.required for shape in self._whole]
        return frozenset.intersection(*found) if found else frozenset()

    def _of(self, schema: JsonValue, depth: int) -> tuple[Shape, ...]:
        if schema is False:
            return ()
        if not isinstance(schema, dict):
            return (Shape(),)
        if depth > _MAX_DEPTH or (schema is not self._root and "$id" in schema):
            return (Shape(exact=False),)
        target = schema.get("$ref")
        if isinstance(target, str):
            referred = self._of(self._target(target), depth + 1)
            if not self._beside:
                return referred
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            return _crossed(referred, self._of(rest, depth + 1))
        found: tuple[Shape, ...] = (_plain(schema),)
        for key in ("anyOf", "oneOf"):
            if isinstance(schema.get(key), list):
                branches = [self._of(branch, depth + 1) for branch in schema[key]]
                one_of = key == "oneOf" and not _disjoint(branches)
                found = _crossed(found, _unless(one_of, tuple(shape for each in branches for shape in each)))
        for part in schema["allOf"] if isinstance(schema.get("allOf"), list) else ():
            found = _crossed(found, self._of(part, depth + 1))
        return found

    def _target(self, reference: str) -> JsonValue:
        """Return what a reference points to; true, which is wider than anything, where that is not plain."""
        if not (reference == "#" or reference.startswith("#/")):
            return {"$dynamicRef": reference}
        found: JsonValue = dict(self._root)
        for token in pointers.tokens(reference[1:]):
            found = found.get(token) if isinstance(found, dict) else None
        return found if isinstance(found, dict | bool) else {"$dynamicRef": reference}


def _member(shape: Shape, name: str) -> Schemas:
    if shape.enum is None:
        return shape.member(name)
    return ({"enum": [value[name] for value in shape.enum if isinstance(value, dict) and name in value]},)


def _plain(schema: Mapping[str, JsonValue]) -> Shape:
    left_out = {key for key in schema if key in _RESTRICTING and key not in _UNDERSTOOD}
    enum = tuple(schema["enum"]) if isinstance(schema.get("enum"), list) else None
    enum = _listed_by_both(enum, (schema["const"],) if "const" in schema else None)
    shape = replace(_of_type(schema.get("type")), enum=enum, **_of_scalars(schema))
    parts = _of_parts(schema, left_out)
    return replace(
        shape, **parts, exact=shape.exact and not left_out and not isinstance(schema.get("items"), list)
    )


def _of_type(named: JsonValue) -> Shape:
    if named is None:
        return Shape()
    listed = (
        set(named) if isinstance(named, list) and all(isinstance(each, str) for each in named) else {named}
    )
    if not all(isinstance(each, str) for each in listed) or not listed <= set(TYPES):
        return Shape(exact=False)
    found = frozenset("number" if each == "integer" else str(each) for each in listed)
    return Shape(types=found, whole="integer" in listed and "number" not in listed)


def _of_scalars(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    bounds = tuple((key, schema[key]) for key in sorted(_BOUNDS) if is_number(schema.get(key)))
    pattern, step = schema.get("pattern"), schema.get("multipleOf")
    return {
        "bounds": bounds,
        "patterns": (pattern,) if isinstance(pattern, str) else (),
        "steps": (step,) if is_number(step) else (),
    }


def _of_parts(schema: Mapping[str, JsonValue], left_out: Iterable[str]) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    items, members, needed = schema.get("items"), schema.get("properties"), schema.get("required")
    if isinstance(items, dict | bool) and "prefixItems" not in left_out:
        found["items"] = (items,)
    if isinstance(members, dict):
        found["properties"] = tuple((name, (each,)) for name, each in members.items())
    # A pattern of names can take members out of what `additionalProperties` speaks of.
    if "additionalProperties" in schema and "patternProperties" not in left_out:
        found["others"] = (schema["additionalProperties"],)
    if isinstance(needed, list):
        found["required"] = frozenset(map(str, needed))
    return found


def _disjoint(branches: Iterable[Iterable[Shape]]) -> bool:
    """Tell whether no value fits two branches, since they are of different types."""
    met: set[str] = set()
    for branch in branches:
        types = {type_ for shape in branch for type_ in shape.types}
        if met & types:
            return False
        met |= types
    return True


def _unless(left_out: bool, shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:  # noqa: FBT001 - one short use
    return tuple(replace(shape, exact=False) for shape in shapes) if left_out else shapes


def _crossed(left: tuple[Shape, ...], right: tuple[Shape, ...]) -> tuple[Shape, ...]:
    """Return the shapes of what fits one of the left and one of the right."""
    if len(left) * len(right) > _MAX_SHAPES:
        return (Shape(exact=False),)
    both = (_joined(one, other) for one in left for other in right)
    return tuple(shape for shape in both if shape.types and shape.enum != ())


def _joined(one: Shape, other: Shape) -> Shape:
    whole = one.whole or other.whole
    bounds = dict(one.bounds)
    for key, value in other.bounds:
        bounds[key] = _BOUNDS[key](bounds[key], value) if key in bounds else value
    # `additionalProperties` speaks of the members that its own schema does not name, so two do not join.
    names, more = dict(one.properties), dict(other.properties)
    apart = bool((one.others and more.keys() - names.keys()) or (other.others and names.keys() - more.keys()))
    members = {name: (*names.get(name, ()), *more.get(name, ())) for name in {**names, **more}}
    return Shape(
        types=one.types & other.types,
        whole=whole,
        bounds=tuple(sorted(bounds.items())),
        enum=_listed_by_both(one.enum, other.enum),
        patterns=tuple(dict.fromkeys((*one.patterns, *other.patterns))),
        steps=tuple(dict.fromkeys((*one.steps, *other.steps))),
        items=(*one.items, *other.items),
        properties=tuple(members.items()),
        others=() if apart else (*one.others, *other.others),
        required=one.required | other.required,
        exact=one.exact and other.exact and not apart,
    )


def _listed_by_both(one: Schemas | None, other: Schemas | None) -> Schemas | None:
    if one is None or other is None:
        return other if one is None else one
    return tuple(value for value in one if any(same_json(value, each) for each in other))
