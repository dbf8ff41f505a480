"""What a person is asked, made from a decision exactly as it was made, and the clocks of its deadline."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from ironcurtain.decision.decide import Prepared
from ironcurtain.enforcement.approvals.approvers import ApproverIdentity
from ironcurtain.enforcement.approvals.grants import offer_of
from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.decision import Decision
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, field


def _now() -> datetime:
    return datetime.now(UTC)


class Clock(Struct):
    """Where time comes from.

    Attributes:
        wall: The time of day in UTC, which two programs share.
        monotonic: Seconds that only grow, for this process.
    """

    wall: Callable[[], datetime] = _now
    monotonic: Callable[[], float] = time.monotonic


class DecidedFacts(Struct):
    """The declared facts that a call was decided on.

    Attributes:
        told: As a person is shown them, by name.
        bound: Those that an approval is bound to: the call must be decided on the same ones again.
    """

    told: Mapping[str, JsonValue] = field(default_factory=dict)
    bound: Mapping[str, JsonValue] = field(default_factory=dict)


ANSWER_SECONDS = 600.0
"""How long a person has to answer, by default."""

MAX_SECONDS = 86_400.0


def new_request(  # noqa: PLR0913 - all that a request is made of
    decision: Decision,
    prepared: Prepared,
    tool: ToolAnnotation,
    *,
    session: str,
    seconds: float = ANSWER_SECONDS,
    clock: Clock | None = None,
    approver: ApproverIdentity | None = None,
    facts: DecidedFacts | None = None,
) -> ApprovalRequest:
    """Return the question about an escalated call, under a new id.

    Args:
        decision: The decision, an `escalate`.
        prepared: The call that it was made about.
        tool: The tool's annotation.
        session: The asking session's name; give the same one after a restart, so that answers are found.
        seconds: How long the person has to answer.
        clock: Where time comes from (default: the machine).
        approver: Whose approval is asked for; None for anybody's.
        facts: The declared facts that it was decided on.

    Raises:
        ValueError: If the time to answer is not positive, or longer than a day.
    """
    if not 0 < seconds <= MAX_SECONDS:
        raise ValueError(f"a person has more than 0 and at most {MAX_SECONDS:g} seconds to answer")
    clock = clock or Clock()
    asked = clock.wall()
    facts = facts or DecidedFacts()
    name = approver.name if approver is not None else None
    return ApprovalRequest(
        id=_new_id(),
        binding=_binding_for(binding_of(decision, prepared, tool, session=session, facts=facts), name),
        session=session,
        asked=asked,
        expires=asked + timedelta(seconds=seconds),
        deadline=round(clock.monotonic() + seconds, 3),
        server=decision.server,
        tool=decision.tool,
        side_effects=tool.side_effects,
        contained=tool.contained,
        schema_digest=tool.schema_digest,
        caller=prepared.caller,
        arguments=prepared.call.arguments,
        meta=dict(prepared.meta),
        client=prepared.client,
        facts=dict(facts.told),
        subjects=decision.subjects,
        revision=decision.revision,
        rule=decision.rule,
        clause=decision.clause,
        clause_text=decision.clause_text,
        reason=decision.reason,
        checks=decision.checks,
        approver=name,
        answered_by=approver.channel if approver is not None else "account",
        approver_key=approver.key.id if approver is not None and approver.key is not None else None,
        session_offer=offer_of(decision, prepared, tool),
    )


def ask_again(request: ApprovalRequest, clock: Clock) -> ApprovalRequest:
    """Return the same question under a new id, asked now."""
    asked, allowed = clock.wall(), request.expires - request.asked
    times = {
        "asked": asked,
        "expires": asked + allowed,
        "deadline": round(clock.monotonic() + allowed.total_seconds(), 3),
    }
    return request.model_copy(update={"id": _new_id(), **times})


def _binding_for(binding: str, approver: str | None) -> str:
    """Return what the approval of one of several approvers binds to."""
    return binding if approver is None else json_text.digest({"call": binding, "approver": approver})


def shown_digest(request: ApprovalRequest) -> str:
    """Return the digest of a request as a person sees it: an answer is good for nothing else."""
    return json_text.digest(request.model_dump(mode="json"))


def _new_id() -> str:
    return secrets.token_hex(8)


def binding_of(
    decision: Decision,
    prepared: Prepared,
    tool: ToolAnnotation,
    *,
    session: str,
    facts: DecidedFacts | None = None,
) -> str:
    """Return the digest that an approval of a decided call binds to (specification 4.2).

    The resources go in with their verdicts and rules, and so does what "for this session" means, since a
    person answers what they were shown.

    Args:
        decision: The decision, an `escalate`.
        prepared: The call that it was made about.
        tool: The tool's annotation, with its schema digest.
        session: The name of the asking session, the same after a restart.
        facts: The declared facts that it was decided on.
    """
    bound = dict(facts.bound) if facts is not None else {}
    return json_text.digest(
        {
            "server": decision.server,
            "tool": decision.tool,
            "schema": tool.schema_digest,
            "arguments": prepared.call.arguments,
            "meta": dict(prepared.meta),
            "client": prepared.client,
            "subjects": [resource.model_dump(mode="json") for resource in decision.subjects],
            "rule": decision.rule,
            "caller": prepared.caller,
            "session": session,
            "offer": offer_of(decision, prepared, tool).model_dump(mode="json"),
            "revision": decision.revision,
            **({"facts": bound} if bound else {}),
        }
    )
