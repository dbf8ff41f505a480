"""A difference is exact: it is empty exactly when no call is decided differently."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.documents import text_at
from support.examples import examples
from support.generators import spaces

from ironcurtain.analysis.diff.difference import difference
from ironcurtain.analysis.diff.report import Change
from ironcurtain.analysis.engine.evaluate import evaluate, load_described
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find

CALLS = 80
VERDICTS = ["allow", "escalate", "deny"]


def changed(random: Random, rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rules with one change of the kinds that people make."""
    new = copy.deepcopy(rules)
    place = random.randrange(len(new))
    kind = random.choice(["drop", "verdict", "swap", "add", "widen"])
    if kind == "drop" and len(new) > 1:
        del new[place]
    elif kind == "swap":
        other = random.randrange(len(new))
        new[place], new[other] = new[other], new[place]
    elif kind == "add":
        new.insert(place, spaces.random_rule(random, "added"))
    elif kind == "widen" and "paths" in new[place]["if"]:
        new[place]["if"]["paths"][0]["within"] = ["~/a"]
    elif not any(c.get("or_none") for key in spaces.CONDITIONS for c in new[place]["if"].get(key, [])):
        new[place]["then"] = random.choice(VERDICTS)
    return new


def verdicts(random: Random, bundles: list[Any]) -> list[tuple[str, str]]:
    """Return the verdicts of random calls under both bundles."""
    opa = OpaCommand(find())
    policies = [load_described(bundle, spaces.WORLD) for bundle in bundles]
    calls = []
    for _ in range(CALLS):
        tool = random.choice(list(spaces.SCHEMA))
        calls.append(Call("s", tool, spaces.random_arguments(random, tool), spaces.random_caller(random)))
    found: list[dict[str, str]] = []
    for bundle, policy in zip(bundles, policies, strict=True):
        prepared = {str(n): prepare(call, policy) for n, call in enumerate(calls)}
        inputs = {id_: p.input for id_, p in prepared.items() if isinstance(p, Prepared)}
        found.append(
            {id_: text_at(answer, "verdict") for id_, answer in evaluate(inputs, bundle, opa).items()}
        )
    return [(found[0][id_], found[1][id_]) for id_ in found[0] if id_ in found[1]]


# In policies of few rules a change is seldom hidden by the other rules.
@settings(
    max_examples=examples(8), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
)
@given(st.integers(min_value=0, max_value=10**9))
def test_a_difference_is_empty_exactly_when_no_call_differs(seed: int) -> None:
    check_difference(seed, most=5)


def test_a_guard_of_one_policy_alone_over_patterns_that_the_other_does_not_know() -> None:
    check_difference(9790, most=12)


def check_difference(seed: int, most: int) -> None:
    random = Random(seed)
    rules = spaces.random_policy(random, most)
    old, new = spaces.bundle_of(rules), spaces.bundle_of(changed(random, rules))
    result = difference(old, new, spaces.WORLD, OpaCommand(find()))
    assert result.exactness == "exact"
    assert not any(change.note for change in result.changes)
    pairs = verdicts(random, [old, new])
    directions = {change.direction for change in result.changes if change.witness is not None}
    order = VERDICTS.index
    assert not any(order(new) < order(old) for old, new in pairs) or "loosened" in directions
    assert not any(order(new) > order(old) for old, new in pairs) or "tightened" in directions
    for change in result.changes:
        assert bool(change.witness) != bool(change.masked_by)


@settings(
    max_examples=examples(3), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
)
@given(st.integers(min_value=0, max_value=10**9))
def test_renaming_and_splitting_rules_change_nothing(seed: int) -> None:
    random = Random(seed)
    rules = spaces.random_policy(random, 12)
    assert difference_of(rules, split(rules)) == ()


def difference_of(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> tuple[Change, ...]:
    before, after = spaces.bundle_of(old), spaces.bundle_of(new)
    return difference(before, after, spaces.WORLD, OpaCommand(find())).changes


def split(rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rules renamed, each rule over several directories of one role as one rule for each."""
    found = []
    for number, rule in enumerate(rules):
        condition = rule["if"]
        paths = condition.get("paths", [])
        alone = (
            len(paths) == 1
            and len(paths[0]["roles"]) == 1
            and not condition.keys() & {"domains", "lists", "roles"}
        )
        for part, directory in enumerate(paths[0]["within"] if alone else [None]):
            copied = copy.deepcopy(rule) | {"name": f"renamed-{number}-{part}"}
            if directory is not None:
                copied["if"]["paths"][0]["within"] = [directory]
            found.append(copied)
    return found


def test_reordering_rules_of_different_tools_changes_nothing() -> None:
    random = Random(5)
    rules = [spaces.random_rule(random, f"r{n}") for n in range(40)]
    separate = [rule for rule in rules if "tool" in rule["if"]]
    ordered = sorted(separate, key=lambda rule: rule["if"]["tool"])
    assert ordered != separate
    assert difference_of(separate, ordered) == ()
