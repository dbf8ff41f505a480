"""Cells: values of one role that no policy tells apart, and the rules that can judge them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ironcurtain.analysis.engine.rules.diagram import DecisionList, DiagramStep, cut
from ironcurtain.analysis.engine.rules.rules import RuleOfTool
from ironcurtain.analysis.engine.space.elements import Element, Seen, SubjectKey
from ironcurtain.analysis.engine.values.witnesses import Witness
from ironcurtain.decision.canonical.patterns import Chain
from ironcurtain.decision.roles import NONE

CALL_KEY = SubjectKey(NONE, frozenset(), discharged=False, floor=None, marks=frozenset())


@dataclass
class EquivalenceClass:
    """Subjects of one role that no policy tells apart.

    Attributes:
        keys: By policy, what it knows of them; None where the policy does not see such a subject.
        regions: Chains of the kind's tree, with how people call the place.
        homes: The sources they come from, each with the roles it has then.
        example: One element that holds such a subject, with its source.
        fits: Whether calls are known to hold such a subject; if not, it is not known that none does.
    """

    role: str
    keys: tuple[SubjectKey | None, ...]
    regions: set[tuple[Chain, str]] = field(default_factory=set)
    homes: set[tuple[int, tuple[str, ...]]] = field(default_factory=set)
    example: tuple[int, Element, str] | None = None
    fits: bool = False


def pairs(element: Element) -> Iterator[tuple[tuple[SubjectKey | None, ...], str]]:
    """Yield, for each subject of an element, what each policy knows of it, and its value."""
    tables: list[dict[tuple[str, str, bool], Seen]] = [
        {(s.key.role, s.subject.value, s.subject.unresolved is not None): s for s in seen}
        for seen in element.seen
    ]
    for name in dict.fromkeys(name for table in tables for name in table):
        yield tuple(table[name].key if name in table else None for table in tables), name[1]


def lies_there(witness: Witness, keys: tuple[SubjectKey | None, ...]) -> bool:
    """Tell whether a witness of what no pattern covers is covered by none."""
    return bool(witness.chain) or not any(key is not None and key.patterns for key in keys)


class RuleIndex:
    """The rules of one tool under one policy, by what they say about a subject."""

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

    def decision_list(self, key: SubjectKey) -> DecisionList:
        """Return the rules that can judge a subject, in order, with what each still asks."""
        memo = (key.role, key.patterns, key.discharged)
        if memo not in self._lists:
            near = [*self._roleless, *self._anywhere.get(key.role, ())]
            for pattern in key.patterns:
                near += self._by_pattern.get((key.role, pattern), ())
            steps = []
            for rule in sorted({rule.order: rule for rule in near}.values(), key=lambda rule: rule.order):
                guards = rule.guards_for(key.role, key.patterns, discharged=key.discharged)
                if guards is not None:
                    steps.append(DiagramStep(rule.order, frozenset(atom.key for atom in rule.atoms), guards))
            self._lists[memo] = cut(steps)
        return self._lists[memo]
