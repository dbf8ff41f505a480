"""The diagram of each equivalence class: when its resources exist, and what the rules say of them then."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from ironcurtain.analysis.engine.indexes import SourceIndex, indexed
from ironcurtain.analysis.engine.rules.diagram import (
    ALWAYS,
    Activity,
    DecisionList,
    DiagramNode,
    Diagrams,
    TooManyError,
    too_many_paths,
)
from ironcurtain.analysis.engine.rules.predicates import role_predicate
from ironcurtain.analysis.engine.rules.rules import RuleOfTool
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass, RuleIndex
from ironcurtain.analysis.engine.space.modes import Modes
from ironcurtain.analysis.engine.space.source_elements import SourceElements
from ironcurtain.decision.roles import NONE
from ironcurtain.errors import EvidenceError


class CellDiagrams:
    """Makes the diagrams of one tool's equivalence classes; equal diagrams are one object.

    Args:
        name: The tool's server and name, for errors.
        rules: Per policy, the rules that concern the tool.
        modes: The tool's modes.
        elements: What its sources add to calls.
    """

    def __init__(
        self,
        name: tuple[str, str],
        rules: Sequence[Sequence[RuleOfTool]],
        modes: Modes,
        elements: SourceElements,
    ) -> None:
        self._name, self._rules, self._modes, self._elements = name, rules, modes, elements
        self._indexes = [RuleIndex(each) for each in rules]
        self._diagrams = Diagrams(modes.variables)

    def of(self, cell: EquivalenceClass) -> DiagramNode:
        """Return the diagram of a cell: its outcomes are, per policy, orders of rules.

        Raises:
            EvidenceError: If it grows beyond what can be examined.
        """
        return self._made(cell, self.decision_lists(cell))

    def with_rule_alone(self, cell: EquivalenceClass, rule: RuleOfTool) -> DiagramNode | None:
        """Return the diagram of a cell with, after the first policy's outcome, that of one rule alone.

        None where the rule decides no resource of the cell.

        Raises:
            EvidenceError: If it grows beyond what can be examined.
        """
        key = cell.keys[0]
        alone = RuleIndex([rule]).decision_list(key) if key is not None else ()
        if key is None or not alone:
            return None
        return self._made(cell, (self._indexes[0].decision_list(key), alone))

    def _made(self, cell: EquivalenceClass, lists: tuple[DecisionList, ...]) -> DiagramNode:
        try:
            return self._diagrams.of(self._activity(cell), lists)
        except TooManyError:
            raise self.too_many() from None

    def decision_lists(self, cell: EquivalenceClass) -> tuple[DecisionList, ...]:
        """Return, per policy, the rules that can decide about a cell's resources, with what each asks."""
        return tuple(
            index.decision_list(key) if key is not None else ()
            for index, key in zip(self._indexes, cell.keys, strict=True)
        )

    def mapped(
        self,
        node: DiagramNode,
        outcomes: Mapping[tuple[Hashable, ...] | None, tuple[Hashable, ...] | None],
    ) -> DiagramNode:
        """Return a diagram with its outcomes replaced, reduced anew."""
        return self._diagrams.mapped(node, outcomes)

    def too_many(self) -> EvidenceError:
        """Return the error that names what makes the tool's policy too large to examine."""
        return too_many_paths(*self._name, self._rules[0], self._modes.variables)

    def _activity(self, cell: EquivalenceClass) -> Activity:
        """Return when a cell's resources can exist, from the conditional roles of their sources."""
        if cell.role == NONE:
            without = [self._branches(index, self._need_not_yield) for index in self._sources()]
            known = [branches for branches in without if branches[0][0] or not branches[0][1]]
            return Activity(tuple(known), every=True) if known else ALWAYS

        def holds(index: SourceIndex, roles: tuple[str, ...]) -> bool:
            return (index, roles) in cell.homes

        found = [self._branches(index, holds) for index in sorted({source for source, _ in cell.homes})]
        return ALWAYS if any(not b[0][0] and b[0][1] for b in found) else Activity(tuple(found))

    def _sources(self) -> list[SourceIndex]:
        return [index for index, _ in indexed(SourceIndex, self._modes.sources)]

    def _need_not_yield(self, index: SourceIndex, roles: tuple[str, ...]) -> bool:
        return not self._elements.must_yield(index, roles)

    def _branches(
        self, index: SourceIndex, test: Callable[[SourceIndex, tuple[str, ...]], bool]
    ) -> tuple[tuple[frozenset[str], bool], ...]:
        """Return the branches of a source's conditional roles, each with whether its roles pass a test."""
        source = self._modes.sources[index]
        if source.argument is None or source.argument.conditional is None:
            return ((frozenset(), test(index, source.roles_in({}))),)
        conditional = source.argument.conditional
        branches = [
            (frozenset({role_predicate(when).key}), test(index, when.roles)) for when in conditional.when
        ]
        return (*branches, (frozenset(), test(index, conditional.default)))
