"""Sentences that would spare questions: each allows what people approved, as narrow as a person writes it.

A candidate rule keeps every test of the rule that asks, and names beside them the places, modes, commands and
amounts of the calls that people approved. Whether it may be proposed is for `proofs.py` to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ironcurtain.analysis.advice.amounts import Amounts, bounds_of
from ironcurtain.analysis.advice.candidates import MIN_ANSWERS, Candidate, condition_of
from ironcurtain.analysis.advice.sentences import around, is_plain, place_of
from ironcurtain.analysis.mutation.source import PolicySource
from ironcurtain.decision.roles import NONE
from ironcurtain.enforcement.audit.record_types import DecisionRecord, ResourceRecord
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.policy import Rule
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, replace

_MAX_PLACES = 5
_MIN_IN_PLACE = 3
"""Different files or addresses that make a place; of fewer each is named itself."""
_COMMANDS = frozenset({"command", "cmd", "script", "code", "sql", "query", "expression", "program", "args"})
_CHECKED = "a person is told to check a sentence there that no rule can test"
_NO_RULE = "no rule of the policy asks about it, so no sentence can answer"
_NO_PLACE = "what was asked about lies in no place that a sentence could name"
_Places: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
_Union: TypeAlias = dict[str, frozenset[str]]
_Pins: TypeAlias = tuple[tuple[str, JsonValue], ...]


class _Kind(Struct):
    """Approved calls as a sentence would name them.

    Attributes:
        rules: The rules that asked, in their order.
        places: By role, the places of what they asked about.
        pins: The values of modes and commands, by argument.
    """

    rules: tuple[str, ...]
    server: str
    tool: str
    places: _Places
    pins: _Pins

    @property
    def key(self) -> str:
        """What kinds are sorted by."""
        return repr((self.rules, self.server, self.tool, self.places, self.pins))


@dataclass
class _Answers:
    """Requests that people approved, by id, with the amounts in them, and by what they were about exactly."""

    requests: set[str] = field(default_factory=set)
    exact: dict[_Places | None, set[str]] = field(default_factory=dict)
    amounts: Amounts = field(default_factory=Amounts)


class _Group(Struct):
    """Kinds that one sentence can name together."""

    rules: tuple[str, ...]
    server: str
    roles: tuple[str, ...]
    pinned: tuple[str, ...]

    @classmethod
    def of(cls, kind: _Kind) -> _Group:
        roles = tuple(role for role, _ in kind.places)
        return cls(kind.rules, kind.server, roles, tuple(name for name, _ in kind.pins))


class ApprovedCalls:
    """The calls that people approved, as sentences would name them.

    Args:
        source: The policy.
        home: The home directory of the sessions.
    """

    def __init__(self, source: PolicySource, home: str) -> None:
        self._source, self._home = source, home
        self._rules = {rule.name: rule for rule in source.policy.rules}
        self._order = {name: number for number, name in enumerate(self._rules)}
        self._kinds: dict[_Kind, _Answers] = {}
        self.left_out: dict[str, int] = {}

    def add(self, log: str, record: DecisionRecord) -> None:
        """Count a call, if a person approved it."""
        approval = record.approval
        if record.verdict is not Verdict.ESCALATE or approval is None or approval.state != "approved":
            return
        kind = self._kind(record)
        if isinstance(kind, str):
            self.left_out[kind] = self.left_out.get(kind, 0) + 1
            return
        answers = self._kinds.setdefault(kind, _Answers())
        request = f"{log}/{approval.request or record.id}"
        answers.requests.add(request)
        if len(answers.exact) <= _MIN_IN_PLACE:
            exact = self._places(_asked(record), kind.rules, exact=True)
            answers.exact.setdefault(exact, set()).add(request)
        answers.amounts.add(record, [self._rules[name].if_ for name in kind.rules])

    def candidates(self) -> list[Candidate]:
        """Return rules to try, those that rest on most answers first."""
        groups: dict[_Group, dict[_Kind, _Answers]] = {}
        for kind, answers in self._kinds.items():
            groups.setdefault(_Group.of(kind), {})[kind] = answers
        found: dict[str, Candidate] = {}
        for group, kinds in groups.items():
            for named, places, is_wide in self._choices(group, kinds):
                made = self._candidate(group, named, places, is_wide=is_wide)
                if made is not None and made.answers >= MIN_ANSWERS:
                    found.setdefault(made.rules[0].name, made)
        return sorted(found.values(), key=lambda each: (-each.answers, each.breadth, each.rules[0].name))

    def answering(self, record: DecisionRecord) -> list[Candidate] | str:
        """Return rules that would answer one call: of the thing itself, and of the place that it is in.

        How many answers of people such a rule rests on does not matter here: a person asks for it.

        Returns:
            Else why no sentence can.
        """
        kind = self._kind(record)
        if isinstance(kind, str):
            return kind
        given = self._kinds.get(kind, _Answers())
        given.amounts.add(record, [self._rules[name].if_ for name in kind.rules])
        self._kinds[kind] = given
        exact = self._places(_asked(record), kind.rules, exact=True)
        group = _Group.of(kind)
        return [
            replace(made, answers=len(requests))
            for places, requests in {
                exact: given.exact.get(exact, set()),
                kind.places: given.requests,
            }.items()
            if places is not None
            and (made := self._candidate(group, [kind], _union([places]), is_wide=False)) is not None
        ] or _NO_PLACE

    # -- one call ------------------------------------------------------------------------------

    def _kind(self, record: DecisionRecord) -> _Kind | str:
        """Return a call as a sentence would name it; else why none can."""
        asked = _asked(record)
        if not asked or any(each.rule not in self._rules for each in asked):
            return _NO_RULE
        if record.approval is not None and record.approval.checks:
            return _CHECKED
        tool = self._source.content.tools.get((record.server, record.tool))
        rules = tuple(sorted({each.rule for each in asked}, key=self._order.__getitem__))
        pins = self._pins(record, tool) if tool is not None else None
        places = self._places(asked, rules)
        if pins is None or places is None:
            return _NO_PLACE
        return _Kind(rules, record.server, record.tool, places, pins)

    def _places(
        self, asked: Sequence[ResourceRecord], rules: Sequence[str], *, exact: bool = False
    ) -> _Places | None:
        """Return the places of what was asked about, by role; None where one cannot be named."""
        places: dict[str, set[str]] = {}
        for each in asked:
            if each.role != NONE:
                place = self._place(each, rules, exact=exact)
                if place is None:
                    return None
                places.setdefault(each.role, set()).add(place)
        return tuple((role, tuple(sorted(places[role]))) for role in sorted(places))

    def _place(self, resource: ResourceRecord, rules: Sequence[str], *, exact: bool) -> str | None:
        role = self._source.registry[resource.role]
        if resource.unresolved or resource.redacted:
            return None
        if resource.value is not None:
            hosts = self._source.content.case_insensitive_hosts
            return place_of(role, resource.value, self._home, hosts, exact=exact)
        # Without values the places that the policy itself names are all that is known.
        own = {
            pattern
            for name in rules
            for one in self._rules[name].if_.role_conditions
            if resource.role in one.roles
            for pattern in one.patterns
        }
        covering = sorted(own.intersection(resource.patterns))
        return max(covering, key=len, default=None)

    def _pins(self, record: DecisionRecord, tool: ToolAnnotation) -> _Pins | None:
        """Return the modes and commands of a call; None where one of them is not known, or not plain."""
        given = record.arguments if record.abstract is None else record.abstract.args
        named = {argument.top_level for argument in tool.args if {*argument.possible_roles} != {NONE}}
        pins: dict[str, JsonValue] = {}
        for name, schema in _properties(tool).items():
            if name in named or given is None or given.get(name) is None:
                continue
            value = given[name]
            is_command = name.lower() in _COMMANDS
            if isinstance(value, bool):
                pins[name] = value
            elif is_command or (isinstance(schema, dict) and "enum" in schema):
                if record.abstract is not None or not isinstance(value, str):
                    return None
                if not is_plain(value, command=True):
                    return None
                pins[name] = value
        return tuple(sorted(pins.items()))

    # -- candidates ----------------------------------------------------------------------------

    def _choices(
        self, group: _Group, kinds: Mapping[_Kind, _Answers]
    ) -> Iterator[tuple[list[_Kind], _Union, bool]]:
        """Yield kinds that a sentence could name, each with its places by role, and whether it names more."""
        firm = {kind: _named(kind, a) for kind, a in kinds.items() if len(a.requests) >= MIN_ANSWERS}
        ordered = [
            kind for kind in sorted(firm, key=lambda k: (-len(kinds[k].requests), k.key)) if firm[kind]
        ]
        for size in range(len(ordered), 0, -1):
            union = _union([each for kind in ordered[:size] for each in firm[kind]])
            if all(len(patterns) <= _MAX_PLACES for patterns in union.values()):
                yield ordered[:size], union, False
                break
        yield from (([kind], _union(firm[kind]), False) for kind in ordered[:_MAX_PLACES])
        wide = _union([kind.places for kind in kinds])
        for role, patterns in wide.items():
            if len(patterns) >= _MIN_IN_PLACE:
                common = around(self._source.registry[role], sorted(patterns), self._home)
                if common is None:
                    return
                wide[role] = frozenset({common})
        if group.roles and wide != _union([kind.places for kind in kinds]):
            yield [*kinds], wide, True

    def _candidate(
        self, group: _Group, kinds: Sequence[_Kind], places: _Union, *, is_wide: bool
    ) -> Candidate | None:
        requests = {request for kind in kinds for request in self._kinds[kind].requests}
        bounds = bounds_of([self._kinds[kind].amounts for kind in kinds])
        if bounds is None:
            return None
        asking = [self._rules[name] for name in group.rules]
        tools = sorted({kind.tool for kind in kinds})
        pins = {name: sorted({dict(kind.pins)[name] for kind in kinds}, key=repr) for name in group.pinned}
        condition = condition_of(self._source, group.server, tools, places, asking, pins, bounds)
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
        breadth = (len(places) == 0, sum(map(len, places.values())), len(tools))
        if not self._source.accepts([rule], {}):
            return None
        return Candidate(
            kind="fewer-questions",
            rules=(rule,),
            before=group.rules[0],
            tools=frozenset((group.server, tool) for tool in tools),
            answers=len(requests),
            is_wide=is_wide,
            breadth=breadth,
        )


def _asked(record: DecisionRecord) -> list[ResourceRecord]:
    return [each for each in record.subjects if each.verdict is Verdict.ESCALATE]


def _properties(tool: ToolAnnotation) -> dict[str, JsonValue]:
    properties = (tool.input_schema or {}).get("properties")
    return properties if isinstance(properties, dict) else {}


def _named(kind: _Kind, answers: _Answers) -> list[_Places]:
    """Return the places that a sentence about a kind names: each thing itself, where they are few."""
    if len(answers.exact) >= _MIN_IN_PLACE or not kind.places:
        return [kind.places]
    return [places for places, own in answers.exact.items() if places is not None and len(own) >= MIN_ANSWERS]


def _union(named: Iterable[_Places]) -> _Union:
    found: _Union = {}
    for places in named:
        for role, patterns in places:
            found[role] = found.get(role, frozenset()) | {*patterns}
    return {
        role: frozenset(p for p in patterns if not _is_inside(p, patterns))
        for role, patterns in found.items()
    }


def _is_inside(path: str, others: Iterable[str]) -> bool:
    """Tell whether a directory lies in another one of some."""
    return any(path.startswith(f"{other}/") for other in others if other.startswith(("/", "~")))
