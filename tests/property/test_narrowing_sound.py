"""Narrowing is sound: whatever is decided allow or escalate is valid under the narrowed schema."""

from __future__ import annotations

from random import Random
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.generators import spaces
from support.oracles import twin
from support.projects import shipped

from ironcurtain.analysis.engine.evaluate import decide_prepared, load_described
from ironcurtain.analysis.narrowing.narrowing import narrowing
from ironcurtain.analysis.narrowing.report import Narrowing
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.decision.reserved_tools import is_reserved
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.decision import Decision
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.files import load

CALLS = 100
SPELLINGS: dict[str, list[Any]] = {
    "mode": ["soft", "hard", "dry"],
    "flag": [True, False],
    "amount": [0, 49.5, 50, 50.5, 51, 7000],
}


def valid(narrowed: Narrowing, server: str, tool: str, arguments: Any) -> bool:
    found = narrowed.find(server, tool)
    if found is None or not found.reachable:
        return False
    assert found.input_schema is not None
    # The library alone, as others would use it: it reads patterns with Python's syntax.
    return jsonschema.Draft202012Validator(found.input_schema).is_valid(arguments)


def random_calls(random: Random) -> dict[str, Call]:
    calls = {}
    for number in range(CALLS):
        server = random.choice(["s", "s", "s", "gated"])
        tool = random.choice(list(spaces.SCHEMA)) if server == "s" else "send"
        arguments = spaces.random_arguments(random, tool)
        for name in sorted(arguments.keys() & SPELLINGS):
            arguments[name] = random.choice(SPELLINGS[name])
        calls[f"c{number:03}"] = Call(server, tool, arguments, spaces.random_caller(random))
    return calls


@settings(
    max_examples=examples(8), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
)
@given(st.integers(min_value=0, max_value=10**9))
def test_every_call_that_is_not_denied_fits_the_narrowed_schema(seed: int) -> None:
    random = Random(seed)
    rules = spaces.random_policy(random, most=8)
    bundle, opa = spaces.bundle_of(rules), OpaCommand(find())
    narrowed = narrowing(bundle, spaces.WORLD, opa)
    policy = load_described(bundle, spaces.WORLD)
    calls = random_calls(random)
    prepared = {id_: prepare(call, policy) for id_, call in calls.items()}
    decisions: dict[str, Decision] = decide_prepared(prepared, bundle, policy, opa)
    for id_, decision in decisions.items():
        call = calls[id_]
        if decision.verdict is not Verdict.DENY:
            assert valid(narrowed, call.server, call.tool, call.arguments), (rules, call, decision)
        one = prepared[id_]
        if isinstance(one, Prepared):  # the second evaluator says so, too
            assert (twin.decide(rules, one.input)["verdict"] == "deny") == (decision.verdict == "deny")


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_rules_leave_little(count: int) -> None:
    """Policies of few rules deny most: the schema has to refuse a good part of what is denied."""
    random, opa = Random(count), OpaCommand(find())
    denied = refused = 0
    for _ in range(4):
        rules = spaces.random_policy(random, most=count)
        bundle = spaces.bundle_of(rules)
        narrowed = narrowing(bundle, spaces.WORLD, opa)
        policy = load_described(bundle, spaces.WORLD)
        for call in random_calls(random).values():
            prepared = prepare(call, policy)
            if isinstance(prepared, Prepared):
                allowed = twin.decide(rules, prepared.input)["verdict"] != "deny"
                fits = valid(narrowed, call.server, call.tool, call.arguments)
                assert fits or not allowed
                denied += not allowed
                refused += not fits
    assert refused > denied / 4


def test_the_shipped_policy_keeps_every_schema_valid_and_every_other_keyword() -> None:
    narrowed = narrowing(shipped.bundle(), shipped.world(), OpaCommand(find()))
    assert all(tool.reachable and not tool.reasons for tool in narrowed.tools)
    annotations = PolicyContent.of(shipped.bundle()).annotations
    for tool in narrowed.tools:
        annotated = annotations.find(tool.server, tool.tool)
        assert tool.input_schema is not None
        assert annotated is not None
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        if not is_reserved(annotated):  # resources can be read by addresses of files alone
            assert without_descriptions(tool.input_schema) == without_descriptions(annotated.input_schema)


def without_descriptions(value: Any) -> Any:
    """The shipped policy asks about nearly everything, so nothing but guidance can be added to its tools."""
    if isinstance(value, dict):
        return {key: without_descriptions(below) for key, below in value.items() if key != "description"}
    return [without_descriptions(below) for below in value] if isinstance(value, list) else value


@pytest.mark.parametrize("seed", range(3))
def test_git_and_file_tools_under_fewer_rules(seed: int) -> None:
    """The shipped tools have repositories, remotes, defaults, modes and trees; fewer rules deny more."""
    random, opa, world = Random(seed), OpaCommand(find()), shipped.world()
    share = random.choice([0.2, 0.4, 0.6])
    keep = [random.random() < share for _ in range(200)]
    bundle = shipped.bundle(lambda rules: rules.__setitem__(slice(None), dropped(rules, keep)))
    narrowed = narrowing(bundle, world, opa)
    policy = load_described(bundle, world)
    scenarios = load(shipped.GENERATED / "test-scenarios.json", Scenarios).scenarios
    calls = {s.id: Call(s.call.server, s.call.tool, s.call.arguments, s.call.caller) for s in scenarios}
    decisions = decide_prepared({i: prepare(call, policy) for i, call in calls.items()}, bundle, policy, opa)
    permitted = [id_ for id_, decision in decisions.items() if decision.verdict is not Verdict.DENY]
    for id_ in permitted:
        call = calls[id_]
        assert valid(narrowed, call.server, call.tool, call.arguments), (call, decisions[id_])
    assert permitted
    assert not all(valid(narrowed, c.server, c.tool, c.arguments) for c in calls.values())


def dropped(rules: list[dict[str, Any]], keep: list[bool]) -> list[dict[str, Any]]:
    left = [rule for rule, stays in zip(rules, keep, strict=False) if stays]
    return left or rules[:1]
