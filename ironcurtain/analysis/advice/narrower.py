"""Sentences that permit what was used and nothing beside it, where the logs are long enough to tell.

Only what is allowed without asking is narrowed: tools and patterns that nobody used are dropped, and places
are named as narrow as a person writes them. Whether it may be proposed is for `proofs.py` to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ironcurtain.analysis.advice.candidates import Candidate
from ironcurtain.analysis.advice.report import Support
from ironcurtain.analysis.advice.sentences import CONDITION_KEYS, around, place_of
from ironcurtain.analysis.advice.usage import CallClass
from ironcurtain.analysis.mutation.source import PolicySource
from ironcurtain.enforcement.audit.record_types import DecisionRecord
from ironcurtain.model.conditions import If, RoleCondition
from ironcurtain.model.guarantees import Guarantee, Guarantees, GuaranteeScope
from ironcurtain.model.policy import Rule
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.structs import Struct

MIN_CALLS, MIN_DAYS = 200, 14
"""The use that a tighter sentence has to rest on."""
_MAX_PLACES = 5
_MAX_KNOWN = 200
_STEADY = 0.75
"""The part of the days after which nothing new may have come up."""


class _Decided(Struct):
    """Resources of one role that one rule allows."""

    rule: str
    role: str


@dataclass
class _Seen:
    """What of them was used: places with the day each came up, none where one cannot be named."""

    places: dict[str, str] = field(default_factory=dict)
    is_open: bool = False


class UsedPlaces:
    """The places that rules allowed, as sentences would name them.

    Args:
        source: The policy.
        home: The home directory of the sessions.
    """

    def __init__(self, source: PolicySource, home: str) -> None:
        self._source, self._home = source, home
        self._seen: dict[_Decided, _Seen] = {}

    def add(self, record: DecisionRecord) -> None:
        """Take in the places of a permitted call."""
        if record.verdict is Verdict.DENY:
            return
        for each in record.subjects:
            role = self._source.registry[each.role]
            if each.discharged or not role.resource or each.rule not in self._source.content.rules:
                continue
            seen = self._seen.setdefault(_Decided(each.rule, each.role), _Seen())
            place = None
            if each.value is not None and not each.redacted and not each.unresolved:
                hosts = self._source.content.case_insensitive_hosts
                place = place_of(role, each.value, self._home, hosts)
            if place is None or (place not in seen.places and len(seen.places) >= _MAX_KNOWN):
                seen.is_open = True
            else:
                seen.places[place] = min(seen.places.get(place, record.time), record.time)

    def of(self, rule: str, role: str, before: str) -> tuple[str, ...]:
        """Return the few places of a role that a rule allowed, or one around them; none if nobody can tell.

        Args:
            rule: The rule.
            role: The role.
            before: The moment after which no new place may have come up.
        """
        seen = self._seen.get(_Decided(rule, role), _Seen(is_open=True))
        if seen.is_open or max(seen.places.values(), default="") > before:
            return ()
        if len(seen.places) <= _MAX_PLACES:
            return tuple(sorted(seen.places))
        common = around(self._source.registry[role], sorted(seen.places), self._home)
        return (common,) if common is not None else ()


class _ClauseUse(Struct):
    """The recorded classes that a clause's rules allowed, with the patterns and tools that they used."""

    classes: Sequence[CallClass]
    tools: frozenset[tuple[str, str]]
    patterns: frozenset[tuple[str, str]]


class Narrower:
    """Makes tighter sentences.

    Args:
        source: The policy.
        classes: The recorded calls.
        places: The places that they used.

    Attributes:
        too_little: The clauses of which the logs tell too little.
    """

    def __init__(self, source: PolicySource, classes: Sequence[CallClass], places: UsedPlaces) -> None:
        self._source, self._classes, self._places = source, classes, places
        days = sorted({day for each in classes for day in each.days})
        # A day sorts before every moment in it.
        self._steady = days[int(len(days) * _STEADY)] if days else ""
        self.too_little: list[str] = []

    def candidates(self) -> Iterator[tuple[Support, list[Candidate]]]:
        """Yield, for each clause that allows more than was used, candidates, the tightest first."""
        for clause in dict.fromkeys(rule.clause for rule in self._source.policy.rules):
            rules = [r for r in self._source.policy.rules if r.clause == clause and r.then is Verdict.ALLOW]
            if not rules:
                continue
            used = {rule.name: self._used(rule) for rule in rules}
            made = [self._candidate(clause, rules, used, named=named) for named in (True, False)]
            found = [each for each in dict.fromkeys(made) if each is not None]
            support = self._support(rules, used)
            if found and support is None:
                self.too_little.append(clause)
            elif found and support is not None:
                yield support, found

    def _used(self, rule: Rule) -> _ClauseUse:
        own = [each for each in self._classes if each.is_used and _is_decided(each.example, rule.name)]
        return _ClauseUse(
            own,
            frozenset((each.example.server, each.example.tool) for each in own),
            frozenset(
                (one.role, pattern)
                for each in own
                for one in each.example.subjects
                if one.rule == rule.name
                for pattern in one.patterns
            ),
        )

    def _support(self, rules: Sequence[Rule], used: Mapping[str, _ClauseUse]) -> Support | None:
        """Return what a tighter sentence would rest on; None where that is too little."""
        own = {id(each): each for use in used.values() for each in use.classes}
        servers = {server for rule in rules for server in rule.if_.server or ()}
        # Of what was never used, the use of everything else beside it tells how long nobody needed it.
        counted = [*own.values()] or [
            each for each in self._classes if not servers or each.example.server in servers
        ]
        calls = sum(each.calls for each in counted)
        days = len({day for each in counted for day in each.days})
        is_new = any(each.first > self._steady for each in own.values())
        if calls < MIN_CALLS or days < MIN_DAYS or is_new:
            return None
        callers = {caller for each in counted for caller in each.callers}
        return Support(calls=calls, days=days, callers=len(callers))

    def _candidate(
        self, clause: str, rules: Sequence[Rule], used: Mapping[str, _ClauseUse], *, named: bool
    ) -> Candidate | None:
        """Return a clause's rules as tight as they were used, with places where these are `named`."""
        kept = [
            self._narrowed(rule, used[rule.name], named=named) for rule in rules if used[rule.name].classes
        ]
        others = [r for r in self._source.policy.rules if r.clause == clause and r.then is not Verdict.ALLOW]
        if kept == [*rules] or not self._source.accepts([*kept, *others], {}):
            return None
        concerned = frozenset(
            place
            for place, tool in self._source.content.tools.items()
            for rule in rules
            if rule.if_.is_about(*place, side_effects=tool.side_effects)
        )
        return Candidate(kind="tighter", rules=(*kept, *others), tools=concerned, replaces=clause)

    def _narrowed(self, rule: Rule, used: _ClauseUse, *, named: bool) -> Rule:
        condition, update = rule.if_, dict[str, object]()
        if condition.tool is not None:
            names = {tool for _, tool in used.tools}
            update["tool"] = tuple(tool for tool in condition.tool if tool in names)
        for key, patterns in set(CONDITION_KEYS.values()):
            given: Sequence[RoleCondition] | None = getattr(condition, key)
            if given is not None:
                update[key] = tuple(
                    one.model_copy(update={patterns: self._fewer(rule, one, used, named=named)})
                    for one in given
                )
        return rule.model_copy(update={"if_": condition.model_copy(update=update)})

    def _fewer(self, rule: Rule, one: RoleCondition, used: _ClauseUse, *, named: bool) -> tuple[str, ...]:
        kept = tuple(p for p in one.patterns if any((role, p) in used.patterns for role in one.roles))
        if named and len(one.roles) == 1:
            places = self._places.of(rule.name, one.roles[0], self._steady)
            kept = places or kept
        return kept or one.patterns


def implied(source: PolicySource, candidate: Candidate) -> Guarantees:
    """Return what a tighter sentence promises: what is no longer allowed without asking."""
    old = {rule.name: rule for rule in source.policy.rules}
    found: list[Guarantee] = []
    kept = {rule.name: rule for rule in candidate.rules}
    for name, rule in old.items():
        if rule.clause != candidate.replaces or rule.then is not Verdict.ALLOW:
            continue
        new = kept.get(name)
        dropped = [t for t in rule.if_.tool or () if new is None or t not in (new.if_.tool or ())]
        scopes = [GuaranteeScope(server=rule.if_.server, tool=tuple(dropped))] if dropped else []
        scopes += [*_outside(rule.if_, new.if_)] if new is not None else []
        for scope in scopes:
            id_ = f"advised-{candidate.replaces}-{len(found) + 1}"
            found.append(Guarantee(id=id_, clause=candidate.replaces, never=Verdict.ALLOW, when=scope))
    return Guarantees(format="ironcurtain/guarantees/v1", guarantees=tuple(found))


def _outside(old: If, new: If) -> Iterator[GuaranteeScope]:
    for before, after in zip(old.role_conditions, new.role_conditions, strict=True):
        if before.patterns != after.patterns and not any(p.startswith("@") for p in after.patterns):
            yield GuaranteeScope(server=new.server, tool=new.tool, roles=after.roles, outside=after.patterns)


def _is_decided(record: DecisionRecord, rule: str) -> bool:
    return any(each.rule == rule for each in record.subjects)
