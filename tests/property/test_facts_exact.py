"""Policies over declared facts are exact: random calls decide as the examined policy and as OPA say."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.documents import at, object_at
from support.generators import spaces_facts
from support.oracles import twin

from ironcurtain.analysis.engine.evaluate import evaluate
from ironcurtain.analysis.engine.lookup import locate
from ironcurtain.analysis.engine.opa_queries import examine
from ironcurtain.analysis.engine.policies_under_test import load_policies
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find

POLICIES, CALLS = (4, 300) if settings.get_current_profile_name() == "repeatable" else (10, 5_000)
SEEDS = st.integers(min_value=0, max_value=10**9)
QUIET: Any = {"deadline": None, "suppress_health_check": list(HealthCheck), "phases": [Phase.generate]}


@settings(max_examples=POLICIES, **QUIET)
@given(SEEDS)
def test_every_random_call_with_facts_decides_as_the_cells_say(seed: int) -> None:
    random = Random(seed)
    rules = spaces_facts.random_policy(random)
    opa = OpaCommand(find())
    policies = load_policies([spaces_facts.bundle_of(rules)], spaces_facts.WORLD)
    tools = {name: CallSpace("shop", name, policies) for name in ("pay", "send")}
    examined = {one.space.tool: one for one in examine([*tools.values()], opa)}
    assert not [gap for one in examined.values() for gap in one.gaps]
    calls: dict[str, Prepared] = {}
    for number in range(CALLS):
        tool = random.choice([*tools])
        arguments = spaces_facts.random_arguments(random, tool)
        facts = spaces_facts.random_facts(random, arguments)
        call = Call("shop", tool, arguments, spaces_facts.random_caller(random), facts=facts)
        prepared = prepare(call, policies[0].policy)
        assert isinstance(prepared, Prepared)
        assert prepared.facts == facts
        calls[f"c{number}"] = prepared
    answers = evaluate({id_: call.input for id_, call in calls.items()}, policies[0].bundle, opa)
    for id_, asked in calls.items():
        said = {f.resource: f.answered.outcomes[0] for f in locate(examined[asked.input["tool"]], asked)}
        rule = {subject: outcome.rule for subject, outcome in said.items() if outcome is not None}
        assert rule == {s: at(found, "rule") for s, found in object_at(answers[id_], "subjects").items()}
        assert rule == {s: f["rule"] for s, f in twin.decide(rules, asked.input)["subjects"].items()}
