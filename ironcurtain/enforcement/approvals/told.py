"""What a person is told of their answer: that it counts, or why it does not."""

from __future__ import annotations

from collections.abc import Mapping

from ironcurtain.enforcement.approvals.grant_end import shown_end
from ironcurtain.enforcement.approvals.inbox import PersonAnswer, Recorded
from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from ironcurtain.system.text import visible

PROBLEMS: Mapping[Recorded, str] = {
    "answered": "it is answered already; the first answer counts",
    "expired": "its time is over",
    "gone": "it is settled, or gone",
    "ended": "the end that was said has passed",
    "clock": "the clock has gone back behind the time of asking; set it right first",
}


def told(request: ApprovalRequest, answer: PersonAnswer, recorded: Recorded) -> str:
    """Say what became of an answer, by what the approvals directory made of it."""
    if recorded == "other-approver":
        return f"request {request.id} was not approved: {other_approver(request)}"
    if recorded != "recorded":
        return f"request {request.id} was not {answer.verdict}: {PROBLEMS[recorded]}"
    scope = {"approved": {"once": " once", "session": " for this session"}, "denied": {"once": ""}}
    until = f", until {shown_end(answer.until)}" if answer.until is not None else ""
    return f"{request.id}: {answer.verdict}{scope[answer.verdict][answer.scope]}{until}"


def other_approver(request: ApprovalRequest) -> str:
    """Say whose approval a request asks for, and how that person gives it."""
    how = {
        "account": "who answers without another key",
        "client": "who answers at the client that made the call",
        "key": "who answers with a key of their own (--approver-key FILE)",
    }[request.answered_by]
    return f"it asks for the approval of {visible(request.approver or '')}, {how}"
