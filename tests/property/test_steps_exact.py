"""Sequences of calls: the independent evaluator, scenarios with steps and the run-time memory agree."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import anyio
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.generators import spaces_facts
from support.oracles import facts_oracle

from ironcurtain.analysis.engine.evaluate import load_described, prepare_scenarios
from ironcurtain.analysis.sequences.steps import follow_steps
from ironcurtain.compiler.verify.verify import verify
from ironcurtain.decision.decide import Prepared
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.enforcement.facts.facts_of_tool import ConcernedTools
from ironcurtain.enforcement.facts.gather import FactSources, book, gather
from ironcurtain.enforcement.facts.memory import SessionMemory
from ironcurtain.enforcement.facts.records.answers import LookUp, ToolResult
from ironcurtain.enforcement.facts.totals.sqlite_store import SqliteStore
from ironcurtain.enforcement.facts.unavailable import FactUnavailableError
from ironcurtain.engine.locate import find
from ironcurtain.model.scenarios import Scenarios

POLICIES = 3 if settings.get_current_profile_name() == "repeatable" else 40
SEEDS = st.integers(min_value=0, max_value=10**9)
QUIET: Any = {"deadline": None, "suppress_health_check": list(HealthCheck), "phases": [Phase.generate]}
GET_USER = {"name": "get", "clause": "C1", "reason": "It may.", "then": "allow", "if": {"tool": ["get_user"]}}
COUNTERS = {
    "mails": {
        "source": "counter",
        "clause": "C1",
        "of": {"tool": ["send"]},
        "per": "session",
        "window": "hour",
    },
}
DECLARED = spaces_facts.DECLARED | COUNTERS


def with_counts(random: Random) -> list[dict[str, Any]]:
    """Return a random policy that also counts mails and lets users be looked up."""
    limit = {"fact": "mails", "op": random.choice(["gt", "ge"]), "value": random.choice([1, 2, 3])}
    mails = {**GET_USER, "name": "mails", "then": "deny", "if": {"tool": ["send"], "facts": [limit]}}
    return [mails, GET_USER, *spaces_facts.random_policy(random)]


def order(random: Random, at: datetime) -> dict[str, Any]:
    placed = at - timedelta(seconds=random.choice([0, 1799, 1801, 86399, 86400, 86401]))
    return {
        "status": random.choice([*spaces_facts.STATUS, "other"]),
        "user_id": random.choice(spaces_facts.PEOPLE),
        "items": [{"id": each} for each in random.sample(["i1", "i2", "zz"], 2)],
        "total": random.choice([0, 50, 99.5, 100, 101]),
        "gift": random.choice([True, False]),
        "placed_at": placed.isoformat(),
    }


def user(random: Random) -> dict[str, Any]:
    return {
        "id": random.choice(spaces_facts.PEOPLE),
        "methods": [{"id": random.choice(spaces_facts.METHODS)}],
    }


def stated(records: dict[str, Any]) -> dict[str, Any]:
    """Return records by their declared fields, as scenarios tell them."""
    one, owner = records["order"], records["owner"]
    return {
        "order": {
            "status": one["status"],
            "user": one["user_id"],
            "items": [each["id"] for each in one["items"]],
            "total": one["total"],
            "gift": one["gift"],
            "placed": one["placed_at"],
        },
        "owner": {"id": owner["id"], "methods": [each["id"] for each in owner["methods"]]},
    }


def story(random: Random) -> Iterator[tuple[dict[str, Any], dict[str, Any], datetime, bool]]:
    """Yield calls of one session, each with its records, its time and whether it is approved."""
    at = datetime(2026, 3, 2, 21, 40, tzinfo=UTC)
    for _ in range(random.randint(3, 9)):
        at += timedelta(minutes=random.choice([0, 5, 30, 90, 700]))
        tool = random.choice(["pay", "pay", "send", "send", "get_user"])
        records = {"order": order(random, at), "owner": user(random)}
        call = {
            "server": "shop",
            "tool": tool,
            "arguments": spaces_facts.random_arguments(random, tool),
            "caller": random.choice([{}, {"sub": "ann"}, {"sub": "bob"}]),
            "at": at.isoformat(),
            "facts": stated(records),
        }
        yield call, records, at, random.random() < 0.5


def by_the_oracle(rules: list[dict[str, Any]], told: list[Any], policy: LoadedPolicy) -> list[dict[str, Any]]:
    """Return the steps with the verdicts that the independent evaluator comes to."""
    plain = [{"id": f"c{number}", "call": call, "expect": "deny"} for number, (call, *_) in enumerate(told)]
    listed = Scenarios.model_validate(
        {"format": "ironcurtain/scenarios/v1", "scenarios": plain}, strict=False
    ).scenarios
    prepared = prepare_scenarios(listed, policy)
    steps = []
    for (call, records, at, approved), one in zip(told, listed, strict=True):
        asked = prepared[one.id]
        assert isinstance(asked, Prepared)
        who = str(call["caller"].get("sub", "nobody"))
        steps.append(facts_oracle.Step(asked.input, at, records, caller=who, approved=approved))
    decided = facts_oracle.run({"rules": rules, "facts": DECLARED}, steps)
    return [
        {
            "call": call,
            "expect": decision["verdict"],
            **({"rule": decision["rule"]} if decision["verdict"] == "deny" else {}),
            **({"approved": True} if decision["verdict"] == "escalate" and approved else {}),
        }
        for (call, _, _, approved), decision in zip(told, decided, strict=True)
    ]


@settings(max_examples=POLICIES, **QUIET)
@given(SEEDS)
def test_the_evaluator_and_scenarios_with_steps_agree(seed: int) -> None:
    random = Random(seed)
    rules = with_counts(random)
    bundle = spaces_facts.bundle_of(rules, DECLARED)
    policy = load_described(bundle, spaces_facts.WORLD)
    entries = [
        {"id": f"story-{number}", "steps": by_the_oracle(rules, [*story(random)], policy)}
        for number in range(30)
    ]
    document = {
        "format": "ironcurtain/scenarios/v1",
        "world": spaces_facts.WORLD.model_dump(),
        "scenarios": entries,
    }
    scenarios = Scenarios.model_validate(document, strict=False)
    found = verify(bundle, scenarios, find())
    assert [(each.scenario, each.expected, each.got, each.rule) for each in found.mismatches] == []


@settings(max_examples=POLICIES, **QUIET)
@given(SEEDS)
def test_scenarios_with_steps_know_what_a_proxy_gathers(tmp_path_factory: Any, seed: int) -> None:
    random = Random(seed)
    rules = with_counts(random)
    policy = load_described(spaces_facts.bundle_of(rules, DECLARED), spaces_facts.WORLD)
    for number in range(5):
        told = [*story(random)]
        steps = by_the_oracle(rules, told, policy)
        entry = {"id": f"story-{number}", "steps": steps}
        scenarios = Scenarios.model_validate(
            {"format": "ironcurtain/scenarios/v1", "scenarios": [entry]}, strict=False
        )
        followed = follow_steps(scenarios, policy)
        prepared = prepare_scenarios(followed.scenarios, policy)
        store = tmp_path_factory.mktemp("totals") / "totals.sqlite"
        gathered = anyio.run(partial(_gathered, told, scenarios, prepared, policy, store))
        for one, facts in zip(followed.scenarios, gathered, strict=False):
            asked = prepared[one.id]
            assert isinstance(asked, Prepared)
            assert (facts is None) == (one.id in followed.refused)
            assert {name: asked.facts.get(name) for name in facts or {}} == (facts or {})


async def _gathered(
    told: list[Any], scenarios: Scenarios, prepared: dict[str, Any], policy: LoadedPolicy, store: Path
) -> list[dict[str, Any] | None]:
    """Gather and book the calls as a proxy does; return the facts of each, None where one cannot be had."""
    concerned = ConcernedTools(policy.content)
    sources = FactSources(SessionMemory(), SqliteStore(store, b"key"))
    found: list[dict[str, Any] | None] = []
    (entry,) = scenarios.stepped
    for (_, records, at, _), step, plain in zip(told, entry.steps, entry.calls, strict=True):
        asked = prepared[plain.id]
        annotation = policy.annotation("shop", asked.input["tool"])
        facts = concerned.of("shop", annotation)
        if facts is None:
            found.append({})
            continue

        async def ask(wanted: LookUp, records: dict[str, Any] = records) -> ToolResult:
            return {"structuredContent": records["order" if wanted.tool == "get_order" else "owner"]}

        sources.now = partial(_same, at)
        try:
            gathered = await gather(facts, asked, sources, ask)
        except FactUnavailableError as error:
            if error.fact.partition("/")[0] in ("order", "owner"):
                break  # `send` names no order: what a scenario states, no look-up finds
            found.append(None)
            continue
        found.append(gathered.facts)
        if step.is_sent:
            assert await book(gathered, sources)
    return found


def _same(at: datetime) -> datetime:
    return at
