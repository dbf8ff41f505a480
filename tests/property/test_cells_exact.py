"""Cells are exact: random calls decide as the examined policy says, by OPA and by a second evaluator.

The suite tries six policies with some hundred calls each, three over plain arguments and three over arguments
with codecs and composites; `pytest --hypothesis-profile=searching` tries ten with ten thousand calls each.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.documents import at, object_at
from support.generators import spaces, spaces_joined, spaces_operators
from support.oracles import twin

from ironcurtain.analysis.engine.evaluate import evaluate
from ironcurtain.analysis.engine.lookup import locate
from ironcurtain.analysis.engine.opa_queries import Examined, examine
from ironcurtain.analysis.engine.policies_under_test import PoliciesUnderTest, load_policies
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.bundle.archive import Bundle
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.scenarios import DescribedWorld

POLICIES, CALLS = (3, 400) if settings.get_current_profile_name() == "repeatable" else (5, 10_000)
SEEDS = st.integers(min_value=0, max_value=10**9)
QUIET: Any = {"deadline": None, "suppress_health_check": list(HealthCheck), "phases": [Phase.generate]}


@dataclass(frozen=True)
class Space:
    """Tools in a world, with what makes random policies and calls of them."""

    world: DescribedWorld
    tools: list[tuple[str, str]]
    policy: Callable[[Random], list[dict[str, Any]]]
    bundle: Callable[[list[dict[str, Any]]], Bundle]
    arguments: Callable[[Random, str], dict[str, Any]]

    def examined(self, rules: list[dict[str, Any]], opa: OpaCommand) -> dict[tuple[str, str], Examined]:
        """Examine a policy, by server and tool."""
        policies = load_policies([self.bundle(rules)], self.world)
        found = examine([CallSpace(server, tool, policies) for server, tool in self.tools], opa)
        return {(one.space.server, one.space.tool): one for one in found}

    def calls(self, random: Random, policies: PoliciesUnderTest) -> dict[str, Prepared]:
        """Return random calls that a policy is asked about."""
        found = {}
        for number in range(CALLS):
            server, tool = random.choice(self.tools)
            call = Call(server, tool, self.arguments(random, tool), spaces.random_caller(random))
            prepared = prepare(call, policies[0].policy)
            if isinstance(prepared, Prepared):
                found[f"c{number}"] = prepared
        return found


PLAIN = Space(
    spaces.WORLD,
    [*(("s", name) for name in spaces.SCHEMA), ("gated", "send")],
    spaces.random_policy,
    spaces.bundle_of,
    spaces.random_arguments,
)
JOINED = Space(
    spaces_joined.WORLD,
    [(server, name) for server in ("j", "k") for name in spaces_joined.TOOLS],
    spaces_joined.random_policy,
    spaces_joined.bundle_of,
    spaces_joined.random_arguments,
)
OPERATORS = Space(
    spaces_operators.WORLD,
    [("s", name) for name in spaces_operators.SCHEMA],
    spaces_operators.random_policy,
    spaces_operators.bundle_of,
    spaces_operators.random_arguments,
)


def assert_exact(space: Space, seed: int) -> None:
    """Assert that random calls decide as the cells say, as OPA says, and as the twin says."""
    random = Random(seed)
    rules = space.policy(random)
    opa = OpaCommand(find())
    tools = space.examined(rules, opa)
    policies = next(iter(tools.values())).space.policies
    assert not [gap for one in tools.values() for gap in one.gaps]
    calls = space.calls(random, policies)
    answers = evaluate({id_: call.input for id_, call in calls.items()}, policies[0].bundle, opa)
    assert len(calls) > CALLS / 3
    for id_, call in calls.items():
        one = tools[call.input["server"], call.input["tool"]]
        said = {found.resource: found.answered.outcomes[0] for found in locate(one, call)}
        rule = {subject: outcome.rule for subject, outcome in said.items() if outcome is not None}
        assert rule == {s: at(found, "rule") for s, found in object_at(answers[id_], "subjects").items()}
        assert rule == {s: found["rule"] for s, found in twin.decide(rules, call.input)["subjects"].items()}


@settings(max_examples=POLICIES, **QUIET)
@given(SEEDS)
def test_every_random_call_decides_as_the_cells_say(seed: int) -> None:
    assert_exact(PLAIN, seed)


@settings(max_examples=POLICIES, **QUIET)
@given(SEEDS)
def test_every_random_call_with_codecs_and_composites_decides_as_the_cells_say(seed: int) -> None:
    assert_exact(JOINED, seed)


@settings(max_examples=POLICIES, **QUIET)
@given(SEEDS)
def test_every_random_call_decides_as_the_cells_say_of_rarer_operators(seed: int) -> None:
    assert_exact(OPERATORS, seed)


def test_dates_are_decided_as_the_specification_says_and_never_proved() -> None:
    rules: list[dict[str, Any]] = [
        {
            "name": "r",
            "clause": "C1",
            "reason": "so",
            "then": "allow",
            "if": {"tool": ["meet"], "args": [test]},
        }
        for test in spaces_operators.DATED
    ]
    opa = OpaCommand(find())
    pairs = list(itertools.product([None, *spaces_operators.MOMENTS], repeat=2))
    for one in rules:
        bundle = spaces_operators.bundle_of([one])
        policies = load_policies([bundle], spaces_operators.WORLD)
        (examined,) = examine([CallSpace("s", "meet", policies)], opa)
        assert any("a date or time" in gap for gap in examined.gaps)
        calls = {}
        for number, pair in enumerate(pairs):
            given = {n: v for n, v in zip(("start", "end"), pair, strict=True) if v is not None}
            prepared = prepare(Call("s", "meet", given, {}), policies[0].policy)
            assert isinstance(prepared, Prepared)
            calls[f"c{number}"] = prepared
        answers = evaluate({id_: call.input for id_, call in calls.items()}, bundle, opa)
        for id_, call in calls.items():
            expected = twin.decide([one], call.input)["verdict"]
            assert at(answers[id_], "verdict") == expected, (one["if"], call.input["args"])


def test_a_value_that_was_not_examined_is_noticed() -> None:
    opa = OpaCommand(find())
    tools = PLAIN.examined([spaces.random_rule(Random(1), "r0")], opa)
    one = tools["s", "read"]
    call = Call("s", "read", {"path": "~/a/x", "mode": "hard"})
    prepared = prepare(call, one.space.policies[0].policy)
    assert isinstance(prepared, Prepared)
    one.answers.clear()
    with pytest.raises(LookupError):
        list(locate(one, prepared))
