"""Sets that another value is held against: subsets of what the other value can be, and of the constants."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence

from ironcurtain.analysis.engine.rules.predicates import Predicate, ValueName
from ironcurtain.analysis.engine.values.compared import PlaceValue, outcome_at, values_at
from ironcurtain.analysis.engine.values.enumeration import Enumeration
from ironcurtain.analysis.engine.values.value_generator import ABSENT
from ironcurtain.decision.canonical.pointers import EVERY
from ironcurtain.model.unknown_facts import MEMBERSHIP

_MAX_TEXTS = 8


def sets_among(predicates: Sequence[Predicate]) -> tuple[ValueName, ...]:
    """Return the places that hold sets which another value is held against."""
    return tuple(dict.fromkeys((p.root, p.path[0]) for p in predicates if p.is_membership))


def thinned(
    predicates: Sequence[Predicate], place: ValueName, pool: Enumeration[PlaceValue]
) -> Enumeration[PlaceValue]:
    """Return the values of a place that is held against sets, without those that nothing tells apart.

    What equals a constant of a set's tests is kept beside one that does not: only the latter can be in a set
    that lacks the constant.
    """
    if any(p.reference is not None and not p.is_membership and place in p.places for p in predicates):
        return pool  # it is compared with other values, too, and any of them may be the one that is equal
    constants = set(_constants(predicates))
    own = [p for p in predicates if {*p.places} == {place}]
    kept: dict[Hashable, PlaceValue] = {}
    for one in pool.values:
        inside = [v for path in _paths(predicates, place) for v in values_at(one, path)]
        texts = tuple(v if v in constants else "" if isinstance(v, str) else None for v in map(_text, inside))
        key = (one.filled is ABSENT, texts, tuple(outcome_at(p, place, one) for p in own))
        if key not in kept or (one.fits and not kept[key].fits):
            kept[key] = one
    return Enumeration(tuple(kept.values()), pool.gaps)


def set_pool(
    predicates: Sequence[Predicate],
    place: ValueName,
    places: Sequence[ValueName],
    pools: Sequence[Enumeration[PlaceValue]],
) -> Enumeration[PlaceValue]:
    """Return what a set can be: every subset of the texts that something is told apart by, or absent."""
    held = [p for p in predicates if p.is_membership and (p.root, p.path[0]) == place]
    texts = list(_constants([p for p in predicates if (p.root, p.path[0]) == place]))
    ends = {p.reference for p in held if p.reference is not None}
    gaps = set()
    if len(ends) > 1:
        gaps.add("several values that are held against one set")
    if any(EVERY in path for _, path in ends):
        gaps.add("elements that are held against a set")
    for root, path in sorted(ends):
        pool = pools[places.index((root, path[0]))]
        texts += [v for one in pool.values for v in values_at(one, path[1:]) if isinstance(v, str)]
    distinct = list(dict.fromkeys(texts))
    if len(distinct) > _MAX_TEXTS:
        gaps.add("a set with too many kinds of elements")
        distinct = distinct[:_MAX_TEXTS]
    subsets = (
        sorted(chosen)
        for size in range(len(distinct) + 1)
        for chosen in itertools.combinations(distinct, size)
    )
    values = [PlaceValue(list(each), list(each), fits=True) for each in subsets]
    return Enumeration((PlaceValue(ABSENT, ABSENT, fits=True), *values), frozenset(gaps))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _paths(predicates: Sequence[Predicate], place: ValueName) -> list[tuple[str, ...]]:
    ends = [p.reference for p in predicates if p.is_membership and p.reference is not None]
    return list(dict.fromkeys(path[1:] for root, path in ends if (root, path[0]) == place))


def _constants(predicates: Sequence[Predicate]) -> list[str]:
    """Return the texts that sets are asked for."""
    tests = [p.condition for p in predicates if p.condition is not None and p.reference is None]
    return [t.value for t in tests if t.op in MEMBERSHIP and isinstance(t.value, str)]
