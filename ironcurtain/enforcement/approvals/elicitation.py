"""Asking through the client (MCP elicitation): the form's schema, and what its answer means."""

from __future__ import annotations

from ironcurtain.enforcement.approvals.messages import (
    MAX_REASON,
    ApprovalOutcome,
    ApprovalRequest,
    ApprovalState,
)
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import visible

_APPROVED = "approved"
_ANSWERS = (_APPROVED, "denied")
_KNOWN = frozenset({"answer", "session", "reason"})


class _Form(Struct):
    """The form as it was filled in."""

    is_approved: bool
    for_session: bool
    reason: str


def elicitation_schema(request: ApprovalRequest) -> dict[str, JsonValue]:
    """Return the form for a request: an answer without a default, and what may go with it."""
    properties: dict[str, JsonValue] = {
        "answer": {
            "type": "string",
            "enum": [*reversed(_ANSWERS)],
            "description": _answer_words(request),
        },
        "reason": {"type": "string", "maxLength": MAX_REASON, "description": "The agent is told this."},
    }
    if request.session_offer.covers:
        covers = "; ".join(request.session_offer.covers)
        properties["session"] = {"type": "boolean", "description": f"For this session: {covers}"}
    return {"type": "object", "properties": properties, "required": ["answer"]}


def _answer_words(request: ApprovalRequest) -> str:
    """Say what an approval confirms beside the call: what no rule can test."""
    if not request.checks:
        return "Only `approved` approves."
    checks = "; ".join(f"{visible(each.clause)}: {visible(each.text)}" for each in request.checks)
    return f"Only `approved` approves. Check before: {checks}"


def elicited_outcome(request: ApprovalRequest, action: str, content: object, *, by: str) -> ApprovalOutcome:
    """Return what an elicitation's answer means; anything but an exact `approved` denies.

    Args:
        request: What was asked.
        action: The result's action: `accept`, `decline` or `cancel`.
        content: The form's content, as it came.
        by: The client's person, by the name that configuration gives them.
    """
    if action == "decline":
        return ApprovalOutcome(state=ApprovalState.DENIED, request=request.id, by=visible(by))
    if action == "cancel":
        reason = "The question was dismissed."
        return ApprovalOutcome(
            state=ApprovalState.DENIED, request=request.id, reason=reason, fault="cancelled"
        )
    form = "no such action" if action != "accept" else _read(request, content)
    if isinstance(form, str):
        reason = f"The answer does not count: {form}."
        return ApprovalOutcome(
            state=ApprovalState.INVALID, request=request.id, reason=reason, fault="malformed"
        )
    return ApprovalOutcome(
        state=ApprovalState.APPROVED if form.is_approved else ApprovalState.DENIED,
        request=request.id,
        scope="session" if form.is_approved and form.for_session else "once",
        by=visible(by),
        reason=visible(form.reason),
    )


def _read(request: ApprovalRequest, content: object) -> _Form | str:
    """Return the form that came, or what is wrong with it."""
    if not isinstance(content, dict) or not content.keys() <= _KNOWN:
        return "it is not the form that was asked for"
    if content.get("answer") not in _ANSWERS:
        return "it is neither `approved` nor `denied`"
    for_session = content.get("session", False)
    if not isinstance(for_session, bool):
        return "`session` is neither true nor false"
    if for_session and not request.session_offer.covers:
        return "this call can be approved once only"
    reason = content.get("reason", "")
    if not isinstance(reason, str) or len(reason) > MAX_REASON:
        return "the reason is no text, or too long"
    return _Form(content["answer"] == _APPROVED, for_session, reason)
