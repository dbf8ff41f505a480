"""The policy input: what OPA gets to see of a call (specification 2.6).

Besides the resources themselves it holds three derived members (`roles`, `patterns`, `within`), because
OPA indexes `"pattern" in input.patterns[role]`: rules are then looked up, not tried one by one. The
same members of workspace-exempt resources stand apart under `sandboxed`, where only rules that ask for them
look.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NotRequired, Protocol, TypedDict, cast

from pydantic_core import to_json

from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.decision.canonical.urls import Url
from ironcurtain.decision.refusal import Refusal
from ironcurtain.decision.roles import Role
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.reasons import UNTOLD, Reason, ReasonCode
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.json_text import JsonSource

MAX_BYTES = 8 << 20
_BYTES_PER_MEMBERSHIP = 16
_BYTES_PER_SUBJECT = 80


class ResourceInput(TypedDict):
    """A resource as rules see it."""

    role: str
    at: str
    value: str
    discharged: bool


class DerivedInput(TypedDict):
    """What rules are looked up by: a role's resources, the patterns that cover any, and which these cover."""

    roles: dict[str, dict[str, bool]]
    patterns: dict[str, list[str]]
    within: dict[str, dict[str, dict[str, bool]]]


class PolicyInput(DerivedInput):
    """The input of one call; its own derived members are those of the resources that need a rule.

    `facts` is there where the policy declares some.
    """

    server: str
    tool: str
    side_effects: bool
    args: dict[str, JsonValue]
    caller: dict[str, JsonValue]
    facts: NotRequired[dict[str, JsonValue]]
    subjects: dict[str, ResourceInput]
    sandboxed: DerivedInput


class Patterns(Protocol):
    """The patterns of a policy, as `PatternIndex` knows them."""

    def covering(self, role: Role, resource: str | Url) -> tuple[str, ...]:
        """Return the patterns and `@lists` that cover a resource under a role, sorted."""


def policy_input(  # noqa: PLR0913, PLR0917 - one for each member that a policy reads
    server: str,
    tool: ToolAnnotation,
    arguments: dict[str, JsonValue],
    caller: dict[str, JsonValue],
    resources: tuple[Resource, ...],
    discharged: frozenset[str],
    patterns: Patterns,
    facts: dict[str, JsonValue] | None = None,
) -> PolicyInput:
    """Build the input of one call; `facts` is None where the policy declares none.

    Raises:
        Refusal: If it would grow beyond 8 MiB.
    """
    size = _Size()
    size.add(_bytes(arguments) + _bytes(caller) + (0 if facts is None else _bytes(facts)))
    size.add(_bytes([each.value for each in resources]) + _bytes([each.at for each in resources]))
    size.add(_BYTES_PER_SUBJECT * len(resources))
    open_, sandboxed = _Derived(patterns, size), _Derived(patterns, size)
    listed: dict[str, ResourceInput] = {}
    for resource in resources:
        is_discharged = resource.id in discharged
        listed[resource.id] = {
            "role": resource.role.name,
            "at": resource.at,
            "value": resource.value,
            "discharged": is_discharged,
        }
        (sandboxed if is_discharged else open_).add(resource)
    own = open_.members()
    members: PolicyInput = {
        "server": server,
        "tool": tool.tool,
        "side_effects": tool.side_effects,
        "args": arguments,
        "caller": caller,
        "subjects": listed,
        "roles": own["roles"],
        "patterns": own["patterns"],
        "within": own["within"],
        "sandboxed": sandboxed.members(),
    }
    if facts is not None:
        members["facts"] = facts
    return members


def as_json(question: PolicyInput) -> JsonSource:
    """Return a policy input as what it is to those who write it: a JSON object."""
    return cast("JsonSource", question)  # a TypedDict of JSON values, which no type says of it


def _bytes(value: JsonSource) -> int:
    return len(to_json(value))


class _Size:
    """Counts the input's size while it is built, so that a huge one is refused before it exists."""

    def __init__(self) -> None:
        self._bytes = 0

    def add(self, count: int) -> None:
        self._bytes += count
        if self._bytes > MAX_BYTES:
            text = "The call names more resources than can be judged together."
            raise Refusal.unrepresentable(Reason(ReasonCode.LIMIT, text, UNTOLD))


class _Derived:
    """The members that rules are indexed by, for one group of resources."""

    def __init__(self, patterns: Patterns, size: _Size) -> None:
        self._patterns = patterns
        self._size = size
        self._roles: defaultdict[str, list[str]] = defaultdict(list)
        # Many resources of one call lie in few directories, so that the same patterns cover them.
        self._alike: defaultdict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)

    def add(self, resource: Resource) -> None:
        role = resource.role
        self._roles[role.name].append(resource.id)
        if not role.resource or resource.unresolved is not None:
            return
        covering = self._patterns.covering(role, resource.resource)
        if covering:
            self._alike[role.name, covering].append(resource.id)
            self._size.add(_BYTES_PER_MEMBERSHIP * len(covering))

    def members(self) -> DerivedInput:
        covered: dict[str, defaultdict[str, list[str]]] = {}
        for (role, covering), ids in self._alike.items():
            by_pattern = covered.setdefault(role, defaultdict(list))
            for pattern in covering:
                by_pattern[pattern] += ids
        return {
            "roles": {role: dict.fromkeys(ids, True) for role, ids in self._roles.items()},
            "patterns": {role: sorted(by_pattern) for role, by_pattern in covered.items()},
            "within": {
                role: {pattern: dict.fromkeys(sorted(ids), True) for pattern, ids in by_pattern.items()}
                for role, by_pattern in covered.items()
            },
        }
