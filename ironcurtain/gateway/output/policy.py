"""Output policies: what of a tool's answer leaves the gateway (specification 6).

Each rule gives a path (`paths.py`) an action. A leaf that no rule covers is stripped. Of the rules that cover
a leaf, one whose coverage is a strict subset of another's overrides it; of those that are left, the most
restrictive wins. So the result depends neither on the order of the rules nor on the value.

    policy = OutputPolicy.parse({".customer": "allow", "..email": "redact", ".customer.name": "mask"})
    policy.apply({"customer": {"name": "Alice", "email": "a@example.com"}}).value
    # {"customer": {"name": "A***e"}}
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, TypeAlias

from pydantic import JsonValue

from ironcurtain.gateway.output.automaton import Automaton, State, TooManyStatesError
from ironcurtain.gateway.output.rules import (
    MAX_RULES,
    Action,
    OutputPolicyError,
    OutputRule,
    PolicyProblem,
    compared,
    read_rules,
)
from ironcurtain.system.structs import Struct

MAX_DEPTH = 100
MAX_NODES = 1_000_000

Container: TypeAlias = dict[str, JsonValue] | list[JsonValue]
_CONTAINERS: Final = (dict, list)


class UnfilterableError(ValueError):
    """A value that is never returned: too deep, too large, or not strict JSON."""


class Filtered(Struct):
    """What is left of a value.

    Attributes:
        value: It; None with `is_empty` where nothing is left.
        is_empty: Whether nothing is left, not even the outermost container.
        masked: By rule, how many strings were masked.
        redacted: By rule, how many leaves, or containers of which nothing could stay, were taken out.
        stripped: How many of these no rule covers.
    """

    value: JsonValue
    is_empty: bool
    masked: Mapping[str, int]
    redacted: Mapping[str, int]
    stripped: int


class LeafOutcome(Struct):
    """What happens to one leaf.

    Attributes:
        rule: The rule that decides; None where none covers the leaf.
    """

    action: Action
    rule: OutputRule | None


@dataclass
class _Plan:
    """What happens at one state; what is below is worked out when it is first needed."""

    outcome: LeafOutcome
    state: State
    name: str = ""
    whole: Action | None = None
    keys: dict[str, _Plan] = field(default_factory=dict)
    indexes: dict[int, _Plan] = field(default_factory=dict)
    other_key: _Plan | None = None
    other_index: _Plan | None = None


@dataclass
class _Tally:
    masked: Counter[str] = field(default_factory=Counter)
    redacted: Counter[str] = field(default_factory=Counter)
    stripped: int = 0

    def taken(self, rule: str) -> None:
        if rule:
            self.redacted[rule] += 1
        else:
            self.stripped += 1


class _Gone:
    """Stands for what does not stay."""


_GONE: Final = _Gone()


class OutputPolicy:
    """A policy that was checked; make it with `parse`. It can be used from several threads."""

    def __init__(self, rules: Sequence[OutputRule], narrower: Mapping[int, frozenset[int]]) -> None:
        """Take rules, and by each rule those whose coverage is a strict subset of its own."""
        self.rules = tuple(rules)
        self._narrower = narrower
        self._automaton = Automaton([rule.path for rule in rules])
        self._plans: dict[State, _Plan] = {}

    @classmethod
    def parse(cls, written: Mapping[str, str]) -> OutputPolicy:
        """Read a policy: by path, `allow`, `mask` or `redact`.

        Raises:
            OutputPolicyError: With everything that is wrong with it.
        """
        rules, problems = read_rules(written)
        if len(rules) > MAX_RULES:
            problems.append(PolicyProblem(".", f"a policy has at most {MAX_RULES} rules", "Join some."))
        if problems:
            raise OutputPolicyError(problems)
        narrower, contradictions = compared(rules)
        if contradictions:
            raise OutputPolicyError(contradictions)
        return cls(rules, narrower)

    def start(self) -> State:
        """Return the state of the whole value."""
        return self._automaton.start

    def key(self, state: State, name: str) -> State:
        """Return the state of a member."""
        return self._automaton.after_key(state, name)

    def index(self, state: State, number: int) -> State:
        """Return the state of an element."""
        return self._automaton.after_index(state, number)

    @property
    def named_keys(self) -> frozenset[str]:
        """The keys that rules name."""
        return self._automaton.keys

    @property
    def named_indexes(self) -> frozenset[int]:
        """The indexes that rules name."""
        return self._automaton.indexes

    @property
    def unnamed_key(self) -> str:
        """A key that no rule names: all of these are one to the policy."""
        name = "other"
        while name in self._automaton.keys:
            name += "_"
        return name

    @property
    def unnamed_index(self) -> int:
        """An index that no rule names."""
        return max(self._automaton.indexes, default=-1) + 1

    def outcome(self, state: State) -> LeafOutcome:
        """Return what happens to a string at a state, or to a leaf of another kind but for masking."""
        covering = state.covering
        left = [number for number in covering if not self._narrower[number] & covering]
        if not left:
            return LeafOutcome(Action.STRIP, None)
        effects = [(self._effect(number, state), -number) for number in left]
        action, number = max(effects)
        return LeafOutcome(action, self.rules[-number])

    def _effect(self, number: int, state: State) -> Action:
        """Return a rule's action; masking a container redacts what is in it."""
        action = self.rules[number].action
        return Action.REDACT if action is Action.MASK and number not in state.matched else action

    def allowed_inside(self) -> Iterator[tuple[OutputRule, OutputRule]]:
        """Yield each rule that allows a part of what another one redacts, with that other one."""
        for number, wide in enumerate(self.rules):
            if wide.action is Action.REDACT:
                inside = (self.rules[each] for each in sorted(self._narrower[number]))
                yield from ((rule, wide) for rule in inside if rule.action is Action.ALLOW)

    def apply(self, value: JsonValue) -> Filtered:
        """Return what leaves of a value.

        Raises:
            UnfilterableError: If nothing of it may.
        """
        check_bounds(value)
        tally = _Tally()
        try:
            left = self._place(value, self._plan(self._automaton.start), tally)
        except TooManyStatesError:
            raise UnfilterableError("the output policy is too complex for this value") from None
        if isinstance(left, _Gone):
            return Filtered(None, True, tally.masked, tally.redacted, tally.stripped)  # noqa: FBT003
        return Filtered(left, False, tally.masked, tally.redacted, tally.stripped)  # noqa: FBT003

    def outcomes(self, value: JsonValue) -> Iterator[tuple[str, LeafOutcome]]:
        """Yield the address of each leaf, as a path, with what happens to it.

        Raises:
            UnfilterableError: As `apply`.
        """
        check_bounds(value)
        yield from self._outcomes(value, self._automaton.start, "")

    def _outcomes(self, value: JsonValue, state: State, at: str) -> Iterator[tuple[str, LeafOutcome]]:
        if isinstance(value, dict) and value:
            for name, member in value.items():
                below = (
                    f"{at}.{json.dumps(name, ensure_ascii=False)}"
                    if not name.isidentifier()
                    else f"{at}.{name}"
                )
                yield from self._outcomes(member, self.key(state, name), below)
        elif isinstance(value, list) and value:
            for number, element in enumerate(value):
                below = f"{at or '.'}[{number}]"
                yield from self._outcomes(element, self.index(state, number), below)
        else:
            yield at or ".", leaf_outcome(self.outcome(state), value)

    # -- walking a value ------------------------------------------------------------------------

    def _plan(self, state: State) -> _Plan:
        plan = self._plans.get(state)
        if plan is None:
            outcome = self.outcome(state)
            plan = _Plan(outcome, state, str(outcome.rule.path) if outcome.rule else "")
            if state.is_final:
                # What is below is covered by the same rules, and matched by none.
                below = self.outcome(self._automaton.after_index(state, 0))
                plan.whole = Action.ALLOW if below.action is Action.ALLOW else Action.REDACT
            self._plans[state] = plan
        return plan

    def _place(self, value: JsonValue, plan: _Plan, tally: _Tally) -> JsonValue | _Gone:
        if isinstance(value, _CONTAINERS) and value:
            return self._container(value, plan, tally)
        return _leaf(value, plan, tally)

    def _container(self, value: Container, plan: _Plan, tally: _Tally) -> JsonValue | _Gone:
        """Return what stays of a container that is not empty."""
        if plan.whole is Action.ALLOW:
            return value
        if plan.whole is not None:
            tally.taken(plan.name)
            return _GONE
        if isinstance(value, dict):
            return self._members(value, plan, tally)
        return self._elements(value, plan, tally)

    def _members(self, value: dict[str, JsonValue], plan: _Plan, tally: _Tally) -> JsonValue | _Gone:
        other = plan.other_key
        if other is None:
            plan.keys = {
                name: self._plan(self._automaton.after_key(plan.state, name)) for name in self._automaton.keys
            }
            # A key that no rule names: all of these are one to the automaton.
            other = plan.other_key = self._plan(self._automaton.after(plan.state, ("key", None)))
        keys, kept = plan.keys, {}
        for name, member in value.items():
            below = keys.get(name, other)
            if isinstance(member, _CONTAINERS) and member:
                left = self._container(member, below, tally)
                if left is not _GONE:
                    kept[name] = left
            elif below.outcome.action is Action.ALLOW:
                kept[name] = member
            elif (leaf := _leaf(member, below, tally)) is not _GONE:
                kept[name] = leaf
        return kept or _GONE  # type: ignore[return-value] # nothing in it is gone

    def _elements(self, value: list[JsonValue], plan: _Plan, tally: _Tally) -> JsonValue | _Gone:
        other = plan.other_index
        if other is None:
            plan.indexes = {
                number: self._plan(self._automaton.after_index(plan.state, number))
                for number in self._automaton.indexes
            }
            other = plan.other_index = self._plan(self._automaton.after(plan.state, ("index", -1)))
        indexes = plan.indexes
        kept = [
            left
            for number, element in enumerate(value)
            if (left := self._place(element, indexes.get(number, other), tally)) is not _GONE
        ]
        return kept or _GONE  # type: ignore[return-value] # nothing in it is gone


def leaf_outcome(outcome: LeafOutcome, value: JsonValue) -> LeafOutcome:
    """Return what happens to a leaf: masking leaves null, and takes out what is no string."""
    if outcome.action is not Action.MASK or isinstance(value, str):
        return outcome
    return LeafOutcome(Action.ALLOW if value is None else Action.REDACT, outcome.rule)


def mask(text: str) -> str:
    """Return a masked string: its first and last character, of a longer one, and nothing about its length."""
    if not text:
        return ""
    return "***" if len(text) <= 3 else f"{text[0]}***{text[-1]}"  # noqa: PLR2004 - as the specification says


def check_bounds(value: JsonValue) -> None:
    """Hold a value to the bounds of what is filtered.

    Raises:
        UnfilterableError: If it has too many levels or nodes.
    """
    level: list[JsonValue] = [value]
    nodes = 0
    for _ in range(MAX_DEPTH + 1):
        nodes += len(level)
        if nodes > MAX_NODES:
            raise UnfilterableError(f"more than {MAX_NODES:,} values")
        objects = [each.values() for each in level if isinstance(each, dict)]
        arrays = [each for each in level if isinstance(each, list)]
        level = list(chain(chain.from_iterable(objects), chain.from_iterable(arrays)))
        if not level:
            return
    raise UnfilterableError(f"more than {MAX_DEPTH} levels")


def read_value(text: str | bytes) -> JsonValue:
    """Read a value from strict JSON text: no key twice, no NaN or Infinity, valid UTF-8.

    Raises:
        UnfilterableError: If it is none.
    """
    try:
        decoded = text.decode() if isinstance(text, bytes) else text
        value: JsonValue = json.loads(decoded, object_pairs_hook=_object, parse_constant=_constant)
    except (ValueError, RecursionError):
        raise UnfilterableError("it is no strict JSON") from None
    return value


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key twice")
    return made


def _constant(text: str) -> JsonValue:
    raise ValueError(text)


def _leaf(value: JsonValue, plan: _Plan, tally: _Tally) -> JsonValue | _Gone:
    """Return what stays of a scalar or an empty container."""
    action = plan.outcome.action
    if action is Action.ALLOW or (action is Action.MASK and value is None):
        return value
    if action is Action.MASK and isinstance(value, str):
        tally.masked[plan.name] += 1
        return mask(value)
    tally.taken(plan.name)
    return _GONE
