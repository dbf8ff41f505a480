"""Grouping the places of one role that behave alike, as people would name them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from ironcurtain.analysis.engine.values.witnesses import OUTSIDE
from ironcurtain.decision.canonical.patterns import Chain
from ironcurtain.system.structs import Struct

Behaviour = TypeVar("Behaviour", bound=Hashable)


class Region(Struct, Generic[Behaviour]):
    """One place with what becomes of it."""

    chain: Chain
    label: str
    behaviour: Behaviour


def grouped(regions: Iterable[Region[Behaviour]]) -> dict[Behaviour, tuple[str, ...]]:
    """Group places by behaviour, leaving out each that behaves like the next place around it.

    What is left reads "most specific wins": a place counts except where a place inside it is named, too.
    """
    kept: dict[Chain, list[Region[Behaviour]]] = {}
    found: dict[Behaviour, set[str]] = {}
    for region in _from_outside(list(regions)):
        around = next(_around(region.chain, kept), [])
        if len(around) == 1 and around[0].behaviour == region.behaviour:
            kept.setdefault(region.chain, around)
        else:
            kept.setdefault(region.chain, []).append(region)
            found.setdefault(region.behaviour, set()).add(region.label)
    return {behaviour: tuple(sorted(labels)) for behaviour, labels in found.items()}


def _from_outside(regions: list[Region[Behaviour]]) -> list[Region[Behaviour]]:
    """Order places from the outermost inwards; all outside the patterns is one place if it acts alike."""
    outside = sorted((r for r in regions if not r.chain), key=lambda r: r.label)
    inside = sorted((r for r in regions if r.chain), key=lambda r: (len(r.chain), r.chain, r.label))
    if len({r.label for r in outside}) > 1 and len({r.behaviour for r in outside}) == 1:
        outside = [Region((), OUTSIDE, outside[0].behaviour)]
    return [*outside, *inside]


def _around(chain: Chain, kept: Mapping[Chain, list[Region[Behaviour]]]) -> Iterator[list[Region[Behaviour]]]:
    for length in range(len(chain) - 1, -1, -1):
        if chain[:length] in kept:
            yield kept[chain[:length]]
