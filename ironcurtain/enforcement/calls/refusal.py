"""Calls that do not happen: denials of the proxy itself, and what the agent is told (specification 2.9)."""

from __future__ import annotations

import logging
from typing import cast

from ironcurtain.decision.agent_view import AgentState, AgentView, agent_view
from ironcurtain.decision.decide import Call
from ironcurtain.enforcement.approvals.messages import ApprovalOutcome, ApprovalState
from ironcurtain.enforcement.audit.record_types import Approval
from ironcurtain.enforcement.calls import repeated_calls
from ironcurtain.enforcement.calls.active_policy import PolicyInstance
from ironcurtain.enforcement.calls.evaluated_call import EvaluatedCall
from ironcurtain.enforcement.facts.unavailable import fact_unavailable
from ironcurtain.gateway.admission import Admission, NotAdmitted, Stage
from ironcurtain.gateway.principal import Principal
from ironcurtain.model.decision import Decision
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import replace
from ironcurtain.system.text import visible

_STOPPED = "{reason} It was stopped. Repeating it will not help; do something else, or wait a minute."
_CHANGING = "Other calls kept changing what this one names. Make it again when they are over."
_OUT_OF_REACH = (
    "The policy does not refuse this call, but the sandbox of its server does not reach what it names, so it "
    "was not sent. Only a person can change that; the proxy has told which setting does."
)
_AGAIN = "Repeat exactly the same call later to get the answer; do other things until then."
_WITHHELD = (
    "The call was sent, and what its answer tells could not be recorded, so the answer is withheld. Do not "
    "repeat the call before you know whether it had its effect."
)
_UNRECORDED = "No record of the call could be written, so it was refused; the call itself is not at fault."


_WORDS: dict[str, str] = {
    ReservedRule.SANDBOX_OUT_OF_REACH: _OUT_OF_REACH,
    ReservedRule.UNSETTLED_PATHS: _CHANGING,
}
"""By the rule of a denial that the proxy gives, what the agent is told."""


class RefusedError(Exception):
    """The call does not happen.

    Attributes:
        view: What the agent is told.
    """

    def __init__(self, view: AgentView) -> None:
        super().__init__(view.reason)
        self.view = view


def view_of(evaluated: EvaluatedCall, id_: str) -> AgentView:
    """Return what the agent is told of a refused call."""
    reachable = (evaluated.call.server, evaluated.call.tool) not in evaluated.enforced.closed
    view = agent_view(
        evaluated.decision, id_, state=evaluated.state, reachable=reachable, tool=evaluated.annotation
    )
    reason = "\n".join([view.reason, *(each.sentence for each in evaluated.counts)])
    view = view.model_copy(update={"reason": reason})
    if evaluated.told:
        is_form = evaluated.decision.rule == Stage.VALIDATION.rule
        return view.model_copy(update={"reason": evaluated.told, "arguments_may_help": is_form})
    if evaluated.decision.rule in _WORDS:
        words = _WORDS[evaluated.decision.rule]
        return view.model_copy(update={"reason": words, "arguments_may_help": True})
    if evaluated.decision.rule == ReservedRule.REPEATED_CALL:
        words = _STOPPED.format(reason=evaluated.decision.reason)
        return view.model_copy(update={"reason": words, "arguments_may_help": True})
    if evaluated.state == "pending":
        return view.model_copy(update={"reason": f"{view.reason}\n{_AGAIN}"})
    said = evaluated.approval.reason if evaluated.approval else ""
    if evaluated.state == "denied" and said and evaluated.approval and evaluated.approval.approver:
        return with_words(view, said)
    return view


def with_words(view: AgentView, said: str) -> AgentView:
    """Return what the agent is told with what the person said who refused; without any words, as it is."""
    return (
        view.model_copy(update={"reason": f"{view.reason}\nThe person said: {visible(said)}"})
        if said
        else view
    )


def unrecorded(view: AgentView, *, is_sent: bool = False) -> AgentView:
    """Return what the agent is told where the audit log cannot be written, before a call is sent or after."""
    return view.model_copy(
        update={
            "reason": _WITHHELD if is_sent else _UNRECORDED,
            "state": "denied",
            "arguments_may_help": False,
            "approval_may_help": False,
        }
    )


def error_result(text: str) -> dict[str, JsonValue]:
    """Return a tool's result that says that something went wrong."""
    return {"content": [{"type": "text", "text": text}], "isError": True}


def state_of(outcome: ApprovalOutcome) -> AgentState:
    """Return what an outcome other than an approval is called towards agent and log."""
    is_approved = outcome.state is ApprovalState.APPROVED
    return "denied" if is_approved else cast("AgentState", outcome.state.value)


_log = logging.getLogger(__name__)


def unsettled(evaluated: EvaluatedCall) -> EvaluatedCall:
    """Refuse a call whose paths other calls keep changing."""
    decision = evaluated.decision.model_copy(
        update={
            "verdict": Verdict.DENY,
            "rule": ReservedRule.UNSETTLED_PATHS.value,
            "reason": "Other calls keep changing its paths.",
        }
    )
    return replace(evaluated, decision=decision, approval=_void(evaluated), state="denied", forwarded=False)


def not_booked(evaluated: EvaluatedCall, why: str) -> EvaluatedCall:
    """Refuse a call that may be sent, but cannot be booked."""
    decision = fact_unavailable(evaluated.decision, f"The call cannot be booked: {why}.")
    return replace(evaluated, decision=decision, approval=_void(evaluated), state="denied", forwarded=False)


def repeated(call: Call, enforced: PolicyInstance, most: int) -> EvaluatedCall:
    """Refuse a call that came more than `most` times."""
    reason = f"The same call came more than {most} times within {repeated_calls.WINDOW:g} seconds."
    decision = _denied(call, enforced.loaded.revision, ReservedRule.REPEATED_CALL, reason)
    return EvaluatedCall(call, decision, enforced)


def failed(call: Call, revision: str, error: Exception) -> Decision:
    """Refuse a call that could not be decided for a fault of ours."""
    _log.error("internal error while deciding a call", exc_info=error)
    return _denied(
        call, revision, ReservedRule.INTERNAL_ERROR, f"An internal error ({type(error).__name__})."
    )


def broken(call: Call, enforced: PolicyInstance, error: Exception) -> EvaluatedCall:
    """Refuse a call whose way a fault of ours ended before it was recorded."""
    return EvaluatedCall(call, failed(call, enforced.loaded.revision, error), enforced, state="denied")


def not_admitted(call: Call, enforced: PolicyInstance, refused: NotAdmitted) -> EvaluatedCall:
    """Refuse a call of a gateway's tool that does not come to the policy."""
    decision = _denied(call, enforced.loaded.revision, refused.stage.rule, refused.reason)
    return EvaluatedCall(call, decision, enforced, state="denied", told=refused.told)


async def admitted_again(
    evaluated: EvaluatedCall, admission: Admission, principal: Principal | None
) -> EvaluatedCall:
    """Refuse a call that the policy does not, if it is not admitted with its canonical arguments."""
    if not (evaluated.forwarded or evaluated.escalated):
        return evaluated
    call, given = evaluated.call, evaluated.sent or evaluated.decision.arguments or {}
    refused = await admission.check_again(call.server, call.tool, given, principal)
    if refused is None:
        return evaluated
    turned_away = not_admitted(call, evaluated.enforced, refused)
    return replace(turned_away, phases=evaluated.phases, approval=_void(evaluated))


def _void(evaluated: EvaluatedCall) -> Approval | None:
    """Return what became of asking a person, where the call does not happen after all."""
    approval = evaluated.approval
    return approval and approval.model_copy(update={"state": "void", "verdict": Verdict.DENY})


def _denied(call: Call, revision: str, rule: ReservedRule, reason: str) -> Decision:
    return Decision(
        id=call.id,
        server=call.server,
        tool=call.tool,
        verdict=Verdict.DENY,
        rule=rule.value,
        reason=reason,
        revision=revision,
    )
