"""Asking OPA: every path of every diagram is one question, and many questions are one input.

Each answer is held against the rule that the diagram expects. So what evidence says is what OPA says, and
a difference between OPA's reading of the policy and ours ends the run instead of going unseen.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from ironcurtain.analysis.engine.evaluate import evaluate
from ironcurtain.analysis.engine.indexes import Assignment
from ironcurtain.analysis.engine.proof import Exactness, exactness_of
from ironcurtain.analysis.engine.rules.diagram import (
    FALLS_THROUGH,
    MAX_PATHS,
    DiagramNode,
    DiagramPath,
    paths,
)
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.analysis.engine.space.elements import ResourceKey, SeenResource
from ironcurtain.analysis.engine.space.equivalence_classes import CALL_KEY, EquivalenceClass
from ironcurtain.analysis.engine.values.enumeration import Enumeration
from ironcurtain.analysis.engine.whole_calls import Calls, HeldElements, TooManyCombinationsError
from ironcurtain.decision.canonical.resources import CALL, Resource
from ironcurtain.decision.finalize import read_answer
from ironcurtain.decision.policy_input import PolicyInput, policy_input
from ironcurtain.decision.refusal import Refusal
from ironcurtain.decision.roles import NONE
from ironcurtain.engine.command import OpaCommand
from ironcurtain.errors import VerificationError
from ironcurtain.model.reserved_rules import ReservedRule, is_custom
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import visible

_BATCH = 1_000


class OpaOutcome(Struct):
    """What OPA says of a resource: the verdict of step 6, and the clause and rule behind it."""

    verdict: Verdict
    rule: str
    clause: str | None


class Answered(Struct):
    """A path of a cell's diagram that some call takes, with OPA's answers per policy.

    Attributes:
        chosen: A class for every variable.
        elements: What the question's call holds besides the resource, to meet the path's guards.
        fits: Whether the tool's schema is known to take such a call; if not, perhaps no call takes the path.
    """

    path: DiagramPath
    outcomes: tuple[OpaOutcome | None, ...]
    chosen: Assignment
    elements: HeldElements
    fits: bool


class _PathQuestion(Struct):
    space: CallSpace
    cell: EquivalenceClass
    path: DiagramPath
    chosen: Assignment
    elements: HeldElements
    mask: int | None = None


class _Batch(Struct):
    """Questions that one policy input asks.

    Attributes:
        input: The policy input.
        ids: The ids of all its resources.
        numbers: The question that the resource with an id stands for; others only meet the guards.
    """

    input: PolicyInput
    ids: frozenset[str]
    numbers: Mapping[str, int]


@dataclass(eq=False)
class Examined:
    """One tool after OPA was asked about it.

    Attributes:
        answers: By cell, its paths in order.
        gaps: Why something may have been missed. Nothing about all calls is proved unless there are none.
        questions: How many paths were asked about.
    """

    space: CallSpace
    calls: Calls
    answers: dict[tuple[ResourceKey | None, ...], list[Answered]]
    gaps: frozenset[str]
    questions: int = 0

    @property
    def exactness(self) -> Exactness:
        """Whether every kind of call was examined."""
        return exactness_of(self.gaps)

    @cached_property
    def _approvers(self) -> list[dict[Hashable, str | None]]:
        """Whose approval rules ask for, by policy and by the rule's order."""
        return [{rule.order: rule.approver for rule in rules} for rules in self.space.rules]

    def approvers(self, answers: Iterable[Answered]) -> set[str]:
        """Return whose approval the first policy asks for on some paths."""
        asked = self._approvers[0]
        named = (
            asked.get(answered.path.outcome[0])
            for answered in answers
            if answered.outcomes[0] is not None and answered.outcomes[0].verdict is Verdict.ESCALATE
        )
        return {name for name in named if name is not None}

    def verdict_diagram(self, cell: EquivalenceClass) -> DiagramNode:
        """Return a cell's diagram with what OPA said in place of rules, reduced anew.

        Each outcome is, per policy, (verdict, clause, approver); ways that no call takes keep what their rule
        says.
        """
        by_opa: dict[tuple[int, Hashable], tuple[str, str | None, str | None]] = {}
        for answer in self.answers.get(cell.keys, ()):
            for side, outcome in enumerate(answer.outcomes):
                if outcome is not None:
                    order = answer.path.outcome[side]
                    approver = self._approvers[side].get(order)
                    by_opa[side, order] = (outcome.verdict.value, outcome.clause, approver)
        by_rules = self.space.diagrams.of(cell)
        replaced: dict[tuple[Hashable, ...] | None, tuple[Hashable, ...] | None] = {None: None}
        for path in paths(by_rules):
            replaced[path.outcome] = tuple(
                by_opa.get((side, order), _by_rule(self.space, cell, side, order))
                for side, order in enumerate(path.outcome)
            )
        return self.space.diagrams.mapped(by_rules, replaced)


def _by_rule(
    space: CallSpace, cell: EquivalenceClass, side: int, order: Hashable
) -> tuple[str, str | None, str | None]:
    if order == FALLS_THROUGH:
        key = cell.keys[side]
        verdict = Verdict.ALLOW if key is not None and key.discharged else Verdict.DENY
        return verdict.value, None, None
    rule = next(rule for rule in space.rules[side] if rule.order == order)
    return rule.then.value, rule.clause, rule.approver


def examine(spaces: Iterable[CallSpace], opa: OpaCommand) -> list[Examined]:
    """Ask OPA about every path of every cell of some tools.

    Raises:
        EvidenceError: If a tool's diagrams have more paths than can be asked about.
        EngineFailedError: If OPA does not run.
        VerificationError: If OPA answers otherwise than the rules were read.
    """
    examined: list[Examined] = []
    questions: list[_PathQuestion] = []
    for space in spaces:
        calls = Calls(space)
        tool = Examined(space, calls, {}, space.gaps)
        own = _questions(tool)
        tool.gaps |= own.gaps
        tool.questions = len(own.values)
        questions += own.values
        examined.append(tool)
    if not examined:
        return []
    policies = examined[0].space.policies
    per_side = [_ask(questions, side, opa) for side in range(len(policies))]
    by_space = {tool.space: tool for tool in examined}
    for number, question in enumerate(questions):
        outcomes = tuple(answers.get(number) for answers in per_side)
        fits = (
            question.cell.fits
            and question.space.modes.fits(question.chosen)
            and all(element.fits for _, element in question.elements)
        )
        answered = Answered(question.path, outcomes, question.chosen, question.elements, fits)
        by_space[question.space].answers.setdefault(question.cell.keys, []).append(answered)
    return examined


def _questions(examined: Examined) -> Enumeration[_PathQuestion]:
    found: list[_PathQuestion] = []
    gaps: set[str] = set()
    total = 0
    for cell in examined.space.cells.values():
        diagram = examined.space.diagrams.of(cell)
        total += diagram.paths
        if total > MAX_PATHS:
            raise examined.space.diagrams.too_many()
        for path in paths(diagram):
            try:
                question = _question(examined, cell, path)
            except TooManyCombinationsError:
                gaps.add("more combinations of guards than can be followed")
                continue
            if question is not None:
                found.append(question)
    return Enumeration(tuple(found), frozenset(gaps))


def _question(examined: Examined, cell: EquivalenceClass, path: DiagramPath) -> _PathQuestion | None:
    """Return the question of a path, None if no call takes it.

    None is a proof, unless the tool has gaps: there are no other modes and elements, in doubt or not.

    Raises:
        TooManyCombinationsError: If the guards cannot be followed.
    """
    if path.guards:
        found = examined.calls.guarded(cell, path)
        if found is None:
            return None
        mask = 0
        for _, element in found[1]:
            mask |= examined.calls.mask(element)
        return _PathQuestion(examined.space, cell, path, *found, mask)
    mode = next(examined.calls.modes(cell, path), None)
    return None if mode is None else _PathQuestion(examined.space, cell, path, mode[0], ())


def _ask(questions: list[_PathQuestion], side: int, opa: OpaCommand) -> dict[int, OpaOutcome]:
    """Put questions that share a mode and guards into one input each; return the outcomes by number."""
    batches: dict[tuple[object, ...], list[int]] = {}
    for number, question in enumerate(questions):
        if question.cell.keys[side] is not None:
            batches.setdefault(_batch_key(question), []).append(number)
    asked: dict[str, _Batch] = {}
    for numbers in batches.values():
        for start in range(0, len(numbers), _BATCH):
            asked[f"q{len(asked):06d}"] = _batch(questions, numbers[start : start + _BATCH], side)
    if not questions:
        return {}
    bundle = questions[0].space.policies[side].bundle
    answers = evaluate({id_: batch.input for id_, batch in asked.items()}, bundle, opa)
    return {
        number: outcome
        for id_, batch in asked.items()
        for number, outcome in _read(questions, batch, answers[id_], side)
    }


def _batch_key(question: _PathQuestion) -> tuple[object, ...]:
    return (
        question.space,
        tuple(sorted(question.chosen.items())),
        question.cell.role == NONE,
        question.mask,
    )


def _batch(questions: list[_PathQuestion], numbers: list[int], side: int) -> _Batch:
    """Return one policy input with the resources of several questions."""
    first = questions[numbers[0]]
    space = first.space
    loaded = space.policies[side]
    resources: list[Resource] = []
    discharged: set[str] = set()
    table: dict[str, int] = {}

    def add(key: ResourceKey, resource: Resource) -> str:
        id_ = CALL if key.role == NONE else f"{len(resources):05d}"
        resources.append(resource._replace(id=id_))
        if key.discharged:
            discharged.add(id_)
        return id_

    for number in numbers:
        key, resource = _subject(questions[number], side)
        table[add(key, resource)] = number
    # All questions of a batch meet the same guard bits, and so do their resources together.
    fillers = {
        (seen.key, seen.resource.value): seen.resource
        for n in numbers
        for seen in _fillers(questions[n], side)
    }
    for (key, _), resource in fillers.items():
        add(key, resource)
    values = space.modes.values(first.chosen)
    unread = _resource_names(space) - space.compared.arguments
    arguments = {name: value for name, value in values["args"].items() if name not in unread}
    asked = policy_input(
        space.server,
        space.annotation,
        arguments,
        values["caller"],
        tuple(resources),
        frozenset(discharged),
        loaded.policy.patterns,
        values["facts"] if loaded.content.facts else None,
    )
    return _Batch(asked, frozenset(resource.id for resource in resources), table)


def _fillers(question: _PathQuestion, side: int) -> Iterator[SeenResource]:
    for _, element in question.elements:
        yield from element.seen[side]


def _resource_names(space: CallSpace) -> set[str]:
    return {name for source in space.sources if source.argument is not None for name in source.places}


def _subject(question: _PathQuestion, side: int) -> tuple[ResourceKey, Resource]:
    key = question.cell.keys[side]
    if question.cell.example is None or key is None:
        return CALL_KEY, Resource(CALL, question.space.policies.registry[NONE], CALL, at="")
    _, element, value = question.cell.example
    seen = next(s for s in element.seen[side] if s.key == key and s.resource.value == value)
    return key, seen.resource


def _read(
    questions: list[_PathQuestion], batch: _Batch, answer: JsonValue, side: int
) -> Iterator[tuple[int, OpaOutcome]]:
    try:
        read = read_answer(answer, batch.ids)
    except Refusal as refusal:
        raise VerificationError(refusal.reason) from None
    for id_, number in batch.numbers.items():
        question = questions[number]
        decided = read.subjects[id_]
        content = question.space.policies[side].content
        rule = content.rules.get(decided.rule)
        _check(question, side, decided.rule)
        yield number, OpaOutcome(decided.verdict, decided.rule, rule.clause if rule else None)


def _check(question: _PathQuestion, side: int, said: str) -> None:
    """Hold OPA's rule against the one that the diagram expects."""
    order, key = question.path.outcome[side], question.cell.keys[side]
    names = {rule.order: rule.name for rule in question.space.rules[side]}
    fallback = ReservedRule.SANDBOX_ALLOW if key is not None and key.discharged else ReservedRule.DEFAULT_DENY
    expected = fallback if order == FALLS_THROUGH else names[order]  # type: ignore[index]
    if said != expected and not is_custom(said):
        raise VerificationError(
            f"OPA decides a {visible(question.cell.role)} of {visible(question.space.tool)} by "
            f"{visible(said)}, but the rules say {visible(expected)}",
            hint="The bundle's Rego is not what its rules say: build it again.",
        )
