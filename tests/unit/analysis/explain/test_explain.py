"""Explanations: where a call ended, what came close, and what a record says when it is decided again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.projects.policies import load, rule, tool, write_bundle

from ironcurtain.analysis.explain.explain import Explainer
from ironcurtain.analysis.explain.record import check_known, recorded_call, reproduction
from ironcurtain.analysis.explain.report import Explanation
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.decide import Call, Prepared, TracedDecision, decide_traced, prepare
from ironcurtain.decision.refusal import Refusal
from ironcurtain.enforcement.audit.record_types import DecisionRecord
from ironcurtain.enforcement.audit.recorder import Recorder
from ironcurtain.errors import EvidenceError
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.model.verdict import Verdict
from ironcurtain.policy import Policy

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "mode": {"type": "string", "enum": ["soft", "hard"], "default": "soft"},
        "note": {"type": "string"},
    },
    "required": ["path"],
}
MOVED: dict[str, Any] = {"from": ["read-path", "delete-path"], "to": ["write-path"]}
MOVE = {
    "type": "object",
    "properties": {"from": {"type": "string"}, "to": {"type": "string"}},
    "required": ["from", "to"],
}
TOOLS = [
    tool("read", path=["read-path"], mode=["none"], note=["none"]) | {"input_schema": SCHEMA},
    tool("move", **MOVED) | {"input_schema": MOVE},
    tool("ping", contained=False),
]
RULES = [
    rule("soft-docs", "allow", tool=["read"], paths={"roles": ["read-path"], "within": ["~/docs"]},
         args=[{"name": "mode", "op": "equals", "value": "soft"}]),
    rule("ask-docs", "escalate", tool=["read"], paths={"roles": ["read-path"], "within": ["~/docs"]}),
    rule("admin", "allow", tool=["read"], caller=[{"name": "/sub", "op": "equals", "value": "root"}]),
    rule("move-in", "allow", tool=["move"], paths=[
        {"roles": ["write-path", "delete-path", "read-path"], "within": ["~/docs"]}]),
    rule("no-ping", "deny", tool=["ping"]),
]  # fmt: skip
CHANGED = [rule("docs", "allow", tool=["read"], paths={"roles": ["read-path"], "within": ["~/docs"]})]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("home")
    for name in ("docs", "box", "new", "keys"):
        (found / name).mkdir()
    return found


def entered(home: Path, directory: str, rules: list[dict[str, Any]]) -> Policy:
    bundle = write_bundle(home / directory, {"s": TOOLS}, rules)
    return load(bundle, home=home, sandbox=home / "box", protected=[home / "keys"])


@pytest.fixture(scope="module")
def policy(home: Path) -> Iterator[Policy]:
    with entered(home, "docs", RULES) as found:
        yield found


def explain(policy: Policy, name: str, arguments: Any, **more: Any) -> Explanation:
    return Explainer(policy.bundle, policy.loaded, policy.decide_traced).explain(
        Call("s", name, arguments, **more)
    )


@pytest.mark.parametrize(
    ("name", "arguments", "end", "found"),
    [
        ("read", "{", 1, "The call is not strict JSON"),
        ("none", {}, 2, "No annotated tool"),
        ("read", {"path": 1}, 3, "The arguments do not fit the tool"),
        ("read", {"path": ""}, 4, "An argument cannot be judged exactly"),
        ("read", {"path": "~/keys/a"}, 5, "belongs to the protection itself"),
    ],
)
def test_the_step_where_a_call_ends(policy: Policy, name: str, arguments: Any, end: int, found: str) -> None:
    explanation = explain(policy, name, arguments)
    assert [step.passed for step in explanation.steps] == [True] * (end - 1) + [False] + [None] * (7 - end)
    assert found in explanation.steps[end - 1].found[0]
    assert explanation.subjects == ()


def test_the_seven_steps_of_a_judged_call(policy: Policy, home: Path) -> None:
    explanation = explain(policy, "read", {"path": "~/docs/a", "mode": "hard"})
    assert all(step.passed for step in explanation.steps)
    assert explanation.steps[1].found[0] == "it takes resources or changes things"  # reading is not changing
    assert explanation.steps[2].found == ("nothing had to be filled in",)
    assert f'/path is "{home}/docs/a"' in explanation.steps[3].found
    assert explanation.steps[6].found == ("escalate by ask-docs",)
    filled = explain(policy, "read", {"path": "x"})
    assert filled.steps[2].found == ('mode was filled in: "soft"',)
    assert filled.steps[4].found == ("/path (read-path) lies in the sandbox and needs no rule",)


def test_what_the_engine_was_asked_and_what_it_answered(policy: Policy) -> None:
    arguments: dict[str, Any] = {"path": "/srv/a", "mode": "hard"}
    explanation = explain(policy, "read", arguments)
    prepared = prepare(Call("s", "read", arguments), policy.loaded)
    assert isinstance(prepared, Prepared)
    assert explanation.input == json.loads(json.dumps(prepared.input))
    assert isinstance(explanation.answer, dict)
    assert explanation.answer["verdict"] == "deny"
    ended = explain(policy, "none", {})
    assert {"input", "answer"}.isdisjoint(ended.model_dump(mode="json"))


def test_the_rules_that_came_close_and_what_failed(policy: Policy) -> None:
    (subject,) = explain(policy, "read", {"path": "~/docs/a", "mode": "hard"}).subjects
    assert (subject.rule, subject.patterns, subject.reason) == (
        "ask-docs",
        ("~/docs",),
        "ask-docs says escalate.",
    )
    assert [(near.rule, near.failed) for near in subject.near] == [
        ("soft-docs", ('mode = "soft"',)),
        ("admin", ('caller\'s sub = "root"',)),
    ]
    (denied,) = explain(policy, "read", {"path": "/srv/a", "mode": "hard"}).subjects
    assert [(near.rule, near.failed) for near in denied.near] == [
        ("ask-docs", ("read-path in ~/docs",)),
        ("admin", ('caller\'s sub = "root"',)),
        ("soft-docs", ("read-path in ~/docs", 'mode = "soft"')),
    ]
    (first,) = explain(policy, "read", {"path": "~/docs/a"}).subjects
    assert [(near.rule, near.failed) for near in first.near] == [("ask-docs", ("soft-docs comes before it",))]


def every_rule(policy: Policy, arguments: Any, **more: Any) -> dict[str, tuple[str, tuple[str, ...]]]:
    explainer = Explainer(policy.bundle, policy.loaded, policy.decide_traced, every_rule=True)
    (subject,) = explainer.explain(Call("s", "read", arguments, **more)).subjects
    assert {rule.rule for rule in subject.rules if rule.state == "unknown"} <= {
        rule.rule for rule in subject.rules if rule.unknown
    }
    return {rule.rule: (rule.state, rule.failed) for rule in subject.rules}


def test_every_rule_says_what_became_of_it(policy: Policy) -> None:
    assert every_rule(policy, {"path": "~/docs/a"}, caller={"sub": "guest"}) == {
        "soft-docs": ("fired", ()),
        "ask-docs": ("held", ()),
        "admin": ("false", ('caller\'s sub = "root"',)),
    }
    assert every_rule(policy, {"path": "/srv/a", "mode": "hard"}) == {
        "soft-docs": ("false", ("read-path in ~/docs", 'mode = "soft"')),
        "ask-docs": ("false", ("read-path in ~/docs",)),
        "admin": ("unknown", ('caller\'s sub = "root"',)),
    }
    assert every_rule(policy, {"path": "x"}, caller={"sub": "root"})["soft-docs"][1][0] == (
        "it does not speak of what lies in the sandbox"
    )


def test_rules_are_told_only_where_they_are_asked_for(policy: Policy) -> None:
    (subject,) = explain(policy, "read", {"path": "~/docs/a"}).subjects
    assert subject.rules == ()
    assert "rules" not in subject.model_dump(mode="json")


def test_the_nearest_calls(policy: Policy, home: Path) -> None:
    mode = explain(policy, "read", {"path": "~/docs/a", "mode": "hard"}).suggestions
    assert {"path": "~/docs/a", "mode": "soft"} in [each.arguments for each in mode]
    place = explain(policy, "read", {"path": "/srv/a.txt"}).suggestions
    assert {each.arguments["path"] for each in place} >= {f"{home}/docs/a.txt", f"{home}/box/a.txt"}
    both = explain(policy, "move", {"from": "/srv/a", "to": "/srv/b"}).suggestions
    assert {"from": f"{home}/docs/a", "to": f"{home}/box/b"} in [each.arguments for each in both]
    assert all(each.verdict is Verdict.ALLOW for each in (*mode, *place, *both))
    assert explain(policy, "ping", {}).suggestions == ()
    assert explain(policy, "read", {"path": "x"}).suggestions == ()


def test_a_caller_is_never_made_up(policy: Policy) -> None:
    caller = {"sub": "guest"}
    explanation = explain(policy, "read", {"path": "/srv/a", "mode": "hard"}, caller=caller)
    assert explanation.suggestions
    assert all(each.caller == caller for each in explanation.suggestions)


# -- records -------------------------------------------------------------------------------------


def record(policy: Policy, name: str, arguments: Any, **more: Any) -> DecisionRecord:
    recorder = Recorder(PolicyContent.of(policy.bundle), policy.loaded)
    call = Call("s", name, arguments)
    (decision,) = policy.decide_many([call])
    found = recorder.decision(call, prepare(call, policy.loaded), decision, id_="d1", forwarded=False)
    return found.model_copy(update=more)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read", {"path": "~/docs/a"}),
        ("read", {"path": "~/docs/a", "mode": "hard"}),
        ("read", {"path": "/srv/a"}),
        ("read", {"path": "~/keys/a"}),
        ("move", {"from": "a", "to": "~/docs/b"}),
        ("ping", {}),
    ],
)
def test_a_record_reproduces(policy: Policy, home: Path, name: str, arguments: Any) -> None:
    old = record(policy, name, arguments)
    (again,) = policy.decide_many([recorded_call(old)])
    assert reproduction(old, again).same
    with entered(home, "new", CHANGED) as other:
        (today,) = other.decide_many([recorded_call(old)])
    changed = (today.verdict, today.rule) != (old.verdict, old.rule)
    found = reproduction(old, today)
    assert found.same is (not changed)
    assert found.revision != old.revision
    if changed:
        assert found.differences[0].startswith(f"it was {old.verdict} by {old.rule}, and is {today.verdict}")


def test_a_place_that_leads_elsewhere_today_is_told(policy: Policy, home: Path) -> None:
    old = record(policy, "read", {"path": "~/docs/now"})
    (home / "docs" / "now").symlink_to("/srv/now")
    (again,) = policy.decide_many([recorded_call(old)])
    (home / "docs" / "now").unlink()
    found = reproduction(old, again)
    assert not found.same
    assert found.differences == (
        "it was allow by soft-docs, and is deny by default-deny",
        f"/path (read-path {home}/docs/now) is no longer there",
        "/path (read-path /srv/now) is new",
        "an argument leads elsewhere than it did",
    )


def test_what_a_record_does_not_hold_is_not_guessed(policy: Policy) -> None:
    refused = record(policy, "read", {"path": 1})
    with pytest.raises(EvidenceError, match="refused before its arguments could be read"):
        recorded_call(refused)
    whole = record(policy, "read", {"path": "~/docs/a", "note": "secret"})
    for pointer, ok in (("/note", True), ("/path", False), ("/mode", False)):
        redacted = whole.model_copy(update={"redacted": (pointer,)})
        if ok:
            check_known(redacted, policy.bundle)
        else:
            with pytest.raises(EvidenceError, match=f"{pointer} is redacted"):
                check_known(redacted, policy.bundle)


def test_an_engine_without_an_answer_is_where_the_way_ends(policy: Policy) -> None:
    async def ask(_: Any) -> Any:
        raise Refusal(ReservedRule.ENGINE_DEAD, "The engine is gone.")

    def decided(calls: Sequence[Call]) -> list[TracedDecision]:
        return [asyncio.run(decide_traced(call, policy.loaded, ask)) for call in calls]

    explanation = Explainer(policy.bundle, policy.loaded, decided).explain(
        Call("s", "read", {"path": "/srv/a"})
    )
    assert [step.passed for step in explanation.steps] == [True] * 5 + [False, None]
    assert explanation.steps[5].found == ("The engine is gone.",)
    assert (explanation.subjects, explanation.suggestions) == ((), ())
