"""Tests of the keys of open objects: OPA, an evaluator apart and the cells decide random calls alike."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.documents import at, object_at
from support.oracles import twin
from support.projects.policies import annotations_of, compiled, rule, tool

from ironcurtain.analysis.engine.evaluate import evaluate
from ironcurtain.analysis.engine.lookup import locate
from ironcurtain.analysis.engine.opa_queries import examine
from ironcurtain.analysis.engine.policies_under_test import load_policies
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.compiler.rules.checks.policy import check_policy
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.scenarios import DescribedWorld

POLICIES, CALLS = (6, 300) if settings.get_current_profile_name() == "repeatable" else (15, 3_000)
SEEDS = st.integers(min_value=0, max_value=10**9)
QUIET: Any = {"deadline": None, "suppress_health_check": list(HealthCheck), "phases": [Phase.generate]}
WORLD = DescribedWorld.model_validate({"home": "/home/user"})
OPEN = {"type": "object", "additionalProperties": {"type": "integer"}}
ORDER = {"type": "object", "properties": {"items": OPEN}}
SCHEMA = {"type": "object", "properties": {"env": OPEN, "order": ORDER, "note": {"type": "string"}}}
ROLES: dict[str, Any] = {"env": ["none"], "order": ["none"], "note": ["none"]}
TOOL = {**tool("run", **ROLES), "input_schema": SCHEMA}
KEYS = ["lang", "LANG", "tz", "x-1", ""]
VALUES: list[tuple[str, Any]] = [
    ("equals", "lang"),
    ("not_equals", "tz"),
    ("in", ["lang", "tz"]),
    ("not_in", ["x-1", "LANG"]),
    ("matches", "[a-z]+"),
    ("contains_any", ["an", "-"]),
]


def random_test(random: Random) -> dict[str, Any]:
    op, value = random.choice(VALUES)
    test = {"name": random.choice(["env", "/order/items"]), "of": "keys", "op": op, "value": value}
    if op in ("equals", "in", "matches", "contains_any"):
        if random.random() < 0.4:
            return test | {"count": {random.choice(["le", "ge", "equals"]): random.randint(0, 2)}}
        if random.random() < 0.3:
            test["ignore_case"] = True
    return test | ({"over": random.choice(["every", "some"])} if random.random() < 0.6 else {})


def random_rule(random: Random, name: str) -> dict[str, Any]:
    tests = [random_test(random) for _ in range(random.choice([1, 1, 2]))]
    return rule(name, random.choice(["allow", "allow", "escalate", "deny"]), tool=["run"], args=tests)


def random_arguments(random: Random) -> dict[str, Any]:
    def keys() -> dict[str, int]:
        return dict.fromkeys(random.sample(KEYS, random.randint(0, 3)), 1)

    arguments = {"env": keys(), "order": random.choice([{"items": keys()}, {}]), "note": "n"}
    return {name: value for name, value in arguments.items() if random.random() < 0.8}


def bundle_of(rules: list[dict[str, Any]]) -> Bundle:
    annotated = annotations_of({"shop": [TOOL]})
    registry = Registry(annotated.roles)
    policy = check_policy(compiled(rules), annotated, None, registry)
    return assemble(policy, annotated, registry=registry, release=Release(engine_version="test"))


@settings(max_examples=POLICIES, **QUIET)
@given(SEEDS)
def test_calls_with_open_objects_are_decided_as_specified(seed: int) -> None:
    random = Random(seed)
    rules = [random_rule(random, f"r{number}") for number in range(random.randint(1, 5))]
    opa = OpaCommand(find())
    policies = load_policies([bundle_of(rules)], WORLD)
    (examined,) = examine([CallSpace("shop", "run", policies)], opa)
    assert any("keys" in gap for gap in examined.gaps), "nobody takes it for proved"
    calls: dict[str, Prepared] = {}
    for number in range(CALLS):
        prepared = prepare(Call("shop", "run", random_arguments(random)), policies[0].policy)
        assert isinstance(prepared, Prepared)
        calls[f"c{number}"] = prepared
    answers = evaluate({id_: call.input for id_, call in calls.items()}, policies[0].bundle, opa)
    for id_, call in calls.items():
        expected = twin.decide(rules, call.input)["subjects"]["call"]["rule"]
        assert at(object_at(answers[id_], "subjects"), "call", "rule") == expected, (call.input, rules)
        try:
            said = [found.answered.outcomes[0] for found in locate(examined, call)]
        except LookupError:
            continue  # what was not tried: the gap says so
        assert [outcome.rule for outcome in said if outcome is not None] == [expected]
