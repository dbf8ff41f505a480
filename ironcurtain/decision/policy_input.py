"""The policy input: what OPA gets to see of a call (specification 2.6).

Besides the subjects themselves it holds three derived members (`roles`, `patterns`, `within`), because
OPA indexes `"pattern" in input.patterns[role]`: rules are then looked up, not tried one by one. The
same members of discharged subjects stand apart under `sandboxed`, where only rules that ask for them look.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Protocol

from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.decision.canonical.urls import Url
from ironcurtain.decision.refusal import Refusal
from ironcurtain.decision.roles import Role
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.reasons import UNTOLD, Reason, ReasonCode
from ironcurtain.system.frozen import JsonValue

MAX_BYTES = 8 << 20
_BYTES_PER_MEMBERSHIP = 16
_BYTES_PER_SUBJECT = 80
_JSON = json.JSONEncoder(ensure_ascii=False)


class Patterns(Protocol):
    """The patterns of a policy, as `PatternIndex` knows them."""

    def covering(self, role: Role, resource: str | Url) -> tuple[str, ...]:
        """Return the patterns and `@lists` that cover a resource under a role, sorted."""


def policy_input(
    server: str,
    tool: ToolAnnotation,
    arguments: Mapping[str, JsonValue],
    caller: Mapping[str, JsonValue],
    subjects: tuple[Resource, ...],
    discharged: frozenset[str],
    patterns: Patterns,
) -> dict[str, JsonValue]:
    """Build the input of one call.

    Raises:
        Refusal: If it would grow beyond 8 MiB.
    """
    size = _Size()
    size.add(_bytes(arguments) + _bytes(caller))
    open_, sandboxed = _Derived(patterns, size), _Derived(patterns, size)
    listed: dict[str, JsonValue] = {}
    for subject in subjects:
        is_discharged = subject.id in discharged
        listed[subject.id] = {
            "role": subject.role.name,
            "at": subject.at,
            "value": subject.value,
            "discharged": is_discharged,
        }
        size.add(_bytes(subject.value) + _bytes(subject.at) + _BYTES_PER_SUBJECT)
        (sandboxed if is_discharged else open_).add(subject)
    return {
        "server": server,
        "tool": tool.tool,
        "side_effects": tool.side_effects,
        "args": arguments,
        "caller": caller,
        "subjects": listed,
        **open_.members(),
        "sandboxed": sandboxed.members(),
    }


def _bytes(value: JsonValue) -> int:
    return len(_JSON.encode(value).encode())


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
    """The members that rules are indexed by, for one group of subjects."""

    def __init__(self, patterns: Patterns, size: _Size) -> None:
        self._patterns = patterns
        self._size = size
        self._roles: dict[str, dict[str, bool]] = {}
        self._within: dict[str, dict[str, dict[str, bool]]] = {}

    def add(self, subject: Resource) -> None:
        role = subject.role
        self._roles.setdefault(role.name, {})[subject.id] = True
        if not role.resource or subject.unresolved is not None:
            return
        covering = self._patterns.covering(role, subject.resource)
        within = self._within.setdefault(role.name, {}) if covering else {}
        for pattern in covering:
            within.setdefault(pattern, {})[subject.id] = True
        self._size.add(_BYTES_PER_MEMBERSHIP * len(covering))

    def members(self) -> dict[str, JsonValue]:
        patterns = {role: sorted(found) for role, found in self._within.items()}
        return {"roles": self._roles, "patterns": patterns, "within": self._within}
