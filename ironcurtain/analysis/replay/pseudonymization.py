"""Records that hold no values: what a policy can tell of a call, and keyed digests of the rest.

A resource is kept as the patterns that cover it and keyed digests of the beginnings of its chain; arguments
and caller facts as their skeleton, with keyed digests for scalars, and the outcome of every test that the
recorded policy makes of them. So whoever has the key can replay the record under another policy, and
nobody else learns more than what the policy itself distinguishes.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable, Iterator, Mapping

from ironcurtain.analysis.engine.rules.predicates import Predicate, Values
from ironcurtain.analysis.engine.rules.rules import ToolPredicates
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.patterns import Chain, identifier_chain, path_chain, url_chain
from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.decision.canonical.urls import Url
from ironcurtain.decision.decide import Prepared
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.decision.roles import Role
from ironcurtain.enforcement.audit.record_types import (
    AbstractArguments,
    AbstractResource,
    DecisionRecord,
    ResourceRecord,
)
from ironcurtain.enforcement.audit.recorder import annotation_of
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.reasons import Reason, ReasonCode
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue

STRING, NUMBER, MEMBER = "string:", "number:", "$"
LIMIT = "The call names more than can be judged."
"""What is kept of a refusal for the sake of a limit: another policy may name fewer directories."""
_LIMITS = re.compile(
    r"The call names more than can be judged\.|The call names more resources than can be judged together\."
    r"|An argument cannot be judged exactly: .* names more than [\d,]+ resources\.",
    re.DOTALL,
)
# Records hold no codes, so those of a log that keeps reasons are known by their whole text.

_DIGITS = 32


class KeyedDigests:
    """The keyed digests of a log that holds no values."""

    def __init__(self, key: bytes) -> None:
        self._key = hmac.digest(key, b"abstraction", "sha256")

    def chain(self, kind: str, chain: Chain) -> tuple[str, ...]:
        """Return a digest of each beginning of a chain, the whole one last."""
        digests, above = [], self._digest(["chain", kind])
        for part in chain:
            # Digests have a fixed length, so the concatenation is unambiguous.
            above = hmac.digest(self._key, f"{above}{part}".encode(), "sha256").hex()[:_DIGITS]
            digests.append(above)
        return tuple(digests)

    def scalar(self, value: JsonValue) -> JsonValue:
        """Return what stands for a scalar: itself if it is true, false or null."""
        if value is None or isinstance(value, bool):
            return value
        return f"{STRING if isinstance(value, str) else NUMBER}{self._digest(['scalar', value])}"

    def member(self, name: str) -> str:
        """Return what stands for a member's name."""
        return f"{MEMBER}{self._digest(['member', name])}"

    def skeleton(self, value: JsonValue, known: frozenset[str]) -> JsonValue:
        """Return a value's skeleton; the names in `known` are kept."""
        if isinstance(value, dict):
            return self.members(value, known)
        if isinstance(value, list | tuple):
            return [self.skeleton(element, known) for element in value]
        return self.scalar(value)

    def members(self, value: Mapping[str, JsonValue], known: frozenset[str]) -> dict[str, JsonValue]:
        """Return an object's skeleton; the names in `known` are kept."""
        return {
            name if name in known else self.member(name): self.skeleton(child, known)
            for name, child in value.items()
        }

    def _digest(self, value: JsonValue) -> str:
        return hmac.digest(self._key, json_text.canonical(value), "sha256").hex()[:_DIGITS]


class AbstractSanitizer:
    """Makes records that hold no values."""

    def __init__(self, content: PolicyContent, loaded: LoadedPolicy, key: bytes) -> None:
        self._content, self._loaded = content, loaded
        self._digests = KeyedDigests(key)
        self._predicates = ToolPredicates(content)
        self._names = frozenset(
            {content.revision, *content.annotations.servers, *(t for _, t in content.tools)}
        )

    def keep(
        self, record: DecisionRecord, prepared: Prepared | None, cause: Reason | None = None
    ) -> DecisionRecord:
        """Return a decision's record without any value of the call."""
        tool = annotation_of(self._loaded, record.server, record.tool)
        is_known = tool is not None
        resources = [self._bare(resource) for resource in record.subjects]
        abstract = None
        if prepared is not None and tool is not None:
            abstract = self._arguments(record, tool, prepared)
            resources = [
                bare.model_copy(update={"abstract": self._subject(resource)})
                for bare, resource in zip(resources, prepared.call.resources, strict=True)
            ]
        return record.model_copy(
            update={
                "server": record.server if is_known else self._digests.member(record.server),
                "tool": record.tool if is_known else self._digests.member(record.tool),
                "arguments": None,
                "meta": {},
                "caller": {},
                "facts": record.facts and record.facts.model_copy(update={"values": None}),
                "abstract": abstract,
                "subjects": tuple(resources),
                "reason": self._reason(record, cause),
                "sandbox": record.sandbox.model_copy(update={"directory": None}),
            }
        )

    def text(self, text: str) -> str:
        """Return a text if it is one of the policy's own names, else nothing."""
        return text if text in self._names else ""

    def _bare(self, resource: ResourceRecord) -> ResourceRecord:
        return resource.model_copy(update={"value": None})

    def _reason(self, record: DecisionRecord, cause: Reason | None) -> str:
        rule = self._content.rules.get(record.rule)
        if rule is not None:
            return rule.reason
        return LIMIT if cause is not None and cause.code is ReasonCode.LIMIT else ""

    def _subject(self, resource: Resource) -> AbstractResource:
        role = resource.role
        if not role.resource or resource.unresolved is not None:
            return AbstractResource()
        chain = resource_chain(role, resource.resource, self._content.case_insensitive_hosts)
        return AbstractResource(chain=self._digests.chain(role.pattern_kind, chain))

    def _arguments(
        self, record: DecisionRecord, tool: ToolAnnotation, prepared: Prepared
    ) -> AbstractArguments:
        server = record.server
        predicates = self._predicates.of(server, tool)
        args, caller = prepared.call.arguments, prepared.caller
        known = frozenset(_known_names(tool, predicates))
        roles = self._loaded.canonicalization(server).registry
        resources = {a.top_level for a in tool.args if any(roles[r].resource for r in a.possible_roles)}
        plain = {name: value for name, value in args.items() if name not in resources}
        values: Values = {"args": args, "caller": caller, "facts": prepared.facts}
        return AbstractArguments(
            args=self._digests.members(plain, known),
            caller=self._digests.members(caller, known),
            meta=self._digests.members(record.meta, frozenset()),
            tests={predicate.key: predicate.holds(values) for predicate in predicates},
        )


def names_too_much(reason: str) -> bool:
    """Tell whether a recorded reason says that the call named more than can be judged."""
    return _LIMITS.fullmatch(reason) is not None


def resource_chain(role: Role, resource: str | Url, hosts: frozenset[str]) -> Chain:
    """Return the chain of a resource under a role.

    Args:
        role: A resource role.
        resource: A real absolute path, a `Url`, or a canonical identifier.
        hosts: Hosts whose path segments compare case-folded.
    """
    if isinstance(resource, Url):
        return url_chain(resource, hosts)
    return path_chain(resource) if role.category == "path" else identifier_chain(role, resource)


def _known_names(tool: ToolAnnotation, predicates: Iterable[Predicate]) -> Iterator[str]:
    """Yield the member names that are no secret: those of schema, annotation and policy."""
    for argument in tool.args:
        yield from pointers.steps_of(argument.name)
    yield from _schema_names(tool.input_schema or {})
    for predicate in predicates:
        yield from predicate.path
        if predicate.reference is not None:
            yield from predicate.reference[1]


def _schema_names(schema: JsonValue) -> Iterator[str]:
    if isinstance(schema, dict):
        properties = schema.get("properties")
        if isinstance(properties, dict):
            yield from properties
        for below in schema.values():
            yield from _schema_names(below)
    elif isinstance(schema, list):
        for below in schema:
            yield from _schema_names(below)
