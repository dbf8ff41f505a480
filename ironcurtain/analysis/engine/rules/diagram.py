"""Decision diagrams: what the rules make of one resource, as a reduced diagram over classes of values.

A decision list is the rules in order that can decide about the resource, each with what else it asks, cut at
the first that asks nothing. The diagram branches over one variable after another, in one order everywhere,
and puts classes together that leave the same list; so rules that share no variable do not multiply.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TypeAlias, cast

from ironcurtain.analysis.engine.indexes import ClassIndex, VariableIndex, indexed
from ironcurtain.analysis.engine.rules.rules import GuardKey, RuleGuard, RuleOfTool
from ironcurtain.analysis.engine.space.variables import Variable
from ironcurtain.errors import EvidenceError
from ironcurtain.system.structs import Struct, replace
from ironcurtain.system.text import visible

MAX_NODES = 50_000
MAX_PATHS = 100_000
FALLS_THROUGH = 0
"""The outcome where no rule applies: denied by default, or allowed where the resource is workspace-exempt."""


class DiagramStep(Struct):
    """A rule of a decision list with what is still open about it."""

    order: int
    predicates: frozenset[str]
    guards: frozenset[RuleGuard]


DecisionList: TypeAlias = tuple[DiagramStep, ...]
GuardState: TypeAlias = tuple[bool, bool]
"""Whether there is a covered and whether there is an uncovered resource of a guard's roles."""
Test: TypeAlias = VariableIndex | GuardKey
"""What a node branches over: the index of a variable, or a guard."""


class Activity(Struct):
    """When a resource exists: for each source of it, the branches of its conditional roles.

    Attributes:
        sources: Per source, pairs of (predicates that must hold, whether the resource exists then); the
            first match counts.
        every: Whether all sources must say so; otherwise one is enough.
    """

    sources: tuple[tuple[tuple[frozenset[str], bool], ...], ...]
    every: bool = False


ALWAYS = Activity(())


class DiagramNode(Struct, eq=False):
    """A node of a diagram; equal diagrams are one node.

    Attributes:
        test: What it branches over; None for a leaf.
        branches: Groups of classes (or guard states) with what follows.
        outcome: Of a leaf: per policy what is decided; None where the resource cannot exist.
    """

    test: Test | None
    branches: tuple[tuple[frozenset[int], DiagramNode], ...]
    outcome: tuple[Hashable, ...] | None
    paths: int


class DiagramPath(Struct):
    """One way through a diagram: the classes and guard states along it, and the outcome at its end."""

    classes: tuple[tuple[VariableIndex, frozenset[ClassIndex]], ...]
    guards: tuple[tuple[GuardKey, frozenset[int]], ...]
    outcome: tuple[Hashable, ...]

    def covers(self, other: DiagramPath) -> bool:
        """Tell whether this is the other path, or one that it was merged into."""
        classes = dict(other.classes)
        return (self.guards, self.outcome) == (other.guards, other.outcome) and all(
            index in classes and classes[index] <= group for index, group in self.classes
        )


GUARD_STATES: tuple[GuardState, ...] = ((False, False), (True, False), (False, True), (True, True))


class TooManyError(Exception):
    """The diagrams of a tool grow beyond what can be examined."""


class Diagrams:
    """Makes diagrams over the variables of one tool; equal ones are the same object.

    Args:
        variables: The variables, in the order of branching.
    """

    def __init__(self, variables: Sequence[Variable]) -> None:
        self._variables = variables
        self._home = {
            predicate.key: index
            for index, v in indexed(VariableIndex, variables)
            for predicate in v.predicates
        }
        self._nodes: dict[Hashable, DiagramNode] = {}
        self._made: dict[Hashable, DiagramNode] = {}

    def leaf(self, outcome: tuple[Hashable, ...] | None) -> DiagramNode:
        """Return the leaf of an outcome."""
        return self._node(None, (), outcome)

    def of(self, activity: Activity, lists: tuple[DecisionList, ...]) -> DiagramNode:
        """Return the diagram of a resource's decision lists, one per policy."""
        state = (activity, lists)
        if state not in self._made:
            self._made[state] = self._branch(activity, lists)
        return self._made[state]

    def mapped(
        self,
        node: DiagramNode,
        outcomes: Mapping[tuple[Hashable, ...] | None, tuple[Hashable, ...] | None],
    ) -> DiagramNode:
        """Return the diagram with its outcomes replaced, reduced anew."""
        done: dict[DiagramNode, DiagramNode] = {}

        def walk(inner: DiagramNode) -> DiagramNode:
            if inner not in done:
                if inner.test is None:
                    done[inner] = self.leaf(outcomes[inner.outcome])
                else:
                    done[inner] = self._joined(inner.test, [(g, walk(n)) for g, n in inner.branches])
            return done[inner]

        return walk(node)

    def _branch(self, activity: Activity, lists: tuple[DecisionList, ...]) -> DiagramNode:
        exists = _exists(activity)
        if exists is False:
            return self.leaf(None)
        if exists:
            activity = ALWAYS
        test = self._next(activity, lists)
        if test is None:
            return self.leaf(tuple(one[0].order if one else FALLS_THROUGH for one in lists))
        if isinstance(test, GuardKey):
            states = [
                (
                    frozenset({n}),
                    self.of(ALWAYS, tuple(_under_guard(one, test, GUARD_STATES[n]) for one in lists)),
                )
                for n in range(len(GUARD_STATES))
                if test.patterns or not GUARD_STATES[n][0]
            ]
            return self._joined(test, states)
        variable = self._variables[test]
        own = frozenset(predicate.key for predicate in variable.predicates)
        branches = []
        for index, each in enumerate(variable.classes):
            rest = tuple(_under_class(one, own, each.true) for one in lists)
            branches.append((frozenset({index}), self.of(_activity_under(activity, own, each.true), rest)))
        return self._joined(test, branches)

    def _next(self, activity: Activity, lists: tuple[DecisionList, ...]) -> Test | None:
        predicates = {predicate for one in lists for step in one for predicate in step.predicates}
        predicates |= {
            predicate for branches in activity.sources for needed, _ in branches for predicate in needed
        }
        if predicates:
            return min(self._home[predicate] for predicate in predicates)
        guards = {guard.key for one in lists for step in one for guard in step.guards}
        return min(guards, key=guard_order) if guards else None

    def _joined(self, test: Test, branches: Sequence[tuple[frozenset[int], DiagramNode]]) -> DiagramNode:
        groups: dict[DiagramNode, frozenset[int]] = {}
        for classes, node in branches:
            groups[node] = groups.get(node, frozenset()) | classes
        if len(groups) == 1:
            return next(iter(groups))
        ordered = sorted(groups, key=lambda node: min(groups[node]))
        return self._node(test, tuple((groups[node], node) for node in ordered), None)

    def _node(
        self,
        test: Test | None,
        branches: tuple[tuple[frozenset[int], DiagramNode], ...],
        outcome: tuple[Hashable, ...] | None,
    ) -> DiagramNode:
        key = (test, branches, outcome)
        if key not in self._nodes:
            if len(self._nodes) >= MAX_NODES:
                raise TooManyError
            total = sum(node.paths for _, node in branches) if test is not None else int(outcome is not None)
            self._nodes[key] = DiagramNode(test, branches, outcome, total)
        return self._nodes[key]


def paths(node: DiagramNode) -> Iterator[DiagramPath]:
    """Yield every way through a diagram on which the resource can exist, in a fixed order."""
    yield from _paths(node, (), ())


def _paths(
    node: DiagramNode,
    classes: tuple[tuple[VariableIndex, frozenset[ClassIndex]], ...],
    guards: tuple[tuple[GuardKey, frozenset[int]], ...],
) -> Iterator[DiagramPath]:
    if node.test is None:
        if node.outcome is not None:
            yield DiagramPath(classes, guards, node.outcome)
        return
    for group, below in node.branches:
        if isinstance(node.test, GuardKey):
            yield from _paths(below, classes, (*guards, (node.test, group)))
        else:
            # What a node with a variable groups are the variable's classes.
            yield from _paths(below, (*classes, (node.test, cast("frozenset[ClassIndex]", group))), guards)


def merged(found: Iterable[DiagramPath], variables: Sequence[Variable]) -> list[DiagramPath]:
    """Return the same ways in fewer paths: two that differ in the classes of one variable become one.

    A diagram branches over every variable in one order, also over those of which nothing depends any more; a
    variable of which a path takes all classes is left out.
    """
    listed, before = list(found), -1
    while len(listed) != before:
        before = len(listed)
        for index in sorted({index for path in listed for index, _ in path.classes}, reverse=True):
            listed = _merged_over(listed, index, len(variables[index].classes))
    return listed


def _merged_over(listed: Sequence[DiagramPath], index: VariableIndex, size: int) -> list[DiagramPath]:
    groups: dict[DiagramPath, frozenset[ClassIndex]] = {}
    kept: list[DiagramPath] = []
    for path in listed:
        group = dict(path.classes).get(index)
        if group is None:
            kept.append(path)
        else:
            rest = replace(path, classes=tuple(each for each in path.classes if each[0] != index))
            groups[rest] = groups.get(rest, frozenset()) | group
    for rest, group in groups.items():
        own = ((index, group),) if len(group) < size else ()
        kept.append(replace(rest, classes=tuple(sorted((*rest.classes, *own), key=itemgetter(0)))))
    return kept


def cut(steps: Sequence[DiagramStep]) -> DecisionList:
    """End a list at the first rule that asks nothing more."""
    found = []
    for step in steps:
        found.append(step)
        if not step.predicates and not step.guards:
            break
    return tuple(found)


def guard_order(key: GuardKey) -> tuple[list[str], list[str], bool]:
    """Return what guards are sorted by."""
    return sorted(key.roles), sorted(key.patterns), key.anywhere


def _under_class(steps: DecisionList, own: frozenset[str], true: frozenset[str]) -> DecisionList:
    if not any(step.predicates & own for step in steps):
        return steps
    return cut(
        [DiagramStep(s.order, s.predicates - own, s.guards) for s in steps if s.predicates & own <= true]
    )


def _under_guard(steps: DecisionList, key: GuardKey, state: GuardState) -> DecisionList:
    found = []
    for step in steps:
        asked = {guard for guard in step.guards if guard.key == key}
        if all(guard.holds(good=state[0], bad=state[1]) for guard in asked):
            found.append(DiagramStep(step.order, step.predicates, step.guards - asked))
    return cut(found)


def _activity_under(activity: Activity, own: frozenset[str], true: frozenset[str]) -> Activity:
    if activity is ALWAYS:
        return activity
    sources = []
    for branches in activity.sources:
        rest = []
        for needed, found in branches:
            if needed & own <= true:
                rest.append((needed - own, found))
                if not needed - own:
                    break
        sources.append(tuple(rest))
    return Activity(tuple(sources), activity.every)


def _exists(activity: Activity) -> bool | None:
    """Tell whether the resource exists, None while that is open."""
    if not activity.sources:
        return True
    known = [branches[0][1] if not branches[0][0] else None for branches in activity.sources]
    if activity.every:
        return False if False in known else True if None not in known else None
    return True if True in known else False if None not in known else None


def too_many_paths(
    server: str, tool: str, rules: Sequence[RuleOfTool], variables: Sequence[Variable]
) -> EvidenceError:
    """Return the error that a tool has too many ways to a verdict, with what most of its rules test."""
    testing = {
        v: sum(bool({a.key for a in v.predicates} & {a.key for a in rule.predicates}) for rule in rules)
        for v in variables
    }
    most = sorted(variables, key=lambda v: (-testing[v], -len(v.classes)))[:5]
    named = ", ".join(
        f"{visible(v.places[0][1])} ({len(v.classes)} classes) in {testing[v]} rules" for v in most
    )
    return EvidenceError(
        f"the rules of {visible(server)}/{visible(tool)} have more than {MAX_PATHS:,} ways to a verdict",
        hint=f"Rules test too many arguments together: {named}. Split or drop such tests.",
    )
