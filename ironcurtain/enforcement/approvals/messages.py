"""What a person is asked about a call and answers: the files of the approvals directory (specification 4.2).

Both files are sealed with an HMAC under a key that only the asking and the answering program can read.
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import AwareDatetime, Field, StringConstraints, model_validator

from ironcurtain.model.decision import ClauseCheck, ResourceDecision
from ironcurtain.system.frozen import Digest, Frozen, JsonValue, is_empty

REQUEST_FORMAT: Literal["ironcurtain/approval-request/v1"] = "ironcurtain/approval-request/v1"
ANSWER_FORMAT: Literal["ironcurtain/approval-answer/v1"] = "ironcurtain/approval-answer/v1"
MAX_REASON = 2000
"""Most characters that a person can give as a reason."""

RequestId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
"""Name of one request: drawn at random, never used again."""

Seal: TypeAlias = Annotated[str, StringConstraints(pattern=r"^hmac-sha256:[0-9a-f]{64}$")]
"""HMAC-SHA-256 over the format, a line feed, and the digest of the request or answer."""

Scope: TypeAlias = Literal["once", "session"]
"""What an approval covers: one call, or calls of the offered shape for as long as the asking program runs."""

LONGEST_GRANT = timedelta(hours=8)
"""How long an approval with an end of its own can last."""

ApprovalChannel: TypeAlias = Literal["account", "client", "key"]
"""How the person answers who is asked: with the key of the approvals directory, at the client that made the
call, or with a signature."""

Fault: TypeAlias = Literal[
    "malformed",
    "no-file",
    "too-large",
    "wrong-seal",
    "other-request",
    "late",
    "clock",
    "directory",
    "cancelled",
    "other-approver",
    "unknown-approver",
]
"""Why an answer, or the way it came, does not count; each has its own plain reason."""


class ApprovalState(StrEnum):
    """What has become of asking. Only `approved` lets a call go on.

    `invalid` is what no person said: something lies where the answer should, and does not count as one.

    A call that is called off meanwhile (`withdrawn` in the audit log) has no state here: the request goes on,
    and its answer serves the same call when it comes again.
    """

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    INVALID = "invalid"
    EXPIRED = "expired"
    NO_APPROVER = "no-approver"


class SessionOffer(Frozen):
    """What an approval for this session would cover, in plain words.

    Attributes:
        covers: One sentence each, hidden characters escaped; empty where the call cannot be widened.
        why_not: Why it cannot be widened; empty where it can.
    """

    covers: tuple[str, ...] = ()
    why_not: str = ""


class ApprovalRequest(Frozen):
    """One question to a person: the whole call, why it is asked, and until when.

    Attributes:
        binding: What an answer is good for: digest of server, tool, schema digest, canonical arguments, the
            whole resource set, caller, session name and bundle revision, and of the records and labels that
            it was decided on.
        session: The asking program's name for its session; the same after a restart.
        asked: When it was asked; `expires` is when it is too late to answer.
        deadline: The same end in seconds of the machine's monotonic clock, which programs share until the
            next start of the machine: a wall clock that is set back revives nothing.
        client: Whose connection the call came by.
        side_effects: As the tool is annotated: false only where it takes no resource and changes nothing.
        contained: As the tool is annotated: whether every effect of the tool lies at resources that it names.
        meta: What goes to the server beside the arguments, where its configuration lets it.
        facts: The declared facts that the call was decided on, by name.
        rule: The deciding rule, with its `reason` and, where it has one, its `clause`.
        checks: The clauses that no rule can test, and that the person must check.
        approver: Whose approval it is that is asked for; None where anybody's will do.
        answered_by: How that person answers; an approval that comes another way does not count.
        approver_key: Id of the key that the answer is signed with, where they answer with a signature.
        session_offer: What "for this session" would mean.
    """

    id: RequestId
    binding: Digest
    session: str
    asked: AwareDatetime
    expires: AwareDatetime
    deadline: float
    server: str
    tool: str
    side_effects: bool
    contained: bool
    schema_digest: Digest | None
    caller: dict[str, JsonValue]
    arguments: dict[str, JsonValue]
    meta: dict[str, JsonValue] = Field(default_factory=dict)
    client: str = ""
    facts: dict[str, JsonValue] = Field(default_factory=dict)
    subjects: tuple[ResourceDecision, ...]
    revision: str
    rule: str
    clause: str | None
    clause_text: str | None
    reason: str
    checks: tuple[ClauseCheck, ...] = ()
    approver: str | None = None
    answered_by: ApprovalChannel = "account"
    approver_key: str | None = None
    session_offer: SessionOffer


class ApprovalAnswer(Frozen):
    """A person's answer to exactly one request.

    Attributes:
        shown: Digest of the request as the person saw it.
        until: When an approval for this session ends before the session does: at most `LONGEST_GRANT` after
            it was given.
        reason: What the person said; it reaches the agent.
        signature: Of an approver who answers with a key: a compact JSON Web Signature of everything else.
    """

    request: RequestId
    binding: Digest
    shown: Digest
    verdict: Literal["approved", "denied"]
    scope: Scope = "once"
    until: AwareDatetime | None = Field(default=None, exclude_if=is_empty)
    by: str = Field(min_length=1, max_length=200)
    reason: str = Field(default="", max_length=MAX_REASON)
    answered: AwareDatetime
    signature: str = Field(default="", max_length=4_000)

    @model_validator(mode="after")
    def _ends_in_time(self) -> Self:
        if self.until is not None:
            is_grant = self.verdict == "approved" and self.scope == "session"
            if not is_grant or not self.answered < self.until <= self.answered + LONGEST_GRANT:
                raise ValueError("`until` ends an approval for this session, at most 8 hours after that")
        return self


class SealedRequest(Frozen):
    """The file `request-ID.json`."""

    format: Literal["ironcurtain/approval-request/v1"] = REQUEST_FORMAT
    request: ApprovalRequest
    seal: Seal


class SealedAnswer(Frozen):
    """The file `response-ID.json`."""

    format: Literal["ironcurtain/approval-answer/v1"] = ANSWER_FORMAT
    answer: ApprovalAnswer
    seal: Seal


class ApprovalOutcome(Frozen):
    """What has become of a request.

    Attributes:
        request: The request's id; None where nobody could be asked.
        others: The ids of further requests about the same call, each of another approver.
        until: When an approval for this session ends before the session does.
        reason: In plain words, hidden characters escaped; what the person said, if they said something.
        by: Who answered; None where nobody did.
        fault: Why an answer did not count.
    """

    state: ApprovalState
    request: RequestId | None = None
    others: tuple[RequestId, ...] = ()
    scope: Scope = "once"
    until: AwareDatetime | None = Field(default=None, exclude_if=is_empty)
    by: str | None = None
    reason: str = ""
    fault: Fault | None = None

    @property
    def approved(self) -> bool:
        """Whether the call may go on."""
        return self.state is ApprovalState.APPROVED


class ApprovalStatus(Frozen):
    """One line of `ironcurtain approvals list`: a request, what became of it, and its digest as shown.

    Attributes:
        request: None where the request's file cannot be trusted; `problem` then says why.
        waits: Whether the program that asked still runs, so that somebody waits for the answer.
    """

    id: str
    state: Literal["pending", "answered", "expired", "unreadable"]
    problem: str = ""
    shown: Digest | None = None
    request: ApprovalRequest | None = None
    waits: bool = True


class Approvals(Frozen):
    """What `ironcurtain approvals list --format json` prints."""

    format: Literal["ironcurtain/approvals/v1"] = "ironcurtain/approvals/v1"
    requests: tuple[ApprovalStatus, ...]


class NoticeResource(Frozen):
    """A resource of a call that waits, as a person is told of it elsewhere.

    Attributes:
        value: In canonical form, hidden characters escaped, redacted as in the audit log.
        asked: Whether it is what the person is asked about.
    """

    role: str
    value: str
    asked: bool


class ApprovalNotice(Frozen):
    """What the command of `proxy --on-approval` reads: that a call waits, and what it is about.

    It holds no arguments and nothing that could answer the request. All texts are safe to show.

    Attributes:
        summary: One line that says it all, for a title or a message.
        effect: What the call reads, changes and contacts.
        checks: The clauses that no rule can test, and that the person must check.
        approver: Whose approval it is that is asked for; None where anybody's will do.
        resources: The judged resources; `more` says how many others there are.
        expires: Until when the request can be answered.
        answer: The command that shows the request and answers it.
    """

    format: Literal["ironcurtain/approval-notice/v1"] = "ironcurtain/approval-notice/v1"
    id: RequestId
    summary: str
    session: str
    client: str
    server: str
    tool: str
    effect: str
    resources: tuple[NoticeResource, ...]
    more: int = Field(ge=0)
    clause: str | None
    reason: str
    checks: tuple[ClauseCheck, ...] = ()
    approver: str | None = None
    asked: AwareDatetime
    expires: AwareDatetime
    answer: str
