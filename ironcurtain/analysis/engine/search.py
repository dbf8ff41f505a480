"""Searching for a whole call: is there one that holds a resource of a cell and is decided in a given way?

    searched = CallSearch(examined).find(cell, lambda resource, call: call[0] <= Verdict.ALLOW.severity)
    searched.call, searched.proof

The search is exhaustive over classes and guard bits, not over values. So `proved` (there is no such call) is
said only where every kind of call was examined, the search was not cut short, and no call was put together
that the tool then refused.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from ironcurtain.analysis.engine.cell_verdicts import CellVerdicts, Severities
from ironcurtain.analysis.engine.indexes import (
    Assignment,
    ClassIndex,
    ClassSets,
    SourceIndex,
    VariableIndex,
    indexed,
)
from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.proof import Proof
from ironcurtain.analysis.engine.rules.diagram import DiagramPath
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.analysis.engine.space.elements import Element, ResourceKey, pairs
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass
from ironcurtain.analysis.engine.space.modes import Roles
from ironcurtain.analysis.engine.whole_calls import HeldElements, Sums, TooManyCombinationsError
from ironcurtain.decision.roles import NONE
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, field, replace

MAX_TRIED = 20_000
MAX_REFUSED = 40
CUT_SHORT = "more combinations than could be searched"
REFUSED = "the only such calls that were found are calls that the tool's schema refuses"
MOVED = "the only such calls that were found name other places, since a path is relative to another argument"

Goal: TypeAlias = Callable[[Severities, Severities], bool]
"""From the severities of the resource and of the call: is this what is looked for?"""
SearchState: TypeAlias = tuple[int, Severities]

ANY_PATH = DiagramPath((), (), ())


class FoundCall(Struct):
    """A whole call that a search found, with the value of the resource it is about."""

    arguments: dict[str, JsonValue]
    caller: dict[str, JsonValue]
    role: str
    value: str
    facts: dict[str, JsonValue] = field(default_factory=dict)


class SearchResult(Struct):
    """What came of a search.

    Attributes:
        call: The call, None if none was found.
        gaps: Why there may be one all the same; empty where a call was found, or it is proved that none is.
    """

    call: FoundCall | None
    gaps: frozenset[str] = frozenset()

    @property
    def proof(self) -> Proof:
        """What is known: a call was `found`, that there is none is `proved`, or none was found."""
        if self.call is not None:
            return Proof.FOUND
        return Proof.NOT_FOUND if self.gaps else Proof.PROVED


class CallSearch:
    """Searches the calls of one examined tool.

    Args:
        examined: The tool, after OPA was asked about it.
        allowed: Tells whether an element may be part of the call.
        effort: So many combinations of guards are tried in one search before it is cut short.
    """

    def __init__(
        self,
        examined: Examined,
        allowed: Callable[[Element], bool] = lambda _: True,
        effort: int = MAX_TRIED,
    ) -> None:
        self._examined, self._allowed, self._effort = examined, allowed, effort
        self._verdicts = CellVerdicts(examined)

    def find(
        self,
        cell: EquivalenceClass,
        goal: Goal,
        path: DiagramPath = ANY_PATH,
        wanted: ClassSets | None = None,
    ) -> SearchResult:
        """Search a call that holds a cell's resource and meets a goal.

        Args:
            cell: The resource's cell.
            goal: What is looked for.
            path: A path of the cell's diagram that the call must take.
            wanted: Further demands on the classes of variables.
        """
        demands = dict(path.classes)
        for index, classes in (wanted or {}).items():
            demands[index] = demands.get(index, classes) & classes
        if any(not classes for classes in demands.values()):
            return SearchResult(None, self._examined.gaps)
        search = _Search(self._examined, self._verdicts, self._allowed, self._effort, cell, goal, path)
        return search.run(demands)

    def could(self, cell: EquivalenceClass, test: Callable[[Severities], bool]) -> bool:
        """Tell whether some outcome of a cell's own diagram passes a test; cheap, and without the call."""
        return any(map(test, self._verdicts.possible(cell)))


@dataclass
class _Search:
    """One search, and how much of its effort is spent.

    Attributes:
        tried: How many combinations of guards were tried.
        open: Whether a call can meet the goal, by how its resource and a part of it are decided.
        refused: How many calls were put together that the tool refused, or that name other resources.
        why_refused: Why, as gaps.
    """

    examined: Examined
    verdicts: CellVerdicts
    allowed: Callable[[Element], bool]
    effort: int
    cell: EquivalenceClass
    goal: Goal
    path: DiagramPath
    tried: int = 0
    refused: int = 0
    why_refused: set[str] = dataclasses.field(default_factory=set)
    open: dict[tuple[Severities, Severities], bool] = dataclasses.field(default_factory=dict)

    def run(self, demands: ClassSets) -> SearchResult:
        """Search the modes that keep to some classes."""
        gaps = set(self.examined.gaps)
        try:
            for chosen in itertools.islice(self._assignments(demands), MAX_TRIED):
                found = self._in_mode(chosen)
                if found is not None:
                    return SearchResult(found)
            if math.prod(len(pool) for pool in self._pools(demands)) > MAX_TRIED:
                gaps.add(CUT_SHORT)
        except TooManyCombinationsError:
            gaps.add(CUT_SHORT)
        return SearchResult(None, frozenset(gaps | self.why_refused))

    @property
    def _space(self) -> CallSpace:
        return self.examined.space

    # -- modes ------------------------------------------------------------------------------------

    def _assignments(self, demands: ClassSets) -> Iterator[dict[VariableIndex, ClassIndex]]:
        """Yield one assignment for every combination that rules tell apart, plainest first."""
        for combination in itertools.product(*self._pools(demands)):
            chosen = dict(indexed(VariableIndex, combination))
            if not self._space.modes.is_torn(chosen):
                yield chosen

    def _pools(self, demands: ClassSets) -> list[list[ClassIndex]]:
        pools = []
        for index, variable in indexed(VariableIndex, self._space.variables):
            kinds: dict[frozenset[str], ClassIndex] = {}
            for class_ in sorted(demands.get(index, variable.indexes), key=variable.plainness):
                kinds.setdefault(variable.classes[class_].true & self._space.used_predicates, class_)
            pools.append(list(kinds.values()))
        return pools

    def _in_mode(self, chosen: dict[VariableIndex, ClassIndex]) -> FoundCall | None:
        roles = self._space.modes.roles(chosen)
        if self.cell.role == NONE:
            return self._bare(chosen, roles)
        hopeless: set[int] = set()
        for home, own in indexed(SourceIndex, roles):
            source = self._space.sources[home]
            if (home, own) not in self.cell.homes or self._space.modes.gives(source, chosen) is False:
                continue
            for element in self._holding(home, own):
                for mask in self._masks(chosen, roles, (home, element)):
                    found = self._with_mask(chosen, roles, (home, element), mask, hopeless)
                    if found is not None:
                        return found
        return None

    # -- one mode ---------------------------------------------------------------------------------

    def _holding(self, home: SourceIndex, own: tuple[str, ...]) -> Iterator[Element]:
        """Yield elements that hold the cell's resource, one for each set of resources."""
        met = set()
        for element in self._space.elements.of(home, own):
            resources = frozenset(keys for keys, _ in pairs(element))
            if self.cell.keys in resources and resources not in met and self.allowed(element):
                met.add(resources)
                yield element

    def _masks(self, chosen: Assignment, roles: Roles, fixed: tuple[SourceIndex, Element]) -> list[int]:
        """Return the guard bits that calls with the element can have on the path."""
        if not self._space.guards:
            return [0]
        calls = self.examined.calls
        reached = calls.join(chosen, roles, fixed, calls.bits, self.allowed)
        return [mask for mask in reached if calls.satisfies(mask, self.path)]

    def _with_mask(
        self,
        chosen: Assignment,
        roles: Roles,
        fixed: tuple[SourceIndex, Element],
        mask: int,
        hopeless: set[int],
    ) -> FoundCall | None:
        """Search a call with an element and guard bits; note the bits that no call of the mode suits."""
        if mask in hopeless:
            return None
        self.tried += 1
        if self.tried > self.effort:
            raise TooManyCombinationsError
        if next(self._meeting(chosen, roles, None, mask), None) is None:
            hopeless.add(mask)
            return None
        for elements in self._meeting(chosen, roles, fixed, mask):
            found = self._call(chosen, elements)
            if self._is_accepted(found, chosen, elements):
                return found
        return None

    def _meeting(
        self, chosen: Assignment, roles: Roles, fixed: tuple[SourceIndex, Element] | None, mask: int
    ) -> Iterator[HeldElements]:
        """Yield elements of calls with guard bits that meet the goal, one call for each way to be decided."""
        resource = self.verdicts.in_mode(self.cell.keys, chosen, mask)
        if resource is None or not self._is_open(resource, resource):
            return
        memo: dict[tuple[ResourceKey | None, ...], Severities | None] = {}

        def start(element: Element) -> SearchState:
            total: Severities = tuple(-1 for _ in self._space.policies)
            for keys, _ in pairs(element):
                if keys not in memo:
                    memo[keys] = self.verdicts.in_mode(keys, chosen, mask)
                total = _worst(total, memo[keys] or total)
            return self.examined.calls.mask(element), total

        def keep(state: SearchState) -> bool:
            return not state[0] & ~mask and self._is_open(resource, state[1])

        nothing: SearchState = (0, tuple(-1 for _ in self._space.policies))
        sums: Sums[SearchState] = Sums(start, _plus, nothing, keep)
        reached = self.examined.calls.join(chosen, roles, fixed, sums, self.allowed)
        for (bits, call), elements in reached.items():
            if bits == mask and self.goal(resource, call):
                yield elements

    def _is_open(self, resource: Severities, part: Severities) -> bool:
        """Tell whether a call with a part that is decided so can meet the goal: it is never less severe."""
        if (resource, part) not in self.open:
            above = itertools.product(*(range(own, Verdict.DENY.severity + 1) for own in part))
            self.open[resource, part] = any(self.goal(resource, call) for call in above)
        return self.open[resource, part]

    def _bare(self, chosen: Assignment, roles: Roles) -> FoundCall | None:
        """Look at the call without resources."""
        calls = self.examined.calls
        elements = []
        for source, own in indexed(SourceIndex, roles):
            options = calls.options(source, own, chosen)
            bare = next((element for element in options if element.is_bare), None)
            if bare is None:
                return None
            elements.append((source, bare))
        decided = self.verdicts.in_mode(self.cell.keys, chosen, 0)
        if decided is None or not calls.satisfies(0, self.path) or not self.goal(decided, decided):
            return None
        held = tuple(elements)
        found = replace(self._call(chosen, held), role=NONE, value="call")
        return found if self._is_accepted(found, chosen, held) else None

    # -- the call itself --------------------------------------------------------------------------

    def _is_accepted(self, call: FoundCall, chosen: Assignment, elements: HeldElements) -> bool:
        """Hold a call against steps 3 to 5, which alone know what the whole schema and the disk allow.

        Where a resource is joined of tested arguments, the call also has to be in the mode it was made for;
        where one is relative to another argument, it has to be the one that was read beside other arguments.
        """
        is_meant = self._space.arguments.are_in_mode(call.arguments, call.caller, call.facts, chosen)
        if not (is_meant and self._space.reader.accepts(call.arguments)):
            self.why_refused.add(REFUSED)
        elif not self._space.reader.adds(call.arguments, elements):
            self.why_refused.add(MOVED)
        else:
            return True
        self.refused += 1
        if self.refused > MAX_REFUSED:
            raise TooManyCombinationsError
        return False

    def _call(self, chosen: Assignment, elements: HeldElements) -> FoundCall:
        arguments = self._space.arguments.of(chosen)
        roles = self._space.modes.roles(chosen)
        for index, source in indexed(SourceIndex, self._space.sources):
            own = [element for home, element in elements if home == index]
            values = tuple(dict.fromkeys(value for element in own for value in element.values))
            if values:
                arguments.update(
                    self._space.arguments.joined(source, own[0], chosen)
                    if source.composite is not None
                    else self._space.reader.placing.place(source, values)
                )
            elif self._space.elements.yields_resources(roles[index]):
                # Left away, or there and empty.
                arguments = {n: value for n, value in arguments.items() if n not in source.places}
                arguments.update({n: value for element in own for n, value in element.given})
        held = (pair for _, element in elements for pair in pairs(element))
        value = next((value for keys, value in held if keys == self.cell.keys), "")
        known = self._space.modes.values(chosen)
        caller = self._space.compared.as_values(known["caller"], arguments)
        return FoundCall(arguments, caller, self.cell.role, value, known["facts"])


def _plus(one: SearchState, other: SearchState) -> SearchState:
    return one[0] | other[0], _worst(one[1], other[1])


def _worst(one: Severities, other: Severities) -> Severities:
    return tuple(map(max, one, other))
