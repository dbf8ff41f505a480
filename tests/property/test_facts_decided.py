"""Records as servers answer them, totals, labels and the time come to the decision that is specified.

The engine and the cells see normalised facts: ages, minutes of the week, sorted arrays. The evaluator of
`support.oracles.facts_oracle` sees the records themselves and the moment.
"""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.documents import at, object_at
from support.generators import spaces_shop
from support.oracles import facts_oracle

from ironcurtain.analysis.engine.evaluate import evaluate
from ironcurtain.analysis.engine.lookup import locate
from ironcurtain.analysis.engine.opa_queries import Examined, examine
from ironcurtain.analysis.engine.policies_under_test import PoliciesUnderTest, load_policies
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.decision.facts import normalise
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find

POLICIES, CALLS = (4, 300) if settings.get_current_profile_name() == "repeatable" else (6, 2_000)
SEEDS = st.integers(min_value=0, max_value=10**9)
QUIET: Any = {"deadline": None, "suppress_health_check": list(HealthCheck), "phases": [Phase.generate]}


@settings(max_examples=POLICIES, **QUIET)
@given(SEEDS)
def test_records_totals_labels_and_times_decide_as_specified(seed: int) -> None:
    random = Random(seed)
    rules = spaces_shop.random_policy(random)
    opa = OpaCommand(find())
    policies = load_policies([spaces_shop.bundle_of(rules)], spaces_shop.WORLD)
    tools = examined(policies, opa)
    calls = {f"c{number}": random_call(random, rules, policies) for number in range(CALLS)}
    inputs = {id_: prepared.input for id_, (prepared, _) in calls.items()}
    answers = evaluate(inputs, policies[0].bundle, opa)
    for id_, (prepared, expected) in calls.items():
        decided = at(object_at(answers[id_], "subjects")["call"], "rule")
        assert decided == expected, (prepared.input, rules)
        (found,) = locate(tools[prepared.input["tool"]], prepared)
        outcome = found.answered.outcomes[0]
        assert outcome is not None
        assert outcome.rule == expected


def examined(policies: PoliciesUnderTest, opa: OpaCommand) -> dict[str, Examined]:
    spaces = [CallSpace("shop", name, policies) for name in spaces_shop.SCHEMA]
    tools = {one.space.tool: one for one in examine(spaces, opa)}
    assert not [gap for one in tools.values() for gap in one.gaps]
    return tools


def random_call(
    random: Random, rules: list[dict[str, Any]], policies: PoliciesUnderTest
) -> tuple[Prepared, str]:
    """Return a call with its facts, and the rule that decides it as specified."""
    tool = random.choice(list(spaces_shop.SCHEMA))
    arguments = spaces_shop.random_arguments(random, tool)
    moment = spaces_shop.random_moment(random)
    records = spaces_shop.random_records(random, moment)
    known = {name: document for name, document in records.items() if random.random() < 0.9}
    total = Decimal(str(arguments.get("amount", 0) if tool == "pay" else 0))
    memory = {
        "spent": total + Decimal(random.choice(["0", "0.1", "40", "60"])),
        "mails": random.randint(1, 4),
        "private": random.random() < 0.5,
    }
    policy = policies[0].policy
    facts = normalise(policy.facts, spaces_shop.raw_fields(known) | memory, moment)
    call = Call("shop", tool, arguments, spaces_shop.random_caller(random), facts=facts)
    prepared = prepare(call, policy)
    assert isinstance(prepared, Prepared)
    values = {name: facts_oracle.record(spaces_shop.FACTS[name], known[name]) for name in known}
    clock = {"now": facts_oracle.in_zone(moment, "Europe/Berlin")}
    decision = facts_oracle.decide(rules, prepared.input, values | memory | clock, moment)
    return prepared, decision["rule"]
