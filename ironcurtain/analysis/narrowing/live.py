"""What of a tool is live: which classes of values some call could have that is not denied.

A call is denied as soon as one of its resources is. So a class is dead if under it some argument that every
call must give yields only denied resources, or if nothing at all is permitted. These are necessary
conditions, looked up in one pass over the paths; no combination of arguments is searched.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ironcurtain.analysis.engine.indexes import (
    Assignment,
    ClassIndex,
    ClassSets,
    SourceIndex,
    VariableIndex,
    indexed,
)
from ironcurtain.analysis.engine.opa_queries import Answered, Examined
from ironcurtain.analysis.engine.rules.diagram import FALLS_THROUGH
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass
from ironcurtain.decision.roles import GIT_REMOTE
from ironcurtain.model.reserved_rules import is_custom
from ironcurtain.model.verdict import Verdict

_FIRST = ClassIndex(0)


@dataclass
class _Reached:
    """The classes of each variable on the live paths of some cells.

    Attributes:
        paths: How many live paths there are.
        tested: By variable, how many of them test it; the others hold for all its classes.
        classes: By variable, its classes on those that do.
    """

    paths: int = 0
    tested: dict[VariableIndex, int] = field(default_factory=dict)
    classes: dict[VariableIndex, set[ClassIndex]] = field(default_factory=dict)

    def add(self, answered: Answered) -> None:
        self.paths += 1
        for index, group in answered.path.classes:
            self.tested[index] = self.tested.get(index, 0) + 1
            self.classes.setdefault(index, set()).update(group)

    def under(self, variable: VariableIndex | None, class_: ClassIndex) -> bool:
        """Tell whether some live path holds for a class of a variable."""
        if variable is None or not self.paths:
            return self.paths > 0
        return self.tested.get(variable, 0) < self.paths or class_ in self.classes[variable]


class LiveTool:
    """The live part of one examined tool."""

    def __init__(self, examined: Examined) -> None:
        """Collect the live paths."""
        self._examined = examined
        self._space = examined.space
        self._all = _Reached()
        self._by_home: dict[tuple[SourceIndex, tuple[str, ...], str], _Reached] = {}
        self._empty: dict[tuple[object, ...], bool] = {}
        for keys, cell in examined.space.cells.items():
            for answered in examined.answers.get(keys, ()):
                if self.verdict(cell, answered) is not Verdict.DENY:
                    self._add(cell, answered)

    def _add(self, cell: EquivalenceClass, answered: Answered) -> None:
        self._all.add(answered)
        for source, roles in cell.homes:
            self._by_home.setdefault((source, roles, cell.role), _Reached()).add(answered)

    def verdict(self, cell: EquivalenceClass, answered: Answered) -> Verdict:
        """Return the verdict for a path of a cell, custom modules aside.

        They can deny one value of a class and not another, so their verdict about the value that was
        tried does not hold for the class.
        """
        outcome, key, order = answered.outcomes[0], cell.keys[0], answered.path.outcome[0]
        if outcome is not None and not is_custom(outcome.rule):
            verdict = outcome.verdict
        elif order == FALLS_THROUGH:
            verdict = Verdict.ALLOW if key is not None and key.discharged else Verdict.DENY
        else:
            verdict = next(rule.then for rule in self._space.rules[0] if rule.order == order)
        if verdict is Verdict.ALLOW and key is not None and key.minimum:
            return Verdict.ESCALATE
        return verdict

    def mildest(self, cell: EquivalenceClass) -> Verdict:
        """Return the mildest verdict that a cell's resources can get."""
        verdicts = [self.verdict(cell, answered) for answered in self._examined.answers.get(cell.keys, ())]
        return min(verdicts, key=lambda verdict: verdict.severity, default=Verdict.DENY)

    def possible(self, variable: VariableIndex | None = None, class_: ClassIndex = _FIRST) -> bool:
        """Tell whether some call, with a value of the class, may not be denied; false is a proof."""
        if not self._all.under(variable, class_):
            return False
        wanted: ClassSets = {} if variable is None else {variable: frozenset({class_})}
        for chosen, roles in self._space.modes.of_roles(wanted):
            if all(
                self._can_be_empty(source, roles_of_source, chosen)
                or self._permits(source, roles_of_source, variable, class_)
                for source, roles_of_source in indexed(SourceIndex, roles)
            ):
                return True
        return False

    def usable(self, source: SourceIndex) -> bool:
        """Tell whether an argument may be given at all, in some mode; false is a proof."""
        modes = {roles[source] for _, roles in self._space.modes.of_roles({})}
        return any(self._permits(source, roles, None, _FIRST) for roles in modes)

    def _permits(
        self, source: SourceIndex, roles: tuple[str, ...], variable: VariableIndex | None, class_: ClassIndex
    ) -> bool:
        if GIT_REMOTE in roles:
            return True  # what git would contact can be resources of other roles, or of none that was tried
        nothing = _Reached()
        return all(
            self._by_home.get((source, roles, role), nothing).under(variable, class_)
            for role in self._resources(roles)
        )

    def _can_be_empty(self, source: SourceIndex, roles: tuple[str, ...], chosen: Assignment) -> bool:
        """Tell whether a call may hold no resource of a source; true where that is open."""
        memo = (source, roles, *chosen.items())
        if memo not in self._empty:
            options = self._examined.calls.options(source, roles, chosen)
            self._empty[memo] = GIT_REMOTE in roles or any(element.is_bare for element in options)
        return self._empty[memo]

    def _resources(self, roles: tuple[str, ...]) -> list[str]:
        return [role for role in roles if self._space.policies.registry[role].resource]
