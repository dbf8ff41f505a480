"""Rules that decide calls of one server by a record of another one (`foreign-record`)."""

from __future__ import annotations

from collections.abc import Iterator

from ironcurtain.analysis.findings.context import FindingDraft, rule_content
from ironcurtain.analysis.findings.finder import FinderInputs
from ironcurtain.bundle.content import RuleText
from ironcurtain.model.conditions import If
from ironcurtain.model.records import RecordFact
from ironcurtain.model.unknown_facts import reference
from ironcurtain.system.text import visible


def foreign_records(inputs: FinderInputs) -> Iterator[FindingDraft]:
    """Yield each pair of a rule and a server whose records decide calls of other servers."""
    context = inputs.context
    facts = context.analysis.content.facts
    for name, rule in context.rules if facts else ():
        for record in sorted(set(_records(rule))):
            fact = facts.get(record)
            others = _others(rule.if_, fact, {tool.space.server for tool in context.tools})
            if isinstance(fact, RecordFact) and others:
                yield FindingDraft(
                    kind="foreign-record",
                    severity="warning",
                    about=[rule_content(rule), record, fact.server],
                    where=f"rule {name}",
                    clause=rule.clause,
                    message=(
                        f"calls of {visible(', '.join(others))} are decided by the record {record}, which "
                        f"{visible(fact.server)} answers: who controls that server decides them"
                    ),
                    suggestion=(
                        f"Confine the rule to {visible(fact.server)}, look the record up on the server whose "
                        "tools it opens, or accept the finding if you trust both servers alike."
                    ),
                )


def _records(rule: RuleText) -> Iterator[str]:
    """Yield the names of the facts that a rule tests or compares with."""
    for test in (rule.if_.facts if rule.if_ is not None else None) or ():
        yield test.fact.partition("/")[0]
        referred = reference(test.value)
        if referred is not None and referred[0] == "facts":
            yield referred[1].partition("/")[0]


def _others(condition: If | None, fact: object, servers: set[str]) -> list[str]:
    """Return the servers, other than that of a record, whose calls a rule is about."""
    meant = set(condition.server or servers) if condition is not None else set()
    return sorted(meant - {fact.server}) if isinstance(fact, RecordFact) else []
