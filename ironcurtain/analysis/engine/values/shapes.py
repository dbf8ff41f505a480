"""A JSON Schema as shapes: plain conjunctions of keywords, together at least as wide as the schema.

References are followed, `anyOf` and `oneOf` become several shapes, `allOf` is laid together. Whatever keyword
is not followed only restricts, so leaving it out makes a shape wider, never narrower: no value that the
schema accepts is outside all shapes. Where nothing was left out the shapes are `exact`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property

from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.conditional import same_json
from ironcurtain.decision.canonical.schema_patterns import compiled_pattern
from ironcurtain.system.frozen import JsonValue, is_number
from ironcurtain.system.structs import Struct, replace

TYPES = ("string", "number", "integer", "boolean", "null", "array", "object")
_ALL = frozenset(TYPES) - {"integer"}
_MAX_SHAPES = 64
_MAX_DEPTH = 12
_TOLD = frozenset(
    {"$defs", "definitions", "$schema", "$id", "$comment", "format", "default", "examples", "title"}
    | {"description", "deprecated", "readOnly", "writeOnly"}
)
_JOINED = frozenset({"$ref", "anyOf", "oneOf", "allOf", "items", "properties", "required", "type", "enum"})
_BOUNDS: dict[str, Callable[[float, float], float]] = {
    "minimum": max, "exclusiveMinimum": max, "minLength": max, "minItems": max,
    "maximum": min, "exclusiveMaximum": min, "maxLength": min, "maxItems": min,
}  # fmt: skip
_UNDERSTOOD = _TOLD | _JOINED | _BOUNDS.keys() | {"const", "pattern", "multipleOf", "additionalProperties"}


@cache
def _restricting() -> frozenset[str]:
    """Return every keyword that some dialect has; what only reads shapes need not load their library."""
    from jsonschema import validators  # noqa: PLC0415 - as above

    drafts = (
        validators.Draft3Validator,
        validators.Draft4Validator,
        validators.Draft6Validator,
        validators.Draft7Validator,
        validators.Draft201909Validator,
        validators.Draft202012Validator,
    )
    return frozenset(key for draft in drafts for key in draft.VALIDATORS)


class Schemas(Struct, eq=False):
    """Schemas that a value must fit all of.

    Two of them are equal only where they are the same object: JSON Schemas cannot be hashed, and what is
    known of them is asked for often.
    """

    parts: tuple[JsonValue, ...] = ()


NO_SCHEMAS = Schemas()


class SchemaShape(Struct):
    """A conjunction of plain keywords.

    Attributes:
        types: The JSON types that a value may have; integers are numbers that are `whole`.
        bounds: The bounds of numbers, lengths and counts, by keyword.
        enum: The only values, None where they are not listed.
        patterns: The expressions that a string must hold, and
        refused: those that none may hold.
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
    refused: tuple[str, ...] = ()
    steps: tuple[float, ...] = ()
    items: Schemas = NO_SCHEMAS
    properties: tuple[tuple[str, Schemas], ...] = ()
    others: Schemas = NO_SCHEMAS
    required: frozenset[str] = frozenset()
    exact: bool = True

    @property
    def expressions(self) -> tuple[str, ...]:
        """All expressions that are searched for in a string, whether it must or must not hold them."""
        return (*self.patterns, *self.refused)

    def bound(self, key: str) -> float | None:
        """Return a bound, None if there is none."""
        return dict(self.bounds).get(key)

    @property
    def longest(self) -> int | None:
        """The greatest number of characters of a string, None where it is not bounded."""
        most = self.bound("maxLength")
        return None if most is None else int(most)

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
            and all(compiled_pattern(each).search(text) is None for each in self.refused)
        )


class SchemaReader:
    """Reads the schemas of one tool.

    Args:
        root: The tool's whole schema, which references point into.
    """

    def __init__(self, root: dict[str, JsonValue]) -> None:
        self._root = root
        self._known: dict[Schemas, tuple[SchemaShape, ...]] = {}
        self._arguments: dict[str, Schemas] = {}
        named = str(root.get("$schema", ""))
        # Before 2019-09 whatever stands beside a reference is ignored.
        self._beside = not named or "2019-09" in named or "2020-12" in named

    def of(self, schemas: Schemas) -> tuple[SchemaShape, ...]:
        """Return the shapes of what fits all of some schemas; none where nothing can."""
        if schemas not in self._known:
            first, *others = schemas.parts or (True,)
            found = self._of(first, 0)
            for schema in others:
                found = _crossed(found, self._of(schema, 0))
            self._known[schemas] = found
        return self._known[schemas]

    def argument(self, name: str) -> Schemas:
        """Return what a top-level argument must fit."""
        if name not in self._arguments:
            found = self._whole
            self._arguments[name] = _any_of([shape.member(name) for shape in found])
        return self._arguments[name]

    def at(self, path: Sequence[str]) -> Schemas:
        """Return what must be fitted at a path of object keys that begins with a top-level argument."""
        schemas = self.argument(path[0])
        for step in path[1:]:
            members = [_member(shape, step) for shape in self.of(schemas) if "object" in shape.types]
            schemas = _any_of(members)
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
            for shape in self.of(Schemas((schema,)))
        )

    def is_whole(self, schema: JsonValue) -> bool:
        """Tell whether every number that fits a schema is an integer."""
        return all(shape.whole or "number" not in shape.types for shape in self.of(Schemas((schema,))))

    @property
    def exact(self) -> bool:
        """Whether nothing of the whole schema was left out that ties arguments to each other."""
        return len(self._whole) == 1 and self._whole[0].exact and self._whole[0].enum is None

    @cached_property
    def _whole(self) -> tuple[SchemaShape, ...]:
        return self.of(Schemas((self._root,)))

    @cached_property
    def required(self) -> frozenset[str]:
        """The top-level arguments that every call must name."""
        found = [shape.required for shape in self._whole]
        return frozenset.intersection(*found) if found else frozenset()

    def _of(self, schema: JsonValue, depth: int) -> tuple[SchemaShape, ...]:
        if schema is False:
            return ()
        if not isinstance(schema, dict):
            return (SchemaShape(),)
        if depth > _MAX_DEPTH or (schema is not self._root and "$id" in schema):
            return (SchemaShape(exact=False),)
        target = schema.get("$ref")
        if isinstance(target, str):
            referred = self._of(self._target(target), depth + 1)
            if not self._beside:
                return referred
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            return _crossed(referred, self._of(rest, depth + 1))
        found: tuple[SchemaShape, ...] = (_plain(schema),)
        for key in ("anyOf", "oneOf"):
            listed = schema.get(key)
            if isinstance(listed, list):
                branches = [self._of(branch, depth + 1) for branch in listed]
                one_of = key == "oneOf" and not _disjoint(branches)
                found = _crossed(found, _unless(one_of, tuple(shape for each in branches for shape in each)))
        parts = schema.get("allOf")
        for part in parts if isinstance(parts, list) else ():
            found = _crossed(found, self._of(part, depth + 1))
        return found

    def _target(self, reference: str) -> JsonValue:
        """Return what a reference points to; true, which is wider than anything, where that is not plain."""
        if not (reference == "#" or reference.startswith("#/")):
            return {"$dynamicRef": reference}
        found: JsonValue = self._root
        for token in pointers.tokens(reference[1:]):
            found = found.get(token) if isinstance(found, dict) else None
        return found if isinstance(found, dict | bool) else {"$dynamicRef": reference}


def _member(shape: SchemaShape, name: str) -> Schemas:
    if shape.enum is None:
        return shape.member(name)
    values = [value[name] for value in shape.enum if isinstance(value, dict) and name in value]
    return Schemas(({"enum": values},))


def _any_of(alternatives: Sequence[Schemas]) -> Schemas:
    """Return the schemas of what fits all schemas of one alternative."""
    if len(alternatives) == 1:
        return alternatives[0]
    return Schemas(({"anyOf": [{"allOf": list(each.parts)} for each in alternatives]},))


def _plain(schema: Mapping[str, JsonValue]) -> SchemaShape:
    """Return the shape of a schema's own keywords, without those that refer to or combine schemas."""
    refused = _refused_texts(schema.get("not"))
    unread = schema.keys() - _UNDERSTOOD - ({"not"} if refused else set())
    left_out = unread and unread & _restricting()
    listed, pattern, step = schema.get("enum"), schema.get("pattern"), schema.get("multipleOf")
    items, members, needed = schema.get("items"), schema.get("properties"), schema.get("required")
    enum = _listed_by_both(
        tuple(listed) if isinstance(listed, list) else None,
        (schema["const"],) if "const" in schema else None,
    )
    follows_items = isinstance(items, dict | bool) and "prefixItems" not in left_out
    # A pattern of names can take members out of what `additionalProperties` speaks of.
    follows_others = "additionalProperties" in schema and "patternProperties" not in left_out
    shape = _of_type(schema.get("type"))
    return replace(
        shape,
        bounds=tuple(_bounds(schema)),
        enum=enum,
        patterns=(pattern,) if isinstance(pattern, str) else (),
        refused=refused,
        steps=(step,) if is_number(step) else (),
        items=Schemas((items,)) if follows_items else NO_SCHEMAS,
        properties=_properties(members) if isinstance(members, dict) else (),
        others=Schemas((schema["additionalProperties"],)) if follows_others else NO_SCHEMAS,
        required=frozenset(map(str, needed)) if isinstance(needed, list) else frozenset(),
        exact=shape.exact and not left_out and not isinstance(items, list),
    )


def _refused_texts(negated: JsonValue) -> tuple[str, ...]:
    """Return the expression that `not` refuses strings by, where that is all it says."""
    if not isinstance(negated, dict) or negated.keys() != {"type", "pattern"} or negated["type"] != "string":
        return ()
    pattern = negated["pattern"]
    return (pattern,) if isinstance(pattern, str) else ()


def _of_type(named: JsonValue) -> SchemaShape:
    """Return the shape of what a schema's `type` permits."""
    if named is None:
        return SchemaShape()
    names = named if isinstance(named, list) else [named]
    listed = {name for name in names if isinstance(name, str)}
    if not listed <= set(TYPES) or not all(isinstance(name, str) for name in names):
        return SchemaShape(exact=False)
    types = frozenset("number" if name == "integer" else name for name in listed)
    return SchemaShape(types=types, whole="integer" in listed and "number" not in listed)


def _bounds(schema: Mapping[str, JsonValue]) -> Iterator[tuple[str, float]]:
    for key in sorted(_BOUNDS):
        value = schema.get(key)
        if is_number(value):
            yield key, value


def _properties(members: Mapping[str, JsonValue]) -> tuple[tuple[str, Schemas], ...]:
    return tuple((name, Schemas((schema,))) for name, schema in members.items())


def _disjoint(branches: Iterable[Iterable[SchemaShape]]) -> bool:
    """Tell whether no value fits two branches, since they are of different types."""
    met: set[str] = set()
    for branch in branches:
        types = {type_ for shape in branch for type_ in shape.types}
        if met & types:
            return False
        met |= types
    return True


def _unless(left_out: bool, shapes: tuple[SchemaShape, ...]) -> tuple[SchemaShape, ...]:  # noqa: FBT001 - one short use
    return tuple(replace(shape, exact=False) for shape in shapes) if left_out else shapes


def _crossed(left: tuple[SchemaShape, ...], right: tuple[SchemaShape, ...]) -> tuple[SchemaShape, ...]:
    """Return the shapes of what fits one of the left and one of the right."""
    if len(left) * len(right) > _MAX_SHAPES:
        return (SchemaShape(exact=False),)
    both = (_joined(one, other) for one in left for other in right)
    return tuple(shape for shape in both if shape.types and shape.enum != ())


def _joined(one: SchemaShape, other: SchemaShape) -> SchemaShape:
    whole = one.whole or other.whole
    bounds = dict(one.bounds)
    for key, value in other.bounds:
        bounds[key] = _BOUNDS[key](bounds[key], value) if key in bounds else value
    # `additionalProperties` speaks of the members that its own schema does not name, so two do not join.
    names, more = dict(one.properties), dict(other.properties)
    apart = bool(
        (one.others.parts and more.keys() - names.keys())
        or (other.others.parts and names.keys() - more.keys())
    )
    members = {
        name: _both(names.get(name, NO_SCHEMAS), more.get(name, NO_SCHEMAS)) for name in {**names, **more}
    }
    return SchemaShape(
        types=one.types & other.types,
        whole=whole,
        bounds=tuple(sorted(bounds.items())),
        enum=_listed_by_both(one.enum, other.enum),
        patterns=tuple(dict.fromkeys((*one.patterns, *other.patterns))),
        refused=tuple(dict.fromkeys((*one.refused, *other.refused))),
        steps=tuple(dict.fromkeys((*one.steps, *other.steps))),
        items=_both(one.items, other.items),
        properties=tuple(members.items()),
        others=NO_SCHEMAS if apart else _both(one.others, other.others),
        required=one.required | other.required,
        exact=one.exact and other.exact and not apart,
    )


def _both(one: Schemas, other: Schemas) -> Schemas:
    return Schemas((*one.parts, *other.parts))


def _listed_by_both(
    one: tuple[JsonValue, ...] | None, other: tuple[JsonValue, ...] | None
) -> tuple[JsonValue, ...] | None:
    if one is None or other is None:
        return other if one is None else one
    return tuple(value for value in one if any(same_json(value, each) for each in other))
