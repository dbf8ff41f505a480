"""Searching for a whole call: is there one that holds a subject and is decided so and so?

The search is exhaustive over classes and guard bits, not over values, so "there is none" is a proof where
every kind of call was examined, none was given up, and none was put together that the tool then refused.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.proof import Proof
from ironcurtain.analysis.engine.rules.diagram import DiagramNode as Diagram
from ironcurtain.analysis.engine.rules.diagram import DiagramPath
from ironcurtain.analysis.engine.rules.rules import GuardKey
from ironcurtain.analysis.engine.space.elements import Element, SubjectKey
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass, pairs
from ironcurtain.analysis.engine.space.joined import is_in_mode, is_torn, placed_in_mode
from ironcurtain.analysis.engine.space.verdict_diagram import verdict_diagram
from ironcurtain.analysis.engine.whole_calls import Chosen, Roles, Sums, TooManyStatesError
from ironcurtain.decision.roles import NONE
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue

MAX_TRIED = 20_000
MAX_REFUSED = 40
CUT_SHORT = "more combinations than could be searched"
REFUSED = "the only such calls that were found are calls that the tool's schema refuses"

Severities: TypeAlias = tuple[int, ...]
"""Per policy the severity of a final verdict, -1 where nothing is decided."""
Goal: TypeAlias = Callable[[Severities, Severities], bool]
"""From the severities of the subject and of the call: is this what is looked for?"""
State: TypeAlias = tuple[int, Severities]

_FLOOR = Verdict.ESCALATE.severity
ANY_PATH = DiagramPath((), (), ())


@dataclass(frozen=True)
class FoundCall:
    """A whole call that a search found, with the value of the subject it is about."""

    arguments: dict[str, JsonValue]
    caller: dict[str, JsonValue]
    role: str
    value: str


@dataclass(frozen=True)
class Searched:
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
        effort: So many combinations of guards are tried in one search before it is given up; None for all.
    """

    def __init__(
        self,
        examined: Examined,
        allowed: Callable[[Element], bool] = lambda _: True,
        effort: int | None = None,
    ) -> None:
        self._one = examined
        self._space = examined.space
        self._allowed = allowed
        self._effort = effort
        self._tried = 0
        self._refused = 0
        self._diagrams: dict[tuple[SubjectKey | None, ...], Diagram] = {}

    def find(
        self,
        cell: EquivalenceClass,
        goal: Goal,
        path: DiagramPath = ANY_PATH,
        wanted: Mapping[int, frozenset[int]] | None = None,
    ) -> Searched:
        """Search a call that holds a cell's subject and meets a goal.

        Args:
            cell: The subject's cell.
            goal: What is looked for.
            path: A path of the cell's diagram that the call must take.
            wanted: Further demands on the classes of variables.
        """
        demands = dict(path.classes)
        for index, classes in (wanted or {}).items():
            demands[index] = demands.get(index, classes) & classes
        # Calls that a search did not get to, or that the tool refused, are known to this search alone.
        gaps = set(self._one.gaps)
        if any(not classes for classes in demands.values()):
            return Searched(None, frozenset(gaps))
        self._tried = self._refused = 0
        try:
            for chosen, roles in itertools.islice(self._modes(demands), MAX_TRIED):
                found = self._in_mode(cell, goal, path, chosen, roles)
                if found is not None:
                    return Searched(found)
            if self._count_modes(demands) > MAX_TRIED:
                gaps.add(CUT_SHORT)
        except TooManyStatesError:
            gaps.add(CUT_SHORT)
        if self._refused:
            gaps.add(REFUSED)
        return Searched(None, frozenset(gaps))

    def could(self, cell: EquivalenceClass, test: Callable[[Severities], bool]) -> bool:
        """Tell whether some outcome of a cell's own diagram passes a test; cheap, and without the call."""
        return any(
            test(self._severities(cell.keys, outcome)) for outcome in _outcomes(self._diagram(cell.keys))
        )

    # -- modes ------------------------------------------------------------------------------------

    def _modes(self, demands: Mapping[int, frozenset[int]]) -> Iterator[tuple[dict[int, int], Roles]]:
        """Yield one assignment for every combination that rules tell apart, plainest first."""
        for combination in itertools.product(*self._pools(demands)):
            chosen = dict(enumerate(combination))
            if is_torn(self._space.sources, self._space.variables, chosen):
                continue
            yield chosen, self._space.roles_in(chosen)

    def _count_modes(self, demands: Mapping[int, frozenset[int]]) -> int:
        return math.prod(len(pool) for pool in self._pools(demands))

    def _pools(self, demands: Mapping[int, frozenset[int]]) -> list[list[int]]:
        pools = []
        for index, variable in enumerate(self._space.variables):
            kinds: dict[frozenset[str], int] = {}
            allowed = demands.get(index, frozenset(range(len(variable.classes))))
            for each in sorted(allowed, key=variable.plainness):
                kinds.setdefault(variable.classes[each].true & self._space.used_atoms, each)
            pools.append(list(kinds.values()))
        return pools

    # -- one mode ---------------------------------------------------------------------------------

    def _in_mode(
        self, cell: EquivalenceClass, goal: Goal, path: DiagramPath, chosen: dict[int, int], roles: Roles
    ) -> FoundCall | None:
        if cell.role == NONE:
            return self._bare(cell, goal, path, chosen, roles)
        for home, own in enumerate(roles):
            if (home, own) not in cell.homes or self._space.given(self._space.sources[home], chosen) is False:
                continue
            for element in self._holding(cell, home, own):
                for mask in self._masks(chosen, roles, (home, element), path):
                    found = self._with_mask(cell, goal, chosen, roles, (home, element), mask)
                    if found is not None:
                        return found
        return None

    def _holding(self, cell: EquivalenceClass, home: int, own: tuple[str, ...]) -> Iterator[Element]:
        """Yield elements that hold the cell's subject, one for each set of subjects."""
        met = set()
        for element in self._space.elements(home, own):
            subjects = frozenset(keys for keys, _ in pairs(element))
            if cell.keys in subjects and subjects not in met and self._allowed(element):
                met.add(subjects)
                yield element

    def _masks(
        self, chosen: dict[int, int], roles: Roles, fixed: tuple[int, Element], path: DiagramPath
    ) -> list[int]:
        """Return the guard bits that calls with the element can have on the path."""
        if not self._space.guards:
            return [0]
        calls = self._one.calls
        reached = calls.join(chosen, roles, fixed, calls.bits, self._allowed)
        return [mask for mask in reached if calls.satisfies(mask, path)]

    def _with_mask(
        self,
        cell: EquivalenceClass,
        goal: Goal,
        chosen: dict[int, int],
        roles: Roles,
        fixed: tuple[int, Element],
        mask: int,
    ) -> FoundCall | None:
        self._tried += 1
        if self._effort is not None and self._tried > self._effort:
            raise TooManyStatesError
        subject = self._decided(cell.keys, chosen, mask)
        if subject is None:
            return None
        memo: dict[tuple[SubjectKey | None, ...], Severities | None] = {}

        def start(element: Element) -> State:
            total: Severities = tuple(-1 for _ in self._space.sides.sides)
            for keys, _ in pairs(element):
                if keys not in memo:
                    memo[keys] = self._decided(keys, chosen, mask)
                total = _worst(total, memo[keys] or total)
            return self._one.calls.mask(element), total

        nothing: State = (0, tuple(-1 for _ in self._space.sides.sides))
        sums: Sums[State] = Sums(start, _plus, nothing, lambda state: not state[0] & ~mask)
        reached = self._one.calls.join(chosen, roles, fixed, sums, self._allowed)
        for (bits, call), elements in reached.items():
            if bits == mask and goal(subject, call):
                found = self._call(cell, chosen, elements)
                if self._is_accepted(found, chosen):
                    return found
        return None

    def _is_accepted(self, call: FoundCall, chosen: Mapping[int, int]) -> bool:
        """Hold a call against steps 3 to 5, which alone know what the whole schema and the disk allow.

        Where a resource is joined of tested arguments, the call also has to be in the mode it was made for.
        """
        is_meant = is_in_mode(self._space, call.arguments, call.caller, chosen)
        if is_meant and self._space.reader.accepts(call.arguments):
            return True
        self._refused += 1
        if self._refused > MAX_REFUSED:
            raise TooManyStatesError
        return False

    def _bare(
        self, cell: EquivalenceClass, goal: Goal, path: DiagramPath, chosen: dict[int, int], roles: Roles
    ) -> FoundCall | None:
        """Look at the call without resources."""
        elements = []
        for source, own in enumerate(roles):
            options = self._one.calls.options(source, own, chosen)
            bare = next((element for element in options if element.is_bare), None)
            if bare is None:
                return None
            elements.append((source, bare))
        subject = self._decided(cell.keys, chosen, 0)
        if subject is None or not self._one.calls.satisfies(0, path) or not goal(subject, subject):
            return None
        found = replace(self._call(cell, chosen, tuple(elements)), role=NONE, value="call")
        return found if self._is_accepted(found, chosen) else None

    # -- verdicts ---------------------------------------------------------------------------------

    def _decided(
        self, keys: tuple[SubjectKey | None, ...], chosen: Mapping[int, int], mask: int
    ) -> Severities | None:
        """Return how a subject is decided in a mode under guard bits, None if it cannot exist there."""
        node = self._diagram(keys)
        while node.test is not None:
            state = (
                self._one.calls.state(mask, node.test)
                if isinstance(node.test, GuardKey)
                else chosen[node.test]
            )
            below = next((n for group, n in node.branches if state in group), None)
            if below is None:
                return None
            node = below
        return None if node.outcome is None else self._severities(keys, node.outcome)

    def _severities(self, keys: tuple[SubjectKey | None, ...], outcome: tuple[object, ...]) -> Severities:
        found = []
        for key, said in zip(keys, outcome, strict=True):
            verdict = said[0] if isinstance(said, tuple) else Verdict.DENY
            floor = _FLOOR if key is not None and key.floor else -1
            found.append(-1 if key is None else max(Verdict(verdict).severity, floor))
        return tuple(found)

    def _diagram(self, keys: tuple[SubjectKey | None, ...]) -> Diagram:
        if keys not in self._diagrams:
            cell = self._space.cells[keys]
            self._diagrams[keys] = verdict_diagram(self._space, cell, self._one.answers.get(keys, ()))
        return self._diagrams[keys]

    # -- the call itself --------------------------------------------------------------------------

    def _call(self, cell: EquivalenceClass, chosen: dict[int, int], elements: Chosen) -> FoundCall:
        arguments = self._space.call_arguments(chosen)
        roles = self._space.roles_in(chosen)
        for source, found in enumerate(self._space.sources):
            own = [element for home, element in elements if home == source]
            values = tuple(dict.fromkeys(value for element in own for value in element.values))
            if values:
                joined = found.composite is not None
                arguments.update(
                    placed_in_mode(self._space, found, own[0], chosen)
                    if joined
                    else self._space.reader.placing.place(found, values)
                )
            elif any(self._space.sides.registry[role].resource for role in roles[source]):
                # Left away, or there and empty.
                arguments = {n: value for n, value in arguments.items() if n not in found.places}
                arguments.update({n: value for element in own for n, value in element.given})
        value = next((v for _, e in elements for keys, v in pairs(e) if keys == cell.keys), "")
        return FoundCall(arguments, self._space.values(chosen)["caller"], cell.role, value)


def _plus(one: State, other: State) -> State:
    return one[0] | other[0], _worst(one[1], other[1])


def _worst(one: Severities, other: Severities) -> Severities:
    return tuple(map(max, one, other))


def _outcomes(node: Diagram) -> Iterator[tuple[object, ...]]:
    seen, waiting = {node}, [node]
    while waiting:
        inner = waiting.pop()
        if inner.outcome is not None:
            yield inner.outcome
        for _, below in inner.branches:
            if below not in seen:
                seen.add(below)
                waiting.append(below)
