"""Approval for this session: which calls count as "the same again" (specification 4.3).

A grant is the shape of an escalated call: everything that has to be the same, with each escalating
resource replaced by what it may widen to. Two calls of one shape make equal grants, so a grant covers a
call exactly if the call's own grant is equal to it. Nothing here changes a verdict: grants speak of
calls that the policy escalates, and of no others.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Literal

from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.host_view import FileKind, UnreadableError
from ironcurtain.decision.canonical.paths import Resolver
from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.decide import Prepared
from ironcurtain.decision.policy_input import PolicyInput
from ironcurtain.decision.roles import NONE
from ironcurtain.enforcement.approvals.messages import SessionOffer
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.decision import Decision, ResourceDecision
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import visible

_HISTORY = frozenset({"write-history", "delete-history"})
_FREE_TEXT = frozenset({"commit-message"})
_ANY_HOST = re.compile(r"(?:[a-z+]+://)?\*(?::\d+)?")

_Limit = Literal["directory", "patterns", "exactly"]


class Unwidened(Struct):
    """A call that can be approved once only.

    Attributes:
        reason: Why, in plain words.
    """

    reason: str


class GrantScope(Struct):
    """One escalating resource of a grant, and what may stand in its place.

    Attributes:
        at: JSON pointer of the argument that names it.
        role: Its role.
        rule: The rule that escalates it.
        limit: `directory`: a file directly in `values[0]`; `patterns`: what exactly the patterns and
            `@lists` in `values` cover; `exactly`: `values[0]` alone.
    """

    at: str
    role: str
    rule: str
    limit: _Limit
    values: tuple[str, ...]

    def sentence(self) -> str:
        """Say what it covers, hidden characters escaped."""
        # Among the patterns of an address, one that says "anywhere" says nothing about this one.
        told = [v for v in self.values if self.limit != "patterns" or not _ANY_HOST.fullmatch(v)]
        shown = ", ".join(map(visible, told))
        what = {
            "directory": f"any file directly in {shown} (nothing below that)",
            "patterns": f"any address that the policy knows as {shown}",
            "exactly": f"exactly {shown}",
        }[self.limit]
        return f"{self.role} at {visible(self.at)}: {what}"


class Grant(Struct):
    """What an approval for this session covers.

    Attributes:
        rule: The call's deciding rule.
        caller: Digest of the caller facts.
        fixed: Digest of the arguments' structure, of every value that must be the same, and of what goes
            along with them.
        widenings: The escalating resources.
    """

    server: str
    tool: str
    schema_digest: str | None
    revision: str
    rule: str
    caller: str
    fixed: str
    widenings: frozenset[GrantScope]

    @classmethod
    def of(cls, decision: Decision, prepared: Prepared, tool: ToolAnnotation) -> Grant | Unwidened:
        """Return the grant that a person could give on a call, or why there is none.

        Args:
            decision: What was decided.
            prepared: The call that it was decided about.
            tool: The tool's annotation.
        """
        escalating = _escalating(decision, prepared)
        refused = _why_not(decision, [resource for resource, _ in escalating])
        if decision.once_only:
            return Unwidened("the policy has each such call approved by itself")
        if prepared.input.get("facts"):
            return Unwidened("it was decided on facts that the next call may find changed")
        if refused or not any(found.rule == decision.rule for _, found in escalating):
            return Unwidened(refused or "the rule that asks speaks of the call as a whole")
        widenings = frozenset(
            each for resource, found in escalating for each in _widenings(resource, found, prepared)
        )
        opened = {each.at for each in widenings if each.limit != "exactly"}
        return cls(
            server=decision.server,
            tool=decision.tool,
            schema_digest=tool.schema_digest,
            revision=decision.revision,
            rule=decision.rule,
            caller=json_text.digest(prepared.caller),
            fixed=json_text.digest(
                [
                    _fixed(prepared.call.arguments, (), opened, _free_text(tool)),
                    dict(prepared.meta),
                    prepared.client,
                ]
            ),
            widenings=widenings,
        )

    def covers(self, decision: Decision, prepared: Prepared, tool: ToolAnnotation) -> bool:
        """Tell whether a call that the policy escalates is of this shape."""
        return Grant.of(decision, prepared, tool) == self

    def sentences(self) -> tuple[str, ...]:
        """Say what it covers, one sentence for each escalating resource, hidden characters escaped."""
        ordered = sorted(self.widenings, key=lambda each: (each.at, each.role, each.limit, each.values))
        return tuple(each.sentence() for each in ordered)


def offer_of(decision: Decision, prepared: Prepared, tool: ToolAnnotation) -> SessionOffer:
    """Return what an approval for this session would mean, in words."""
    grant = Grant.of(decision, prepared, tool)
    if isinstance(grant, Grant):
        return SessionOffer(covers=grant.sentences())
    return SessionOffer(why_not=grant.reason)


def _escalating(decision: Decision, prepared: Prepared) -> list[tuple[Resource, ResourceDecision]]:
    both = zip(prepared.call.resources, decision.subjects, strict=True) if decision.subjects else ()
    return [(resource, found) for resource, found in both if found.verdict is Verdict.ESCALATE]


def _why_not(decision: Decision, escalating: Collection[Resource]) -> str:
    if decision.verdict is not Verdict.ESCALATE:
        return "the call does not wait for a person"
    for resource in escalating:
        if resource.role.name == NONE:
            return "the call names no resource that an approval could be limited to"
        if resource.role.name in _HISTORY:
            return "rewriting or deleting history is approved one by one"
        if resource.unresolved is not None:
            return "it cannot be told what git would contact"
    return ""


def _widenings(resource: Resource, found: ResourceDecision, prepared: Prepared) -> Iterator[GrantScope]:
    limit, values = _limit(resource, prepared)
    for place in (resource.at, *resource.also_at):
        yield GrantScope(place, resource.role.name, found.rule, limit, values)


def _limit(resource: Resource, prepared: Prepared) -> tuple[_Limit, tuple[str, ...]]:
    if resource.role.category == "path" and _is_file(resource, prepared.call.resolver):
        directory = resource.value.rpartition("/")[0] or "/"
        if directory not in ("/", _home(prepared.call.resolver)):
            return "directory", (directory,)
    if resource.role.category == "url":
        patterns = _patterns(resource, prepared.input)
        # Like home and /, a pattern that only says "anywhere" is no place to widen to.
        if any(not _ANY_HOST.fullmatch(pattern) for pattern in patterns):
            return "patterns", patterns
    return "exactly", (resource.value,)


def _is_file(resource: Resource, resolver: Resolver) -> bool:
    """Tell whether a path is a file with one name, or nothing yet; what stands for a whole tree is none."""
    try:
        entry = resolver.entry(resource.value)
    except UnreadableError:
        return False
    if entry is None:
        return True
    # A second name of the same file may lie anywhere, so it is not only a file of this directory.
    return entry.kind is FileKind.FILE and entry.links <= 1


def _home(resolver: Resolver) -> str | None:
    try:
        return resolver.resolve("~", None)
    except UnrepresentableError:
        return None


def _patterns(resource: Resource, question: PolicyInput) -> tuple[str, ...]:
    within = question["within"].get(resource.role.name, {})
    return tuple(sorted(pattern for pattern, ids in within.items() if resource.id in ids))


def _free_text(tool: ToolAnnotation) -> list[tuple[str, ...]]:
    """Return the pointer patterns of the arguments that are free text in every mode of the tool."""
    fixed = [argument for argument in tool.args if not _FREE_TEXT.issuperset(argument.possible_roles)]
    free = [argument for argument in tool.args if _FREE_TEXT.issuperset(argument.possible_roles)]
    taken = [pointers.tokens(pointers.of_name(argument.name)) for argument in fixed]
    found = [pointers.tokens(pointers.of_name(argument.name)) for argument in free]
    return [steps for steps in found if not any(pointers.meets(other, steps) for other in taken)]


def _fixed(
    value: JsonValue, steps: tuple[str, ...], opened: Collection[str], free: Collection[tuple[str, ...]]
) -> JsonValue:
    """Return the arguments with every leaf that may differ replaced by a mark that no value can be."""
    if isinstance(value, dict):
        return {"object": {key: _fixed(item, (*steps, key), opened, free) for key, item in value.items()}}
    if isinstance(value, list):
        return {"array": [_fixed(item, (*steps, str(n)), opened, free) for n, item in enumerate(value)]}
    if pointers.join(steps) in opened:
        return "opened"
    if isinstance(value, str) and any(pointers.covers(pattern, steps) for pattern in free):
        return "free text"
    return {"value": value}
