"""Candidates: values of one argument or caller fact, enough to see every combination of its tests.

They are built along the schema and along the pointers that are tested; the tool's own schema then says
which of them are valid. What cannot be done exactly is named in `reasons`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ironcurtain.canonical import pointers
from ironcurtain.canonical.schema import ArgumentSchema, UnusableSchemaError
from ironcurtain.evidence.atoms import Atom, find
from ironcurtain.evidence.numbers import distinguishing_numbers, is_number
from ironcurtain.evidence.texts import TextTests, distinguishing_texts
from ironcurtain.model import jsontext
from ironcurtain.model.base import Json

MAX_VALUES = 4_000
_MAX_DEPTH = 8
_MAX_ELEMENT_CLASSES = 8
_UNDERSTOOD = frozenset(
    [
        "type",
        "enum",
        "const",
        "default",
        "title",
        "description",
        "examples",
        "format",
        "$schema",
        "$comment",
        "$id",
        "readOnly",
        "writeOnly",
        "deprecated",
        "nullable",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "pattern",
        "items",
        "minItems",
        "maxItems",
        "properties",
        "required",
        "additionalProperties",
        "anyOf",
        "$ref",
        "$defs",
        "definitions",
    ]
)
_TYPES = ("string", "number", "boolean", "array", "object")


class _Absent:
    """The value of what is not there."""


ABSENT = _Absent()


@dataclass
class Node:
    """The tests of one place and, by token, of the places below it.

    Attributes:
        operands: What the place is compared with.
        others: Further values to try there, since it is compared with another place.
    """

    atoms: list[Atom] = field(default_factory=list)
    operands: list[Json] = field(default_factory=list)
    others: list[Json] = field(default_factory=list)
    below: dict[str, Node] = field(default_factory=dict)


@dataclass
class Builder:
    """Builds the candidates of one top-level value.

    Attributes:
        root: The whole schema, which references point into.
        fresh: Readable strings that no policy names.
        refers: Whether some test compares with another value: then equal outcomes are not merged here.
        reasons: What cannot be done exactly.
    """

    root: dict[str, Json]
    fresh: tuple[str, ...]
    refers: bool
    reasons: list[str] = field(default_factory=list)

    def values(self, node: Node, schema: Json, depth: int = 0) -> list[Json]:
        """Return candidates for a place; the schema may still refuse some."""
        if schema is False or depth > _MAX_DEPTH:
            return []
        alternatives = self._alternatives(schema if isinstance(schema, dict) else {}, depth)
        found = [value for each in alternatives for value in self._of(node, each, depth)]
        # Before equal outcomes merge, so that no value is kept instead of a valid one.
        return self._distinct(self._valid(found, schema), node)

    def _valid(self, values: list[Json], schema: Json) -> list[Json]:
        if schema in ({}, True):
            return values
        named: dict[str, Json] = {
            key: self.root[key] for key in ("$schema", "$defs", "definitions") if key in self.root
        }
        try:
            checker = ArgumentSchema({**named, "properties": {"value": schema}})
        except UnusableSchemaError:
            return []
        return [value for value in values if not checker.problems({"value": value})]

    def _alternatives(self, schema: dict[str, Json], depth: int) -> list[dict[str, Json]]:
        if isinstance(schema.get("$ref"), str):
            return (
                self._alternatives(_target(schema["$ref"], self.root), depth + 1)
                if depth < _MAX_DEPTH
                else []
            )
        self.reasons += [
            f"the schema keyword {key}"
            for key in schema
            if key not in _UNDERSTOOD and key not in ("oneOf", "allOf")
        ]
        if "oneOf" in schema or "allOf" in schema:
            self.reasons.append("oneOf or allOf in the schema")
        branches = [*schema.get("anyOf", []), *schema.get("oneOf", []), *schema.get("allOf", [])]
        plain = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf", "allOf")}
        if not branches:
            return [plain]
        if depth >= _MAX_DEPTH:
            return []
        parts = [part for branch in branches for part in self._alternatives(branch, depth + 1)]
        return [{**plain, **part} for part in parts if isinstance(part, dict)]

    def _of(self, node: Node, schema: dict[str, Json], depth: int) -> list[Json]:
        listed = schema["enum"] if "enum" in schema else [schema["const"]] if "const" in schema else None
        if listed is not None:
            return list(listed)
        named = schema.get("type", _TYPES)
        types = named if isinstance(named, list | tuple) else [named]
        found = [schema["default"]] if "default" in schema else []
        found += [*node.operands, *node.others]
        for type_ in types:
            found += self._of_type(type_, node, schema, depth)
        return found

    def _of_type(self, type_: str, node: Node, schema: dict[str, Json], depth: int) -> list[Json]:
        if type_ == "boolean":
            return [False, True]
        if type_ in ("number", "integer"):
            return list(distinguishing_numbers([v for v in node.operands if is_number(v)], schema))
        if type_ == "string":
            return list(self._texts(node, schema))
        if type_ == "array":
            return self._arrays(node, schema, depth)
        return self._objects(node, schema, depth) if type_ == "object" else []

    def _texts(self, node: Node, schema: dict[str, Json]) -> list[str]:
        conditions = [a.condition for a in node.atoms if a.condition is not None]
        tests = TextTests(
            constants=tuple(dict.fromkeys(v for v in node.operands if isinstance(v, str))),
            patterns=tuple(c.value for c in conditions if c.op == "matches" and isinstance(c.value, str)),
            lengths=tuple(n for c in conditions if c.measure == "length" for n in _numbers(c.value)),
            schema=schema,
        )
        found, problem = distinguishing_texts(tests, self.fresh)
        if problem:
            self.reasons.append(problem)
        return found

    def _arrays(self, node: Node, schema: dict[str, Json], depth: int) -> list[Json]:
        element = node.below.get(pointers.EVERY, Node())
        items = self.values(element, schema.get("items", {}), depth + 1)
        if len(items) > _MAX_ELEMENT_CLASSES and pointers.EVERY in node.below:
            self.reasons.append("an array with too many kinds of elements")
        kinds = items[:_MAX_ELEMENT_CLASSES] if pointers.EVERY in node.below else items[:2]
        lengths = self._lengths(node, schema)
        found: list[Json] = [[]]
        for size in range(1, len(kinds) + 1):
            for subset in itertools.combinations(kinds, size):
                found += [
                    [*subset, *itertools.repeat(subset[-1], length - size)]
                    for length in sorted({size, size + 1, *lengths})
                    if length >= size
                ]
            if len(found) > MAX_VALUES:
                self.reasons.append("an array with too many combinations")
                break
        return found

    def _lengths(self, node: Node, schema: dict[str, Json]) -> set[int]:
        conditions = [a.condition for a in node.atoms if a.condition is not None]
        bounds = [n for c in conditions if c.measure == "count" for n in _numbers(c.value)]
        bounds += [schema[key] for key in ("minItems", "maxItems") if is_number(schema.get(key))]
        around = {int(bound // 1) + offset for bound in bounds for offset in (-1, 0, 1)}
        if any(length > MAX_VALUES for length in around):
            self.reasons.append("an array of more elements than can be tried")
        return {length for length in around if 0 < length <= MAX_VALUES}

    def _objects(self, node: Node, schema: dict[str, Json], depth: int) -> list[Json]:
        properties = schema.get("properties", {})
        needed = {n: self.minimal(properties.get(n, {}), depth + 1) for n in schema.get("required", [])}
        members = {name: below for name, below in node.below.items() if name != pointers.EVERY}
        extra = schema.get("additionalProperties", {})
        choices = {
            name: [*self.values(below, properties.get(name, extra), depth + 1)]
            + ([] if name in needed else [ABSENT])
            for name, below in members.items()
        }
        found: list[Json] = [needed] if all(name not in members for name in needed) else []
        for combination in itertools.islice(itertools.product(*choices.values()), MAX_VALUES + 1):
            chosen = dict(zip(choices, combination, strict=True))
            found.append({**needed, **{n: v for n, v in chosen.items() if v is not ABSENT}})
        if len(found) > MAX_VALUES:
            self.reasons.append("an object with too many combinations")
        if not members:
            found += [{**needed, name: name} for name in self.fresh[:1] if extra is not False]
        return found

    def minimal(self, schema: Json, depth: int = 0) -> Json:
        """Return a plain value that a schema is likely to accept."""
        found = self.values(Node(), schema, depth)
        return min(found, key=_size) if found else None

    def _distinct(self, values: Iterable[Json], node: Node) -> list[Json]:
        """Keep one value for each outcome of the tests at and below a place."""
        tests = list(_outcomes(node, ()))
        kept: dict[object, Json] = {}
        for value in values:
            if self.refers:
                key: object = _text(value)
            else:
                key = (_kind(value) if not tests else "", *(test(value) for test in tests))
            known = kept.get(key)
            if key not in kept or _size(value) < _size(known):
                kept[key] = value
        return list(kept.values())[: MAX_VALUES * 2]


def tree_of(atoms: Iterable[Atom], place: tuple[str, str], constants: Iterable[Json] = ()) -> Node:
    """Return the tests of one top-level value as a tree over their pointers.

    Args:
        atoms: The tests.
        place: The top-level value: root and name.
        constants: Further values to try wherever a test refers to another value.
    """
    top = Node()
    for atom in atoms:
        if (atom.root, atom.path[0]) == place:
            node = _at(top, atom.path[1:])
            node.atoms.append(atom)
            node.operands += _operands(atom)
            if atom.reference is not None:
                node.others += constants
        other = atom.reference
        if other is not None and (other[0], other[1][0]) == place:
            _at(top, other[1][1:]).others += constants
    return top


def _at(node: Node, path: tuple[str, ...]) -> Node:
    for token in path:
        node = node.below.setdefault(token, Node())
    return node


def _operands(atom: Atom) -> list[Json]:
    if atom.when is not None:
        return list(atom.when.in_ or ()) + ([atom.when.equals] if atom.when.equals is not None else [])
    test = atom.condition
    if (
        test is None
        or test.measure is not None
        or atom.reference is not None
        or test.op in ("present", "matches")
    ):
        return []
    return list(test.value) if test.op in ("in", "not_in") else [test.value]


def _numbers(value: Json) -> list[float]:
    return [n for n in (value if isinstance(value, list | tuple) else [value]) if is_number(n)]


def _outcomes(node: Node, above: tuple[str, ...]) -> Iterable[Callable[[Json], object]]:
    """Yield functions from a value to what each test at or below the place makes of it."""
    for atom in node.atoms:
        yield _outcome(atom, above)
    for token, below in node.below.items():
        yield from _outcomes(below, (*above, token))


def _outcome(atom: Atom, path: tuple[str, ...]) -> Callable[[Json], object]:
    test = atom.condition
    if test is None:
        return lambda value: atom.holds({"args": {atom.path[0]: value}, "caller": {}})
    if pointers.EVERY not in path:
        return lambda value: atom.compare(find(value, path), test.value)
    star = path.index(pointers.EVERY)

    def over_elements(value: Json) -> object:
        elements = find(value, path[:star])
        if not isinstance(elements, list):
            return None if elements is None else "no array"
        kinds = {atom.compare(find(element, path[star + 1 :]), test.value) for element in elements}
        return (len(elements) == 0, tuple(sorted(kinds)))

    return over_elements


def _target(reference: str, root: dict[str, Json]) -> dict[str, Json]:
    found = root if reference == "#" else find(root, pointers.tokens(reference.removeprefix("#")))
    return found if isinstance(found, dict) else {}


def _kind(value: Json) -> str:
    return "number" if is_number(value) else type(value).__name__


def _text(value: Json) -> str:
    return jsontext.canonical(value).decode()


def _size(value: Json) -> tuple[int, str]:
    text = _text(value)
    return len(text), text
