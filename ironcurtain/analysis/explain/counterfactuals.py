"""The nearest calls that get further: proposed from the policy's cells, shown only once they were decided.

A proposal changes one argument to a place of another cell, or one tested argument to another class, or all
refused places at once; where none of these is permitted, a whole call is searched for. Every proposal
is decided before it is shown, so a mistake here can only cost a suggestion.
"""

from __future__ import annotations

import itertools
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from ironcurtain.analysis.engine.indexes import SourceIndex, VariableIndex, indexed
from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.policies_under_test import PoliciesUnderTest, load_policies
from ironcurtain.analysis.engine.rules.diagram import FALLS_THROUGH, DiagramNode
from ironcurtain.analysis.engine.rules.predicates import Values
from ironcurtain.analysis.engine.rules.rules import GuardKey
from ironcurtain.analysis.engine.search import CallSearch
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.analysis.engine.space.elements import Element, ResourceKey
from ironcurtain.analysis.engine.space.placing import RawValue
from ironcurtain.analysis.engine.values.witnesses import SECOND_NAME
from ironcurtain.analysis.engine.whole_calls import Calls
from ironcurtain.analysis.explain.other_facts import other_facts
from ironcurtain.analysis.explain.report import OtherFact, Suggestion
from ironcurtain.analysis.narrowing.narrowing import described_deployment
from ironcurtain.bundle.archive import Bundle
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.conditional import roles_in_call
from ironcurtain.decision.decide import Call
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.decision.roles import NONE
from ironcurtain.errors import IronCurtainError
from ironcurtain.model.decision import Decision
from ironcurtain.model.unknown_facts import values_by_root
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct


class Outcomes:
    """The outcomes of the policy's tests for one call.

    Args:
        space: The call's tool under one policy.
        arguments: The call's arguments with defaults filled in.
        caller: Its caller facts.

    Attributes:
        caller_classes: The classes of what only facts decide, which no agent can change.
    """

    def __init__(
        self,
        space: CallSpace,
        arguments: Mapping[str, JsonValue],
        caller: Mapping[str, JsonValue],
        facts: Mapping[str, JsonValue],
    ) -> None:
        self._space = space
        signed: Values = {**space.signed(arguments, caller), "facts": dict(facts)}
        self._classes = [variable.class_of(signed) for variable in space.variables]
        self.caller_classes = {
            index: frozenset({class_})
            for index, (variable, class_) in indexed(
                VariableIndex, zip(space.variables, self._classes, strict=True)
            )
            if class_ is not None and all(root != "args" for root, _ in variable.places)
        }

    def could(self, element: Element, goal: Verdict) -> bool:
        """Tell whether every resource of a value could be decided no more severely than the goal.

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


Decide: TypeAlias = Callable[[Sequence[Call]], Sequence[Decision]]
"""Decides calls where they would happen, in order."""

_WANTED = 3
_MAX_DECIDED = 12
_PER_SOURCE = 4
_MAX_PLACES = 5
_MAX_MODES = 4
_MAX_FOUND = 2
_MAX_SEARCHED_CELLS = 8
_MAX_SEARCHED_MODES = 256


class RefusedCall(Struct):
    """A call that was not allowed, as suggestions need it.

    Attributes:
        given: The arguments as they arrived.
        filled: The same with defaults filled in.
        decision: What was decided.
    """

    call: Call
    given: dict[str, JsonValue]
    filled: dict[str, JsonValue]
    decision: Decision


class Nearest:
    """Finds the nearest permitted calls under one policy, keeping what it learned about each tool.

    Args:
        bundle: The bundle.
        policy: The same, loaded where calls happen.
        decide: Decides a proposal there.
    """

    def __init__(self, bundle: Bundle, policy: LoadedPolicy, decide: Decide) -> None:
        self._bundle = bundle
        self._policy = policy
        self._decide = decide
        self._policies: PoliciesUnderTest | None = None
        self._spaces: dict[tuple[str, str], CallSpace | None] = {}

    def suggestions(self, refused: RefusedCall) -> tuple[Suggestion, ...]:
        """Return the nearest calls that are allowed, or else, of a denied call, escalated; the nearest first.

        Empty where there is none, and where the policy cannot be examined here.
        """
        space = self._space(refused.call.server, refused.call.tool)
        if space is None:
            return ()
        suggestions: dict[Verdict, list[Suggestion]] = {Verdict.ALLOW: [], Verdict.ESCALATE: []}
        tried: set[bytes] = {json_text.canonical(refused.given)}
        for arguments in itertools.islice(_unseen(_proposals(space, refused), tried), _MAX_DECIDED):
            suggestion = self._decided(refused, arguments)
            if suggestion is not None:
                suggestions[suggestion.verdict].append(suggestion)
            if len(suggestions[Verdict.ALLOW]) >= _WANTED:
                break
        enough = refused.decision.verdict is Verdict.DENY
        kept = suggestions[Verdict.ALLOW] or (suggestions[Verdict.ESCALATE] if enough else [])
        return tuple(sorted(kept, key=lambda suggestion: len(suggestion.changed))[:_WANTED])

    def other_facts(self, call: Call, before: Verdict) -> tuple[OtherFact, ...]:
        """Return what would let a call get further, if it were so of one declared fact."""
        space = self._space(call.server, call.tool)
        return other_facts(space, call, before, self._decide) if space is not None else ()

    def _decided(self, refused: RefusedCall, arguments: dict[str, JsonValue]) -> Suggestion | None:
        call = refused.call
        (decision,) = self._decide([Call(call.server, call.tool, arguments, call.caller, facts=call.facts)])
        if decision.verdict is Verdict.DENY:
            return None
        return Suggestion(
            server=call.server,
            tool=call.tool,
            arguments=arguments,
            verdict=decision.verdict,
            changed=tuple(_changed(refused.given, arguments)),
            caller=dict(call.caller or {}),
        )

    def _space(self, server: str, tool: str) -> CallSpace | None:
        if (server, tool) not in self._spaces:
            try:
                if self._policies is None:
                    self._policies = load_policies(
                        [self._bundle], described_deployment(self._policy.deployment)
                    )
                self._spaces[server, tool] = CallSpace(server, tool, self._policies)
            except IronCurtainError:
                # A policy that cannot be examined yields no suggestions; the rest of the explanation holds.
                self._spaces[server, tool] = None
        return self._spaces[server, tool]


def _unseen(proposals: Iterable[dict[str, JsonValue]], tried: set[bytes]) -> Iterator[dict[str, JsonValue]]:
    for arguments in proposals:
        text = json_text.canonical(arguments)
        if text not in tried:
            tried.add(text)
            yield arguments


def _changed(old: Mapping[str, JsonValue], new: Mapping[str, JsonValue]) -> Iterator[str]:
    for name in sorted(old.keys() | new.keys()):
        if name not in old or name not in new or old[name] != new[name]:
            yield pointers.join((name,))


def _proposals(space: CallSpace, refused: RefusedCall) -> Iterator[dict[str, JsonValue]]:
    """Yield calls that probably get further, the most promising first."""
    outcomes = Outcomes(space, refused.filled, refused.call.caller or {}, refused.call.facts or {})
    goals = [Verdict.ALLOW]
    if refused.decision.verdict is Verdict.DENY:
        goals.append(Verdict.ESCALATE)
    for goal in goals:
        yield from itertools.islice(_without(refused, goal), 1)
        yield from itertools.islice(_places(space, refused, outcomes, goal), _MAX_PLACES)
        yield from itertools.islice(_modes(space, refused), _MAX_MODES)
        yield from itertools.islice(_searched(space, refused, outcomes, goal), _MAX_FOUND)


# -- other places --------------------------------------------------------------------------------


def _places(
    space: CallSpace, refused: RefusedCall, outcomes: Outcomes, goal: Verdict
) -> Iterator[dict[str, JsonValue]]:
    """Replace what was refused by the nearest places that the goal may be reached at."""
    tops = {pointers.tokens(pointer)[0] for pointer in _refused_pointers(refused, goal)}
    choices = []
    for index, source in indexed(SourceIndex, space.sources):
        if refused.decision.subjects and not tops & set(source.places):
            continue
        if not any(name in refused.filled for name in source.places):
            continue
        choices.append([*_replacements(space, index, refused, outcomes, goal)][:_PER_SOURCE])
    if not choices or not all(choices):
        return
    ordered = sorted(
        itertools.product(*(range(len(choice)) for choice in choices)), key=lambda n: (sum(n), n)
    )
    for numbers in ordered:
        changed = dict(refused.given)
        for number, choice in zip(numbers, choices, strict=True):
            changed.update(choice[number])
        yield changed


def _without(refused: RefusedCall, goal: Verdict) -> Iterator[dict[str, JsonValue]]:
    """Leave refused elements out of arrays, where something is left of them."""
    refused_at = set(_refused_pointers(refused, goal))
    changed = dict(refused.given)
    for name, value in refused.given.items():
        if isinstance(value, list):
            left = [
                element for n, element in enumerate(value) if pointers.join((name, str(n))) not in refused_at
            ]
            if left:
                changed[name] = left
    if changed != refused.given:
        yield changed


def _refused_pointers(refused: RefusedCall, goal: Verdict) -> Iterator[str]:
    for resource in refused.decision.subjects:
        if resource.at and resource.verdict.severity > goal.severity:
            yield from (resource.at, *resource.also_at)


def _replacements(
    space: CallSpace, index: SourceIndex, refused: RefusedCall, outcomes: Outcomes, goal: Verdict
) -> Iterator[dict[str, JsonValue]]:
    source = space.sources[index]
    roles: tuple[str, ...] = (source.composite.role,) if source.composite else ()
    if source.argument is not None:
        roles = roles_in_call(source.argument, refused.filled)
    elements = [e for e in space.elements.of(index, roles) if _is_plain(e) and outcomes.could(e, goal)]
    old = refused.filled.get(source.places[0])
    for element in sorted(elements, key=lambda element: _distance(old, element)):
        value = _with_name(element.values[0], old, space.policies.fresh[0])
        yield space.reader.placing.place(source, (value,))


def _is_plain(element: Element) -> bool:
    """Tell whether people would name it: not a directory above patterns, nor a file with a second name."""
    witness = element.witness
    return witness is not None and not witness.whole and witness.label != SECOND_NAME


def _distance(old: JsonValue, element: Element) -> tuple[int, str]:
    """Return how far a value lies from what was given: fewer common steps are farther."""
    text = str(element.values[0])
    given = old if isinstance(old, str) else ""
    common = 0
    for step, other in zip(text.split("/"), given.split("/"), strict=False):
        if step != other:
            break
        common += 1
    return -common, text


def _with_name(value: RawValue, old: JsonValue, fresh: str) -> RawValue:
    """Return a proposed place under the name that was given, where the name was only made up."""
    name = posixpath.basename(old) if isinstance(old, str) else ""
    if not isinstance(value, str) or not (value.startswith("/") and value.endswith(f"/{fresh}")):
        return value
    return value if name in ("", ".", "..", "~") else f"{value.removesuffix(fresh)}{name}"


# -- other modes ---------------------------------------------------------------------------------


def _modes(space: CallSpace, refused: RefusedCall) -> Iterator[dict[str, JsonValue]]:
    """Change one tested argument, or leave it out."""
    resources = {name for source in space.sources for name in source.places}
    for variable in space.variables:
        root, name = variable.places[0]
        if len(variable.places) > 1 or root != "args":
            continue
        now = variable.class_of(values_by_root() | {"args": refused.filled})
        for index in sorted(variable.indexes, key=variable.plainness):
            value = variable.classes[index].value(variable.places[0])
            if index == now or (name in resources and value is not None):
                continue
            rest = {key: known for key, known in refused.given.items() if key != name}
            yield rest if value is None else {**rest, name: value}


# -- whole calls ---------------------------------------------------------------------------------


def _searched(
    space: CallSpace, refused: RefusedCall, outcomes: Outcomes, goal: Verdict
) -> Iterator[dict[str, JsonValue]]:
    """Search for whole calls, with the caller as it is; what no rule tests stays as it was given."""
    modes = 1
    for variable in space.variables:
        modes *= len(variable.classes)
    if modes > _MAX_SEARCHED_MODES:
        return
    search = CallSearch(Examined(space, Calls(space), {}, space.gaps))
    resources = {name for source in space.sources for name in source.places}
    touched = resources | {
        name for variable in space.variables for root, name in variable.places if root == "args"
    }
    kept = {name: value for name, value in refused.given.items() if name not in touched}
    roles = {resource.role for resource in refused.decision.subjects}
    cells = sorted(space.cells.values(), key=lambda cell: (cell.role not in roles, cell.role == NONE))
    hopeful = [c for c in cells if search.could(c, lambda s: s[0] <= goal.severity)][:_MAX_SEARCHED_CELLS]
    for cell in hopeful:
        call = search.find(
            cell, lambda _, call: call[0] <= goal.severity, wanted=outcomes.caller_classes
        ).call
        if call is None:
            continue
        tested = {name: value for name, value in call.arguments.items() if name not in resources}
        yield tested | {n: v for n, v in refused.given.items() if n not in touched - resources}
        yield call.arguments | kept
