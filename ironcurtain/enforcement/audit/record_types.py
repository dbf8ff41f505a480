"""The audit log: one JSON line per record, sealed over its content and the line before (specification 4.1).

A line is `{"previous":SEAL,"record":{…},"seal":SEAL}`, JSON with sorted keys and without blanks. `previous`
is the seal of the line before (`GENESIS` for the first), `seal` the SHA-256 over it and the record's digest.
So the chain can be verified over bytes, and followed over digests, without reading the records.
"""

from __future__ import annotations

from typing import Annotated, Literal, Protocol, TypeAlias

from pydantic import AwareDatetime, Field

from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Digest, Frozen, JsonValue, Slug, is_empty

GENESIS = f"sha256:{'0' * 64}"
"""What the first line of a log has as its `previous`."""

KeyedDigest: TypeAlias = Annotated[str, Field(pattern=r"^(sha256|hmac-sha256):[0-9a-f]{64}$")]
"""A digest of something that the log does not hold; keyed (`hmac-sha256:`) where the log has a key."""

RecordedApprovalState: TypeAlias = Literal[
    "approved", "denied", "invalid", "expired", "no-approver", "pending", "withdrawn", "void"
]
"""What became of asking a person.

`invalid`: an answer that does not count as a person's; `void`: approved, but the call had changed when it was
to be forwarded.
"""

ResultStatus: TypeAlias = Literal["ok", "tool-error", "failed", "cancelled"]
"""How a forwarded call ended: an answer, an answer that says `isError`, no answer, called off."""


class AbstractResource(Frozen):
    """What is kept of a resource's value in a log that holds no values.

    Attributes:
        patterns: In records of before, what `ResourceRecord.patterns` holds now.
        chain: Keyed digests of the beginnings of its chain, the longest last: a pattern covers the resource
            exactly if the digest of the pattern's own chain is one of them. Empty where no pattern could.
    """

    patterns: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    chain: tuple[str, ...] = ()


class ResourceRecord(Frozen):
    """One resource of a decided call.

    Attributes:
        at: JSON pointer of its first leaf; empty for the entry `call`.
        also_at: Further pointers with the same role and value.
        value: The canonical value; None where it is abstracted.
        redacted: Whether parts of `value` are redacted.
        verdict: What was decided about it, by `rule`.
        discharged: Whether it is workspace-exempt.
        floor: The structural rule under which it is at least escalated.
        recursive: Whether the tool acts on the whole tree below.
        unresolved: Whether it is not known what it names.
        patterns: The patterns and `@lists` of the policy that cover it, as the engine saw them.
        abstract: What is kept instead of the value.
    """

    at: str
    also_at: tuple[str, ...] = ()
    role: str
    value: str | None
    redacted: bool = False
    verdict: Verdict
    rule: str
    discharged: bool = False
    floor: str | None = None
    recursive: bool = False
    unresolved: bool = False
    patterns: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    abstract: AbstractResource | None = None


class Approval(Frozen):
    """What a person was asked about a call, and what came of it.

    Attributes:
        request: The request's id.
        others: The ids of further requests about the same call, each of another approver.
        asked: Whose approval the rules ask for, by name; empty where anybody's will do.
        checks: The clauses that no rule can test, which the request told the person to check.
        approver: Who answered, as the approver's own channel names them; None where nobody did.
        scope: What the answer covers: this call, or calls of this shape in this session.
        until: When an approval for this session ends before the session does.
        verdict: The decision after the approval: `allow` or `deny`.
        reason: What the person said.
    """

    state: RecordedApprovalState
    request: str | None = None
    others: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    asked: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    checks: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    approver: str | None = None
    scope: Literal["once", "session"] = "once"
    until: AwareDatetime | None = Field(default=None, exclude_if=is_empty)
    verdict: Verdict
    reason: str = ""


class AbstractArguments(Frozen):
    """What is kept of arguments and caller facts in a log that holds no values.

    Attributes:
        args: The arguments' skeleton: objects, arrays, true, false and null as they were; every other
            scalar as `string:DIGEST` or `number:DIGEST`, keyed; member names that neither schema,
            annotation nor policy has as `$DIGEST`. Arguments with resource roles are left out: their
            resources stand for them.
        caller: The caller facts' skeleton.
        meta: The skeleton of what went along with the arguments.
        tests: By test (an atom's key) whether it held, for all that the recorded policy asks of the tool.
    """

    args: dict[str, JsonValue]
    caller: dict[str, JsonValue]
    meta: dict[str, JsonValue] = Field(default_factory=dict)
    tests: dict[str, bool]


class Sandbox(Frozen):
    """The sandbox of a call's server as it was observed when the call was decided, not as configured.

    Attributes:
        directory: The sandbox directory that containment was judged by; None without one, or abstracted.
        isolation: What was seen to confine the server's process: `none`, or the name of the mechanism.
        observed: How that was seen.
        alone: Whether the call is sent to a process of its own, contained and started for it: what is seen of
            that one follows in events with the decision's id.
    """

    directory: str | None = None
    isolation: str = "none"
    observed: str = ""
    alone: bool = False


class GatewayCall(Frozen):
    """What is recorded of a call of a gateway's tool, beside what is of every call.

    Attributes:
        caller: Whom the agent acts for; None where that was not known.
        classification: Of the tool; None for an unknown one.
        stage: Where the call was refused; None where it was not.
    """

    caller: str | None = None
    classification: Literal["read", "write", "destructive"] | None = None
    stage: Literal["AUTH", "REGISTRY", "PERMISSION", "VALIDATION", "POLICY"] | None = None


class FilteredOutput(Frozen):
    """What an output policy did to an answer: its own paths with counts, never places of the answer.

    Attributes:
        stage: Where the tool failed; None where it did not.
        masked: By rule, how many strings were masked.
        redacted: By rule, how many leaves or containers were taken out.
        stripped: How many of these no rule covers.
    """

    stage: Literal["VALIDATION", "EXECUTION", "OUTPUT"] | None = None
    masked: dict[str, int] = Field(default_factory=dict)
    redacted: dict[str, int] = Field(default_factory=dict)
    stripped: int = 0


class Booked(Frozen):
    """What a call that is sent adds to the memory of its session, or to the total of a caller.

    Attributes:
        fact: Name of the counter or label.
        add: What a counter is raised by, an exact decimal; None for a label.
        window: The window of the counter that it counts in; empty for the whole session.
        caller: Digest of whom the agent acts for, for a counter per caller; None for one per session.
        declared: Digest of what a counter per caller counts.
    """

    fact: str
    add: str | None = None
    window: str = ""
    caller: Digest | None = None
    declared: str = ""


class RecordedFacts(Frozen):
    """The declared facts that a call was decided on, and what it booked.

    Attributes:
        at: The moment of the decision, by the gateway's clock: RFC 3339, UTC.
        values: The facts as the engine saw them, redacted; None in a log that holds no values.
        declared: By the name of a declaration a digest of it: what the values mean.
        booked: What the call added, in a record of a call that is sent.
        decisive: The counters without whose totals the verdict would be milder.
    """

    at: str
    values: dict[str, JsonValue] | None = None
    declared: dict[str, str] = Field(default_factory=dict)
    booked: tuple[Booked, ...] = ()
    decisive: tuple[str, ...] = Field(default=(), exclude_if=is_empty)


class DecisionRecord(Frozen):
    """One decision, durable before the call has any effect.

    Attributes:
        time: RFC 3339, UTC, with microseconds.
        id: The decision's id, unique in the log; its result has the same.
        server: The server; for an unknown tool in a log that holds no values `$DIGEST`, keyed, as is `tool`.
        raw_digest: Digest of the arguments' text as they arrived.
        arguments: The canonical arguments, exactly what the server is to be sent, redacted; None where the
            call was refused before they existed, or in a log that holds no values.
        client: Whose connection it came by: `stdio`, or who a client over HTTP showed to be.
        meta: What went to the server beside the arguments, judged by no rule: members of `_meta` that its
            configuration lets through, redacted.
        omitted: Of a refused call that was too large to be kept, how many bytes its arguments had. Then the
            record holds none of them, and no resource.
        redacted: JSON pointers of what is redacted, under `/arguments`, `/meta`, `/caller` and
            `/facts`.
        abstract: What is kept instead of `arguments` and `caller`.
        caller: Facts about whom the agent acts for, redacted.
        schema_digest: The annotated tool's digest; None for an unknown tool.
        listing_digest: Digest of all that clients were told of the live tool; None where that is not known.
        input_digest: Digest of what the engine was asked, with what this record holds in the place of values
            (`recorded_input`); None where its answer is not in the decision, and in records of before.
        basis: Digest of everything beside rules and lists that the facts in this record rest on: the tool's
            annotation, the roles, home and sandbox. Two policies with one basis see one call alike.
        verdict: The decision of policy and structural checks, before any approval.
        approval: What a person made of an `escalate`.
        forwarded: Whether the call is now sent to its server.
        revision: The bundle's revision; `bundle` is the digest of its archive.
        decision_id: OPA's own id of its decision, where it gave one.
        phases: Milliseconds by phase.
        gateway: What there is to say of a call of a gateway's tool; None for other servers.
        parent: For a look-up the id of the decision that it served; None for a call of the agent's own.
        facts: The declared facts of the decision; None where the policy declares none that concern the call.
    """

    kind: Literal["decision"] = "decision"
    time: str
    id: str
    server: str
    tool: str
    raw_digest: KeyedDigest
    arguments: dict[str, JsonValue] | None = None
    client: str = ""
    meta: dict[str, JsonValue] = Field(default_factory=dict)
    omitted: int = 0
    redacted: tuple[str, ...] = ()
    abstract: AbstractArguments | None = None
    caller: dict[str, JsonValue] = Field(default_factory=dict)
    schema_digest: Digest | None = None
    listing_digest: Digest | None = None
    drift_checked: bool = False
    input_digest: Digest | None = Field(default=None, exclude_if=is_empty)
    basis: Digest | None = None
    verdict: Verdict
    rule: str
    clause: str | None = None
    reason: str
    subjects: tuple[ResourceRecord, ...] = ()
    approval: Approval | None = None
    forwarded: bool
    revision: str
    bundle: Digest | None = None
    decision_id: str | None = None
    phases: dict[str, float] = Field(default_factory=dict)
    sandbox: Sandbox = Sandbox()
    gateway: GatewayCall | None = None
    parent: str | None = None
    facts: RecordedFacts | None = None


class ResultRecord(Frozen):
    """How a forwarded call ended.

    Attributes:
        id: The decision's id.
        digest: Digest of the result's canonical JSON; None where there was no result.
        size: The result's size in bytes.
        duration: Milliseconds from sending the call to its end.
        error: What went wrong where there is no result.
        output: What became of the answer on its way out; None where no output policy is attached.
    """

    kind: Literal["result"] = "result"
    time: str
    id: str
    status: ResultStatus
    digest: KeyedDigest | None = None
    size: int = 0
    duration: float = 0.0
    error: str = ""
    output: FilteredOutput | None = None


class EventRecord(Frozen):
    """Something else that happened in the session.

    Attributes:
        event: `start`, `stop`, `reload`, `reload-refused`, `approval`, `observe`, `recovered` or another.
        detail: What there is to say about it.
    """

    kind: Literal["event"] = "event"
    time: str
    event: Slug
    detail: dict[str, JsonValue] = Field(default_factory=dict)


Record: TypeAlias = Annotated[DecisionRecord | ResultRecord | EventRecord, Field(discriminator="kind")]


class Line(Frozen):
    """One line of a log (`ironcurtain/audit/v1`).

    Attributes:
        previous: The seal of the line before.
        record: What is recorded.
        seal: SHA-256 over `previous` and the SHA-256 of the record's JSON; in lines of before over all of the
            line before `,"seal"`.
    """

    previous: Digest
    record: Record
    seal: Digest


class Head(Frozen):
    """The latest state of a log, kept in a place of its own that no tool can touch.

    Attributes:
        session: The log's name.
        count: How many lines the log has.
        seal: The seal of the last of them; `GENESIS` for none.
        mac: HMAC-SHA-256 over the other members, where the log has a key.
    """

    format: Literal["ironcurtain/audit-head/v1"] = "ironcurtain/audit-head/v1"
    session: str
    count: int = Field(ge=0)
    seal: Digest
    mac: KeyedDigest | None = None


class LogProblem(Frozen):
    """Something that is wrong with a log.

    Attributes:
        kind: `changed` (a line is not what was sealed), `order` (a line does not follow the one before:
            removed, inserted or reordered lines), `truncated`, `added` (lines after the head), `torn` (an
            incomplete last line), `head` (the head file is not what was written), `witness` (it is not the
            log that was told of outside its directory).
        line: 1-based number of the line over all segments; None where it is about the whole log.
    """

    kind: Literal["changed", "order", "truncated", "added", "torn", "head", "witness"]
    line: int | None = None
    file: str = ""
    message: str


class AuditVerification(Frozen):
    """What `ironcurtain audit verify` found.

    Attributes:
        intact: Whether nothing is wrong.
        truncation: Whether a head says how long the log must be: `checked`, or `cannot be checked`.
        keyed: Whether the head was verified with a key.
        key: The file of that key.
        open: Whether a process is writing the log.
        witnessed: How many lines a witness outside its directory vouches for; None where none was asked.
        unknown: What could not be known, in plain words.
        missing_results: Ids of forwarded calls without a result; no problem of the log's own.
    """

    format: Literal["ironcurtain/audit-verification/v1"] = "ironcurtain/audit-verification/v1"
    session: str
    intact: bool
    lines: int
    segments: int
    truncation: Literal["checked", "cannot be checked"]
    keyed: bool
    key: str | None = None
    open: bool
    problems: tuple[LogProblem, ...] = ()
    witnessed: int | None = None
    unknown: tuple[str, ...] = ()
    missing_results: tuple[str, ...] = ()


class RecordListener(Protocol):
    """Is told of records once they are durable; it neither waits nor fails."""

    def decision(self, record: DecisionRecord) -> None:
        """Hear of a decision, before the call has any effect."""

    def result(self, record: ResultRecord) -> None:
        """Hear how a forwarded call ended."""
