"""The diagram of an equivalence class with the verdicts that OPA gave in place of rules."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from ironcurtain.analysis.engine.opa_queries import Answered
from ironcurtain.analysis.engine.rules.diagram import FALLS_THROUGH, paths
from ironcurtain.analysis.engine.rules.diagram import DiagramNode as Diagram
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass
from ironcurtain.model.verdict import Verdict


def verdict_diagram(space: CallSpace, cell: EquivalenceClass, answers: Iterable[Answered]) -> Diagram:
    """Return a cell's diagram with what OPA said in place of rules, reduced anew.

    Each outcome is, per policy, (verdict, clause); ways that no call takes keep what their rule says.
    """
    said: dict[tuple[int, Hashable], tuple[str, str | None]] = {}
    for answer in answers:
        for side, outcome in enumerate(answer.outcomes):
            if outcome is not None:
                said[side, answer.path.outcome[side]] = (outcome.verdict.value, outcome.clause)
    full = space.diagram(cell)
    replaced: dict[tuple[Hashable, ...] | None, tuple[Hashable, ...] | None] = {None: None}
    for path in paths(full):
        replaced[path.outcome] = tuple(
            said.get((side, order), _by_rule(space, cell, side, order))
            for side, order in enumerate(path.outcome)
        )
    return space.diagrams.mapped(full, replaced)


def _by_rule(space: CallSpace, cell: EquivalenceClass, side: int, order: Hashable) -> tuple[str, str | None]:
    if order == FALLS_THROUGH:
        key = cell.keys[side]
        return (Verdict.ALLOW.value if key is not None and key.discharged else Verdict.DENY.value), None
    rule = next(rule for rule in space.rules[side] if rule.order == order)
    return rule.then.value, rule.clause
