"""What the engine was asked about a recorded call, made again of its record alone: no disk, no key.

A value that the record does not hold has in its place what the record holds of it: `[redacted:…]`, or the
keyed digest of a log without values. Rules find resources by the patterns that cover them, which the record
holds, so a resource's own value decides nothing but in modules of the project's own.
"""

from __future__ import annotations

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.canonical.resources import CALL, Resource
from ironcurtain.decision.canonical.urls import Url
from ironcurtain.decision.policy_input import PolicyInput, as_json, policy_input
from ironcurtain.decision.roles import NONE, Registry, Role
from ironcurtain.enforcement.audit.hash_chain import json_bytes
from ironcurtain.enforcement.audit.record_types import DecisionRecord, ResourceRecord
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Digest


def recorded_input(
    record: DecisionRecord, tool: ToolAnnotation, content: PolicyContent, roles: Registry
) -> PolicyInput:
    """Return the policy input of a recorded call.

    Args:
        record: The decision, of a call that the engine was asked about.
        tool: The tool's annotation.
        content: The policy's content.
        roles: Its roles.

    Raises:
        Refusal: If it would be larger than a policy input may be.
    """
    named = {f"{number:04d}": each for number, each in enumerate(record.subjects)}
    resources = tuple(_resource(id_, each, roles[each.role]) for id_, each in named.items())
    held = record.abstract or record
    facts = record.facts.values if record.facts is not None else None
    return policy_input(
        record.server,
        tool,
        (record.abstract.args if record.abstract else record.arguments) or {},
        held.caller,
        resources,
        frozenset(r.id for r, each in zip(resources, record.subjects, strict=True) if each.discharged),
        KnownPatterns({id_: each.patterns for id_, each in named.items()}),
        (facts or {}) if content.facts else None,
    )


def input_digest(question: PolicyInput) -> Digest:
    """Return the digest of a policy input, over its JSON as records have it."""
    return json_text.digest_bytes(json_bytes(as_json(question)))


class KnownPatterns:
    """The patterns that cover resources which stand for themselves by their ids."""

    def __init__(self, patterns: dict[str, tuple[str, ...]]) -> None:
        self._patterns = patterns

    def covering(self, role: Role, resource: str | Url) -> tuple[str, ...]:  # noqa: ARG002 - the protocol's
        """Return those of the resource of an id."""
        return self._patterns[str(resource)]


def _resource(id_: str, recorded: ResourceRecord, role: Role) -> Resource:
    if role.name == NONE:
        return Resource(CALL, role, CALL, at="")
    chain = recorded.abstract.chain if recorded.abstract is not None else ()
    value = recorded.value if recorded.value is not None else "".join(chain[-1:])
    return Resource(id_, role, value, recorded.at, resource=id_)
