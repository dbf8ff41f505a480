"""Candidates: rules that a sentence would mean, before anything is proved of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Literal

from ironcurtain.analysis.advice.amounts import AmountName, duration
from ironcurtain.analysis.advice.sentences import CONDITION_KEYS, sentence_of
from ironcurtain.analysis.mutation.source import PolicySource
from ironcurtain.bundle.archive import Bundle
from ironcurtain.decision.roles import NONE
from ironcurtain.errors import EvidenceError, IronCurtainError
from ironcurtain.model.policy import Clause, Rule
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, replace

ADVISED = "advised"
"""The clause of a sentence that is to be added, until a compile gives it an id of its own."""


class Candidate(Struct):
    """Rules that could be proposed.

    Attributes:
        rules: The rules that are new, or stand in the place of those of a clause.
        before: The rule before which a new one stands; None for rules that stand in others' places.
        replaces: The clause in whose place the sentence stands.
        tools: The tools whose calls it can concern.
        answers: How many answers of people it was made of.
        is_wide: Whether it names a place around those of the answers.
        breadth: What candidates that do as much are sorted by, the narrowest first.
    """

    kind: Literal["fewer-questions", "tighter"]
    rules: tuple[Rule, ...]
    tools: frozenset[tuple[str, str]]
    before: str | None = None
    replaces: str | None = None
    answers: int = 0
    is_wide: bool = False
    breadth: tuple[int, ...] = ()

    def sentence(self, source: PolicySource) -> str:
        """Return the sentence that its rules mean."""
        return sentence_of(self.rules, source.content.tools)

    def put_into(self, rules: Sequence[Rule]) -> list[Rule]:
        """Return the rules of a policy with these."""
        if self.before is not None:
            place = next(number for number, rule in enumerate(rules) if rule.name == self.before)
            return [*rules[:place], *self.rules, *rules[place:]]
        own = {rule.name: rule for rule in self.rules}
        return [
            own.get(rule.name, rule) for rule in rules if rule.clause != self.replaces or rule.name in own
        ]


def changed(source: PolicySource, candidates: Sequence[Candidate]) -> Bundle | None:
    """Return the policy with several candidates, each with its sentence; None if it cannot be built."""
    rules, clauses = [*source.policy.rules], [*source.policy.clauses]
    for number, candidate in enumerate(candidates, 1):
        id_ = candidate.replaces or f"{ADVISED}-{number}"
        if sentence := candidate.sentence(source):
            # A clause whose sentence is to go stays, since guarantees may name it.
            clauses = [*(c for c in clauses if c.id != id_), Clause(id=id_, text=sentence)]
        own = tuple(rule.model_copy(update={"clause": id_}) for rule in candidate.rules)
        rules = replace(candidate, rules=own).put_into(rules)
    policy = source.policy.model_copy(update={"clauses": tuple(clauses)})
    try:
        return replace(source, policy=policy).bundle_of(rules, {})
    except EvidenceError:
        raise
    except IronCurtainError:
        return None


def condition_of(
    source: PolicySource,
    server: str,
    tools: Sequence[str],
    places: Mapping[str, Sequence[str]],
    asking: Sequence[Rule],
    modes: Mapping[str, Sequence[str]],
    bounds: Mapping[AmountName, float],
) -> dict[str, JsonValue]:
    """Return the condition of a rule that allows part of what others ask about, as JSON."""
    condition: dict[str, JsonValue] = {"server": [server], "tool": [*tools]}
    tests: dict[str, list[JsonValue]] = {"args": [], "caller": [], "facts": []}
    for role, patterns in sorted(places.items()):
        key, field = CONDITION_KEYS[source.registry[role].category]
        tests.setdefault(key, []).append({"roles": [role], field: [*sorted(patterns)]})
    annotations = [source.content.tools[server, tool] for tool in tools]
    if not places and any(
        source.registry[r].resource for a in annotations for each in a.args for r in each.possible_roles
    ):
        condition["roles"] = [NONE]
    for rule in asking:
        for key in ("args", "caller", "facts"):
            tests[key] += rule.if_.model_dump(mode="json", exclude_defaults=True).get(key) or []
    tests["args"] += [_mode(name, [json.loads(value) for value in values]) for name, values in modes.items()]
    for (root, name), largest in sorted(bounds.items()):
        if root == "args":
            tests["args"].append({"name": name, "op": "le", "value": largest})
        elif root == "facts":
            tests["facts"].append({"fact": name, "op": "le", "value": largest})
        else:
            tests["facts"].append({"fact": name, "op": "younger_than", "value": duration(largest)})
    condition |= {key: listed for key, listed in tests.items() if listed}
    return condition


def _mode(name: str, values: Sequence[JsonValue]) -> dict[str, JsonValue]:
    """Return a test of an argument that has one of some values; None for one that is left out."""
    given: list[JsonValue] = [value for value in values if value is not None]
    if not given:
        return {"name": name, "op": "present", "value": False}
    test: dict[str, JsonValue] = {"name": name, "or_absent": len(given) < len(values)}
    return (
        {**test, "op": "equals", "value": given[0]}
        if len(given) == 1
        else {**test, "op": "in", "value": given}
    )
