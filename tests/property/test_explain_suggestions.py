"""Whatever an explanation suggests is what OPA, and a second evaluator, say of it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.generators import spaces
from support.oracles import twin

from ironcurtain.analysis.explain.explain import Explainer
from ironcurtain.analysis.explain.report import Explanation
from ironcurtain.decision.canonical.validate import ValidatedTool
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.model.verdict import Verdict
from ironcurtain.policy import Policy

CALLS = 8


def explained(random: Random, policy: Policy) -> list[tuple[Call, Explanation]]:
    explainer = Explainer(policy.bundle, policy.loaded, policy.decide_traced)
    found = []
    for _ in range(CALLS):
        tool = random.choice(list(spaces.SCHEMA))
        call = Call("s", tool, spaces.random_arguments(random, tool), spaces.random_caller(random))
        found.append((call, explainer.explain(call)))
    return found


@settings(
    max_examples=examples(4), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
)
@given(st.integers(min_value=0, max_value=10**9))
def test_suggested_calls_get_as_far_as_is_said(seed: int) -> None:
    random = Random(seed)
    rules = spaces.random_policy(random, most=15)
    with tempfile.TemporaryDirectory() as name:
        path, home = Path(name) / "bundle.tar.gz", Path(name) / "home"
        path.write_bytes(spaces.bundle_of(rules).archive())
        (home / "box").mkdir(parents=True)
        with Policy.load(path, home=home, sandbox=home / "box") as policy:
            for call, explanation in explained(random, policy):
                check(rules, policy, call, explanation)


def check(rules: list[dict[str, Any]], policy: Policy, call: Call, explanation: Explanation) -> None:
    decision = policy.decide(call.server, call.tool, call.arguments, call.caller)
    assert explanation.decision == decision
    assert [step.number for step in explanation.steps] == list(range(1, 8))
    assert len({each.verdict for each in explanation.suggestions}) <= 1
    tool = policy.loaded.tool(call.server, call.tool)
    assert isinstance(tool, ValidatedTool)
    for each in explanation.suggestions:
        assert each.verdict.severity < decision.verdict.severity
        assert (each.server, each.tool, each.caller) == (call.server, call.tool, call.caller)
        again = policy.decide(each.server, each.tool, each.arguments, each.caller)
        assert again.verdict is each.verdict
        prepared = prepare(Call(each.server, each.tool, each.arguments, each.caller), policy.loaded)
        assert isinstance(prepared, Prepared)
        said = twin.decide(rules, prepared.input)["verdict"]
        assert said == each.verdict or prepared.minimum.escalated
        given = call.arguments
        assert isinstance(given, dict)
        names = each.arguments.keys() | given.keys()
        differ = {f"/{n}" for n in names if each.arguments.get(n, "-") != given.get(n, "-")}
        assert differ == set(each.changed)


def test_most_refused_calls_of_a_permissive_policy_have_a_way_on(tmp_path: Path) -> None:
    """The sandbox permits what the tools `read`, `copy` and `wipe` do: each refusal has a call near it."""
    rules = [{"name": "r", "clause": "C1", "reason": "so", "then": "deny", "if": {"side_effects": True}}]
    path, home = tmp_path / "bundle.tar.gz", tmp_path / "home"
    path.write_bytes(spaces.bundle_of(rules).archive())
    (home / "box").mkdir(parents=True)
    random, refused = Random(7), 0
    with Policy.load(path, home=home, sandbox=home / "box") as policy:
        for call, explanation in explained(random, policy):
            denied = explanation.decision.rule == "r"
            refused += denied
            if denied and call.tool != "send":
                assert explanation.suggestions
                assert explanation.suggestions[0].verdict is Verdict.ALLOW
    assert refused
