"""What every kind of finding is made of: a draft, and the call that shows it before it is decided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from ironcurtain.analysis.engine.evaluate import decide_prepared, load_described, prepare_scenarios
from ironcurtain.analysis.engine.opa_queries import Answered, Examined
from ironcurtain.analysis.engine.policy_analysis import PolicyAnalysis
from ironcurtain.analysis.engine.proof import Proof
from ironcurtain.analysis.engine.rules.diagram import DiagramPath
from ironcurtain.analysis.engine.rules.rules import RuleOfTool
from ironcurtain.analysis.engine.search import ANY_PATH, CallSearch, FoundCall, Goal
from ironcurtain.analysis.engine.space.elements import SubjectKey
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass
from ironcurtain.analysis.findings.report import Kind, Severity
from ironcurtain.bundle.content import RuleText
from ironcurtain.decision.decide import Prepared
from ironcurtain.engine.command import OpaCommand
from ironcurtain.model.decision import Decision
from ironcurtain.model.scenarios import Scenario
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import visible

EFFORT = 60
"""So many combinations of guards are tried for one whole call."""
MAX_SOUGHT = 20
"""So many times a whole call is looked for to show one finding."""
TOO_MANY = "more combinations than could be searched for whole calls"
T = TypeVar("T")
_ALLOWED = Verdict.ALLOW.severity
RECORD = "generated"
"""The origin of scenarios whose expectation was taken from the policy: they demand nothing."""


@dataclass(frozen=True)
class WitnessQuery:
    """A whole call that shows a finding."""

    server: str
    tool: str
    call: FoundCall


@dataclass(frozen=True)
class FindingDraft:
    """A finding before its witness is decided.

    Attributes:
        about: What it is about, by content: its id is made of this.
        sampled: Whether it speaks of tools of which not every kind of call was examined.
        universal: Whether it speaks of all calls, so that its witness is an example and no proof.
        rule: The rule that it is about, if it says that the rule decides nothing.
    """

    kind: Kind
    severity: Severity
    about: JsonValue
    where: str
    message: str
    suggestion: str
    clause: str | None = None
    sampled: bool = False
    witness: WitnessQuery | None = None
    universal: bool = False
    rule: str | None = None

    @property
    def proof(self) -> Proof:
        """What it rests on."""
        if self.witness is not None and not self.universal:
            return Proof.FOUND
        return Proof.NOT_FOUND if self.sampled else Proof.PROVED


@dataclass(frozen=True)
class Decided:
    """Scenarios after they were decided.

    Attributes:
        prepared: By id, the call after steps 1 to 5, or the decision where it ended there.
        decisions: By id.
    """

    scenarios: tuple[Scenario, ...]
    prepared: Mapping[str, Prepared | Decision]
    decisions: Mapping[str, Decision]

    def deciding(self) -> Mapping[str, str]:
        """Return by rule the first scenario, or record, of which it decides a subject."""
        found: dict[str, str] = {}
        for id_, decision in self.decisions.items():
            for rule in (decision.rule, *(subject.rule for subject in decision.subjects)):
                found.setdefault(rule, id_)
        return found


@dataclass(frozen=True)
class FindingContext:
    """An examined policy, with what several kinds of findings ask of it."""

    examined: PolicyAnalysis

    @cached_property
    def rules(self) -> tuple[tuple[str, RuleText], ...]:
        """The rules with their names, in order."""
        return tuple(sorted(self.examined.content.rules.items(), key=lambda item: item[1].order))

    @cached_property
    def claimed(self) -> frozenset[str]:
        """The clauses whose rules need not decide anything: what is claimed of their tools is checked."""
        return frozenset(claim.clause for claim in self.examined.content.claims if claim.tools)

    @cached_property
    def deciding(self) -> frozenset[object]:
        """The orders of the rules that may decide some subject of some call; no others do, but for gaps."""
        return frozenset(answered.path.outcome[0] for one in self.tools for _, _, answered in answers_of(one))

    def is_in_doubt(self, order: int) -> bool:
        """Tell whether a rule decides only calls of which none was found that its tool would take."""
        places = [
            (one, cell, answered)
            for one in self.tools
            for cell, _, answered in answers_of(one)
            if answered.path.outcome[0] == order
        ]
        if any(answered.fits for _, _, answered in places):
            return False
        return all(
            self.sought(one, cell, lambda *_: True, answered.path) is None
            for one, cell, answered in places[:MAX_SOUGHT]
        )

    @property
    def custom_modules(self) -> list[str]:
        """The texts of the modules that a project wrote itself."""
        return list(self.examined.bundle.custom_modules.values())

    @property
    def tools(self) -> list[Examined]:
        """The examined tools."""
        return list(self.examined.tools.values())

    def concerned(self, order: int) -> list[tuple[Examined, RuleOfTool]]:
        """Return the tools that a rule concerns, each with the rule as the tool sees it."""
        return self._concerned.get(order, [])

    @cached_property
    def _concerned(self) -> dict[int, list[tuple[Examined, RuleOfTool]]]:
        found: dict[int, list[tuple[Examined, RuleOfTool]]] = {}
        for one in self.tools:
            for rule in one.space.rules[0]:
                found.setdefault(rule.order, []).append((one, rule))
        return found

    def sought(
        self, one: Examined, cell: EquivalenceClass, goal: Goal, path: DiagramPath = ANY_PATH
    ) -> WitnessQuery | None:
        """Return a whole call that holds a cell's subject and meets a goal, None if none was found."""
        call = self._search(one).find(cell, goal, path).call
        return WitnessQuery(one.space.server, one.space.tool, call) if call is not None else None

    def allowed(
        self, one: Examined, cell: EquivalenceClass, path: DiagramPath = ANY_PATH
    ) -> WitnessQuery | None:
        """Return a call that holds a cell's subject and is allowed, None if none was found.

        Where there may be one all the same, a call whose subject is allowed will do, and the tool is
        `given_up`.
        """
        searched = self._search(one).find(cell, lambda _, call: call[0] == _ALLOWED, path)
        if searched.call is not None:
            return WitnessQuery(one.space.server, one.space.tool, searched.call)
        if searched.gaps - one.gaps:
            self.given_up.add((one.space.server, one.space.tool))
            return self.sought(one, cell, lambda subject, _: subject[0] == _ALLOWED, path)
        return None

    def first_allowed(
        self, one: Examined, tries: Iterable[tuple[T, EquivalenceClass, DiagramPath]]
    ) -> tuple[T, WitnessQuery] | None:
        """Return the first of some paths on which a call is allowed, with the call, None if there is none.

        After `MAX_SOUGHT` of them the tool is `given_up`.
        """
        possible = ((of, cell, path) for of, cell, path in tries if all(group for _, group in path.classes))
        for number, (of, cell, path) in enumerate(possible):
            if number >= MAX_SOUGHT:
                self.given_up.add((one.space.server, one.space.tool))
                return None
            found = self.allowed(one, cell, path)
            if found is not None:
                return of, found
        return None

    @cached_property
    def given_up(self) -> set[tuple[str, str]]:
        """The tools, by server and name, whose calls could not all be searched."""
        return set()

    def _search(self, one: Examined) -> CallSearch:
        if id(one) not in self._searches:
            self._searches[id(one)] = CallSearch(one, effort=EFFORT)
        return self._searches[id(one)]

    @cached_property
    def _searches(self) -> dict[int, CallSearch]:
        return {}

    def of_rule(
        self,
        name: str,
        kind: Kind,
        severity: Severity,
        *more: JsonValue,
        message: str,
        suggestion: str,
        witness: WitnessQuery | None = None,
        universal: bool = False,
    ) -> FindingDraft:
        """Return a draft about a rule, or about `more` of it."""
        rule = self.examined.content.rules[name]
        return FindingDraft(
            kind=kind,
            severity=severity,
            about=[rule_content(rule), *more] if more else rule_content(rule),
            where=f"rule {visible(name)}",
            message=message,
            suggestion=suggestion,
            clause=rule.clause,
            sampled=self.sampled(rule.order),
            witness=witness,
            universal=universal,
        )

    def sampled(self, order: int) -> bool:
        """Tell whether a rule concerns a tool that cannot be examined exactly."""
        return any(one.gaps for one, _ in self.concerned(order))


def answers_of(one: Examined) -> Iterator[tuple[EquivalenceClass, SubjectKey, Answered]]:
    """Yield every answered path of a tool with its cell."""
    for keys, found in one.answers.items():
        cell, key = one.space.cells[keys], keys[0]
        if key is not None:
            for answered in found:
                yield cell, key, answered


def rule_content(rule: RuleText) -> JsonValue:
    """Return what a rule says, without its name, its place and its words."""
    condition = rule.if_.model_dump(mode="json", exclude_defaults=True) if rule.if_ is not None else {}
    return [rule.then.value, condition]


def demanded(examined: PolicyAnalysis, scenarios: tuple[Scenario, ...], opa: OpaCommand) -> Decided:
    """Decide the scenarios that demand something, in the world of the examination.

    Raises:
        EngineFailedError: If OPA does not run.
        VerificationError: If a decision is undefined.
    """
    return _decided(examined, [each for each in scenarios if each.origin != RECORD], opa)


def recorded(examined: PolicyAnalysis, scenarios: tuple[Scenario, ...], opa: OpaCommand) -> Decided:
    """Decide the records among scenarios, which tell what the policy did, in the world of the examination.

    Raises:
        EngineFailedError: If OPA does not run.
        VerificationError: If a decision is undefined.
    """
    return _decided(examined, [each for each in scenarios if each.origin == RECORD], opa)


def _decided(examined: PolicyAnalysis, scenarios: Sequence[Scenario], opa: OpaCommand) -> Decided:
    bundle = examined.bundle
    policy = load_described(bundle, examined.sides.world)
    prepared = prepare_scenarios(scenarios, policy)
    decisions = decide_prepared(prepared, bundle, policy, opa) if prepared else {}
    return Decided(tuple(scenarios), prepared, decisions)
