"""An output policy held against an output schema: what clients are told of the answer, and what stands out.

The projected schema describes what is left of every answer that the schema describes: what is stripped and
redacted is gone, what is masked is a plain string, and `required` names what surely stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pydantic import JsonValue

from ironcurtain.gateway.output.automaton import State
from ironcurtain.gateway.output.policy import OutputPolicy
from ironcurtain.gateway.output.rules import Action
from ironcurtain.system import json_text
from ironcurtain.system.structs import Struct

Schema = dict[str, JsonValue]

# fmt: off
_KNOWN: Final = frozenset((
    "type", "title", "description", "properties", "required", "additionalProperties", "items", "anyOf",
    "oneOf", "$ref", "$defs", "default", "examples", "enum", "const", "format", "pattern", "minLength",
    "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems",
    "maxItems", "uniqueItems", "minProperties", "maxProperties", "contentEncoding", "contentMediaType",
    "readOnly", "$schema", "deprecated",
))
# fmt: on
"""The words of JSON Schema that are understood; where another one stands, anything may be left."""
_DEFS = "#/$defs/"


class Projected(Struct):
    """What is left of the values of one place.

    Attributes:
        schema: What describes it.
        is_certain: Whether something of every value there stays.
    """

    schema: Schema
    is_certain: bool


@dataclass
class _Projector:
    policy: OutputPolicy
    defs: Mapping[str, JsonValue]
    made: dict[str, JsonValue] = field(default_factory=dict)
    names: dict[tuple[str, State], str] = field(default_factory=dict)

    def place(self, schema: JsonValue, state: State) -> Projected | None:
        """Return what is left of a place; None where nothing ever is."""
        outcome = self.policy.outcome(state)
        if state.is_final and self._below(state) is Action.ALLOW and outcome.action is Action.ALLOW:
            return Projected(self._whole(schema), is_certain=True)
        if not isinstance(schema, dict) or not schema or not schema.keys() <= _KNOWN:
            return self._anything(state)
        if isinstance(reference := schema.get("$ref"), str):
            return self._reference(reference, state)
        for word in ("anyOf", "oneOf"):
            if isinstance(choices := schema.get(word), list):
                return self._choices(choices, state)
        return self._typed(schema, state)

    def _below(self, state: State) -> Action:
        return self.policy.outcome(self.policy.index(state, 0)).action

    def _whole(self, schema: JsonValue) -> Schema:
        """Return a schema as it is, with the definitions that it needs."""
        for name, definition in self.defs.items():
            self.made.setdefault(name, definition)
        return schema if isinstance(schema, dict) else {}

    def _anything(self, state: State) -> Projected | None:
        """Return what is left where the schema does not say enough: nothing, or anything."""
        gone = state.is_final and self.policy.outcome(state).action >= Action.REDACT
        return None if gone else Projected({}, is_certain=False)

    def _reference(self, reference: str, state: State) -> Projected | None:
        name = reference.removeprefix(_DEFS)
        if not reference.startswith(_DEFS) or name not in self.defs:
            return self._anything(state)
        place = (name, state)
        if place in self.names:  # it holds itself: what is left of it inside is not counted on
            return Projected({"$ref": _DEFS + self.names[place]}, is_certain=False)
        own = self.names[place] = self._name(name)
        projected = self.place(self.defs[name], state)
        if projected is None:
            self.made[own] = {}
            return None
        self.made[own] = projected.schema
        return Projected({"$ref": _DEFS + own}, projected.is_certain)

    def _name(self, name: str) -> str:
        number = len(self.names) + 1
        while f"{name}_{number}" in self.defs:
            number += 1
        return f"{name}_{number}"

    def _choices(self, choices: list[JsonValue], state: State) -> Projected | None:
        choices_left = [self.place(choice, state) for choice in choices]
        left = [each.schema for each in choices_left if each is not None]
        if not left:
            return None
        certain = all(each is not None and each.is_certain for each in choices_left)
        return Projected({"anyOf": left} if len(left) > 1 else left[0], certain)  # type: ignore[dict-item]

    def _typed(self, schema: Schema, state: State) -> Projected | None:
        kinds = schema.get("type")
        if isinstance(kinds, list):
            return self._choices([{**schema, "type": kind} for kind in kinds], state)
        if kinds == "object":
            return self._object(schema, state)
        if kinds == "array":
            return self._array(schema, state)
        if not isinstance(kinds, str):
            return self._anything(state)
        return self._leaf(schema, kinds, state)

    def _leaf(self, schema: Schema, kind: str, state: State) -> Projected | None:
        action = self.policy.outcome(state).action
        if action is Action.ALLOW or (action is Action.MASK and kind == "null"):
            return Projected(schema, is_certain=True)
        if action is Action.MASK and kind == "string":
            return Projected({**_told(schema), "type": "string"}, is_certain=True)
        return None

    def _object(self, schema: Schema, state: State) -> Projected | None:
        named = json_text.members(schema.get("properties"))
        more = schema.get("additionalProperties", True)
        places = dict(named)
        if more is not False:  # keys that rules name and the schema does not
            places |= {
                name: more if more is not True else {} for name in self.policy.named_keys - named.keys()
            }
        found = {name: self.place(each, self.policy.key(state, name)) for name, each in places.items()}
        kept: Schema = {name: each.schema for name, each in found.items() if each is not None}
        other = (
            self.place(more if more is not True else {}, self.policy.key(state, self.policy.unnamed_key))
            if more is not False
            else None
        )
        empty = self.policy.outcome(state).action is Action.ALLOW
        if not kept and other is None and not empty:
            return None
        required = schema.get("required")
        wanted = required if isinstance(required, list) else []
        certain = [
            name for name in wanted if isinstance(name, str) and (one := found.get(name)) and one.is_certain
        ]
        made: Schema = {**_told(schema), "type": "object", "properties": kept}
        made["additionalProperties"] = other.schema if other is not None else False
        if certain:
            made["required"] = list(certain)
        return Projected(made, bool(certain))

    def _array(self, schema: Schema, state: State) -> Projected | None:
        items = schema.get("items", {})
        state_of_any = self.policy.index(state, self.policy.unnamed_index)
        found = [
            self.place(items, self.policy.index(state, number))
            for number in sorted(self.policy.named_indexes)
        ]
        found.append(self.place(items, state_of_any))
        left = [each for each in found if each is not None]
        empty = self.policy.outcome(state).action is Action.ALLOW
        if not left and not empty:
            return None
        made: Schema = {**_told(schema), "type": "array"}
        if not left:
            made["maxItems"] = 0
        elif len(left) == 1 or all(each.schema == left[0].schema for each in left):
            made["items"] = left[0].schema
        else:
            made["items"] = {"anyOf": [each.schema for each in left]}
        certain = empty and all(each is not None and each.is_certain for each in found)
        return Projected(made, certain)


def project(policy: OutputPolicy, schema: Mapping[str, JsonValue]) -> Schema:
    """Return the schema of what a policy leaves of the values of a schema; always one of an object.

    Args:
        policy: The policy.
        schema: A JSON Schema, as pydantic writes it; where it uses other words, what they describe may be
            anything.
    """
    projector = _Projector(policy, json_text.members(schema.get("$defs")))
    top = {word: each for word, each in schema.items() if word != "$defs"}
    projected = projector.place(top, policy.start())
    made: Schema = {"type": "object", "properties": {}, "additionalProperties": False}
    if projected is not None:
        made = {"type": "object", **projected.schema}
    if projected is None or not projected.is_certain:
        made.pop("required", None)  # an answer of which nothing is left is an empty object
    if used := _used(made, projector.made):
        made["$defs"] = used
    return made


def _used(schema: JsonValue, defs: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the definitions that a schema needs, with those that these need."""
    used: dict[str, JsonValue] = {}
    waiting: list[JsonValue] = [schema]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting.extend(each)
        elif isinstance(each, dict):
            reference = each.get("$ref")
            name = reference.removeprefix(_DEFS) if isinstance(reference, str) else ""
            if name in defs and name not in used:
                used[name] = defs[name]
                waiting.append(defs[name])
            waiting.extend(each.values())
    return dict(sorted(used.items()))


def _told(schema: Schema) -> Schema:
    """Return what people read about a place."""
    return {word: schema[word] for word in ("title", "description") if word in schema}
