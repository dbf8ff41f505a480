"""Sentences that would spare questions: each allows what people approved, as narrow as a person writes it.

A candidate rule keeps every test of the rule that asks, and names beside them the places, modes and amounts
of the calls that people approved. Calls are put together where they differ in one respect only, so that no
sentence joins the place of one with the tool, mode or other place of another. Whether it may be proposed is
for `proofs.py` to say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ironcurtain.analysis.advice.amounts import MIN_ANSWERS, AmountName, Amounts
from ironcurtain.analysis.advice.candidates import Candidate, condition_of
from ironcurtain.analysis.advice.modes import ModesOfCalls
from ironcurtain.analysis.advice.sentences import around, place_of
from ironcurtain.analysis.mutation.source import PolicySource
from ironcurtain.decision.roles import NONE
from ironcurtain.enforcement.audit.record_types import DecisionRecord, ResourceRecord
from ironcurtain.model.policy import Rule
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.structs import Struct, replace

_MAX_PLACES = 5
_MIN_IN_PLACE = 3
"""Different files or addresses that make a place; of fewer each is named itself."""
_CHECKED = "a person is told to check a sentence there that no rule can test"
_NO_RULE = "no rule of the policy asks about it, so no sentence can answer"
_NO_PLACE = "what was asked about lies in no place that a sentence could name"
_NO_WAY = "it has flags, commands or other arguments that a sentence could not name"
_TOOL, _PLACE, _MODE = "tool", "place", "mode"
_Respect: TypeAlias = tuple[str, str]
"""What calls can differ in: their tool, the place of a role, or a mode."""
_Values: TypeAlias = tuple[str, ...]
"""What a sentence says of one: names of tools, patterns, or modes as JSON."""


class _Kind(Struct):
    """Calls that one sentence can name.

    Attributes:
        rules: The rules that ask, in their order.
        respects: What they have in common, in the order of respects.
    """

    rules: tuple[str, ...]
    server: str
    respects: tuple[tuple[_Respect, _Values], ...]

    def of(self, kind: str) -> dict[str, _Values]:
        """Return what is said of all respects of a kind."""
        return {name: values for (each, name), values in self.respects if each == kind}

    def other(self, respect: _Respect, values: _Values) -> _Kind:
        """Return the kind with something else in one respect."""
        changed = tuple((each, values if each == respect else own) for each, own in self.respects)
        return replace(self, respects=changed)


class _Thing(Struct):
    """One resource that people were asked about.

    Attributes:
        identity: What tells it from others: its value, or its keyed digest.
        place: The place that it is in.
        name: The pattern that names it alone; None where there is none.
    """

    identity: str
    place: str
    name: str | None


_Things: TypeAlias = tuple[tuple[str, tuple[_Thing, ...]], ...]
"""By role what one call was about; nothing where the place stands for it."""


@dataclass
class _Answers:
    """Requests that people approved, with the amounts in them."""

    requests: set[str] = field(default_factory=set)
    amounts: Amounts = field(default_factory=Amounts)

    def merge(self, other: _Answers) -> None:
        """Take in other answers."""
        self.requests |= other.requests
        self.amounts.merge(other.amounts)


@dataclass
class _Approved:
    """Calls of one kind that people approved, by the things that they were about."""

    answers: dict[_Things, _Answers] = field(default_factory=lambda: defaultdict(_Answers))

    def grouped(self) -> dict[_Things, _Answers]:
        """Return the answers by things, without those of roles of whose places enough was approved."""
        in_place: dict[tuple[str, str], set[str]] = defaultdict(set)
        for things in self.answers:
            for role, listed in things:
                for each in listed:
                    in_place[role, each.place].add(each.identity)
        few = {role for (role, _), known in in_place.items() if len(known) < _MIN_IN_PLACE}
        found: dict[_Things, _Answers] = defaultdict(_Answers)
        for things, answers in self.answers.items():
            found[tuple((role, listed if role in few else ()) for role, listed in things)].merge(answers)
        return found


@dataclass
class _Support:
    """What a candidate rests on; None for bounds that are not known."""

    requests: set[str]
    bounds: dict[AmountName, float] | None

    def joined(self, other: _Support) -> _Support:
        """Return what both rest on; a bound of both is the smaller one, which holds for each."""
        known = self.bounds is not None and other.bounds is not None
        bounds = {**(self.bounds or {}), **(other.bounds or {})}
        both = {name: min((s.bounds or {}).get(name, v) for s in (self, other)) for name, v in bounds.items()}
        return _Support(self.requests | other.requests, both if known else None)


class ApprovedCalls:
    """The calls that people approved, as sentences would name them.

    Args:
        source: The policy.
        home: The home directory of the sessions.
    """

    def __init__(self, source: PolicySource, home: str) -> None:
        self._source, self._home = source, home
        self._modes = ModesOfCalls(source)
        self._rules = {rule.name: rule for rule in source.policy.rules}
        self._order = {name: number for number, name in enumerate(self._rules)}
        self._kinds: dict[_Kind, _Approved] = {}
        self.left_out: dict[str, int] = {}

    def add(self, log: str, record: DecisionRecord) -> None:
        """Count a call, if a person approved it."""
        approval = record.approval
        if record.verdict is not Verdict.ESCALATE or approval is None or approval.state != "approved":
            return
        made = self._kind(record)
        if isinstance(made, str):
            self.left_out[made] = self.left_out.get(made, 0) + 1
            return
        kind, things = made
        request = f"{log}/{approval.request or record.id}"
        answers = self._kinds.setdefault(kind, _Approved()).answers[things]
        answers.requests.add(request)
        answers.amounts.add(request, record, [self._rules[name].if_ for name in kind.rules])

    def candidates(self) -> Iterator[Candidate]:
        """Yield rules to try, those that rest on most answers first."""
        made = dict[str, Candidate]()
        for kind, support, is_wide in self._choices():
            candidate = self._candidate(kind, support, is_wide=is_wide)
            if candidate is not None and candidate.answers >= MIN_ANSWERS:
                made.setdefault(candidate.rules[0].name, candidate)
        yield from sorted(made.values(), key=lambda each: (-each.answers, each.breadth, each.rules[0].name))

    def answering(self, record: DecisionRecord) -> list[Candidate] | str:
        """Return rules that would answer one call: of the thing itself, and of the place that it is in.

        How many answers of people such a rule rests on does not matter here: a person asks for it.

        Returns:
            Else why no sentence can.
        """
        made = self._kind(record)
        if isinstance(made, str):
            return made
        kind, things = made
        given = self._kinds.get(kind, _Approved()).answers
        amounts = Amounts()
        amounts.add("", record, [self._rules[name].if_ for name in kind.rules])
        bounds = amounts.bounds(1)
        total = _Answers()
        for answers in given.values():
            total.merge(answers)
        exact = given[things] if things in given else _Answers()
        requests = {_named(kind, things): exact.requests, kind: total.requests}
        candidates = [
            self._candidate(each, _Support(answers, bounds), is_wide=False)
            for each, answers in requests.items()
            if each is not None
        ]
        return [each for each in candidates if each is not None] or _NO_PLACE

    # -- one call ------------------------------------------------------------------------------

    def _kind(self, record: DecisionRecord) -> tuple[_Kind, _Things] | str:
        """Return a call as a sentence would name it, with what it is about; else why none can."""
        asked = [each for each in record.subjects if each.verdict is Verdict.ESCALATE]
        if not asked or any(each.rule not in self._rules for each in asked):
            return _NO_RULE
        if record.approval is not None and record.approval.checks:
            return _CHECKED
        asking = sorted({each.rule for each in asked}, key=self._order.__getitem__)
        things = self._things(asked, asking)
        modes = self._modes.of(record, [self._rules[name] for name in asking])
        if things is None or modes is None:
            return _NO_PLACE if things is None else _NO_WAY
        places = [((_PLACE, role), tuple(sorted({each.place for each in own}))) for role, own in things]
        said = [((_MODE, name), (json_text.canonical(value).decode(),)) for name, value in modes.items()]
        respects = (((_TOOL, ""), (record.tool,)), *places, *sorted(said))
        return _Kind(tuple(asking), record.server, respects), things

    def _things(self, asked: Sequence[ResourceRecord], rules: Sequence[str]) -> _Things | None:
        """Return what was asked about, by role; None where no place of it can be named."""
        things: dict[str, set[_Thing]] = {}
        for each in asked:
            if each.role != NONE:
                thing = self._thing(each, rules)
                if thing is None:
                    return None
                things.setdefault(each.role, set()).add(thing)
        return tuple(
            (role, tuple(sorted(things[role], key=lambda thing: thing.identity))) for role in sorted(things)
        )

    def _thing(self, resource: ResourceRecord, rules: Sequence[str]) -> _Thing | None:
        role = self._source.registry[resource.role]
        if resource.unresolved or resource.redacted:
            return None
        if resource.value is not None:
            hosts = self._source.content.case_insensitive_hosts
            place = place_of(role, resource.value, self._home, hosts)
            name = place_of(role, resource.value, self._home, hosts, exact=True)
            return _Thing(resource.value, place, name) if place is not None else None
        # Without values the places that the policy itself names are all that is known.
        own = {
            pattern
            for name in rules
            for one in self._rules[name].if_.role_conditions
            if resource.role in one.roles
            for pattern in one.patterns
        }
        covering = sorted(own.intersection(resource.patterns))
        digests = resource.abstract.chain if resource.abstract is not None else ()
        if not covering or not digests:
            return None
        return _Thing(digests[-1], max(covering, key=len), None)

    # -- candidates ----------------------------------------------------------------------------

    def _choices(self) -> Iterator[tuple[_Kind, _Support, bool]]:
        """Yield what a sentence could name, with what it rests on, and whether it names a place around."""
        named = dict[_Kind, _Support]()
        around_each: dict[tuple[_Kind, _Respect], dict[_Values, _Answers]] = {}
        for raw, approved in self._kinds.items():
            for things, answers in approved.grouped().items():
                kind = _named(raw, things)
                for respect, values in raw.respects:
                    if respect[0] == _PLACE and (rest := _named(raw, things, wide=respect)) is not None:
                        group = around_each.setdefault((rest.other(respect, ()), respect), {})
                        group.setdefault(values, _Answers()).merge(answers)
                if kind is not None and len(answers.requests) >= MIN_ANSWERS:
                    support = _Support(answers.requests, answers.amounts.bounds())
                    named[kind] = support.joined(named[kind]) if kind in named else support
        yield from ((kind, support, False) for kind, support in named.items())
        yield from _joined(named)
        for (rest, respect), group in around_each.items():
            places = sorted({place for values in group for place in values})
            if len(places) < _MIN_IN_PLACE:
                continue
            common = around(self._source.registry[respect[1]], places, self._home)
            if common is not None:
                total = _Answers()
                for answers in group.values():
                    total.merge(answers)
                yield rest.other(respect, (common,)), _Support(total.requests, total.amounts.bounds()), True

    def _candidate(self, kind: _Kind, support: _Support, *, is_wide: bool) -> Candidate | None:
        if support.bounds is None:
            return None
        asking = [self._rules[name] for name in kind.rules]
        (tools,) = kind.of(_TOOL).values()
        places = kind.of(_PLACE)
        condition = condition_of(
            self._source, kind.server, tools, places, asking, kind.of(_MODE), support.bounds
        )
        digest = json_text.digest(condition).removeprefix("sha256:")[:8]
        rule = Rule.model_validate_json(
            json_text.canonical(
                {
                    "name": f"advised-{digest}",
                    "clause": asking[0].clause,
                    "if": condition,
                    "then": Verdict.ALLOW.value,
                    "reason": "People approved such calls.",
                }
            )
        )
        if not self._source.accepts([rule], {}):
            return None
        breadth = (len(places) == 0, sum(map(len, places.values())), len(tools))
        return Candidate(
            kind="fewer-questions",
            rules=(rule,),
            before=kind.rules[0],
            tools=frozenset((kind.server, tool) for tool in tools),
            answers=len(support.requests),
            is_wide=is_wide,
            breadth=breadth,
        )


def _named(kind: _Kind, things: _Things, wide: _Respect | None = None) -> _Kind | None:
    """Return a kind with each thing itself for the place of few, `wide` aside; None where one has no name."""
    for role, listed in things:
        if listed and (_PLACE, role) != wide:
            names = {each.name for each in listed}
            if None in names:
                return None
            kind = kind.other((_PLACE, role), tuple(sorted(name for name in names if name is not None)))
    return kind


def _joined(named: Mapping[_Kind, _Support]) -> Iterator[tuple[_Kind, _Support, bool]]:
    """Yield kinds that differ in one respect put together: as many as a sentence can name."""
    groups: dict[tuple[_Kind, _Respect], list[_Kind]] = {}
    for kind in named:
        for respect, _ in kind.respects:
            groups.setdefault((kind.other(respect, ()), respect), []).append(kind)
    for (rest, respect), kinds in groups.items():
        ordered = sorted(kinds, key=lambda kind: (-len(named[kind].requests), repr(kind.respects)))
        support, values = named[ordered[0]], dict(ordered[0].respects)[respect]
        for kind in ordered[1:]:
            more = _outermost({*values, *dict(kind.respects)[respect]})
            if len(more) > _MAX_PLACES:
                break
            support, values = support.joined(named[kind]), more
        if len(ordered) > 1:
            yield rest.other(respect, values), support, False


def _outermost(patterns: Iterable[str]) -> _Values:
    """Return patterns without the directories that lie in another one of them."""
    listed = sorted(patterns)
    outer = [each for each in listed if each.startswith(("/", "~"))]
    return tuple(p for p in listed if not any(p.startswith(f"{other}/") for other in outer))
