"""Asking through the client (MCP elicitation): the form's schema, and what its answer means."""

from __future__ import annotations

from ironcurtain.enforcement.approvals.messages import MAX_REASON, ApprovalRequest, ApprovalState, Outcome
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import visible

_APPROVED = "approved"
_ANSWERS = (_APPROVED, "denied")
_KNOWN = frozenset({"answer", "session", "reason"})


def elicitation_schema(request: ApprovalRequest) -> dict[str, JsonValue]:
    """Return the form for a request: an answer without a default, and what may go with it."""
    properties: dict[str, JsonValue] = {
        "answer": {
            "type": "string",
            "enum": [*reversed(_ANSWERS)],
            "description": "Only `approved` approves.",
        },
        "reason": {"type": "string", "maxLength": MAX_REASON, "description": "The agent is told this."},
    }
    if request.session_offer.covers:
        covers = "; ".join(request.session_offer.covers)
        properties["session"] = {"type": "boolean", "description": f"For this session: {covers}"}
    return {"type": "object", "properties": properties, "required": ["answer"]}


def elicited_outcome(request: ApprovalRequest, action: str, content: JsonValue, *, by: str) -> Outcome:
    """Return what an elicitation's answer means; anything but an exact `approved` denies.

    Args:
        request: What was asked.
        action: The result's action: `accept`, `decline` or `cancel`.
        content: The form's content, as it came.
        by: The client's person, by the name that configuration gives them.
    """
    if action == "decline":
        return Outcome(state=ApprovalState.DENIED, request=request.id, by=visible(by))
    if action == "cancel":
        reason = "The question was dismissed."
        return Outcome(state=ApprovalState.DENIED, request=request.id, reason=reason, fault="cancelled")
    problem = "no such action" if action != "accept" else _problem(request, content)
    if problem:
        reason = f"The answer does not count: {problem}."
        return Outcome(state=ApprovalState.INVALID, request=request.id, reason=reason, fault="malformed")
    is_approved = content["answer"] == _APPROVED
    return Outcome(
        state=ApprovalState.APPROVED if is_approved else ApprovalState.DENIED,
        request=request.id,
        scope="session" if is_approved and content.get("session") is True else "once",
        by=visible(by),
        reason=visible(content.get("reason", "")),
    )


def _problem(request: ApprovalRequest, content: JsonValue) -> str:
    if not isinstance(content, dict) or not content.keys() <= _KNOWN:
        return "it is not the form that was asked for"
    if content.get("answer") not in _ANSWERS:
        return "it is neither `approved` nor `denied`"
    if not isinstance(content.get("session", False), bool):
        return "`session` is neither true nor false"
    if content.get("session") is True and not request.session_offer.covers:
        return "this call can be approved once only"
    reason = content.get("reason", "")
    if not isinstance(reason, str) or len(reason) > MAX_REASON:
        return "the reason is no text, or too long"
    return ""
