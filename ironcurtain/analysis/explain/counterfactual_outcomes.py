"""The probable decisions about a resource in a given call, read from the policy's diagrams."""

from __future__ import annotations

from collections.abc import Mapping

from ironcurtain.analysis.engine.indexes import VariableIndex, indexed
from ironcurtain.analysis.engine.rules.diagram import FALLS_THROUGH, DiagramNode
from ironcurtain.analysis.engine.rules.rules import GuardKey
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.analysis.engine.space.elements import Element, ResourceKey
from ironcurtain.analysis.engine.space.variables import PRESENT
from ironcurtain.model.unknown_facts import values_by_root
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue


class Outcomes:
    """The outcomes of the policy's tests for one call.

    Args:
        space: The call's tool under one policy.
        arguments: The call's arguments with defaults filled in.
        caller: Its caller facts.

    Attributes:
        caller_classes: The classes of what only the caller's facts decide, which no agent can change.
    """

    def __init__(
        self, space: CallSpace, arguments: Mapping[str, JsonValue], caller: Mapping[str, JsonValue]
    ) -> None:
        self._space = space
        resources = {name for source in space.sources if source.argument for name in source.places}
        asked = {name: PRESENT if name in resources else value for name, value in arguments.items()}
        self._classes = [
            v.class_of(values_by_root() | {"args": asked, "caller": dict(caller)}) for v in space.variables
        ]
        self.caller_classes = {
            index: frozenset({class_})
            for index, (variable, class_) in indexed(
                VariableIndex, zip(space.variables, self._classes, strict=True)
            )
            if class_ is not None and all(root == "caller" for root, _ in variable.places)
        }

    def could(self, element: Element, goal: Verdict) -> bool:
        """Tell whether every subject of a value could be decided no more severely than the goal.

        The other arguments may have to change for it, too.
        """
        return all(self._mildest(seen.key) <= goal.severity for seen in element.seen[0])

    def _mildest(self, key: ResourceKey) -> int:
        cell = self._space.cells.get((key,))
        if cell is None:
            return Verdict.DENY.severity
        minimum = Verdict.ESCALATE.severity if key.minimum else 0
        return max(minimum, min(self._severities(self._space.diagrams.of(cell), key), default=2))

    def _severities(self, node: DiagramNode, key: ResourceKey) -> set[int]:
        if node.test is None:
            return set() if node.outcome is None else {self._severity(node.outcome[0], key)}
        classes: set[int] = set()
        for group, below in node.branches:
            known = None if isinstance(node.test, GuardKey) else self._classes[node.test]
            if known is None or known in group:
                classes |= self._severities(below, key)
        return classes

    def _severity(self, order: object, key: ResourceKey) -> int:
        if order == FALLS_THROUGH:
            return (Verdict.ALLOW if key.discharged else Verdict.DENY).severity
        return next(rule.then for rule in self._space.rules[0] if rule.order == order).severity
