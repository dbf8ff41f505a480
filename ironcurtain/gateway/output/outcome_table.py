"""An output policy held against an output schema, place by place: what `serve --check` prints."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias

from pydantic import JsonValue

from ironcurtain.gateway.output.automaton import State
from ironcurtain.gateway.output.paths import Key
from ironcurtain.gateway.output.policy import OutputPolicy
from ironcurtain.gateway.output.rules import Action
from ironcurtain.system import json_text
from ironcurtain.system.structs import Struct

_DEFS = "#/$defs/"
_MOST_ROWS = 10_000
_STEP = re.compile(r'\.[^.\["]+|\.?"(?:[^"\\]|\\.)*"|\[[^\]]*\]')
# References that lead to a place: what is referred to, the policy's state there, and the place.
_Within: TypeAlias = tuple[tuple[str, State, str], ...]


class OutcomeRow(Struct):
    """One place of an output schema, and what happens there.

    Attributes:
        path: The place, as a path.
        kind: The JSON type that the schema gives it; `any` where it gives none.
        action: What happens to it.
        rule: The path of the rule that decides; empty where none covers it.
    """

    path: str
    kind: str
    action: str
    rule: str


class OutcomeTable(Struct):
    """What a policy does to the values of a schema.

    Attributes:
        rows: Each place that holds a leaf, or of which the schema does not say what it holds.
        dead: The paths of rules that match no place.
        inside: The paths of rules that allow a part of what another one redacts, each with that one's.
        again: Places that hold what a place around them holds, at any depth, with the same outcome; each with
            that place.
    """

    rows: tuple[OutcomeRow, ...]
    dead: tuple[str, ...]
    inside: tuple[tuple[str, str], ...] = ()
    again: tuple[tuple[str, str], ...] = ()

    def warnings(self) -> Iterator[str]:
        """Yield what a person should look at, a sentence each, once."""
        yield from dict.fromkeys(self._warnings())

    def _warnings(self) -> Iterator[str]:
        for path in self.dead:
            yield f"the rule {path} matches no place of the output{self._meant(path)}"
        for path, around in self.inside:
            yield f"the rule {path} allows a part of what {around} redacts"
        for path, around in self.again:
            yield f"{path} holds what {around} holds: the same happens below it, at any depth"
        for row in self.rows:
            if row.action == "strip":
                yield f"{row.path} is covered by no rule: it is stripped"
            elif row.kind == "any" and row.action == "allow":
                yield f"{row.path} may hold anything, and {row.rule} allows it"
            elif row.path.endswith(".*") and row.action == "allow":
                yield f"{row.path} may have any name, and {row.rule} allows it"

    def _meant(self, dead: str) -> str:
        """Return a question about the place that a rule was perhaps meant for; empty where there is none."""
        beginnings = (row.path[: match.end()] for row in self.rows for match in _STEP.finditer(row.path))
        places = list(dict.fromkeys(beginnings))
        if dead.startswith(".."):
            places = [
                f"..{_STEP.findall(place)[-1].lstrip('.')}" for place in places if not place.endswith("]")
            ]
        close = difflib.get_close_matches(dead, places, n=1, cutoff=0.7)
        return f"; is {close[0]} meant?" if close else ""


def outcome_table(policy: OutputPolicy, schema: Mapping[str, JsonValue]) -> OutcomeTable:
    """Hold a policy against a schema, as pydantic writes it."""
    walker = _Walker(policy, json_text.members(schema.get("$defs")))
    projected: JsonValue = dict(schema)
    rows = tuple(dict.fromkeys(islice(walker.rows(projected, policy.start(), "", ()), _MOST_ROWS)))
    dead = [str(rule.path) for number, rule in enumerate(policy.rules) if number not in walker.met]
    inside = tuple((str(rule.path), str(wide.path)) for rule, wide in policy.allowed_inside())
    return OutcomeTable(rows, tuple(dead), inside, tuple(dict.fromkeys(walker.again)))


@dataclass
class _Walker:
    policy: OutputPolicy
    defs: Mapping[str, JsonValue]
    met: set[int] = field(default_factory=set)
    again: list[tuple[str, str]] = field(default_factory=list)

    def rows(self, schema: JsonValue, state: State, at: str, within: _Within) -> Iterator[OutcomeRow]:
        """Yield the rows of one place; a definition that holds itself is entered once a state."""
        self.met |= state.matched
        told = json_text.members(schema)
        reference = told.get("$ref")
        choices = told.get("anyOf") or told.get("oneOf")
        if isinstance(reference, str) and reference.removeprefix(_DEFS) in self.defs:
            around = next((path for name, was, path in within if (name, was) == (reference, state)), None)
            if around is not None:
                self.again.append((at, around or "."))
                return
            definition = self.defs[reference.removeprefix(_DEFS)]
            yield from self.rows(definition, state, at, (*within, (reference, state, at)))
        elif isinstance(choices, list):
            for choice in choices:
                yield from self.rows(choice, state, at, within)
        elif told.get("type") == "object":
            yield from self._members(told, state, at, within)
        elif told.get("type") == "array":
            for number in (*sorted(self.policy.named_indexes), self.policy.unnamed_index):
                after = self.policy.index(state, number)
                shown = "[]" if number == self.policy.unnamed_index else f"[{number}]"
                yield from self.rows(told.get("items", {}), after, f"{at or '.'}{shown}", within)
        else:
            yield self._row(told, state, at or ".")

    def _members(
        self, told: Mapping[str, JsonValue], state: State, at: str, within: _Within
    ) -> Iterator[OutcomeRow]:
        named = json_text.members(told.get("properties"))
        for name, each in named.items():
            yield from self.rows(each, self.policy.key(state, name), f"{at}{Key(name)}", within)
        more = told.get("additionalProperties", not named)
        if more is False:
            return
        for name in sorted(self.policy.named_keys - named.keys()):
            after = self.policy.key(state, name)
            if after.matched:
                yield from self.rows(more, after, f"{at}{Key(name)}", within)
        unnamed = self.policy.key(state, self.policy.unnamed_key)
        yield from self.rows(more, unnamed, f"{at}.*", within)

    def _row(self, schema: Mapping[str, JsonValue], state: State, at: str) -> OutcomeRow:
        kind = schema.get("type")
        outcome = self.policy.outcome(state)
        action = outcome.action
        if action is Action.MASK and kind not in {"string", None}:
            action = Action.ALLOW if kind == "null" else Action.REDACT
        rule = str(outcome.rule.path) if outcome.rule else ""
        return OutcomeRow(at, kind if isinstance(kind, str) else "any", action.name.lower(), rule)
