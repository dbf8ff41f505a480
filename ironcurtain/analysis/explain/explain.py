"""Explaining one decision: its way through the seven steps, the rules that came close, what gets further.

Nothing here decides: the call and every suggestion are decided by whoever enforces the policy, and the
rules are only read to say why.
"""

from __future__ import annotations

from collections.abc import Iterable

from ironcurtain.analysis.explain.counterfactuals import Decide, Nearest, Refused
from ironcurtain.analysis.explain.report import (
    ExplainedSubject,
    Explanation,
    QuotedClause,
    Suggestion,
)
from ironcurtain.analysis.explain.rules import MetRules
from ironcurtain.analysis.explain.steps import filled, steps
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.decide import Call, Prepared, arguments_of, prepare
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.model.decision import Decision
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.model.verdict import Verdict


class Explainer:
    """Explains decisions under one policy, keeping what it learned about each tool.

    Args:
        bundle: The bundle.
        policy: The same, loaded where calls happen.
        decide: Decides calls there, in order: `Policy.decide_many`.
    """

    def __init__(self, bundle: Bundle, policy: LoadedPolicy, decide: Decide) -> None:
        self._content = PolicyContent.of(bundle)
        self._clauses = clauses_of(self._content)
        self._policy = policy
        self._decide = decide
        self._nearest = Nearest(bundle, policy, decide)

    def explain(self, call: Call) -> Explanation:
        """Decide a call and say why it is decided so, and what near it gets further."""
        (decision,) = self._decide([call])
        prepared = prepare(call, self._policy)
        subjects = self._subjects(call, decision, prepared)
        rules = [near.clause for subject in subjects for near in subject.near]
        named = [decision.clause, *(subject.clause for subject in subjects), *rules]
        return Explanation(
            decision=decision,
            steps=steps(call, decision, prepared, self._policy),
            subjects=subjects,
            clauses=self._quoted(named),
            suggestions=self._suggestions(call, decision, prepared),
        )

    def _subjects(
        self, call: Call, decision: Decision, prepared: Prepared | Decision
    ) -> tuple[ExplainedSubject, ...]:
        tool = self._policy.tool(call.server, call.tool)
        if not isinstance(prepared, Prepared) or tool is None or not decision.subjects:
            return ()
        met = MetRules(self._content, call.server, tool.annotation, prepared, self._policy.patterns)
        found = []
        for subject, decided in zip(prepared.call.subjects, decision.subjects, strict=True):
            rule = self._content.rules.get(decided.rule)
            found.append(
                ExplainedSubject(
                    at=decided.at,
                    role=decided.role,
                    value=decided.value,
                    verdict=decided.verdict,
                    rule=decided.rule,
                    discharged=decided.discharged,
                    patterns=met.covering(subject.id),
                    reason=rule.reason if rule else "",
                    clause=rule.clause if rule else None,
                    near=met.near(subject.id, decided),
                )
            )
        return tuple(found)

    def _quoted(self, ids: Iterable[str | None]) -> tuple[QuotedClause, ...]:
        return tuple(self._clauses[id_] for id_ in dict.fromkeys(ids) if id_ in self._clauses)

    def _suggestions(
        self, call: Call, decision: Decision, prepared: Prepared | Decision
    ) -> tuple[Suggestion, ...]:
        judged = isinstance(prepared, Prepared) or decision.rule == ReservedRule.PROTECTED_PATH
        tool = self._policy.tool(call.server, call.tool)
        if decision.verdict is Verdict.ALLOW or not judged or tool is None:
            return ()
        given, full = arguments_of(call), filled(tool, call, self._policy)
        if given is None or full is None:
            return ()
        return self._nearest.suggestions(Refused(call, given, full, decision))


def clauses_of(content: PolicyContent) -> dict[str, QuotedClause]:
    """Return a policy's clauses by id, each with the file and line that it was read from."""
    return {id_: _quoted(id_, text, content.sources[id_]) for id_, text in content.clauses.items()}


def _quoted(id_: str, text: str, source: str) -> QuotedClause:
    file, _, line = source.rpartition(":")
    known = bool(file) and line.isdecimal()
    return QuotedClause(id=id_, text=text, file=file if known else source, line=int(line) if known else 0)
