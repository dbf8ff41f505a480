"""Clauses without rules or scenarios, and rules without clauses.

The kinds are `clause-without-rule`, `untested-clause` and `rule-without-clause`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ironcurtain.analysis.clauses.report import ClauseOutcome
from ironcurtain.analysis.explain.report import QuotedClause
from ironcurtain.analysis.findings.context import (
    FindingContext,
    FindingDraft,
    WitnessQuery,
    answers_of,
    rule_content,
)
from ironcurtain.analysis.findings.decided_scenarios import DecidedScenarios
from ironcurtain.analysis.findings.finder import FinderInputs
from ironcurtain.system.text import quoted, visible

_UNTESTABLE = ("principle", "not-kept")
"""The outcomes of clauses that no call can show."""


def unmatched_clauses(inputs: FinderInputs) -> Iterator[FindingDraft]:
    """Yield clauses without rules or scenarios, and rules without clauses."""
    context, decided = inputs.context, inputs.decided
    tested = _tested(context, decided) if decided is not None else set()
    for account in inputs.outcomes:
        clause = account.clause
        if account.outcome == "unaccounted":
            yield _without_rule(clause)
        elif _is_testable(account) and decided is not None and clause.id not in tested:
            yield _without_scenario(context, clause)
    yield from _without_clause(context)


def _is_testable(account: ClauseOutcome) -> bool:
    """Tell whether a call could show a clause: what rules of other clauses have asked shows only them."""
    asked_by_others = account.outcome in ("asked", "partly-asked") and not account.rules
    return account.outcome not in _UNTESTABLE and not asked_by_others


def _without_rule(clause: QuotedClause) -> FindingDraft:
    return FindingDraft(
        kind="clause-without-rule",
        severity="error",
        about=clause.text,
        where=f"clause {clause.id}",
        message=f"no rule implements the clause {clause.id}: {quoted(clause.text)}",
        suggestion="Write a rule for it, mark it as a principle, or delete it. If the structural checks "
        "keep it, let the answer say so, and a scenario of this clause show it.",
        clause=clause.id,
    )


def _without_scenario(context: FindingContext, clause: QuotedClause) -> FindingDraft:
    return FindingDraft(
        kind="untested-clause",
        severity="warning",
        about=clause.text,
        where=f"clause {clause.id}",
        message=f"no scenario tests the clause {clause.id}: {quoted(clause.text)}",
        suggestion=f"Write a scenario with `clause: {clause.id}` and the verdict that the clause demands.",
        clause=clause.id,
        witness=_decided_by(context, clause.id),
    )


def _decided_by(context: FindingContext, clause: str) -> WitnessQuery | None:
    """Return a call that a rule of a clause decides, None if there is none."""
    orders = {rule.order for _, rule in context.rules if rule.clause == clause}
    for examined in context.tools:
        for cell, _, answered in answers_of(examined):
            if answered.path.outcome[0] in orders:
                witness = context.find_call(
                    examined, cell, lambda resource, call: resource == call, answered.path
                )
                if witness is not None:
                    return witness
    return None


def _without_clause(context: FindingContext) -> Iterator[FindingDraft]:
    known = context.analysis.content.clauses
    for name, rule in context.rules:
        if rule.clause not in known:
            yield FindingDraft(
                kind="rule-without-clause",
                severity="warning",
                about=rule_content(rule),
                where=f"rule {visible(name)}",
                message=f"the rule {visible(name)} implements {quoted(rule.clause)}, which is no clause",
                suggestion="Name the clause that the rule comes from, write one, or delete the rule.",
            )


def _tested(context: FindingContext, decided: DecidedScenarios) -> set[str]:
    """Return the clauses that scenarios name, or whose rules decide one of their resources."""
    clauses: set[str] = set()
    for scenario in decided.scenarios:
        decision = decided.decisions[scenario.id]
        names = [decision.rule, *(resource.rule for resource in decision.subjects)]
        rules = [context.analysis.content.rules.get(name) for name in names]
        clauses |= {rule.clause for rule in rules if rule is not None}
        clauses |= {scenario.clause} if scenario.clause is not None else set()
    return clauses
