"""How severely the resources of a tool's cells are decided, in each mode and under all guard bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from ironcurtain.analysis.engine.indexes import Assignment
from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.rules.diagram import DiagramNode
from ironcurtain.analysis.engine.rules.rules import GuardKey
from ironcurtain.analysis.engine.space.elements import ResourceKey
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass
from ironcurtain.model.verdict import Verdict

Severities: TypeAlias = tuple[int, ...]
"""Per policy the severity of a final verdict, -1 where nothing is decided."""
_MINIMUM = Verdict.ESCALATE.severity
"""The severity that a structural check demands at least."""


class CellVerdicts:
    """How each resource of a tool's cells is decided, in each mode."""

    def __init__(self, examined: Examined) -> None:
        self._examined = examined
        self._diagrams: dict[tuple[ResourceKey | None, ...], DiagramNode] = {}

    def possible(self, cell: EquivalenceClass) -> Iterator[Severities]:
        """Yield every way in which a cell's resources are decided in some call."""
        return (_severities(cell.keys, outcome) for outcome in _outcomes(self._diagram(cell.keys)))

    def in_mode(
        self, keys: tuple[ResourceKey | None, ...], chosen: Assignment, mask: int
    ) -> Severities | None:
        """Return how a resource is decided in a mode under guard bits, None if it cannot exist there."""
        node = self._diagram(keys)
        while node.test is not None:
            state = (
                self._examined.calls.state(mask, node.test)
                if isinstance(node.test, GuardKey)
                else chosen[node.test]
            )
            below = next((n for group, n in node.branches if state in group), None)
            if below is None:
                return None
            node = below
        return None if node.outcome is None else _severities(keys, node.outcome)

    def _diagram(self, keys: tuple[ResourceKey | None, ...]) -> DiagramNode:
        if keys not in self._diagrams:
            self._diagrams[keys] = self._examined.verdict_diagram(self._examined.space.cells[keys])
        return self._diagrams[keys]


def _severities(keys: tuple[ResourceKey | None, ...], outcome: tuple[object, ...]) -> Severities:
    """Return how severely each policy decides a resource: its verdict, or the minimum of a check."""
    found = []
    for key, decided in zip(keys, outcome, strict=True):
        verdict = Verdict(decided[0] if isinstance(decided, tuple) else Verdict.DENY)
        minimum = _MINIMUM if key is not None and key.minimum else -1
        found.append(-1 if key is None else max(verdict.severity, minimum))
    return tuple(found)


def _outcomes(node: DiagramNode) -> Iterator[tuple[object, ...]]:
    seen, waiting = {node}, [node]
    while waiting:
        inner = waiting.pop()
        if inner.outcome is not None:
            yield inner.outcome
        for _, below in inner.branches:
            if below not in seen:
                seen.add(below)
                waiting.append(below)
