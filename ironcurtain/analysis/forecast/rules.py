"""Rules that would spare approvals, each as narrow as the calls that it is made of.

A candidate allows one tool in the places of some of the calls that ask: directories, addresses and
identifiers as they are, never home or a directory above it. Whether it spares anything, and what else it
changes, is found by deciding; here it is only proposed.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping

from ironcurtain.analysis.forecast.forecast import ProfiledCall
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.roles import NONE, Registry, Role
from ironcurtain.model.decision import Decision
from ironcurtain.model.policy import Rule
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct

MAX_CANDIDATES = 24
_KEYS = {"path": ("paths", "within"), "url": ("domains", "allowed"), "identifier": ("lists", "allowed")}


class CandidateRule(Struct):
    """A rule that could spare approvals.

    Attributes:
        before: The rule that it has to stand before.
        narrowness: What candidates that spare equally much are sorted by; the smallest is the narrowest.
        weight: How many approvals it was made of: about so many it spares at most.
    """

    rule: Rule
    before: str
    narrowness: tuple[int, ...]
    weight: int


def candidates(
    calls: Iterable[ProfiledCall], content: PolicyContent, registry: Registry, home: str
) -> list[CandidateRule]:
    """Return rules to try, those made of most approvals first."""
    groups: dict[tuple[str, str, str], list[tuple[Decision, int]]] = {}
    for call in calls:
        if call.asks and call.decision is not None and call.decision.rule in content.rules:
            key = (call.server, call.tool, call.decision.rule)
            groups.setdefault(key, []).append((call.decision, call.count))
    by_name: dict[str, CandidateRule] = {}
    for (server, tool, before), members in groups.items():
        for places, weight in _choices(members, registry, home):
            made = _candidate(server, tool, before, places, content, registry, weight)
            known = by_name.get(made.rule.name)
            if known is None or known.weight < made.weight:
                by_name[made.rule.name] = made
    ordered = sorted(
        by_name.values(), key=lambda candidate: (-candidate.weight, candidate.narrowness, candidate.rule.name)
    )
    return ordered[:MAX_CANDIDATES]


def _choices(
    members: list[tuple[Decision, int]], registry: Registry, home: str
) -> Iterator[tuple[Mapping[str, frozenset[str]], int]]:
    """Yield the places by role that a rule could name, with the approvals that ask about such places."""
    by_places: dict[tuple[tuple[str, frozenset[str]], ...], int] = {}
    for decision, count in members:
        places = _places(decision, registry, home)
        if places is not None:
            key = tuple(sorted(places.items()))
            by_places[key] = by_places.get(key, 0) + count
    for key, weight in by_places.items():
        yield dict(key), weight
    together = _together([dict(key) for key in by_places], registry, home)
    if len(by_places) > 1 and together is not None:
        yield together, sum(by_places.values())


def _places(decision: Decision, registry: Registry, home: str) -> dict[str, frozenset[str]] | None:
    """Return the patterns that cover a call's resources, by role; None if no narrow ones do."""
    places: dict[str, frozenset[str]] = {}
    for resource in decision.subjects:
        if resource.discharged or resource.role == NONE:
            continue
        pattern = _pattern(registry[resource.role], resource.value, home)
        if pattern is None:
            return None
        places[resource.role] = places.get(resource.role, frozenset()) | {pattern}
    return places


def _pattern(role: Role, value: str, home: str) -> str | None:
    if not value:
        return None
    if role.category == "path":
        return _directory(posixpath.dirname(value), home)
    if role.category == "identifier":
        return value
    authority = value.partition("://")[2].partition("/")[0].rpartition("@")[2]
    scheme = value.partition("://")[0]
    plain = authority if scheme in ("https", "ssh") else f"{scheme}://{authority}"
    return plain if authority and ":" not in authority else None


def _directory(path: str, home: str) -> str | None:
    """Return a directory as a pattern; None for home and what is above it."""
    if path == home or home.startswith(f"{path.rstrip('/')}/"):
        return None
    return f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path


def _together(
    choices: list[dict[str, frozenset[str]]], registry: Registry, home: str
) -> dict[str, frozenset[str]] | None:
    """Return the narrowest places that hold all that the choices do; None if those are not narrow."""
    narrowest: dict[str, frozenset[str]] = {}
    for role in sorted({role for choice in choices for role in choice}):
        patterns = frozenset().union(*(choice.get(role, frozenset()) for choice in choices))
        if registry[role].category == "path" and len(patterns) > 1:
            real = [f"{home}{pattern[1:]}" if pattern.startswith("~") else pattern for pattern in patterns]
            common = _directory(posixpath.commonpath(real), home)
            if common is None:
                return None
            patterns = frozenset({common})
        narrowest[role] = patterns
    return narrowest


def _candidate(
    server: str,
    tool: str,
    before: str,
    places: Mapping[str, frozenset[str]],
    content: PolicyContent,
    registry: Registry,
    weight: int,
) -> CandidateRule:
    asking = content.rules[before]
    condition: dict[str, JsonValue] = {"server": [server], "tool": [tool]}
    tests: dict[str, list[JsonValue]] = {}
    for role, patterns in sorted(places.items()):
        key, field = _KEYS[registry[role].category]
        tests.setdefault(key, []).append({"roles": [role], field: [*sorted(patterns)]})
    condition |= tests
    test = asking.if_
    if test is not None and test.args is not None:
        condition["args"] = [
            argument.model_dump(mode="json", exclude_defaults=True) for argument in test.args
        ]
    name = f"allow-{json_text.digest(condition).removeprefix('sha256:')[:8]}"
    rule = Rule.model_validate_json(
        json_text.canonical(
            {
                "name": name,
                "description": "Proposed by a forecast.",
                "clause": asking.clause,
                "if": condition,
                "then": Verdict.ALLOW.value,
                "reason": f"Spares approvals that {before} asks for.",
            }
        )
    )
    named = [pattern for patterns in places.values() for pattern in patterns]
    depth = sum(pattern.count("/") for pattern in named)
    return CandidateRule(rule, before, (len(places) == 0, len(named), -depth), weight)
