"""Guarantees about sequences: what is proved no random session breaks, what breaks one is a real session."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.generators import spaces_facts
from support.oracles import facts_oracle
from support.projects.policies import rule

from ironcurtain.analysis.engine.evaluate import load_described
from ironcurtain.analysis.guarantees.guarantees import check_guarantees
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.guarantees import GuaranteeResult, Guarantees
from ironcurtain.system.files import parse_document

POLICIES, WALKS = (6, 60) if settings.get_current_profile_name() == "repeatable" else (20, 200)
SEEDS = st.integers(min_value=0, max_value=10**9)
QUIET: Any = {"deadline": None, "suppress_health_check": list(HealthCheck), "phases": [Phase.generate]}
CARD = {"name": "method", "op": "equals", "value": "card"}
DECLARED: dict[str, Any] = {
    "private": {"source": "label", "clause": "C1", "from": {"tool": ["get_user"]}},
    "charged": {"source": "label", "clause": "C1", "from": {"tool": ["pay"], "args": [CARD]}},
    "mailed": {"source": "label", "clause": "C1", "from": {"tool": ["send"]}},
    "paid": spaces_facts.DECLARED["paid"],
    "now": spaces_facts.DECLARED["now"],
}
LABELS = ["private", "charged", "mailed"]
TOOLS = ["pay", "send", "get_user"]
NUMBERS = [40, 50, 100, 130]


def policy_of(random: Random) -> list[dict[str, Any]]:
    return [random_rule(random, number) for number in range(random.randint(3, 8))]


def random_rule(random: Random, number: int) -> dict[str, Any]:
    tool = random.choice(TOOLS)
    condition: dict[str, Any] = {"tool": [tool]}
    tests = [
        {"fact": random.choice(LABELS), "op": "equals", "value": random.random() < 0.5}
        for _ in range(random.choice([0, 1, 1, 2]))
    ]
    if tool == "pay" and random.random() < 0.5:
        tests.append({"fact": "paid", "op": random.choice(["gt", "le"]), "value": random.choice(NUMBERS)})
    if random.random() < 0.15:
        tests.append({"fact": "now", "op": "within", "value": ["mon-fri 09:00-17:00"]})
    if tests:
        condition["facts"] = tests
    if tool == "pay" and random.random() < 0.4:
        condition["args"] = [random.choice([CARD, {"name": "amount", "op": "le", "value": 50}])]
    return rule(f"r{number}", random.choice(["allow", "allow", "escalate", "deny"]), **condition)


def scope_of(random: Random) -> dict[str, Any]:
    tool = random.choice(TOOLS)
    return {"tool": [tool], **({"args": [CARD]} if tool == "pay" and random.random() < 0.5 else {})}


def demand_of(random: Random) -> dict[str, Any]:
    if random.random() < 0.35:
        return {"at_most": {"total": "paid", "per": "day", "is": random.choice(NUMBERS)}}
    return {"never": {"after": scope_of(random), "allow": scope_of(random)}}


def is_of(scope: dict[str, Any], call: dict[str, Any]) -> bool:
    return call["tool"] in scope["tool"] and (
        "args" not in scope or call["arguments"].get("method") == "card"
    )


def breaks(demand: dict[str, Any], told: list[dict[str, Any]]) -> bool:
    """Tell whether a session breaks a guarantee: its calls with how they were decided, and whether sent."""
    if "at_most" in demand:
        totals: dict[Any, float] = {}
        for each in told:
            if each["call"]["tool"] != "pay" or not each["sent"]:
                continue
            place = (each["who"], each["day"])
            totals[place] = totals.get(place, 0) + each["call"]["arguments"]["amount"]
            if each["verdict"] == "allow" and totals[place] > demand["at_most"]["is"]:
                return True
        return False
    never, was_sent = demand["never"], False
    for each in told:
        if was_sent and each["verdict"] == "allow" and is_of(never["allow"], each["call"]):
            return True
        was_sent = was_sent or (each["sent"] and is_of(never["after"], each["call"]))
    return False


def session(random: Random) -> Iterator[tuple[dict[str, Any], datetime, bool]]:
    at = datetime(2026, 3, 2, 7, 30, tzinfo=UTC)
    for _ in range(random.randint(2, 7)):
        at += timedelta(minutes=random.choice([0, 10, 60, 700]))
        tool = random.choice(TOOLS)
        arguments = spaces_facts.random_arguments(random, tool)
        if tool == "pay":
            arguments |= {"amount": random.choice([0, 1, 30, 50, 51, 80, 100, 101])}
            arguments["method"] = random.choice(["card", "cash"])
        caller = random.choice([{"sub": "ann"}, {"sub": "ann"}, {"sub": "bob"}])
        yield {"tool": tool, "arguments": arguments, "caller": caller}, at, random.random() < 0.6


def decided(
    rules: list[dict[str, Any]], calls: list[tuple[dict[str, Any], datetime, bool]], policy: LoadedPolicy
) -> list[dict[str, Any]]:
    """Return the calls of a session as the independent evaluator decides them."""
    steps = []
    for call, at, approved in calls:
        asked = prepare(Call("shop", call["tool"], call["arguments"], call["caller"]), policy)
        assert isinstance(asked, Prepared)
        who = str(call["caller"].get("sub", "nobody"))
        steps.append(facts_oracle.Step(asked.input, at, caller=who, approved=approved))
    found = facts_oracle.run({"rules": rules, "facts": DECLARED}, steps)
    return [
        {
            "call": call,
            "verdict": one["verdict"],
            "sent": one["verdict"] == "allow" or (one["verdict"] == "escalate" and approved),
            "who": step.caller,
            "day": facts_oracle.window(DECLARED["paid"], at),
        }
        for (call, at, approved), one, step in zip(calls, found, steps, strict=True)
    ]


@settings(max_examples=POLICIES, **QUIET)
@given(SEEDS)
def test_no_session_contradicts_what_is_said_of_all(seed: int) -> None:
    random = Random(seed)
    rules, demands = policy_of(random), [demand_of(random) for _ in range(4)]
    bundle = spaces_facts.bundle_of(rules, DECLARED)
    document = {
        "format": "ironcurtain/guarantees/v1",
        "guarantees": [{"id": f"g{number}", **demand} for number, demand in enumerate(demands)],
    }
    guarantees = parse_document(json.dumps(document), "guarantees.json", Guarantees)
    report = check_guarantees(bundle, guarantees, spaces_facts.WORLD, OpaCommand(find()))
    policy = load_described(bundle, spaces_facts.WORLD)
    walks = [decided(rules, [*session(random)], policy) for _ in range(WALKS)]
    for demand, result in zip(demands, report.results, strict=True):
        if result.status == "proved":
            assert not [walk for walk in walks if breaks(demand, walk)], (demand, rules)
        elif result.status == "broken":
            hold(demand, result, rules, policy)
        else:
            assert result.reasons or result.status == "says nothing"
        # Without records, and with one counter, only totals and times can leave something open.
        assert result.status != "says nothing"


def hold(
    demand: dict[str, Any], result: GuaranteeResult, rules: list[dict[str, Any]], policy: LoadedPolicy
) -> None:
    """See that the session which is shown is decided as is told, and breaks the guarantee."""
    calls = [
        (
            {"tool": one.tool, "arguments": one.arguments, "caller": one.caller},
            datetime.fromisoformat(str(one.at)),
            one.approved,
        )
        for one in result.sequence
    ]
    told = decided(rules, calls, policy)
    assert [each["verdict"] for each in told] == [one.verdict for one in result.sequence], (demand, rules)
    assert all(each["sent"] for each in told)
    assert breaks(demand, told), (demand, rules)
