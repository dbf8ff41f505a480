"""What is run once for several calls is what each of them alone would reach."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from support.generators import spaces, spaces_joined

from ironcurtain.analysis.engine.policies_under_test import PoliciesUnderTest, load_policies
from ironcurtain.analysis.engine.prepare_cache import PrepareCache, PreparedResources, StepsOfTool
from ironcurtain.decision import structural_checks
from ironcurtain.decision.canonical.arguments import canonicalise
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.canonical.validate import InvalidArgumentsError
from ironcurtain.decision.refusal import Refusal

CALLS = 400
NAMES = ["", "word", "~/a/x", "/home/user/.ironcurtain/keys", "../x", "x y"]


def steps_of(policies: PoliciesUnderTest, steps: PrepareCache, server: str, tool: str) -> StepsOfTool:
    fitted = policies[0].policy.tool(server, tool)
    assert fitted is not None
    return steps.of_tool(server, fitted, policies.registry)


def alone(
    policies: PoliciesUnderTest, server: str, tool: str, arguments: dict[str, Any]
) -> PreparedResources | None:
    """Do the steps for one call, with nothing remembered."""
    policy = policies[0].policy
    fitted = policy.tool(server, tool)
    assert fitted is not None
    try:
        filled = fitted.validate(
            arguments, has_working_root=policy.deployment.working_root(server) is not None
        )
        canonical = canonicalise(fitted.annotation, filled, policy.canonicalization(server))
        floor = structural_checks.check(fitted.annotation, canonical, policy.boundaries(server))
    except (InvalidArgumentsError, UnrepresentableError, Refusal):
        return None
    return PreparedResources(canonical.resources, floor)


@pytest.mark.parametrize("space", [spaces, spaces_joined], ids=["plain", "joined"])
def test_every_call_reaches_what_it_reaches_alone(space: Any) -> None:
    random = Random(6)
    policies = load_policies([space.bundle_of(space.random_policy(random))], space.WORLD)
    steps = policies[0].steps
    server, tools = ("s", spaces.SCHEMA) if space is spaces else ("j", spaces_joined.TOOLS)
    ended = 0
    for _ in range(CALLS):
        tool = random.choice(list(tools))
        arguments = space.random_arguments(random, tool)
        top = random.choice(list(arguments) or ["none"])
        if isinstance(arguments.get(top), str) and random.random() < 0.5:
            arguments[top] = random.choice(NAMES)
        expected = alone(policies, server, tool, arguments)
        assert steps_of(policies, steps, server, tool).of(arguments, top) == expected
        ended += expected is None
    assert CALLS / 20 < ended < CALLS * 0.8


def test_what_no_step_reads_is_not_told_apart_and_a_hidden_path_is() -> None:
    policies = load_policies([spaces.bundle_of(spaces.random_policy(Random(1)))], spaces.WORLD)
    copy = steps_of(policies, policies[0].steps, "s", "copy")
    call = {"source": "~/a/x", "target": "~/d/x"}
    one = copy.of({**call, "note": "one"}, "source")
    assert one is not None
    assert copy.of({**call, "note": "other", "amount": 7}, "source") is one
    assert copy.of({**call, "flag": True}, "source") != one
    assert copy.of({**call, "note": "/home/user/.ironcurtain/keys"}, "source") is None


def test_policies_share_steps_only_where_they_name_the_same_directories() -> None:
    rules = spaces.random_policy(Random(2))
    reading = {"roles": ["read-path"], "within": ["~/a"]}
    first = {"name": "first", "clause": "C1", "reason": "so", "then": "allow", "if": {"paths": reading}}
    other = {**first, "then": "deny"}
    elsewhere = {**first, "if": {"paths": {**reading, "within": ["~/elsewhere"]}}}

    def shared(one: dict[str, Any], two: dict[str, Any]) -> bool:
        bundles = [spaces.bundle_of([each, *rules]) for each in (one, two)]
        old, new = load_policies(bundles, spaces.WORLD).policies
        return old.steps is new.steps

    assert shared(first, other)
    assert not shared(first, elsewhere)
