"""Cells: values of one role that no policy tells apart, and the rules that can decide about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ironcurtain.analysis.engine.indexes import SourceIndex, indexed
from ironcurtain.analysis.engine.rules.diagram import DecisionList, DiagramStep, cut
from ironcurtain.analysis.engine.rules.rules import RuleOfTool
from ironcurtain.analysis.engine.space.elements import Element, ResourceKey, lies_there, pairs
from ironcurtain.analysis.engine.space.modes import Modes
from ironcurtain.analysis.engine.space.source_elements import SourceElements
from ironcurtain.decision.canonical.patterns import Chain
from ironcurtain.decision.canonical.resources import CALL
from ironcurtain.decision.roles import NONE

CALL_KEY = ResourceKey(NONE, frozenset(), discharged=False, minimum=None, marks=frozenset())


@dataclass
class EquivalenceClass:
    """Resources of one role that no policy tells apart.

    Attributes:
        keys: By policy, what it knows of them; None where the policy does not see such a resource.
        regions: Chains of the kind's tree, with how people call the place.
        homes: The sources they come from, each with the roles it has then.
        example: One element that holds such a resource, with its source.
        fits: Whether calls are known to hold such a resource; if not, it is not known that none does.
    """

    role: str
    keys: tuple[ResourceKey | None, ...]
    regions: set[tuple[Chain, str]] = field(default_factory=set)
    homes: set[tuple[SourceIndex, tuple[str, ...]]] = field(default_factory=set)
    example: tuple[SourceIndex, Element, str] | None = None
    fits: bool = False

    def add(self, source: SourceIndex, element: Element, value: str) -> None:
        """Add the region in which a value lies; one that its witness names is the better example."""
        self.fits = self.fits or element.fits
        witness = element.witness
        if witness is not None and not witness.whole and lies_there(witness, self.keys):
            self.regions.add((witness.chain, witness.label))
            self.example = self.example or (source, element, value)
        elif self.example is None:
            self.example = (source, element, value)
        if witness is None and not self.regions:
            # What a default names lies in no region that was tried.
            self.regions.add((("filled in", value), value))


def find_cells(
    modes: Modes, elements: SourceElements, policies: int
) -> dict[tuple[ResourceKey | None, ...], EquivalenceClass]:
    """Return the equivalence classes of one tool's resources, by what each policy knows of them.

    Args:
        modes: The tool's modes.
        elements: What its sources add to calls.
        policies: How many policies there are.
    """
    found: dict[tuple[ResourceKey | None, ...], EquivalenceClass] = {}
    for _, by_source in modes.of_roles({}):
        for source, roles in indexed(SourceIndex, by_source):
            for element in elements.of(source, roles):
                for keys, value in pairs(element):
                    role = next(key.role for key in keys if key is not None)
                    cell = found.setdefault(keys, EquivalenceClass(role, keys))
                    cell.homes.add((source, roles))
                    cell.add(source, element, value)
    if elements.can_be_bare():
        keys = tuple(CALL_KEY for _ in range(policies))
        found[keys] = EquivalenceClass(NONE, keys, {((), CALL)}, fits=True)
    return found


class RuleIndex:
    """The rules of one tool under one policy, by what they say about a resource."""

    def __init__(self, rules: Sequence[RuleOfTool]) -> None:
        self._rules = rules
        self._anywhere: dict[str, list[RuleOfTool]] = {}
        self._by_pattern: dict[tuple[str, str], list[RuleOfTool]] = {}
        self._lists: dict[tuple[object, ...], DecisionList] = {}
        self._roleless = [rule for rule in rules if not rule.named_roles]
        for rule in rules:
            for role in rule.named_roles:
                own = rule.own_patterns(role)
                if own is None:
                    self._anywhere.setdefault(role, []).append(rule)
                for pattern in own or ():
                    self._by_pattern.setdefault((role, pattern), []).append(rule)

    def decision_list(self, key: ResourceKey) -> DecisionList:
        """Return the rules that can decide about a resource, in order, with what each still asks."""
        memo = (key.role, key.patterns, key.discharged)
        if memo not in self._lists:
            near = [*self._roleless, *self._anywhere.get(key.role, ())]
            for pattern in key.patterns:
                near += self._by_pattern.get((key.role, pattern), ())
            steps = []
            for rule in sorted({rule.order: rule for rule in near}.values(), key=lambda rule: rule.order):
                guards = rule.guards_for(key.role, key.patterns, discharged=key.discharged)
                if guards is not None:
                    steps.append(
                        DiagramStep(
                            rule.order, frozenset(predicate.key for predicate in rule.predicates), guards
                        )
                    )
            self._lists[memo] = cut(steps)
        return self._lists[memo]
