"""Explaining one decision: its way through the seven steps, the rules that came close, what gets further.

Nothing here decides: the call and every suggestion are decided by whoever enforces the policy, and the
rules are only read to say why.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from ironcurtain.analysis.engine.rules.rules import RuleOfTool, rules_of_tool
from ironcurtain.analysis.explain.counterfactuals import Nearest, RefusedCall
from ironcurtain.analysis.explain.report import (
    ExplainedResource,
    Explanation,
    OtherFact,
    QuotedClause,
    Suggestion,
    clauses_of,
)
from ironcurtain.analysis.explain.rules import MetRules
from ironcurtain.analysis.explain.steps import steps
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.decide import Call, Prepared, TracedDecision
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.decision import Decision
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue

DecideTraced: TypeAlias = Callable[[Sequence[Call]], Sequence[TracedDecision]]
"""Decides calls where they would happen, in order, with what each step found."""


class Explainer:
    """Explains decisions under one policy, keeping what it learned about each tool.

    Args:
        bundle: The bundle.
        policy: The same, loaded where calls happen.
        decide: Decides calls there, in order, with what each step found: `Policy.decide_traced`.
        every_rule: Whether to say of each rule what became of it, not only of those that came close.
    """

    def __init__(
        self, bundle: Bundle, policy: LoadedPolicy, decide: DecideTraced, *, every_rule: bool = False
    ) -> None:
        self._content = PolicyContent.of(bundle)
        self._clauses = clauses_of(self._content)
        self._policy = policy
        self._decide = decide
        self._every_rule = every_rule
        self._nearest = Nearest(bundle, policy, self._decisions)
        self._rules: dict[tuple[str, str], tuple[RuleOfTool, ...]] = {}

    def explain(self, call: Call, *, nearby: bool = True) -> Explanation:
        """Decide a call and say why it is decided so, and what near it gets further.

        Args:
            call: The call.
            nearby: Whether to look for what gets further, which takes many times as long as the decision.
        """
        (traced,) = self._decide([call])
        decision = traced.decision
        resources = self._subjects(call, traced)
        rules = [near.clause for resource in resources for near in resource.near]
        rules += [rule.clause for resource in resources for rule in resource.rules]
        named = [decision.clause, *(resource.clause for resource in resources), *rules]
        return Explanation(
            decision=decision,
            steps=steps(call, traced),
            subjects=resources,
            input=_question(traced),
            answer=traced.trace.answer,
            clauses=self._quoted(named),
            suggestions=self._suggestions(call, traced) if nearby else (),
            other_facts=self._other_facts(call, traced) if nearby else (),
            approvers={
                name: self._content.approvers[name]
                for name in decision.approvers
                if name in self._content.approvers
            },
        )

    def _decisions(self, calls: Sequence[Call]) -> list[Decision]:
        return [traced.decision for traced in self._decide(calls)]

    def _subjects(self, call: Call, traced: TracedDecision) -> tuple[ExplainedResource, ...]:
        decision, tool, prepared = traced.decision, traced.trace.tool, traced.trace.outcome
        if not isinstance(prepared, Prepared) or tool is None or not decision.subjects:
            return ()
        met = MetRules(self._rules_of(call.server, tool.annotation), prepared, self._policy.patterns)
        found = []
        for resource, decided in zip(prepared.call.resources, decision.subjects, strict=True):
            rule = self._content.rules.get(decided.rule)
            found.append(
                ExplainedResource(
                    at=decided.at,
                    role=decided.role,
                    value=decided.value,
                    verdict=decided.verdict,
                    rule=decided.rule,
                    discharged=decided.discharged,
                    patterns=met.covering(resource.id),
                    reason=rule.reason if rule else "",
                    clause=rule.clause if rule else None,
                    near=met.near(resource.id, decided),
                    rules=met.outcomes(resource.id, decided) if self._every_rule else (),
                )
            )
        return tuple(found)

    def _rules_of(self, server: str, tool: ToolAnnotation) -> tuple[RuleOfTool, ...]:
        if (server, tool.tool) not in self._rules:
            self._rules[server, tool.tool] = rules_of_tool(self._content, server, tool, {})
        return self._rules[server, tool.tool]

    def _quoted(self, ids: Iterable[str | None]) -> tuple[QuotedClause, ...]:
        return tuple(self._clauses[id_] for id_ in dict.fromkeys(ids) if id_ in self._clauses)

    def _suggestions(self, call: Call, traced: TracedDecision) -> tuple[Suggestion, ...]:
        decision, trace = traced.decision, traced.trace
        evaluated = isinstance(trace.outcome, Prepared) or decision.rule == ReservedRule.PROTECTED_PATH
        if (
            decision.verdict is Verdict.ALLOW
            or not evaluated
            or trace.arguments is None
            or trace.filled is None
        ):
            return ()
        return self._nearest.suggestions(RefusedCall(call, trace.arguments, trace.filled, decision))

    def _other_facts(self, call: Call, traced: TracedDecision) -> tuple[OtherFact, ...]:
        decision = traced.decision
        if decision.verdict is Verdict.ALLOW or not isinstance(traced.trace.outcome, Prepared):
            return ()
        return self._nearest.other_facts(call, decision.verdict) if self._content.facts else ()


def _question(traced: TracedDecision) -> JsonValue:
    """Return what the engine was asked, None where the call did not come so far."""
    prepared = traced.trace.outcome
    if not isinstance(prepared, Prepared):
        return None
    question: JsonValue = json.loads(json.dumps(prepared.input))  # as the engine read it
    return question
