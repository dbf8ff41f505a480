"""Whether every clause has a rule or a reason, so that none is silently dropped.

A clause that cannot be enforced on arguments may still have rules that ask a person: the answer names
their tools.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, get_args

from ironcurtain.model.annotations import ServerAnnotations
from ironcurtain.model.base import Json
from ironcurtain.model.policy import Clause, Rule
from ironcurtain.model.verdict import Verdict
from ironcurtain.pipeline.clauses import PlacedClause
from ironcurtain.text import quoted, visible

Kind = Literal["structural", "not-here", "clock", "state", "other-answer", "judgement", "other"]
"""Why no rule implements a clause: it holds by itself, it concerns another server, or what it would need."""

KINDS: tuple[str, ...] = get_args(Kind)
_ENFORCED_ELSEWHERE = {"structural", "not-here"}


def coverage_mistakes(
    content: Json, rules: Sequence[Rule], clauses: Iterable[PlacedClause], annotated: ServerAnnotations
) -> list[str]:
    """Return what is wrong with how the answer for one server accounts for its clauses.

    Args:
        content: The answer; its `not_enforceable` holds the reasons.
        rules: The answer's rules.
        clauses: The clauses that this server was given.
        annotated: The server's tools.
    """
    reasons = content["not_enforceable"]
    counts = Counter(entry["clause"] for entry in reasons)
    mistakes = [f"clause {clause} is given {count} reasons" for clause, count in counts.items() if count > 1]
    implemented = {rule.clause for rule in rules}
    mistakes += [
        f"clause {placed.clause.id} has no rule and no reason: implement it, or say under `not_enforceable` "
        "why no rule does"
        for placed in clauses
        if not placed.clause.principle and placed.clause.id not in implemented | set(counts)
    ]
    for entry in reasons:
        mistakes += _entry_mistakes(entry, rules, annotated)
    return mistakes


def findings(
    answers: Sequence[Json], rules: Sequence[Rule], clauses: Sequence[PlacedClause], nowhere: Iterable[str]
) -> list[str]:
    """Return a line for each reason that a person should know, and for each clause without a rule.

    Args:
        answers: The contents of the answers of all servers.
        rules: All rules.
        clauses: All clauses.
        nowhere: Ids of the clauses that concern no server.
    """
    reasons: dict[str, list[Json]] = {}
    for content in answers:
        for entry in content["not_enforceable"]:
            if entry.get("kind") != "not-here":
                reasons.setdefault(entry["clause"], []).append(entry)
    implemented = {rule.clause for rule in rules}
    unconcerned = set(nowhere)
    lines = []
    for clause in (placed.clause for placed in clauses):
        said = dict.fromkeys(_reason_text(entry) for entry in reasons.get(clause.id, ()))
        lines += [f"{clause.source}: {clause.id} {text}" for text in said]
        if clause.id not in implemented and not said and not clause.principle:
            why = ": it concerns no server" if clause.id in unconcerned else ""
            lines.append(f"{clause.source}: {clause.id} is implemented by no rule{why}")
    return lines


def quote_mistake(quote: str, clause: Clause | None) -> str:
    """Return what is wrong with words that a clause is said to hold; empty if it holds them."""
    wanted, text = _plain(quote), _plain(clause.text if clause else "")
    return "" if wanted and wanted in text else f"`clause_says` {quoted(quote)} does not stand in the clause"


def _entry_mistakes(entry: Json, rules: Sequence[Rule], annotated: ServerAnnotations) -> Iterator[str]:
    clause, kind, tools = entry["clause"], entry.get("kind", "other"), entry.get("tools", [])
    if not entry["reason"].strip():
        yield f"clause {clause}: the reason is empty"
    if kind in _ENFORCED_ELSEWHERE:
        if kind == "not-here" and any(rule.clause == clause for rule in rules):
            yield f"clause {clause} is said not to concern this server, and has a rule"
        return
    asked = {
        tool
        for rule in rules
        if rule.clause == clause and rule.then is not Verdict.ALLOW
        for tool in rule.if_.tool or (tool.tool for tool in annotated.tools)
    }
    for tool in dict.fromkeys(tools):
        if tool not in asked:
            yield (
                f"clause {clause}: `tools` names {quoted(tool)}, and no rule of this clause asks about it: "
                "leave it out, or add the rule where the constitution wants a person to be asked"
            )


def _reason_text(entry: Mapping[str, Json]) -> str:
    reason = visible(entry["reason"])
    if entry.get("kind") == "structural":
        return f"needs no rule: {reason}"
    tools = ", ".join(visible(tool) for tool in entry.get("tools", ()))
    return f"is not enforceable: {reason}" + (f" (escalated: {tools})" if tools else "")


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
