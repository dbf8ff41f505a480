"""Denials that the proxy itself gives: no policy was asked, or what it said does not count any more."""

from __future__ import annotations

import logging
from dataclasses import replace

from ironcurtain.decision.decide import INTERNAL, Call
from ironcurtain.enforcement.proxy.active_policy import PolicyInstance
from ironcurtain.enforcement.proxy.calls import repeated_calls
from ironcurtain.enforcement.proxy.calls.evaluated_call import EvaluatedCall
from ironcurtain.enforcement.proxy.calls.turns import UNSETTLED
from ironcurtain.gateway.admission import Refused
from ironcurtain.model.decision import Decision
from ironcurtain.model.verdict import Verdict

_log = logging.getLogger(__name__)


def unsettled(judged: EvaluatedCall) -> EvaluatedCall:
    """Refuse a call whose paths other calls keep changing."""
    decision = judged.decision.model_copy(
        update={"verdict": Verdict.DENY, "rule": UNSETTLED, "reason": "Other calls keep changing its paths."}
    )
    approval = judged.approval
    if approval is not None:
        approval = approval.model_copy(update={"state": "void", "verdict": Verdict.DENY})
    return replace(judged, decision=decision, approval=approval, state="denied", forwarded=False)


def repeated(call: Call, revision: str) -> Decision:
    """Refuse a call that came too often."""
    reason = (
        f"The same call came more than {repeated_calls.MOST} times within {repeated_calls.WINDOW:g} seconds."
    )
    return _denied(call, revision, repeated_calls.RULE, reason)


def failed(call: Call, revision: str, error: Exception) -> Decision:
    """Refuse a call that could not be decided for a fault of ours."""
    _log.error("internal error while deciding a call", exc_info=error)
    return _denied(call, revision, INTERNAL, f"An internal error ({type(error).__name__}).")


def not_admitted(call: Call, enforced: PolicyInstance, refused: Refused) -> EvaluatedCall:
    """Refuse a call of a gateway's tool that does not come to the policy."""
    decision = _denied(call, enforced.loaded.revision, refused.stage.rule, refused.reason)
    return EvaluatedCall(call, decision, enforced, state="denied", told=refused.told)


def _denied(call: Call, revision: str, rule: str, reason: str) -> Decision:
    return Decision(
        id=call.id,
        server=call.server,
        tool=call.tool,
        verdict=Verdict.DENY,
        rule=rule,
        reason=reason,
        revision=revision,
    )
