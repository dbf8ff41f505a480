"""Clauses without rules and the reverse, scenarios that are missing or contradictory, idle lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ironcurtain.analysis.clauses.report import ClauseOutcome
from ironcurtain.analysis.engine.search import FoundCall
from ironcurtain.analysis.explain.report import QuotedClause
from ironcurtain.analysis.findings.draft import (
    Decided,
    FindingContext,
    FindingDraft,
    WitnessQuery,
    answers_of,
    rule_content,
)
from ironcurtain.bundle.content import RuleText
from ironcurtain.decision.decide import Prepared
from ironcurtain.model.scenarios import Scenario
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import quoted, visible

_UNTESTABLE = ("principle", "not-kept")
"""The outcomes of clauses that no call can show."""


def clause_drafts(
    looked: FindingContext, outcomes: Sequence[ClauseOutcome], decided: Decided | None
) -> Iterator[FindingDraft]:
    """Yield clauses without rules or scenarios, and rules without clauses.

    Args:
        looked: The policy.
        outcomes: The clauses, with what becomes of them.
        decided: The scenarios that demand something, decided; None where there are none to be known.
    """
    tested = _tested(looked, decided)
    for each in outcomes:
        if each.outcome == "unaccounted":
            yield _without_rule(each.clause)
        elif each.outcome not in _UNTESTABLE and decided is not None and each.clause.id not in tested:
            yield _without_scenario(looked, each.clause)
    yield from _without_clause(looked)


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


def _without_scenario(looked: FindingContext, clause: QuotedClause) -> FindingDraft:
    return FindingDraft(
        kind="untested-clause",
        severity="warning",
        about=clause.text,
        where=f"clause {clause.id}",
        message=f"no scenario tests the clause {clause.id}: {quoted(clause.text)}",
        suggestion=f"Write a scenario with `clause: {clause.id}` and the verdict that the clause demands.",
        clause=clause.id,
        witness=_decided_by(looked, clause.id),
    )


def _decided_by(looked: FindingContext, clause: str) -> WitnessQuery | None:
    """Return a call that a rule of a clause decides, None if there is none."""
    orders = {rule.order for _, rule in looked.rules if rule.clause == clause}
    for one in looked.tools:
        for cell, _, answered in answers_of(one):
            if answered.path.outcome[0] in orders:
                found = looked.sought(one, cell, lambda subject, call: subject == call, answered.path)
                if found is not None:
                    return found
    return None


def _without_clause(looked: FindingContext) -> Iterator[FindingDraft]:
    known = looked.examined.content.clauses
    for name, rule in looked.rules:
        if rule.clause not in known:
            yield FindingDraft(
                kind="rule-without-clause",
                severity="warning",
                about=rule_content(rule),
                where=f"rule {visible(name)}",
                message=f"the rule {visible(name)} implements {quoted(rule.clause)}, which is no clause",
                suggestion="Name the clause that the rule comes from, write one, or delete the rule.",
            )


def _tested(looked: FindingContext, decided: Decided | None) -> set[str]:
    """Return the clauses that scenarios name, or whose rules decide one of their subjects."""
    found: set[str] = set()
    for scenario in decided.scenarios if decided is not None else ():
        decision = decided.decisions[scenario.id] if decided is not None else None
        rules = (
            [decision.rule, *(subject.rule for subject in decision.subjects)] if decision is not None else []
        )
        texts = [looked.examined.content.rules.get(rule) for rule in rules]
        found |= {text.clause for text in texts if text is not None}
        found |= {scenario.clause} if scenario.clause is not None else set()
    return found


# -- scenarios that contradict each other ---------------------------------------------------------


def scenario_drafts(decided: Decided) -> Iterator[FindingDraft]:
    """Yield scenarios that demand different verdicts for one call, however it is spelt."""
    first: dict[bytes, Scenario] = {}
    for scenario in sorted(decided.scenarios, key=lambda each: each.id):
        prepared = decided.prepared[scenario.id]
        call = scenario.call
        arguments = prepared.call.arguments if isinstance(prepared, Prepared) else call.arguments
        asked: JsonValue = [call.server, call.tool, arguments, call.caller or {}]
        other = first.setdefault(json_text.canonical(asked), scenario)
        if other.expect is scenario.expect:
            continue
        yield FindingDraft(
            kind="contradictory-scenarios",
            severity="error",
            about=[asked, list[JsonValue](sorted([other.expect.value, scenario.expect.value]))],
            where=f"scenario {scenario.id}",
            message=f"the scenario {scenario.id} expects {scenario.expect}, and {other.id} expects "
            f"{other.expect} of the same call",
            suggestion="Delete one of the two, or say in their arguments what tells them apart.",
            clause=scenario.clause,
            witness=WitnessQuery(
                call.server, call.tool, FoundCall(dict(call.arguments), dict(call.caller or {}), "", "call")
            ),
        )


# -- lists ----------------------------------------------------------------------------------------


def list_drafts(looked: FindingContext) -> Iterator[FindingDraft]:
    """Yield lists that nothing uses, and lists that have no members."""
    content = looked.examined.content
    modules = "\n".join(looked.custom_modules)
    for name, (kind, members) in sorted(content.lists.items()):
        token = f"@{name}"
        users = [
            (rule, text)
            for rule, text in looked.rules
            if text.if_ is not None and any(token in one.patterns for one in text.if_.role_conditions)
        ]
        if not users and token not in modules:
            yield FindingDraft(
                kind="unused-list",
                severity="warning",
                about=[name, kind],
                where=f"list {token}",
                message=f"no rule uses the list {token}",
                suggestion="Delete it from the lists, or name it in a rule.",
            )
        elif users and not members:
            yield _empty(token, kind, users)


def _empty(token: str, kind: str, users: Sequence[tuple[str, RuleText]]) -> FindingDraft:
    strict = [name for name, text in users if text.then is not Verdict.ALLOW]
    shown = ", ".join(visible(name) for name, _ in users)
    return FindingDraft(
        kind="empty-list",
        # A rule that asks or denies no longer does; one that allows merely allows nothing.
        severity="error" if strict else "warning",
        about=[token, kind],
        where=f"list {token}",
        message=f"the list {token} has no members, so these rules never hold: {shown}",
        suggestion="Resolve the list or add members, or delete the rules.",
    )
