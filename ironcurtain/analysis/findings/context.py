"""What several kinds of findings ask of an examined policy: its rules, its tools, and calls as witnesses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TypeVar

from ironcurtain.analysis.engine.opa_queries import Answered, Examined
from ironcurtain.analysis.engine.policy_analysis import PolicyAnalysis
from ironcurtain.analysis.engine.proof import Proof
from ironcurtain.analysis.engine.rules.diagram import DiagramPath
from ironcurtain.analysis.engine.rules.rules import RuleOfTool
from ironcurtain.analysis.engine.search import ANY_PATH, CallSearch, FoundCall, Goal, SearchResult
from ironcurtain.analysis.engine.space.elements import ResourceKey
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass
from ironcurtain.analysis.findings.report import Kind
from ironcurtain.bundle.content import RuleText
from ironcurtain.model.severity import Severity
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import visible


class WitnessQuery(Struct):
    """A whole call that shows a finding."""

    server: str
    tool: str
    call: FoundCall


class FindingDraft(Struct):
    """A finding before its witness is decided.

    Attributes:
        about: What it is about, by content: its id is made of this.
        sampled: Whether it speaks of tools of which not every kind of call was examined.
        unexamined: Whether it speaks of a tool of which no call could be made.
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
    unexamined: bool = False
    witness: WitnessQuery | None = None
    universal: bool = False
    rule: str | None = None

    @property
    def proof(self) -> Proof:
        """What it rests on."""
        if self.witness is not None and not self.universal:
            return Proof.FOUND
        if self.unexamined:
            return Proof.NOT_EXAMINED
        return Proof.NOT_FOUND if self.sampled else Proof.PROVED


def rule_content(rule: RuleText) -> JsonValue:
    """Return what a rule says, without its name, its place and its words."""
    condition = rule.if_.model_dump(mode="json", exclude_defaults=True) if rule.if_ is not None else {}
    return [rule.then.value, condition]


EFFORT = 60
"""The number of combinations of guards that are tried for one whole call."""
MAX_SOUGHT = 20
"""The number of searches for a whole call that shows one finding."""
TOO_MANY = "more combinations than could be searched for whole calls"
T = TypeVar("T")
_ALLOWED = Verdict.ALLOW.severity


class FindingContext(Struct):
    """An examined policy, with what several kinds of findings ask of it.

    It keeps what was searched, so one context serves all finders.
    """

    analysis: PolicyAnalysis

    @cached_property
    def rules(self) -> tuple[tuple[str, RuleText], ...]:
        """The rules with their names, in order."""
        return tuple(sorted(self.analysis.content.rules.items(), key=lambda item: item[1].order))

    @cached_property
    def claimed(self) -> frozenset[str]:
        """The clauses whose rules need not decide anything: what is claimed of their tools is checked."""
        return frozenset(claim.clause for claim in self.analysis.content.claims if claim.asked)

    @cached_property
    def deciding(self) -> frozenset[object]:
        """The orders of the rules that may decide some resource of some call; no others do, but for gaps."""
        return frozenset(
            answered.path.outcome[0] for examined in self.tools for _, _, answered in answers_of(examined)
        )

    def is_in_doubt(self, order: int) -> bool:
        """Tell whether a rule decides only calls of which none was found that its tool would take."""
        places = [
            (examined, cell, answered)
            for examined in self.tools
            for cell, _, answered in answers_of(examined)
            if answered.path.outcome[0] == order
        ]
        if any(answered.fits for _, _, answered in places):
            return False
        return all(
            self.find_call(examined, cell, lambda *_: True, answered.path) is None
            for examined, cell, answered in places[:MAX_SOUGHT]
        )

    def rule_verdict(self, name: str) -> SearchResult:
        """Search a call whose verdict a rule gives, which no other resource of the call overrules."""
        rule, gaps = self.analysis.content.rules[name], frozenset[str]()
        places = [
            (examined, cell, answered.path)
            for examined, _ in self.concerned(rule.order)
            for cell, _, answered in answers_of(examined)
            if answered.path.outcome[0] == rule.order
        ]
        for examined, cell, path in places[:MAX_SOUGHT]:
            searched = self._search(examined).find(
                cell, lambda resource, call: resource[0] == call[0] == rule.then.severity, path
            )
            if searched.call is not None:
                return searched
            gaps |= searched.gaps
        gaps |= {gap for examined, _ in self.concerned(rule.order) for gap in examined.gaps}
        return SearchResult(None, gaps | ({TOO_MANY} if len(places) > MAX_SOUGHT else frozenset()))

    @property
    def custom_modules(self) -> list[str]:
        """The texts of the modules that a project wrote itself."""
        return list(self.analysis.bundle.custom_modules.values())

    @property
    def tools(self) -> list[Examined]:
        """The examined tools."""
        return list(self.analysis.tools.values())

    def concerned(self, order: int) -> list[tuple[Examined, RuleOfTool]]:
        """Return the tools that a rule concerns, each with the rule as the tool sees it."""
        return self._concerned.get(order, [])

    @cached_property
    def _concerned(self) -> dict[int, list[tuple[Examined, RuleOfTool]]]:
        by_order: dict[int, list[tuple[Examined, RuleOfTool]]] = {}
        for examined in self.tools:
            for rule in examined.space.rules[0]:
                by_order.setdefault(rule.order, []).append((examined, rule))
        return by_order

    def find_call(
        self, examined: Examined, cell: EquivalenceClass, goal: Goal, path: DiagramPath = ANY_PATH
    ) -> WitnessQuery | None:
        """Return a whole call that holds a cell's resource and meets a goal, None if none was found."""
        call = self._search(examined).find(cell, goal, path).call
        return WitnessQuery(examined.space.server, examined.space.tool, call) if call is not None else None

    def allowed_call(
        self, examined: Examined, cell: EquivalenceClass, path: DiagramPath = ANY_PATH
    ) -> WitnessQuery | None:
        """Return a call that holds a cell's resource and is allowed, None if none was found.

        Where there may be one all the same, a call whose resource is allowed will do, and the tool is
        `given_up`.
        """
        searched = self._search(examined).find(cell, lambda _, call: call[0] == _ALLOWED, path)
        if searched.call is not None:
            return WitnessQuery(examined.space.server, examined.space.tool, searched.call)
        if searched.gaps - examined.gaps:
            self.given_up.add((examined.space.server, examined.space.tool))
            return self.find_call(examined, cell, lambda resource, _: resource[0] == _ALLOWED, path)
        return None

    def first_allowed_call(
        self, examined: Examined, tries: Iterable[tuple[T, EquivalenceClass, DiagramPath]]
    ) -> tuple[T, WitnessQuery] | None:
        """Return the first of some paths on which a call is allowed, with the call, None if there is none.

        After `MAX_SOUGHT` of them the tool is `given_up`.
        """
        possible = ((of, cell, path) for of, cell, path in tries if all(group for _, group in path.classes))
        for number, (of, cell, path) in enumerate(possible):
            if number >= MAX_SOUGHT:
                self.given_up.add((examined.space.server, examined.space.tool))
                return None
            witness = self.allowed_call(examined, cell, path)
            if witness is not None:
                return of, witness
        return None

    @cached_property
    def given_up(self) -> set[tuple[str, str]]:
        """The tools, by server and name, whose calls could not all be searched."""
        return set()

    def is_given_up(self, examined: Examined) -> bool:
        """Tell whether the calls of a tool could not all be searched."""
        return (examined.space.server, examined.space.tool) in self.given_up

    def _search(self, examined: Examined) -> CallSearch:
        tool = (examined.space.server, examined.space.tool)
        if tool not in self._searches:
            self._searches[tool] = CallSearch(examined, effort=EFFORT)
        return self._searches[tool]

    @cached_property
    def _searches(self) -> dict[tuple[str, str], CallSearch]:
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
        rule = self.analysis.content.rules[name]
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
        return any(examined.gaps for examined, _ in self.concerned(order))


def answers_of(examined: Examined) -> Iterator[tuple[EquivalenceClass, ResourceKey, Answered]]:
    """Yield every answered path of a tool with its cell."""
    for keys, answers in examined.answers.items():
        cell, key = examined.space.cells[keys], keys[0]
        if key is not None:
            for answered in answers:
                yield cell, key, answered
