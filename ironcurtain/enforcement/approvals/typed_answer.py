"""The answer to a request that a person types, in a session and in `approvals --watch`."""

from __future__ import annotations

from datetime import UTC, datetime

from ironcurtain.enforcement.approvals.grant_end import read_end
from ironcurtain.enforcement.approvals.inbox import PersonAnswer
from ironcurtain.enforcement.approvals.messages import MAX_REASON, ApprovalRequest
from ironcurtain.errors import UsageError
from ironcurtain.system.text import visible

_SESSION = frozenset({"session", "approve-session"})
_UNTIL = "until"


def choices(request: ApprovalRequest) -> str:
    """Return the words that answer a request, each with what it does."""
    covers = request.session_offer.covers
    widening = ", session (or until HH:MM) to approve calls of the shape above, too" if covers else ""
    return f"approve to approve this one call{widening}, or deny and why"


def read_answer(line: str, request: ApprovalRequest) -> PersonAnswer:
    """Return the answer that a line gives: `approve`, `session`, `until HH:MM` or `deny [why]`.

    A `/` may stand before the word, and the request's id (or its beginning) behind an approval.

    Raises:
        UsageError: If the line is no answer, names another request, or gives what the request does not offer.
    """
    word, _, rest = line.strip().removeprefix("/").partition(" ")
    rest = rest.strip()
    if word == "deny":
        return PersonAnswer("denied", reason=rest[:MAX_REASON])
    if word not in {"approve", _UNTIL, *_SESSION}:
        raise UsageError(f"Type {choices(request)}.")
    if word != _UNTIL and not request.id.startswith(rest):
        raise UsageError(f"That is not the call that waits, which is {request.id}.")
    if request.answered_by == "key":
        raise UsageError(
            f"Only {visible(request.approver or '')} can approve it, with a key of their own, as "
            f"`ironcurtain approvals approve {request.id[:4]} --approver-key FILE` in another terminal."
        )
    if word == "approve":
        return PersonAnswer("approved")
    if not request.session_offer.covers:
        raise UsageError(f"It cannot be approved for the session: {request.session_offer.why_not}")
    end = read_end(rest, datetime.now(UTC)) if word == _UNTIL else None
    return PersonAnswer("approved", "session", until=end)
