"""The rules about one call: which decided a resource, which came close, and what failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from ironcurtain.analysis.engine.rules.predicates import Values
from ironcurtain.analysis.engine.rules.rules import RuleGuard, RuleOfTool
from ironcurtain.analysis.engine.rules.wording import predicate_words
from ironcurtain.analysis.explain.report import NearRule, RuleOutcome
from ironcurtain.decision.canonical.pattern_index import PatternIndex
from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.decision.decide import Prepared
from ironcurtain.decision.roles import NONE
from ironcurtain.model.decision import ResourceDecision
from ironcurtain.system.structs import Struct, replace
from ironcurtain.system.text import visible

_SHOWN = 3
_PATTERNS_SHOWN = 6


class _Place(Struct):
    """What rules test of one resource."""

    role: str
    covering: frozenset[str]
    discharged: bool


class MetRules:
    """The rules of one tool, evaluated for one call.

    Args:
        rules: The rules that can decide about calls of the tool, in their order.
        prepared: The call after steps 1 to 5.
        patterns: The loaded policy's patterns.
    """

    def __init__(self, rules: Sequence[RuleOfTool], prepared: Prepared, patterns: PatternIndex) -> None:
        self._rules = rules
        self._values: Values = {
            "args": prepared.call.arguments,
            "caller": prepared.caller,
            "facts": prepared.facts,
        }
        self._failed_at: dict[tuple[int, _Place], tuple[str, ...]] = {}
        self._failed_tests: dict[int, tuple[str, ...]] = {}
        self._unknown_tests: dict[int, tuple[str, ...]] = {}
        self._places: Mapping[str, _Place] = {
            resource.id: _Place(
                resource.role.name, _covering(resource, patterns), resource.id in prepared.minimum.discharged
            )
            for resource in prepared.call.resources
        }

    def covering(self, id_: str) -> tuple[str, ...]:
        """Return the policy's patterns that cover a resource, sorted."""
        return tuple(sorted(self._places[id_].covering))

    def near(self, id_: str, decided: ResourceDecision) -> tuple[NearRule, ...]:
        """Return the rules that could have decided a resource otherwise, with what failed, closest first.

        A rule that would have held, but for an earlier one, fails for that reason alone.
        """
        place = self._places[id_]
        order = next((rule.order for rule in self._rules if rule.name == decided.rule), None)
        near = []
        for rule in self._rules:
            if rule.name == decided.rule or rule.then is decided.verdict:
                continue
            if rule.named_roles and place.role not in rule.named_roles:
                continue
            failed = self._failed(rule, place)
            if not failed and order is not None and order < rule.order:
                failed = (f"{visible(decided.rule)} comes before it",)
            if failed:
                near.append((len(failed), rule.order, rule, failed))
        nearest = sorted(near, key=lambda item: item[:2])[:_SHOWN]
        return tuple(
            NearRule(rule=rule.name, then=rule.then, clause=rule.clause, failed=failed)
            for _, _, rule, failed in nearest
        )

    def outcomes(self, id_: str, decided: ResourceDecision) -> tuple[RuleOutcome, ...]:
        """Return what became of each rule that can judge resources of this role, in their order."""
        place = self._places[id_]
        return tuple(
            self._outcome(rule, place, decided)
            for rule in self._rules
            if not rule.named_roles or place.role in rule.named_roles
        )

    def _outcome(self, rule: RuleOfTool, place: _Place, decided: ResourceDecision) -> RuleOutcome:
        failed, unknown = self._failed(rule, place), self._unknown(rule)
        state: Literal["fired", "held", "unknown", "false"] = "false"
        if rule.name == decided.rule:
            state, failed = "fired", ()
        elif not failed:
            state = "held"
        elif set(failed) <= set(unknown):
            state = "unknown"
        return RuleOutcome(
            rule=rule.name, then=rule.then, clause=rule.clause, state=state, failed=failed, unknown=unknown
        )

    def _unknown(self, rule: RuleOfTool) -> tuple[str, ...]:
        """Return the tests that come out otherwise by what a rule makes of facts that are not known."""
        if rule.order not in self._unknown_tests:
            self._unknown_tests[rule.order] = tuple(
                predicate_words(predicate)
                for predicate in rule.predicates
                if predicate.needs.any
                and predicate.holds(self._values)
                is not replace(predicate, unknown=not predicate.unknown).holds(self._values)
            )
        return self._unknown_tests[rule.order]

    def _failed(self, rule: RuleOfTool, place: _Place) -> tuple[str, ...]:
        """Return the conditions of a rule that fail for a resource."""
        if (rule.order, place) not in self._failed_at:
            self._failed_at[rule.order, place] = tuple(self._failing(rule, place))
        return self._failed_at[rule.order, place]

    def _failing(self, rule: RuleOfTool, place: _Place) -> Iterator[str]:
        if place.discharged and not rule.condition.in_sandbox:
            yield "it does not speak of what lies in the sandbox"
        for condition in rule.condition.role_conditions:
            if place.role in condition.roles and not place.covering & set(condition.patterns):
                yield f"{place.role} in {_listed(condition.patterns)}"
        for guard in sorted(rule.guards_of(place.role), key=lambda guard: sorted(guard.key.roles)):
            if not self._holds(guard):
                yield _guard_words(guard)
        yield from self._tests(rule)

    def _tests(self, rule: RuleOfTool) -> tuple[str, ...]:
        """Return the failed tests of arguments and caller, which are the same for every resource."""
        if rule.order not in self._failed_tests:
            failed = [
                predicate_words(predicate)
                for predicate in rule.predicates
                if not predicate.holds(self._values)
            ]
            self._failed_tests[rule.order] = tuple(failed)
        return self._failed_tests[rule.order]

    def _holds(self, guard: RuleGuard) -> bool:
        seen = [
            place
            for place in self._places.values()
            if place.role in guard.key.roles and (guard.key.anywhere or not place.discharged)
        ]
        good = any(place.covering & guard.key.patterns for place in seen)
        bad = any(not place.covering & guard.key.patterns for place in seen)
        return guard.holds(good=good, bad=bad)


def _covering(resource: Resource, patterns: PatternIndex) -> frozenset[str]:
    if resource.role.name == NONE or not resource.role.resource or resource.unresolved is not None:
        return frozenset()
    return frozenset(patterns.covering(resource.role, resource.resource))


def _guard_words(guard: RuleGuard) -> str:
    roles = " or ".join(sorted(guard.key.roles))
    if not guard.key.patterns:
        return f"some {roles} in the call"
    many = "every" if guard.every else "some"
    return f"{many} {roles} in {_listed(sorted(guard.key.patterns))}"


def _listed(patterns: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(visible(pattern) for pattern in patterns[:_PATTERNS_SHOWN])
    more = len(patterns) - _PATTERNS_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
