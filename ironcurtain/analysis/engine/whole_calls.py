"""Whole calls: which resources can stand together, and what guards then find.

A guard sees the resources of a call only as two bits, "a covered one" and "an uncovered one", so calls are
joined argument by argument over these bits; no combination of values is ever enumerated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, TypeAlias, TypeVar

from ironcurtain.analysis.engine.indexes import (
    Assignment,
    ClassIndex,
    PolicyIndex,
    SourceIndex,
    VariableIndex,
    indexed,
)
from ironcurtain.analysis.engine.rules.diagram import GUARD_STATES, DiagramPath
from ironcurtain.analysis.engine.rules.rules import GuardKey
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.analysis.engine.space.elements import Element, ResourceKey, pairs
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass
from ironcurtain.analysis.engine.space.modes import Roles
from ironcurtain.decision.roles import NONE
from ironcurtain.system.structs import Struct

MAX_STATES = 20_000

HeldElements: TypeAlias = tuple[tuple[SourceIndex, Element], ...]
"""Elements of a call, each with its source; several of one source stand in one array."""
State = TypeVar("State")


class Sums(Struct, Generic[State]):
    """How elements of a call are added up.

    Attributes:
        start: What one element counts for.
        plus: What two parts of a call count for together; associative, commutative, idempotent.
        nothing: What no element counts for.
        keep: Tells whether a sum is worth following.
    """

    start: Callable[[Element], State]
    plus: Callable[[State, State], State]
    nothing: State
    keep: Callable[[State], bool] = lambda _: True


class TooManyCombinationsError(Exception):
    """More combinations of guards can occur than can be followed."""


class Calls:
    """The calls of one tool, joined from its sources.

    Args:
        space: The tool's space.
    """

    def __init__(self, space: CallSpace) -> None:
        self._space = space
        self._bits = {key: number for number, key in enumerate(space.guards)}
        self._masks: dict[Element, int] = {}
        self._options: dict[tuple[object, ...], list[Element]] = {}
        self._reached: dict[tuple[object, ...], dict[int, HeldElements]] = {}

    def options(self, source: SourceIndex, roles: tuple[str, ...], chosen: Assignment) -> list[Element]:
        """Return every element that a source can add to a call in a mode, absence first."""
        given = self._space.modes.gives(self._space.sources[source], chosen)
        memo = (source, roles, given)
        if memo not in self._options:
            self._options[memo] = [*self._bare(source, roles, chosen)]
            if given is not False:
                self._options[memo] += self._space.elements.of(source, roles)
        return self._options[memo]

    def _bare(self, source: SourceIndex, roles: tuple[str, ...], chosen: Assignment) -> Iterator[Element]:
        """Yield how a call can hold no resource of a source; nothing where it must hold one."""
        if not self._space.elements.yields_resources(roles):
            yield Element(None, (), tuple(() for _ in self._space.policies))
            return
        absent = self._space.elements.absent(source, chosen)
        if absent is not None and absent.is_bare and not self._space.elements.is_implied(roles):
            yield absent
            return
        empty = self._space.elements.empty(source, chosen)
        if empty is not None:
            yield empty

    def mask(self, element: Element) -> int:
        """Return the guard bits that an element sets."""
        if element not in self._masks:
            mask = 0
            for side, seen in indexed(PolicyIndex, element.seen):
                for each in seen:
                    mask |= self.key_mask(each.key, side)
            self._masks[element] = mask
        return self._masks[element]

    def key_mask(self, key: ResourceKey, side: PolicyIndex) -> int:
        """Return the guard bits that a resource sets as one of the policies sees it.

        A policy knows which of its own patterns cover the resource, so it speaks for its own guards only.
        """
        mask = 0
        for guard, number in self._bits.items():
            if side not in self._space.guards[guard]:
                continue
            if key.role in guard.roles and (guard.anywhere or not key.discharged):
                mask |= 1 << (2 * number + (0 if guard.patterns & key.patterns else 1))
        return mask

    def state(self, mask: int, guard: GuardKey) -> int:
        """Return the index in `GUARD_STATES` of what a guard finds."""
        number = self._bits[guard]
        return GUARD_STATES.index((bool(mask >> 2 * number & 1), bool(mask >> (2 * number + 1) & 1)))

    def satisfies(self, mask: int, path: DiagramPath) -> bool:
        """Tell whether guard bits are those that a path demands."""
        return all(self.state(mask, guard) in group for guard, group in path.guards)

    def holding(self, cell: EquivalenceClass, source: SourceIndex, roles: tuple[str, ...]) -> list[Element]:
        """Return the elements of a source that hold a cell's resource, one for each set of guard bits."""
        found: dict[int, Element] = {}
        for element in self._space.elements.of(source, roles):
            if any(keys == cell.keys for keys, _ in pairs(element)):
                found.setdefault(self.mask(element), element)
        return list(found.values())

    def modes(
        self, cell: EquivalenceClass, path: DiagramPath
    ) -> Iterator[tuple[dict[VariableIndex, ClassIndex], Roles, list[SourceIndex]]]:
        """Yield the modes in which a cell's resource can stand on a path, with the sources that hold it."""
        wanted = dict(path.classes)
        for chosen, roles in self._space.modes.of_roles(wanted):
            homes = [s for s, own in indexed(SourceIndex, roles) if (s, own) in cell.homes]
            homes = [s for s in homes if self._space.modes.gives(self._space.sources[s], chosen) is not False]
            if homes or cell.role == NONE:
                yield self._space.modes.completed(chosen, wanted), roles, homes

    def is_taken(self, cell: EquivalenceClass, path: DiagramPath) -> bool:
        """Tell whether some call may take a path; false is a proof that none does.

        What cannot be followed may be so. Modes and elements in doubt count, so none is missing.
        """
        try:
            return not path.guards or self.guarded(cell, path) is not None
        except TooManyCombinationsError:
            return True

    def guarded(self, cell: EquivalenceClass, path: DiagramPath) -> tuple[Assignment, HeldElements] | None:
        """Return a mode and elements in which a cell's resource meets a path's guards, None if there is none.

        Raises:
            TooManyCombinationsError: If that cannot be followed.
        """
        for chosen, roles, homes in self.modes(cell, path):
            if cell.role == NONE:
                return (chosen, ()) if self.satisfies(0, path) else None
            for home in homes:
                for element in self.holding(cell, home, roles[home]):
                    for mask, elements in self._joined(chosen, roles, (home, element)).items():
                        if self.satisfies(mask, path):
                            return chosen, elements
        return None

    def _joined(
        self, chosen: Assignment, roles: Roles, fixed: tuple[SourceIndex, Element]
    ) -> dict[int, HeldElements]:
        """Return the guard bits that calls with an element set, each with elements that set them."""
        sources = self._space.sources
        memo = (fixed, roles, *(self._space.modes.gives(source, chosen) for source in sources))
        if memo not in self._reached:
            self._reached[memo] = self.join(chosen, roles, fixed, self.bits)
        return self._reached[memo]

    def join(
        self,
        chosen: Assignment,
        roles: Roles,
        fixed: tuple[SourceIndex, Element] | None,
        sums: Sums[State],
        allowed: Callable[[Element], bool] = lambda _: True,
    ) -> dict[State, HeldElements]:
        """Return what calls in a mode can add up to, each with the elements that do.

        Args:
            chosen: The mode.
            roles: The roles of each source in it.
            fixed: An element that the call must hold, with its source.
            sums: What is added up.
            allowed: Tells whether an element may be part of the call.
        """
        total: dict[State, HeldElements] = {sums.nothing: ()}
        for source, own in indexed(SourceIndex, roles):
            options = [each for each in self.options(source, own, chosen) if allowed(each)]
            single = _single(source, options, sums)
            mine = single
            if fixed is not None and fixed[0] == source:
                mine = {sums.start(fixed[1]): (fixed,)}
            if self._space.sources[source].many:
                mine = _closed(mine, single, sums)
            total = _product(total, mine, sums)
        return total

    @property
    def bits(self) -> Sums[int]:
        """What guard bits add up to."""
        return Sums(self.mask, lambda one, other: one | other, 0)


def _single(source: SourceIndex, options: Iterable[Element], sums: Sums[State]) -> dict[State, HeldElements]:
    found: dict[State, HeldElements] = {}
    for element in options:
        state = sums.start(element)
        if sums.keep(state):
            found.setdefault(state, ((source, element),))
    return found


def _closed(
    first: Mapping[State, HeldElements], more: Mapping[State, HeldElements], sums: Sums[State]
) -> dict[State, HeldElements]:
    """Add further elements of the same array until nothing new comes of it."""
    found, waiting = dict(first), list(first)
    while waiting:
        state = waiting.pop(0)
        for other, elements in more.items():
            both = sums.plus(state, other)
            if both not in found and sums.keep(both):
                found[both] = (*found[state], *elements)
                waiting.append(both)
        if len(found) > MAX_STATES:
            raise TooManyCombinationsError
    return found


def _product(
    left: Mapping[State, HeldElements], right: Mapping[State, HeldElements], sums: Sums[State]
) -> dict[State, HeldElements]:
    found: dict[State, HeldElements] = {}
    for one, elements in left.items():
        for other, more in right.items():
            both = sums.plus(one, other)
            if both not in found and sums.keep(both):
                found[both] = (*elements, *more)
        if len(found) > MAX_STATES:
            raise TooManyCombinationsError
    return found
