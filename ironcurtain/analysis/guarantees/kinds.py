"""Calls that are of some kinds and of no others, at given labels of their session: one, or why there is none.

    kinds.find(tool, labels, matching, avoiding, Verdict.ALLOW)

Labels are known in a session, so each class of calls is one of given labels. Totals are left open here: what
they are follows from the whole sequence, and is held against it when that is put together.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence

from ironcurtain.analysis.engine.guarantee_scope import ReadGuarantee
from ironcurtain.analysis.engine.indexes import ClassIndex, ClassSets, VariableIndex, indexed
from ironcurtain.analysis.engine.policy_analysis import PolicyAnalysis
from ironcurtain.analysis.engine.search import CallSearch, SearchResult
from ironcurtain.analysis.engine.sequence_scope import CallKind
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.analysis.engine.space.elements import Element
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass
from ironcurtain.analysis.guarantees.spoken_of import overlaps, speaks_of, wanted_classes
from ironcurtain.decision.canonical import pointers
from ironcurtain.model.facts import CounterFact, Fact, LabelFact
from ironcurtain.model.unknown_facts import values_by_root
from ironcurtain.model.verdict import Verdict

ToolName = tuple[str, str]
SEVERAL = "calls that are of several kinds at once by several resources"


class CallKinds:
    """Searches calls by their kinds in an examined policy."""

    def __init__(self, analysis: PolicyAnalysis) -> None:
        self._analysis = analysis
        self._registry = analysis.policies.registry
        self._facts: Mapping[str, Fact] = analysis.content.facts

    def cells(self, kind: CallKind) -> int:
        """Return how many kinds of resources it speaks of."""
        return sum(
            speaks_of(kind.read, cell, self._registry)
            and any(overlaps(each, wanted) for each in examined.answers.get(cell.keys, ()))
            for tool in kind.read.tools
            for examined in [self._analysis.tools[tool]]
            for wanted in [wanted_classes(kind.read, examined.space)]
            for cell in examined.space.cells.values()
        )

    def tested_labels(self, tools: Collection[ToolName]) -> frozenset[str]:
        """Return the labels that rules about some tools test."""
        places = {
            place
            for tool in tools
            for variable in self._analysis.tools[tool].space.variables
            for place in variable.places
        }
        return frozenset(
            name for root, name in places if root == "facts" and isinstance(self._facts.get(name), LabelFact)
        )

    def find(
        self,
        tool: ToolName,
        labels: frozenset[str],
        matching: Sequence[CallKind],
        avoiding: Sequence[CallKind],
        limit: Verdict,
    ) -> SearchResult:
        """Search a call that is decided at most as severely as a limit.

        Args:
            tool: Its tool.
            labels: The labels that its session has.
            matching: The kinds that it is of.
            avoiding: The kinds that it is not of.
            limit: The most severe verdict.
        """
        space = self._analysis.tools[tool].space
        tested = [wanted_classes(kind.read, space) for kind in matching]
        wanted = _both(_of_labels(space, labels, self._facts), *tested)
        gaps: set[str] = set()
        for failing, unmet in _avoidances(avoiding):
            narrowed = _both(wanted, _failing(space, failing))
            for first in (_fresh(space, self._facts), {}):
                found = self._search(tool, matching, unmet, _both(narrowed, first), limit)
                if found.call is not None:
                    return found
            gaps |= found.gaps
        return SearchResult(None, frozenset(gaps))

    def open_to(self, tool: ToolName, matching: Sequence[CallKind], limit: Verdict) -> SearchResult:
        """Search a call as `find` does, in a session with whatever labels."""
        space = self._analysis.tools[tool].space
        tested = [wanted_classes(kind.read, space) for kind in matching]
        return self._search(tool, matching, (), _both(*tested), limit)

    def _search(
        self,
        tool: ToolName,
        matching: Sequence[CallKind],
        unmet: Sequence[ReadGuarantee],
        wanted: ClassSets,
        limit: Verdict,
    ) -> SearchResult:
        def allowed(element: Element) -> bool:
            keys = [seen.key for seen in element.seen[0]]
            return not any(read.matches(key, self._registry) for read in unmet for key in keys)

        examined = self._analysis.tools[tool]
        search = CallSearch(examined, allowed)
        gaps: set[str] = set(examined.gaps)
        of_resources = [kind for kind in matching if kind.has_resources]
        if len({_resources_of(kind) for kind in of_resources}) > 1:
            gaps.add(SEVERAL)
        for cell in examined.space.cells.values():
            if not self._is_of(cell, of_resources):
                continue
            if not search.could(cell, lambda resource: resource[0] <= limit.severity):
                continue
            found = search.find(cell, lambda _, call: call[0] <= limit.severity, wanted=wanted)
            if found.call is not None:
                return found
            gaps |= found.gaps
        return SearchResult(None, frozenset(gaps))

    def _is_of(self, cell: EquivalenceClass, kinds: Sequence[CallKind]) -> bool:
        key = cell.keys[0]
        return key is not None and all(kind.read.matches(key, self._registry) for kind in kinds)


def _resources_of(kind: CallKind) -> tuple[Hashable, ...]:
    """Return what a kind asks of a resource: of two kinds that ask the same, one resource meets both."""
    roles = kind.read.guarantee.when.roles
    return frozenset(roles) if roles else None, kind.read.kind, kind.read.within, kind.read.outside


def _avoidances(
    avoiding: Sequence[CallKind],
) -> Iterator[tuple[tuple[str, ...], tuple[ReadGuarantee, ...]]]:
    """Yield the ways to be of none of some kinds: tests that fail, and conditions that no resource meets."""
    for chosen in itertools.product(*map(_ways_to_avoid, avoiding)):
        failing = tuple(way for way in chosen if isinstance(way, str))
        yield failing, tuple(way for way in chosen if not isinstance(way, str))


def _ways_to_avoid(kind: CallKind) -> list[str | ReadGuarantee]:
    """Return the tests of a kind, one of which may fail; its condition, if no resource may meet that."""
    tests: list[str | ReadGuarantee] = [predicate.key for predicate in kind.read.predicates]
    return [*tests, kind.read] if kind.has_resources else tests


def _of_labels(space: CallSpace, labels: frozenset[str], facts: Mapping[str, Fact]) -> ClassSets:
    """Return the classes of calls in a session with some labels; a label that is compared is left open."""
    wanted: dict[VariableIndex, frozenset[ClassIndex]] = {}
    for index, variable in indexed(VariableIndex, space.variables):
        root, name = variable.places[0]
        if len(variable.places) == 1 and root == "facts" and isinstance(facts.get(name), LabelFact):
            known = values_by_root()
            known["facts"][name] = name in labels
            class_ = variable.class_of(known)
            wanted[index] = frozenset(variable.indexes if class_ is None else (class_,))
    return wanted


def _failing(space: CallSpace, tests: Collection[str]) -> ClassSets:
    """Return the classes of calls for which some tests all fail."""
    wanted: dict[VariableIndex, frozenset[ClassIndex]] = {}
    for index, variable in indexed(VariableIndex, space.variables):
        own = {predicate.key for predicate in variable.predicates} & {*tests}
        if own:
            wanted[index] = frozenset(
                number for number, class_ in indexed(ClassIndex, variable.classes) if not own & class_.true
            )
    return wanted


def _fresh(space: CallSpace, facts: Mapping[str, Fact]) -> ClassSets:
    """Return the classes of calls whose totals hold nothing but the call itself, where there are such."""
    wanted: dict[VariableIndex, frozenset[ClassIndex]] = {}
    for index, variable in indexed(VariableIndex, space.variables):
        for root, name in variable.places:
            fact = facts.get(name) if root == "facts" else None
            if not isinstance(fact, CounterFact):
                continue
            added = None if fact.add is None else pointers.steps_of(fact.add.arg)[0]
            fresh = frozenset(
                number
                for number, class_ in indexed(ClassIndex, variable.classes)
                if class_.value((root, name)) == (1 if added is None else class_.value(("args", added)))
                and class_.value((root, name)) is not None
            )
            if fresh:
                wanted[index] = wanted.get(index, fresh) & fresh
    return {index: classes for index, classes in wanted.items() if classes}


def _both(*sets: ClassSets) -> ClassSets:
    """Return the classes that all of some sets have."""
    found: dict[VariableIndex, frozenset[ClassIndex]] = {}
    for each in sets:
        for index, classes in each.items():
            found[index] = found.get(index, classes) & classes
    return found
