"""What "always" would begin with: the sentence that asks, and the past requests that it asked about.

Nothing is granted here. Whoever is tired of a question changes the constitution, and this says where, and
what came of asking so far.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC
from typing import Literal

from pydantic import AwareDatetime

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.roles import NONE
from ironcurtain.enforcement.approvals.describe import RequestPart
from ironcurtain.enforcement.approvals.messages import ApprovalRequest, RequestId
from ironcurtain.enforcement.audit.recent import RecentRecord
from ironcurtain.enforcement.audit.record_types import Approval, DecisionRecord, RecordedApprovalState
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen
from ironcurtain.system.text import counted, in_quotes, visible

MOST = 20
"""Most past requests that are shown one by one; all are counted."""

_TO_MINUTES = len("2026-01-01T00:00")
_THEN = (
    "Nothing is granted here. Change the sentence, run `ironcurtain compile`, and see "
    "what the change loosens with `ironcurtain verify --against main`."
)
_NO_SENTENCE = "No sentence of the constitution is known to ask, so a change of one may not end the question."
_NOT_A_PROMISE = (
    "These are the requests that were asked about, not what a change would match: a narrower change "
    "matches fewer. The sentence may have been worded otherwise at the time."
)
_NOT_KNOWN = "Logs of this machine only, and of those the newest records; `ironcurtain audit` reads all."


class PastResource(Frozen):
    """What a past request was about.

    Attributes:
        value: In canonical form, redacted as in the log; None in a log that holds no values.
    """

    role: str
    value: str | None


class PastRequest(Frozen):
    """A past request, and what came of it.

    Attributes:
        id: The request's id; that of the decision where nobody could be asked, or the call was called off.
        time: When the call was first decided: RFC 3339, UTC.
        session: The name of the log.
        rule: The rule that asked.
        approver: Who answered; None where nobody did.
        until: When an approval for the session ended before the session.
        calls: How many calls were sent on the answer.
    """

    id: str
    time: str
    session: str
    rule: str
    resources: tuple[PastResource, ...]
    state: RecordedApprovalState
    scope: Literal["once", "session"]
    approver: str | None
    until: AwareDatetime | None = None
    calls: int


class AlwaysPreview(Frozen):
    """What `ironcurtain approvals always ID --format json` prints.

    Attributes:
        clause: The id of the sentence that asks; None where the rule has none.
        source: Where that sentence stands, as `FILE:LINE`; empty where it is not known.
        asked: How many past requests of this tool the same sentence asked about; the same rule where there
            is no sentence.
        since: The time of the first of them.
        states: How many of them ended how.
        past: The newest of them, the newest first.
        problems: Which lines of the logs were passed over, in words that are safe to show.
    """

    format: Literal["ironcurtain/approval-always/v1"] = "ironcurtain/approval-always/v1"
    request: RequestId
    server: str
    tool: str
    rule: str
    reason: str
    clause: str | None
    clause_text: str | None
    source: str
    asked: int
    since: str | None
    states: dict[RecordedApprovalState, int]
    past: tuple[PastRequest, ...]
    problems: tuple[str, ...] = ()


def sentence_place(content: PolicyContent, request: ApprovalRequest) -> str:
    """Return where the asking sentence stands in a policy that has it in the same words, or nothing."""
    if request.clause is None or content.clauses.get(request.clause) != request.clause_text:
        return ""
    return content.sources.get(request.clause, "")


def preview(
    request: ApprovalRequest,
    records: Iterable[RecentRecord],
    *,
    source: str = "",
    problems: tuple[str, ...] = (),
) -> AlwaysPreview:
    """Return what a change of the sentence that asks would begin with.

    Args:
        request: The request that waits; it is no past one.
        records: What the logs hold, the oldest first.
        source: Where the sentence stands.
        problems: Which lines of the logs were passed over.
    """
    found: dict[str, PastRequest] = {}
    for each in records:
        record = each.line.record
        if not isinstance(record, DecisionRecord) or record.approval is None or not _alike(record, request):
            continue
        id_ = record.approval.request or record.id
        if id_ != request.id:
            found[id_] = _past(found.get(id_), id_, each.session, record, record.approval)
    past = tuple(found.values())
    return AlwaysPreview(
        request=request.id,
        server=request.server,
        tool=request.tool,
        rule=request.rule,
        reason=request.reason,
        clause=request.clause,
        clause_text=request.clause_text,
        source=source,
        asked=len(past),
        since=past[0].time if past else None,
        states=dict(Counter(each.state for each in past).most_common()),
        past=past[::-1][:MOST],
        problems=problems,
    )


def parts_of_preview(shown: AlwaysPreview) -> Iterator[RequestPart]:
    """Yield a preview as a person reads it; all of it is safe to show."""
    yield RequestPart("tool", (visible(f"{shown.server} {shown.tool}"),))
    yield RequestPart("why", (visible(shown.reason),))
    yield RequestPart("rule", (visible(shown.rule),))
    if shown.clause is None:
        yield RequestPart("sentence", brief=_NO_SENTENCE)
    else:
        yield RequestPart(f"clause {visible(shown.clause)}", (visible(shown.clause_text or ""),))
        where = (visible(shown.source),) if shown.source else ()
        unknown = "" if where else "the constitution of the policy's project; --bundle tells file and line"
        yield RequestPart("where to change it", where, brief=unknown, after=_THEN)
    name = f"asked before by this {'sentence' if shown.clause is not None else 'rule'}, of this tool"
    yield RequestPart(name, tuple(map(_past_line, shown.past)), brief=_counts(shown), after=_left_out(shown))
    yield RequestPart("what that says", brief=_NOT_A_PROMISE)
    yield RequestPart("what is not known", shown.problems, brief=_NOT_KNOWN)


def _alike(record: DecisionRecord, request: ApprovalRequest) -> bool:
    """Tell whether what asks now, the sentence or else the rule, asked about the same tool before."""
    if (record.server, record.tool) != (request.server, request.tool):
        return False
    if record.verdict is not Verdict.ESCALATE or record.clause != request.clause:
        return False
    return request.clause is not None or record.rule == request.rule


def _past(
    before: PastRequest | None, id_: str, session: str, record: DecisionRecord, approval: Approval
) -> PastRequest:
    """Return a request as its newest record leaves it: a call that comes again is the same request."""
    if before is not None:
        changed = {
            "state": approval.state,
            "scope": approval.scope,
            "approver": approval.approver or before.approver,
            "until": approval.until,
            "calls": before.calls + record.forwarded,
        }
        return before.model_copy(update=changed)
    return PastRequest(
        id=id_,
        time=record.time,
        session=session,
        rule=record.rule,
        resources=tuple(
            PastResource(role=each.role, value=each.value) for each in record.subjects if each.role != NONE
        ),
        state=approval.state,
        scope=approval.scope,
        approver=approval.approver,
        until=approval.until,
        calls=int(record.forwarded),
    )


def _counts(shown: AlwaysPreview) -> str:
    if shown.since is None:
        return "nothing"
    ended = ", ".join(f"{number:,} {state}" for state, number in shown.states.items())
    return f"{counted(shown.asked, 'request')} since {_minute(shown.since)}: {ended}"


def _left_out(shown: AlwaysPreview) -> str:
    older = shown.asked - len(shown.past)
    return f"and {older:,} before these" if older else ""


def _past_line(past: PastRequest) -> str:
    state = f"{past.state} for the session" if past.scope == "session" else past.state
    until = f" until {_minute(past.until.astimezone(UTC).isoformat())}" if past.until else ""
    by = f" by {in_quotes(past.approver)}" if past.approver else ""
    calls = f", {past.calls:,} calls sent" if past.calls > 1 else ""
    about = ", ".join(map(_resource, past.resources)) or "no resource"
    return f"{_minute(past.time)} {state}{until}{by}{calls}: {about}"


def _resource(resource: PastResource) -> str:
    value = in_quotes(resource.value) if resource.value is not None else "(not in the log)"
    return f"{visible(resource.role)} {value}"


def _minute(time: str) -> str:
    return f"{time[:_TO_MINUTES].replace('T', ' ')} UTC"
