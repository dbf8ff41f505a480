"""Making records of what was decided and what came of it.

A record is made whole, with every value in it, and then goes through a sanitizer, which takes out what the
log must not hold: by `Redaction`, or by an abstraction that leaves no value at all.
"""

from __future__ import annotations

import json
import secrets
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Protocol

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.decision.canonical.validate import ValidatedTool
from ironcurtain.decision.decide import Call, Prepared
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.decision.policy_input import PolicyInput
from ironcurtain.decision.roles import Registry
from ironcurtain.decision.structural_checks import MinimumVerdict
from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from ironcurtain.enforcement.audit.bounds import bounded, shortened
from ironcurtain.enforcement.audit.hash_chain import keyed_digest
from ironcurtain.enforcement.audit.log import now
from ironcurtain.enforcement.audit.log_paths import KEY_BYTES
from ironcurtain.enforcement.audit.record_types import (
    Approval,
    DecisionRecord,
    EventRecord,
    FilteredOutput,
    GatewayCall,
    RecordedFacts,
    ResourceRecord,
    ResultRecord,
    ResultStatus,
    Sandbox,
)
from ironcurtain.enforcement.audit.recorded_input import input_digest, recorded_input
from ironcurtain.enforcement.audit.redaction import Redaction
from ironcurtain.model.annotations import SAID_ABOUT_TOOLS, ToolAnnotation
from ironcurtain.model.decision import Decision, ResourceDecision
from ironcurtain.model.reasons import Reason
from ironcurtain.model.reserved_rules import is_of_engine
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Digest, JsonValue
from ironcurtain.system.json_text import JsonSource
from ironcurtain.system.structs import Struct, field

WITHHELD = "[withheld]"


class Observed(Struct):
    """What was seen while a call was decided.

    Attributes:
        decision_id: OPA's own id of its decision.
        phases: Milliseconds by phase.
        sandbox: The sandbox of the call's server, as observed.
        parent: For a look-up the id of the decision that it served.
        facts: The declared facts that it was decided on, with what it books.
        gateway: What there is to say of a call of a gateway's tool; a log that holds no values keeps it, too.
    """

    decision_id: str | None = None
    phases: Mapping[str, float] = field(default_factory=dict)
    sandbox: Sandbox = field(default_factory=Sandbox)
    parent: str | None = None
    facts: RecordedFacts | None = None
    gateway: GatewayCall | None = None


class RecordSanitizer(Protocol):
    """Takes out of records what the log must not hold."""

    def keep(
        self, record: DecisionRecord, prepared: Prepared | None, cause: Reason | None = None
    ) -> DecisionRecord:
        """Return a decision's record without it."""

    def text(self, text: str) -> str:
        """Return a text of a server or a person without it."""


class RedactingSanitizer:
    """Keeps values, redacted.

    Args:
        loaded: The policy: its annotations say what is marked as personal.
        key: The key of the digests that stand for what is redacted.
        roles: Roles whose values are redacted whole.
    """

    def __init__(self, loaded: LoadedPolicy, key: bytes, roles: frozenset[str] = frozenset()) -> None:
        self._loaded = loaded
        self._redaction = Redaction(key, roles)

    def keep(
        self,
        record: DecisionRecord,
        prepared: Prepared | None,  # noqa: ARG002
        cause: Reason | None = None,  # noqa: ARG002
    ) -> DecisionRecord:
        """Return a decision's record redacted."""
        return self._redaction.keep(record, annotation_of(self._loaded, record.server, record.tool))

    def text(self, text: str) -> str:
        """Return a text redacted."""
        return self._redaction.text(text)


class Recorder:
    """Makes the records of one session under one policy.

    Args:
        content: The bundle's content.
        loaded: The policy as it is enforced.
        bundle: Digest of the bundle's archive.
        key: The log's key; without one, digests are keyed with a key that nobody keeps.
        sanitizer: Makes the sanitizer of a key; `RedactingSanitizer` unless something else is given.
        clock: The time, as records hold it.
    """

    def __init__(
        self,
        content: PolicyContent,
        loaded: LoadedPolicy,
        *,
        bundle: Digest | None = None,
        key: bytes | None = None,
        sanitizer: Callable[[bytes], RecordSanitizer] | None = None,
        clock: Callable[[], str] = now,
    ) -> None:
        self._content, self._loaded, self._bundle, self._clock = content, loaded, bundle, clock
        self._key = key if key is not None else secrets.token_bytes(KEY_BYTES)
        self._sanitizer: RecordSanitizer = (
            sanitizer(self._key) if sanitizer else RedactingSanitizer(loaded, self._key)
        )
        self._mark = Redaction(self._key).mark
        self._bases: dict[tuple[str, str], Digest | None] = {}
        self._roles = Registry(content.annotations.roles)

    def decision(
        self,
        call: Call,
        prepared: Prepared | Decision,
        decision: Decision,
        *,
        id_: str,
        forwarded: bool,
        approval: Approval | None = None,
        observed: Observed | None = None,
    ) -> DecisionRecord:
        """Return the record of a decision.

        Args:
            call: The call as it arrived.
            prepared: What `prepare` made of it.
            decision: What `evaluate` made of that, before any approval.
            id_: The decision's id, unique in the log.
            forwarded: Whether the call is now sent.
            approval: What a person made of it.
            observed: What else was seen.
        """
        ready = prepared if isinstance(prepared, Prepared) else None
        tool = annotation_of(self._loaded, decision.server, decision.tool)
        reason = approval.reason if approval is not None else ""
        seen = observed or Observed()
        record = DecisionRecord(
            time=self._clock(),
            id=id_,
            server=decision.server,
            tool=decision.tool,
            raw_digest=self._raw_digest(call.arguments),
            arguments=ready.call.arguments if ready is not None else decision.arguments,
            meta=dict(call.meta),
            client=call.client,
            caller=ready.caller if ready is not None else {},
            schema_digest=tool.schema_digest if tool is not None else None,
            listing_digest=call.live_listing,
            drift_checked=decision.drift_checked,
            basis=self.basis(decision.server, decision.tool),
            verdict=decision.verdict,
            rule=decision.rule,
            clause=decision.clause,
            reason=decision.reason,
            subjects=_resource_records(ready, decision),
            approval=approval.model_copy(update={"reason": self._sanitizer.text(reason)})
            if approval
            else None,
            forwarded=forwarded,
            revision=decision.revision,
            bundle=self._bundle,
            decision_id=seen.decision_id,
            phases=dict(seen.phases),
            sandbox=seen.sandbox,
            parent=seen.parent,
            facts=seen.facts,
            gateway=seen.gateway,
        )
        kept = self._sanitizer.keep(record, ready, decision.cause)
        if not forwarded:
            kept = bounded(kept, len(_raw(call.arguments)), self._mark)
        if tool is None or ready is None or kept.omitted or not is_of_engine(decision.rule):
            return kept
        asked = recorded_input(kept, tool, self._content, self._roles)
        return kept.model_copy(update={"input_digest": input_digest(asked)})

    def result(
        self,
        id_: str,
        status: ResultStatus,
        *,
        result: JsonValue = None,
        duration: float = 0.0,
        error: str = "",
        failure: str = "",
        output: FilteredOutput | None = None,
    ) -> ResultRecord:
        """Return the record of how a forwarded call ended.

        Args:
            id_: The decision's id.
            status: How it ended.
            result: The result as JSON; None where there is none.
            duration: Milliseconds from sending the call to its end.
            error: What went wrong, perhaps in a server's words.
            failure: The same in our own words, with nothing of the call in them: any log keeps these.
            output: What became of the answer on its way out.
        """
        text = _bytes(result) if result is not None else None
        return ResultRecord(
            time=self._clock(),
            id=id_,
            status=status,
            digest=keyed_digest(text, self._key, "result") if text is not None else None,
            size=len(text or b""),
            duration=duration,
            error=shortened(failure or (self._sanitizer.text(error) if error else "")),
            output=output,
        )

    def redacted(self, request: ApprovalRequest) -> ApprovalRequest:
        """Return a request to a person with what the log keeps of it, to be told elsewhere.

        No arguments, no `_meta` and no facts are in it; a resource whose value
        the log does not keep is `[withheld]`.
        """
        kept = self._sanitizer.keep(
            DecisionRecord(
                time=self._clock(),
                id=request.id,
                server=request.server,
                tool=request.tool,
                raw_digest=self._raw_digest(request.arguments),
                verdict=Verdict.ESCALATE,
                rule=request.rule,
                clause=request.clause,
                reason=request.reason,
                subjects=tuple(map(_early, request.subjects)),
                forwarded=False,
                revision=request.revision,
            ),
            None,
        )
        values = [each.value if each.value is not None else WITHHELD for each in kept.subjects]
        resources = tuple(
            resource.model_copy(update={"value": value})
            for resource, value in zip(request.subjects, values, strict=True)
        )
        return request.model_copy(
            update={
                "arguments": {},
                "meta": {},
                "caller": {},
                "facts": {},
                "server": kept.server,
                "tool": kept.tool,
                "reason": kept.reason,
                "subjects": resources,
            }
        )

    def event(self, event: str, **detail: JsonValue) -> EventRecord:
        """Return the record of an event; texts in the detail are kept as the values of calls are."""
        kept = {name: self._kept(value) for name, value in detail.items()}
        return EventRecord(time=self._clock(), event=event, detail=kept)

    def basis(self, server: str, tool: str) -> Digest | None:
        """Return the digest of what records of a tool rest on; None for a tool that there is not."""
        place = (server, tool)
        if place not in self._bases:
            self._bases[place] = basis_of(self._content, self._loaded, server, tool)
        return self._bases[place]

    def _kept(self, value: JsonValue) -> JsonValue:
        if isinstance(value, dict):
            return {name: self._kept(below) for name, below in value.items()}
        if isinstance(value, list | tuple):
            return [self._kept(one) for one in value]
        return shortened(self._sanitizer.text(value)) if isinstance(value, str) else value

    def _raw_digest(self, arguments: JsonSource | bytes) -> str:
        return keyed_digest(_raw(arguments), self._key, "arguments")


def annotation_of(loaded: LoadedPolicy, server: str, tool: str) -> ToolAnnotation | None:
    """Return a tool's annotation, None if there is no such tool."""
    found: ValidatedTool | None = loaded.tool(server, tool)
    return found.annotation if found is not None else None


def basis_of(content: PolicyContent, loaded: LoadedPolicy, server: str, tool: str) -> Digest | None:
    """Return the digest of what a tool's resources and minimum verdicts depend on beside rules and lists."""
    annotation = annotation_of(loaded, server, tool)
    if annotation is None:
        return None
    means = annotation.model_dump(mode="json", by_alias=True, exclude=SAID_ABOUT_TOOLS)
    args = [{**argument, "pii": False} for argument in means["args"]]
    return json_text.digest(
        {
            "annotation": {**means, "args": args},
            "roles": [role.model_dump(mode="json") for role in content.annotations.roles],
            "hosts": sorted(content.case_insensitive_hosts),
            "home": loaded.deployment.home,
            "sandbox": loaded.boundaries(server).sandbox,
        }
    )


def _resource_records(prepared: Prepared | None, decision: Decision) -> tuple[ResourceRecord, ...]:
    if prepared is None:
        return tuple(_early(resource) for resource in decision.subjects)
    decided = decision.subjects or (None,) * len(prepared.call.resources)
    patterns = _covering(prepared.input)
    return tuple(
        _resource_record(resource, prepared.minimum, said, decision, tuple(patterns[resource.id]))
        for resource, said in zip(prepared.call.resources, decided, strict=True)
    )


def _covering(asked: PolicyInput) -> defaultdict[str, list[str]]:
    """Return the patterns that cover each resource, sorted, by the resources' ids."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for derived in (asked, asked["sandboxed"]):
        for role, patterns in derived["patterns"].items():
            for pattern in patterns:
                for id_ in derived["within"][role][pattern]:
                    found[id_].append(pattern)
    return found


def _resource_record(
    resource: Resource,
    minimum: MinimumVerdict,
    said: ResourceDecision | None,
    decision: Decision,
    patterns: tuple[str, ...],
) -> ResourceRecord:
    escalated = minimum.escalated.get(resource.id)
    return ResourceRecord(
        at=resource.at,
        also_at=resource.also_at,
        role=resource.role.name,
        value=resource.value,
        verdict=said.verdict if said else Verdict.DENY,
        rule=said.rule if said else decision.rule,
        discharged=resource.id in minimum.discharged,
        floor=escalated[0] if escalated else None,
        recursive=resource.recursive,
        unresolved=resource.unresolved is not None,
        patterns=patterns,
    )


def _early(resource: ResourceDecision) -> ResourceRecord:
    return ResourceRecord(
        at=resource.at,
        also_at=resource.also_at,
        role=resource.role,
        value=resource.value,
        verdict=resource.verdict,
        rule=resource.rule,
        discharged=resource.discharged,
    )


def _raw(arguments: JsonSource | bytes) -> bytes:
    """Return the bytes of arguments as they arrived."""
    if isinstance(arguments, str):
        return arguments.encode("utf-8", "surrogatepass")
    return arguments if isinstance(arguments, bytes) else _bytes(arguments)


def _bytes(value: JsonSource) -> bytes:
    """Return some bytes of any value, canonical where it is JSON."""
    try:
        return json_text.canonical(value)
    except Exception:  # noqa: BLE001 - a digest must exist even of what is no JSON
        return json.dumps(value, default=repr, skipkeys=True).encode()
