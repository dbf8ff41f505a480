"""Values of places that tests compare with one another: of those that no test tells apart one is enough.

To a comparison two values differ only by their type and by what equals them in the other place. So a value
that stands nowhere in the other places is as good as every other one of its type that does not either.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TypeAlias

from ironcurtain.analysis.engine.rules.predicates import Predicate, ValueName, find
from ironcurtain.analysis.engine.values.enumeration import Enumeration
from ironcurtain.analysis.engine.values.predicate_tree import merged, node_at, tree_of
from ironcurtain.analysis.engine.values.shapes import SchemaReader, Schemas
from ironcurtain.analysis.engine.values.value_generator import (
    ABSENT,
    Absent,
    ValueGenerator,
)
from ironcurtain.decision.canonical.pointers import EVERY
from ironcurtain.model.unknown_facts import Root, json_type, values_by_root
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct

_MAX_ENDS = 8
End: TypeAlias = tuple[Root, tuple[str, ...]]
"""What is compared with another value: arguments or facts, and the way there."""


class PlaceValue(Struct):
    """A value of one place to make classes of.

    Attributes:
        raw: As a call gives it, and
        filled: with defaults filled in; `ABSENT` where it is not there.
        fits: Whether the schema is known to accept it.
    """

    raw: JsonValue | Absent
    filled: JsonValue | Absent
    fits: bool

    @property
    def is_filled(self) -> bool:
        """Whether a default is filled in somewhere."""
        return self.filled is not ABSENT and (self.raw is ABSENT or _text(self.raw) != _text(self.filled))


def ends_of(predicates: Iterable[Predicate]) -> list[End]:
    """Return what is compared with other values."""
    ends = {end for a in _equalities(predicates) for end in ((a.root, a.path), a.reference) if end}
    return sorted(ends)


def joint_values(
    predicates: Sequence[Predicate],
    builder: ValueGenerator,
    facts: SchemaReader,
    constants: Iterable[JsonValue],
) -> Enumeration[tuple[End, JsonValue]]:
    """Return, for what is compared, values that are equal: one for each outcome of all their tests together.

    Args:
        predicates: The tests.
        builder: Builds values for the tool's schema.
        facts: Reads what declared facts can be.
        constants: Further values to try.
    """
    found: list[tuple[End, JsonValue]] = [(end, value) for end in ends_of(predicates) for value in constants]
    plain = [predicate for predicate in predicates if predicate.reference is None]
    gaps = {*_gaps(ends_of(predicates))}
    for some in () if gaps else _equal_sets(predicates):
        tree = merged([node_at(tree_of(plain, (root, path[0])), path[1:]) for root, path in some])
        readers = {"args": builder.shapes, "facts": facts}
        schemas = [
            schema for root, path in some if root in readers for schema in readers[root].at(path).parts
        ]
        made = builder.values(tree, Schemas(tuple(schemas)))
        gaps |= made.gaps
        if not all(each.fits for each in made.values):
            gaps.add("values that are compared, and that the schema restricts")
        found += [(end, each.value) for end in some for each in made.values if each.value is not None]
    return Enumeration(tuple(found), frozenset(gaps))


def _equalities(predicates: Iterable[Predicate]) -> Iterator[Predicate]:
    """Yield the tests that compare a value with another one; what a set holds is asked apart."""
    return (a for a in predicates if a.reference is not None and not a.is_membership)


def _gaps(ends: Sequence[End]) -> Iterator[str]:
    if any(EVERY in path for _, path in ends):
        yield "elements that are compared with another value"
    pairs = itertools.permutations(ends, 2)
    if any(one[0] == other[0] and one[1] == other[1][: len(one[1])] for one, other in pairs):
        yield "a value that is compared, and a part of it, too"
    if len(ends) > _MAX_ENDS:
        yield "many values that are compared with one another"


def _equal_sets(predicates: Iterable[Predicate]) -> Iterator[tuple[End, ...]]:
    """Yield what can be equal at once: ends that comparisons join."""
    joins = {frozenset({(a.root, a.path), a.reference}) for a in _equalities(predicates) if a.reference}
    known = {each for each in joins if len(each) > 1}
    waiting = sorted(known, key=sorted)
    while waiting:
        one = waiting.pop()
        yield tuple(sorted(one))
        for more in joins:
            wider = one | more
            if one & more and wider not in known:
                known.add(wider)
                waiting.append(wider)


def compared_values(
    predicates: Sequence[Predicate], places: Sequence[ValueName], pools: Iterable[Enumeration[PlaceValue]]
) -> list[JsonValue]:
    """Return what of each place's values is compared with another place, each once."""
    found = {
        _text(value): value
        for place, pool in zip(places, pools, strict=True)
        for path in _paths(predicates, place)
        for one in pool.values
        for value in _at(one, path)[1]
        if value is not None
    }
    return list(found.values())


def told_apart(
    predicates: Sequence[Predicate], places: Sequence[ValueName], pools: Sequence[Enumeration[PlaceValue]]
) -> list[Enumeration[PlaceValue]]:
    """Return each place's values without those that the tests cannot tell from one that is kept."""
    paths = [list(_paths(predicates, place)) for place in places]
    met = [
        {_text(value) for one in pool.values for path in own for value in _at(one, path)[1]}
        for own, pool in zip(paths, pools, strict=True)
    ]
    found = []
    for number, (place, pool) in enumerate(zip(places, pools, strict=True)):
        elsewhere = set[str]().union(*met[:number], *met[number + 1 :])
        own = [predicate for predicate in predicates if {*predicate.places} == {place}]
        kept: dict[Hashable, PlaceValue] = {}
        for one in pool.values:
            key = (
                tuple(outcome_at(predicate, place, one) for predicate in own),
                tuple(_seen(*_at(one, path), elsewhere) for path in paths[number]),
            )
            if key not in kept or (one.fits and not kept[key].fits):
                kept[key] = one
        found.append(Enumeration(tuple(kept.values()), pool.gaps))
    return found


def _paths(predicates: Iterable[Predicate], place: ValueName) -> Iterable[tuple[str, ...]]:
    """Return the pointers below a place whose values are compared with other places."""
    crossing = [
        (predicate, predicate.reference)
        for predicate in _equalities(predicates)
        if {*predicate.places} != {place}
    ]
    ends = [((predicate.root, predicate.path), other) for predicate, other in crossing if other is not None]
    return dict.fromkeys(path[1:] for each in ends for root, path in each if (root, path[0]) == place)


def outcome_at(predicate: Predicate, place: ValueName, one: PlaceValue) -> bool:
    """Tell whether a test of one place alone holds for one of its values."""
    values = values_by_root()
    if one.filled is not ABSENT:
        values[place[0]][place[1]] = one.filled
    return predicate.holds(values)


def _seen(kind: str, found: Iterable[JsonValue], elsewhere: set[str]) -> Hashable:
    """Return what other places can know of values: their types, and of those that stand elsewhere all."""
    texts = ((json_type(value), _text(value)) for value in found)
    return kind, frozenset((type_, text if text in elsewhere else "") for type_, text in texts)


def _at(one: PlaceValue, path: tuple[str, ...]) -> tuple[str, list[JsonValue]]:
    """Return what stands at a pointer, with what it stands in."""
    value = None if one.filled is ABSENT else one.filled
    if EVERY not in path:
        return "", [find(value, path)]
    star = path.index(EVERY)
    elements = find(value, path[:star])
    if not isinstance(elements, list):
        return "absent" if elements is None else "no array", []
    return "elements" if elements else "empty", [find(each, path[star + 1 :]) for each in elements]


def _text(value: JsonValue) -> str:
    return json_text.canonical(value).decode()


def values_at(one: PlaceValue, path: tuple[str, ...]) -> tuple[JsonValue, ...]:
    """Return what stands at a path below a place's value, nulls included; nothing if it is not there."""
    return tuple(_at(one, path)[1])
