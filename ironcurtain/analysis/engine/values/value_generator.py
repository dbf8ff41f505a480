"""Candidates: values of one argument or caller fact, enough to see every combination of its tests.

They are built along the schema and along the pointers that are tested; the tool's own schema then says
which of them are valid. A value that it refuses is dropped where nothing of the schema was left out: then
another one shows every outcome that valid values have. Where something was left out it is kept in doubt.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import Final

from ironcurtain.analysis.engine.rules.predicates import Predicate, find
from ironcurtain.analysis.engine.values.enumeration import Enumeration
from ironcurtain.analysis.engine.values.moment_representatives import MOMENT_GAP, moment_texts
from ironcurtain.analysis.engine.values.multiplicities import counted_arrays
from ironcurtain.analysis.engine.values.number_representatives import (
    are_whole,
    distinguishing_numbers,
)
from ironcurtain.analysis.engine.values.predicate_tree import (
    PredicateTree,
    key_tests,
    operands_of,
    outcome_of,
    outcomes_of,
    tests_at_or_below,
)
from ironcurtain.analysis.engine.values.regular_syntax import is_read
from ironcurtain.analysis.engine.values.shapes import SchemaReader, Schemas, SchemaShape
from ironcurtain.analysis.engine.values.text_representatives import TextTests, distinguishing_texts
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.conditional import same_json
from ironcurtain.decision.canonical.json_schema import ArgumentSchema
from ironcurtain.decision.canonical.validate import ValidatedTool
from ironcurtain.model.unknown_facts import MEMBERSHIP
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue, is_number
from ironcurtain.system.structs import Struct

MAX_VALUES = 4_000
_MAX_DEPTH = 9
_MAX_ELEMENT_CLASSES = 8
_MAX_KEYS = 6
_CONTAINERS = frozenset({"array", "object"})


class Absent(Enum):
    """The type of `ABSENT`, the value of what is not there."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


class CandidateValue(Struct):
    """A value to try.

    Attributes:
        fits: Whether the schema accepts it; if not, it accepts perhaps another one of the same outcomes.
    """

    value: JsonValue
    fits: bool = True


class _Made(Struct):
    """Values of one shape.

    Attributes:
        exact: Whether valid ones among them show every outcome that valid values of the shape have.
    """

    values: tuple[JsonValue, ...]
    gaps: frozenset[str] = frozenset()
    exact: bool = True


class ValueGenerator(Struct):
    """Builds the candidates of one top-level value.

    Attributes:
        schema: The tool's schema; None where everything is accepted.
        fresh: Readable strings that no policy names.
        refers: Whether some test compares with another value: then equal outcomes are not merged here.
        tool: Fills in the defaults of what is left out below a value; None where there are none.
    """

    schema: ArgumentSchema | None
    fresh: tuple[str, ...]
    refers: bool = False
    tool: ValidatedTool | None = None

    @cached_property
    def shapes(self) -> SchemaReader:
        """Reads schemas that the tool's schema holds."""
        return SchemaReader(self.schema.schema if self.schema is not None else {})

    def values(
        self, node: PredicateTree, schemas: Schemas, place: tuple[str, ...] = ()
    ) -> Enumeration[CandidateValue]:
        """Return candidates for a place where some schemas must be fitted.

        Args:
            node: The tests at the place and below it.
            schemas: The schemas.
            place: The place, from its argument on; empty for a value that stands nowhere yet.
        """
        if len(place) > _MAX_DEPTH:
            # What stands there is not looked at, so whatever is made of it is in doubt.
            gaps = frozenset({"a schema that is nested too deeply"} if node.is_tested else ())
            return Enumeration((CandidateValue(None, fits=False),), gaps)
        shapes = self.shapes.of(schemas)
        made = [self._of(node, shape, place) for shape in shapes]
        gaps = frozenset(gap for each in made for gap in each.gaps)
        fits = (
            self.schema.checker(schemas.parts)
            if self.schema is not None and schemas.parts
            else lambda _: True
        )
        found = []
        for each in made:
            for value in each.values:
                said = fits(value)
                if said or not each.exact or said is None:
                    found.append(CandidateValue(value, bool(said)))
        # Refused ones come last, so that none is kept instead of a valid one.
        ordered = sorted(found, key=lambda candidate: not candidate.fits)
        judged = [self._judged(place, each.value) if node.is_tested else each.value for each in ordered]
        fitting = [value for value, each in zip(judged, ordered, strict=True) if each.fits]
        if _compares_whole(node, shapes, fitting):
            gaps |= {"an array or object that is compared as a whole"}
        return self._distinct(Enumeration(tuple(ordered), gaps), judged, node)

    def minimal(self, schemas: Schemas, place: tuple[str, ...] = ()) -> Enumeration[CandidateValue]:
        """Return one plain value that some schemas accept, or one in doubt; none if there is none."""
        found = self.values(PredicateTree(), schemas, place)
        return found.mapped(lambda all_: all_ and (min(all_, key=_plainness),))

    def _judged(self, place: tuple[str, ...], value: JsonValue) -> JsonValue:
        """Return a value as a policy sees it: what it leaves out may have defaults, and null is left out."""
        is_open = value is None or isinstance(value, dict | list)
        return self.tool.with_defaults_below(place, value) if self.tool and place and is_open else value

    def _of(self, node: PredicateTree, shape: SchemaShape, place: tuple[str, ...]) -> _Made:
        if shape.enum is not None:
            return _Made(shape.enum, exact=shape.exact)
        made = [_Made((*node.operands, *node.others))]
        made += [self._of_type(type_, node, shape, place) for type_ in sorted(shape.types)]
        return _Made(
            tuple(value for each in made for value in each.values),
            frozenset(gap for each in made for gap in each.gaps),
            exact=shape.exact and all(each.exact for each in made),
        )

    def _of_type(self, type_: str, node: PredicateTree, shape: SchemaShape, place: tuple[str, ...]) -> _Made:
        if type_ == "null":
            return _Made((None,))
        if type_ == "boolean":
            return _Made((False, True))
        if type_ == "number":
            operands = [value for predicate in node.predicates for value in operands_of(predicate)]
            points = [n for value in (*operands, *dict(shape.bounds).values()) for n in _numbers(value)]
            found = distinguishing_numbers(points, shape.steps)
            return _Made(tuple(found), exact=not shape.steps or are_whole(shape.steps))
        if type_ == "string":
            return self._texts(node, shape)
        return self._arrays(node, shape, place) if type_ == "array" else self._objects(node, shape, place)

    def _texts(self, node: PredicateTree, shape: SchemaShape) -> _Made:
        predicates = node.predicates
        conditions = [a.condition for a in predicates if a.condition is not None]
        tests = TextTests(
            constants=tuple(
                dict.fromkeys(v for a in predicates for v in operands_of(a) if isinstance(v, str))
            ),
            patterns=tuple(c.value for c in conditions if c.op == "matches" and isinstance(c.value, str)),
            lengths=tuple(n for c in conditions if c.measure == "length" for n in _numbers(c.value)),
            sought=shape.expressions,
            shortest=int(shape.bound("minLength") or 0),
            longest=shape.longest,
        )
        found = distinguishing_texts(tests, self.fresh)
        moments = moment_texts(conditions)
        if moments:
            found = Enumeration((*found.values, *moments), found.gaps | {MOMENT_GAP})
        # An expression of the schema that could not be read was left out.
        return _Made(found.values, found.gaps, exact=all(map(is_read, shape.expressions)))

    def _arrays(self, node: PredicateTree, shape: SchemaShape, place: tuple[str, ...]) -> _Made:
        tested = pointers.EVERY in node.below
        each_place = (*place, pointers.EVERY)
        items = self.values(node.below.get(pointers.EVERY, PredicateTree()), shape.items, each_place)
        # Without elements the gaps tell whether there are none, or none was found.
        gaps = set(items.gaps) if tested or not items.values else set()
        asked = [
            CandidateValue(value) for a in node.predicates for value in operands_of(a) if _asks_member(a)
        ]
        tested = tested or bool(asked)
        values = [*dict.fromkeys(asked), *(each for each in items.values if each not in asked)]
        kinds = values[: _MAX_ELEMENT_CLASSES if tested else 2]
        if tested and len(values) > len(kinds):
            gaps.add("an array with too many kinds of elements")
        lengths = set(_lengths(node, shape))
        if any(length > MAX_VALUES for length in lengths):
            gaps.add("an array of more elements than can be tried")
            lengths = {length for length in lengths if length <= MAX_VALUES}
        elements_below = node.below.get(pointers.EVERY, PredicateTree())
        counted = [
            a
            for a in tests_at_or_below(elements_below)
            if a.condition is not None and a.condition.count is not None
        ]
        if counted:
            elements = [kind.value for kind in kinds]
            judged = [self._judged(each_place, element) for element in elements]
            matching = [any(_is_matched(a, element) for a in counted) for element in judged]
            arrays = counted_arrays(elements, matching, counted, sorted(lengths), MAX_VALUES)
            return _Made(arrays.values, arrays.gaps | gaps, exact=all(kind.fits for kind in kinds))
        found: list[JsonValue] = [[]]
        for size in range(1, len(kinds) + 1):
            for subset in itertools.combinations([kind.value for kind in kinds], size):
                found += [
                    [*subset, *itertools.repeat(subset[-1], length - size)]
                    for length in sorted({size, size + 1, *lengths})
                    if length >= size
                ]
            if len(found) > MAX_VALUES:
                gaps.add("an array with too many combinations")
                break
        return _Made(tuple(found), frozenset(gaps), exact=all(kind.fits for kind in kinds))

    def _objects(self, node: PredicateTree, shape: SchemaShape, place: tuple[str, ...]) -> _Made:
        members = {name: below for name, below in node.below.items() if name != pointers.EVERY}
        needed = {n: self.minimal(shape.member(n), (*place, n)) for n in sorted(shape.required)}
        untested = {name: found for name, found in needed.items() if name not in members}
        if not all(found.values for found in untested.values()):
            # Either no value fits what must be there, or none was found; the gaps tell which.
            return _Made((), frozenset(gap for found in untested.values() for gap in found.gaps))
        base = {name: found.values[0].value for name, found in untested.items()}
        tested = {
            name: self.values(below, shape.member(name), (*place, name)) for name, below in members.items()
        }
        gaps = {gap for found in tested.values() for gap in found.gaps}
        choices: dict[str, list[JsonValue | Absent]] = {
            name: [*(each.value for each in found.values), *([] if name in needed else [ABSENT])]
            for name, found in tested.items()
        }
        values: list[dict[str, JsonValue]] = []
        for combination in itertools.islice(itertools.product(*choices.values()), MAX_VALUES + 1):
            chosen = dict(zip(choices, combination, strict=True))
            values.append({**base, **{n: v for n, v in chosen.items() if v is not ABSENT}})
        if len(values) > MAX_VALUES:
            gaps.add("an object with too many combinations")
        values += [{**base, name: name} for name in self.fresh[:1] if not members]
        values += self._keyed(node, shape, base, place)
        gaps |= {"an object whose keys are tested" for _ in key_tests(node)[:1]}
        if self.refers or any(isinstance(value, dict) for value in node.operands):
            # Of two values with one outcome the one may be compared with the other.
            values += [
                {**value, **more} for more in self._untested(shape, members, base, place) for value in values
            ]
        parts = [*(each for found in untested.values() for each in found.values[:1])]
        parts += [each for found in tested.values() for each in found.values]
        return _Made(tuple(values), frozenset(gaps), exact=all(part.fits for part in parts))

    def _keyed(
        self, node: PredicateTree, shape: SchemaShape, base: Mapping[str, JsonValue], place: tuple[str, ...]
    ) -> list[dict[str, JsonValue]]:
        """Return objects with keys that the tests of keys tell apart: none, each by itself, and several."""
        tests = key_tests(node)
        if not tests:
            return []
        found = self._texts(PredicateTree(predicates=tests), SchemaShape()).values
        keys = [key for key in found if isinstance(key, str)][:_MAX_KEYS]
        members = {key: self.minimal(shape.member(key), (*place, key)).values for key in keys}
        given = {key: values[0].value for key, values in members.items() if values}
        sets: list[tuple[str, ...]] = [(key,) for key in given]
        sets += [*itertools.combinations(given, 2)]
        sets += [tuple(given)[:size] for size in range(3, len(given) + 1)]
        return [{**base}, *({**base, **{key: given[key] for key in each}} for each in sets)]

    def _untested(
        self,
        shape: SchemaShape,
        members: Mapping[str, PredicateTree],
        base: Mapping[str, JsonValue],
        place: tuple[str, ...],
    ) -> list[dict[str, JsonValue]]:
        """Return members by which values differ that no test of members tells apart."""
        found: list[dict[str, JsonValue]] = [{name: name} for name in self.fresh[:1]]
        for name, schemas in shape.properties:
            if name not in members:
                values = self.values(PredicateTree(), schemas, (*place, name)).values
                found += [{name: each.value} for each in values if each.value != base.get(name, ABSENT)][:1]
        return found[:3]

    def _distinct(
        self, found: Enumeration[CandidateValue], judged: Sequence[JsonValue], node: PredicateTree
    ) -> Enumeration[CandidateValue]:
        """Keep one value for each outcome of the tests at and below a place."""
        tests = list(outcomes_of(node, ()))
        kept: dict[object, CandidateValue] = {}
        for each, value in zip(found.values, judged, strict=True):
            if self.refers:
                key: object = _text(each.value)
            else:
                # A null counts as absent, which is not one of the values.
                key = (
                    each.value is None,
                    _kind(value) if not tests else "",
                    *(test(value) for test in tests),
                )
            known = kept.get(key)
            if known is None or _plainness(each) < _plainness(known):
                kept[key] = each
        distinct = found.mapped(lambda _: tuple(kept.values())[: MAX_VALUES * 2])
        if len(kept) > MAX_VALUES * 2:
            return distinct.with_gaps("more kinds of values than can be tried")
        return distinct


def _is_matched(predicate: Predicate, element: JsonValue) -> bool:
    """Tell whether a test counts an element of an array, by the pointer below it."""
    path = predicate.path
    return predicate.matched(find(element, path[path.index(pointers.EVERY) + 1 :])) is True


def _lengths(node: PredicateTree, shape: SchemaShape) -> Iterator[int]:
    """Yield how many elements to try; beyond the least number of a region one more tells nothing."""
    conditions = [a.condition for a in node.predicates if a.condition is not None]
    for bound in (n for c in conditions if c.measure == "count" for n in _numbers(c.value)):
        yield from (n for n in (int(bound // 1) + offset for offset in (-1, 0, 1)) if n > 0)
    yield from (length for length in node.lengths if length > 0)
    least = shape.bound("minItems")
    if least is not None and least > 0:
        yield int(least)


def _compares_whole(node: PredicateTree, shapes: Sequence[SchemaShape], fitting: Sequence[JsonValue]) -> bool:
    """Tell whether an array or object is compared as a whole, and not every outcome of that is among values.

    Values that equal an operand are tried, each of them. All others of one type, whose members and number
    come out alike, do so as a whole, too: one of them has to be among the values.
    """
    types = {each for shape in shapes if shape.enum is None for each in shape.types & _CONTAINERS}
    operands = [
        v for predicate in node.predicates for v in operands_of(predicate) if isinstance(v, list | dict)
    ]
    if not types or not operands:
        return False
    counts = [a for a in node.predicates if a.condition is not None and a.condition.measure == "count"]
    tests = [test for token, below in node.below.items() for test in outcomes_of(below, (token,))]
    tests += [outcome_of(predicate, ()) for predicate in counts]
    told = [((_type(value), *(test(value) for test in tests)), value) for value in fitting if _type(value)]
    others = {
        outcome for outcome, value in told if not any(same_json(value, operand) for operand in operands)
    }
    return not (types <= {outcome[0] for outcome in others} and {outcome for outcome, _ in told} <= others)


def _asks_member(predicate: Predicate) -> bool:
    return predicate.condition is not None and predicate.condition.op in MEMBERSHIP


def _numbers(value: JsonValue) -> list[float]:
    return [n for n in (value if isinstance(value, list | tuple) else [value]) if is_number(n)]


def _type(value: JsonValue) -> str:
    return "array" if isinstance(value, list) else "object" if isinstance(value, dict) else ""


def _kind(value: JsonValue) -> str:
    return "number" if is_number(value) else type(value).__name__


def _text(value: JsonValue) -> str:
    return json_text.canonical(value).decode()


def _plainness(candidate: CandidateValue) -> tuple[bool, int, str]:
    text = _text(candidate.value)
    return not candidate.fits, len(text), text
