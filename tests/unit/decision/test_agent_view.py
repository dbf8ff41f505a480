"""What an agent is told, in a table: whether other arguments or an approval could help."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.projects.policies import tool

from ironcurtain.decision.agent_view import AgentState, agent_view
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.decision import Decision, ResourceDecision
from ironcurtain.model.reasons import Reason, ReasonCode
from ironcurtain.model.verdict import Verdict

SUBJECT = ResourceDecision(at="/path", role="write-path", value="/x", verdict=Verdict.ESCALATE, rule="r")


def decision(rule: str, verdict: Verdict, reason: str = "Because.") -> Decision:
    return Decision(
        server="s",
        tool="t",
        verdict=verdict,
        rule=rule,
        reason=reason,
        revision=f"sha256:{'0' * 64}",
        subjects=(SUBJECT.model_copy(update={"verdict": verdict}),),
        arguments={"path": "/x"},
    )


@pytest.mark.parametrize(
    ("state", "approval", "arguments", "word"),
    [
        (None, True, False, "must approve"),
        ("pending", True, False, "must approve"),
        ("denied", False, True, "refused"),
        ("invalid", True, True, "does not count"),
        ("expired", True, True, "in time"),
        ("no-approver", True, True, "nobody to ask"),
        ("withdrawn", True, True, "called off"),
        ("void", True, True, "void"),
    ],
)
def test_an_escalated_call(state: AgentState | None, approval: bool, arguments: bool, word: str) -> None:
    view = agent_view(decision("r", Verdict.ESCALATE), "d", state=state)
    assert view.state == (state or "pending")
    assert (view.approval_may_help, view.arguments_may_help) == (approval, arguments)
    assert word in view.reason
    assert 'writing to what "path" names' in view.reason


@pytest.mark.parametrize(
    ("rule", "arguments", "reason"),
    [
        ("r", True, 'Writing to what "path" names is not permitted.'),
        ("default-deny", True, 'Writing to what "path" names is not permitted.'),
        ("structural-protected-path", True, 'Writing to what "path" names is not permitted.'),
        ("structural-invalid-arguments", True, "Because."),
        ("structural-malformed-call", True, "Because."),
        ("structural-unrepresentable-argument", True, "The call cannot be judged exactly."),
        ("structural-unknown-tool", False, "There is no such tool."),
        ("structural-fact-unavailable", True, "The call could not be checked, so it was refused."),
        (
            "engine-timeout",
            False,
            "No decision could be made, so the call was refused; the call itself is not at fault.",
        ),
        (
            "internal-error",
            False,
            "No decision could be made, so the call was refused; the call itself is not at fault.",
        ),
    ],
)
def test_a_denied_call(rule: str, arguments: bool, reason: str) -> None:
    view = agent_view(decision(rule, Verdict.DENY), "d")
    assert (view.state, view.approval_may_help) == ("denied", False)
    assert (view.arguments_may_help, view.reason) == (arguments, reason)
    assert not agent_view(decision(rule, Verdict.DENY), "d", reachable=False).arguments_may_help


@pytest.mark.parametrize("code", list(ReasonCode))
def test_what_cannot_be_judged_tells_the_public_text_alone(code: ReasonCode) -> None:
    cause = Reason(code, "/path is no repository that git can work in: see /secret.", "/path is closed.")
    denied = decision("structural-unrepresentable-argument", Verdict.DENY, cause.private).because(cause)
    assert agent_view(denied, "d").reason == "/path is closed."


def test_a_reason_without_its_cause_is_not_told() -> None:
    """A decision that was read from JSON holds the reason's text alone."""
    reason = "An argument cannot be judged exactly: /path is empty."
    denied = decision("structural-unrepresentable-argument", Verdict.DENY, reason)
    assert agent_view(denied, "d").reason == "The call cannot be judged exactly."


@pytest.mark.parametrize(
    ("arguments", "known", "may_help"),
    [({}, {"path": ["read-path"]}, True), ({}, {}, False), ({}, None, True), ({"path": "/x"}, {}, True)],
    ids=["left-out", "takes-none", "unknown-tool", "given"],
)
def test_a_call_without_arguments_can_be_helped_by_some(
    arguments: dict[str, Any], known: dict[str, Any] | None, may_help: bool
) -> None:
    given = decision("default-deny", Verdict.DENY).model_copy(update={"arguments": arguments})
    annotated = None if known is None else ToolAnnotation.model_validate_json(json.dumps(tool("t", **known)))
    assert agent_view(given, "d", tool=annotated).arguments_may_help is may_help


def test_an_allowed_call_has_nothing_to_ask_for() -> None:
    view = agent_view(decision("r", Verdict.ALLOW), "d")
    assert view.text == "The call is permitted.\nDecision: d"


def test_many_arguments_are_counted() -> None:
    many = tuple(SUBJECT.model_copy(update={"at": f"/paths/{n}", "verdict": Verdict.DENY}) for n in range(9))
    view = agent_view(decision("r", Verdict.DENY).model_copy(update={"subjects": many}), "d")
    assert view.reason.endswith("and 4 more is not permitted.")
