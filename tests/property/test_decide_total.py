"""Every input is a decision, and what was sent is a fixed point: it is judged and sent the same again."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.called import answering, decide_with, one_tool
from support.examples import examples
from support.generators.drawn import ROLES, WORLD, plausible, tools, values
from support.projects.policies import rule, tool

from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.model.decision import Decision

RULES = [
    rule("src", "allow", paths={"roles": ["read-path", "delete-path"], "within": ["/srv", "/srv/r", "~/x"]}),
    rule("web", "allow", domains={"roles": ["fetch-url", "git-remote-url"], "allowed": ["*.example.com"]}),
    rule("rest", "escalate", server=["s"]),
]
PLAIN = one_tool(tool("t", a=["read-path"], b=["none"]), RULES, **WORLD)
stable = settings(max_examples=examples(80), deadline=None)


@stable
@given(st.text() | st.binary() | values | values.map(lambda v: json.dumps(v, default=str)))
def test_any_text_or_value_is_a_decision(arguments: Any) -> None:
    decision = decide_with(PLAIN, Call("s", "t", arguments), answering(RULES))
    assert isinstance(decision, Decision)
    assert decision.rule != "internal-error"
    decision.model_dump_json()


@stable
@given(tools(), plausible)
def test_any_call_of_any_tool_is_a_decision_and_its_arguments_a_fixed_point(
    drawn: dict[str, Any], arguments: dict[str, Any]
) -> None:
    policy = one_tool(drawn, RULES, roles=ROLES, **WORLD)
    before = repr(arguments)
    found = prepare(Call("s", "t", arguments), policy)
    assert repr(arguments) == before, "the input was changed"
    if isinstance(found, Decision):
        assert found.verdict == "deny"
        assert found.rule.startswith("structural-"), found.reason
        return
    again = prepare(Call("s", "t", found.call.arguments), policy)
    assert isinstance(again, Prepared), again.reason
    assert again.call.arguments == found.call.arguments
    assert _set(again) == _set(found)


def _set(found: Prepared) -> set[tuple[str, str, bool]]:
    # A conditional role may test an argument, so equal means: the same things, judged the same way.
    return {(s.role.name, s.value, s.id in found.minimum.discharged) for s in found.call.resources}


@stable
@given(tools(), plausible)
def test_ids_count_the_subjects_and_each_place_is_named_once(
    drawn: dict[str, Any], arguments: dict[str, Any]
) -> None:
    found = prepare(Call("s", "t", arguments), one_tool(drawn, RULES, roles=ROLES, **WORLD))
    if isinstance(found, Decision):
        return
    subjects = found.call.resources
    assert [s.id for s in subjects] in ([f"{n:04d}" for n in range(len(subjects))], ["call"])
    assert len({(s.role.name, s.value, s.unresolved is None) for s in subjects}) == len(subjects)
    assert all(len({s.at, *s.also_at}) == 1 + len(s.also_at) for s in subjects)
