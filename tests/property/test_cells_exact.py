"""Cells are exact: random calls decide as the examined policy says, by OPA and by a second evaluator."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support import spaces, twin

from ironcurtain.decide.decide import Call, Prepared, prepare
from ironcurtain.evidence.evaluate import evaluate
from ironcurtain.evidence.lookup import locate
from ironcurtain.evidence.questions import Examined, examine
from ironcurtain.evidence.sides import Sides, load_sides
from ironcurtain.evidence.space import ToolSpace
from ironcurtain.opa.command import OpaCommand
from ironcurtain.opa.locate import find

CALLS = 400


def examined(rules: list[dict], opa: OpaCommand) -> dict[tuple[str, str], Examined]:
    sides = load_sides([spaces.bundle_of(rules)], spaces.WORLD)
    tools = [("s", name) for name in spaces.SCHEMA] + [("gated", "send")]
    found = examine([ToolSpace(server, tool, sides) for server, tool in tools], opa)
    return {(one.space.server, one.space.tool): one for one in found}


def random_calls(random: Random, sides: Sides, count: int) -> dict[str, Prepared]:
    found = {}
    for number in range(count):
        server = random.choice(["s", "s", "s", "gated"])
        tool = random.choice(list(spaces.SCHEMA)) if server == "s" else "send"
        call = Call(server, tool, spaces.random_arguments(random, tool), spaces.random_caller(random))
        prepared = prepare(call, sides.sides[0].policy)
        if isinstance(prepared, Prepared):
            found[f"c{number}"] = prepared
    return found


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(st.integers(min_value=0, max_value=10**9))
def test_every_random_call_decides_as_the_cells_say(seed: int) -> None:
    random = Random(seed)
    rules = spaces.random_policy(random)
    opa = OpaCommand(find())
    tools = examined(rules, opa)
    sides = next(iter(tools.values())).space.sides
    calls = random_calls(random, sides, CALLS)
    answers = evaluate({id_: call.input for id_, call in calls.items()}, sides.sides[0].bundle, opa)
    assert len(calls) > CALLS / 3
    for id_, call in calls.items():
        one = tools[call.input["server"], call.input["tool"]]
        assert not one.reasons
        said = {found.subject: found.answered.outcomes[0] for found in locate(one, call)}
        rule = {subject: outcome.rule for subject, outcome in said.items() if outcome is not None}
        assert rule == {s: found["rule"] for s, found in answers[id_]["subjects"].items()}
        assert rule == {s: found["rule"] for s, found in twin.decide(rules, call.input)["subjects"].items()}


def test_a_value_that_was_not_examined_is_noticed() -> None:
    opa = OpaCommand(find())
    tools = examined([spaces.random_rule(Random(1), "r0")], opa)
    one = tools["s", "read"]
    call = Call("s", "read", {"path": "~/a/x", "mode": "hard"})
    prepared = prepare(call, one.space.sides.sides[0].policy)
    assert isinstance(prepared, Prepared)
    one.answers.clear()
    with pytest.raises(LookupError):
        list(locate(one, prepared))
