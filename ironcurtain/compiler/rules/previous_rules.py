"""The rules of the last compile, as a question about the same server shows them.

A clause to which its author gave another id is shown under that one. The rules of a clause that was edited or
deleted carry the words it had. What is shown is no part of the question's key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ironcurtain.compiler.load.clauses import PlacedClause
from ironcurtain.compiler.questions.schema_parts import entries
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.system.frozen import JsonValue


def previous_rules(
    server: str, published: CompiledPolicy, answered: JsonValue, clauses: Sequence[PlacedClause]
) -> dict[str, JsonValue]:
    """Return a server's published rules and reasons in the form of an answer; empty if there are none.

    Args:
        server: The server.
        published: The rules as published, repairs included.
        answered: The content of the answer that they come from, if it is still there.
        clauses: The clauses as they are now.
    """
    then = {clause.id: clause.text for clause in published.clauses}
    now = {placed.clause.text: placed.clause.id for placed in clauses}
    quotes = {
        rule["name"]: rule["clause_says"] for rule in entries(answered, "rules") if "clause_says" in rule
    }
    rules: list[JsonValue] = []
    for rule in published.rules:
        if rule.if_.server != (server,):
            continue
        shown: dict[str, JsonValue] = rule.model_dump(mode="json", by_alias=True, exclude_unset=True)
        shown["if"] = rule.if_.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude={"server"})
        quote = {"clause_says": quotes[rule.name]} if rule.name in quotes else {}
        rules.append({**shown, **quote, **_clause(rule.clause, then, now)})
    reasons: list[JsonValue] = [
        {**entry, **_clause(str(entry["clause"]), then, now)}
        for entry in entries(answered, "not_enforceable")
    ]
    return {"rules": rules, "not_enforceable": reasons} if rules or reasons else {}


def _clause(then_id: str, then: Mapping[str, str], now: Mapping[str, str]) -> dict[str, JsonValue]:
    """Return the id that a clause has now, and the words that it had where they are others or it is gone."""
    text = then.get(then_id, "")
    if text in now:
        return {"clause": now[text]}
    return {"clause": then_id if then_id in now.values() else "", "clause_was": text}
