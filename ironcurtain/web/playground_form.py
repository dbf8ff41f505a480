"""The form of a call: its fields, made from a tool's schema and the facts that concern it, and back again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.enforcement.facts.facts_of_tool import ConcernedTools
from ironcurtain.errors import UsageError
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.facts import fact_types
from ironcurtain.model.scenarios import ScenarioCall
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import cut, is_hidden, quoted, visible

TIME = "at"
MOST_FIELDS = 60
"""So many fields of one kind are shown at most; what has none is written as JSON."""
_ABOUT = 160

FieldKind: TypeAlias = Literal["text", "json", "choice", "instant"]
Typed: TypeAlias = Mapping[str, str]
"""What a form holds: by the name of each field its text, empty where nothing was typed."""


class FormField(Struct):
    """One field.

    Attributes:
        name: Its name in the form.
        key: The argument or fact that it is about.
        about: What is known of it, for people.
        choices: The values to choose from, each as JSON and as people read it.
    """

    name: str
    key: str
    kind: FieldKind
    about: str = ""
    choices: tuple[tuple[str, str], ...] = ()

    def written(self, value: JsonValue) -> str | None:
        """Return what stands in the field for a value; None where only JSON can say it."""
        if self.kind == "instant" and isinstance(value, int):
            return str(value)
        if self.kind in ("text", "instant"):
            return value if isinstance(value, str) and value and visible(value) == value else None
        text = as_json(value)
        return text if self.kind == "json" or text in dict(self.choices) else None

    def read(self, text: str) -> JsonValue:
        """Return the value that was typed.

        Raises:
            UsageError: If it is no JSON where it has to be.
        """
        if self.kind == "instant" and text.removeprefix("-").isdecimal():
            return _parsed(text, self.key)
        return text if self.kind in ("text", "instant") else _parsed(text, self.key)


class FieldGroup(Struct):
    """The fields of arguments, of the caller, or of declared facts, and one for all that has no field.

    Attributes:
        others: The name of the field that takes the rest as a JSON object.
    """

    others: str
    title: str
    fields: tuple[FormField, ...]

    def read(self, typed: Typed) -> dict[str, JsonValue]:
        """Return the values by name; a field that was left empty says nothing.

        Raises:
            UsageError: If a text is no JSON where it has to be, or a value is given twice.
        """
        given = {each.key: each.read(text) for each in self.fields if (text := typed.get(each.name, ""))}
        text = typed.get(self.others, "").strip()
        rest = _parsed(text, self.title) if text else {}
        if not isinstance(rest, dict):
            raise UsageError(f"{self.title}: what has no field is written as a JSON object")
        for twice in given.keys() & rest.keys():
            raise UsageError(f"{self.title}: {quoted(twice)} has a field of its own")
        return given | rest

    def written(self, values: Mapping[str, JsonValue]) -> dict[str, str]:
        """Return what stands in the fields for values."""
        fields = {each.key: each for each in self.fields}
        typed: dict[str, str] = {}
        rest: dict[str, JsonValue] = {}
        for key, value in values.items():
            text = fields[key].written(value) if key in fields else None
            if text is None:
                rest[key] = value
            else:
                typed[fields[key].name] = text
        return typed | ({self.others: as_json(rest)} if rest else {})


class CallForm(Struct):
    """The form for calls of one tool.

    Attributes:
        about: What the tool does, as its annotation says.
        has_facts: Whether the policy declares facts, so that the time of a call may count.
    """

    server: str
    tool: str
    about: str
    arguments: FieldGroup
    caller: FieldGroup
    facts: FieldGroup
    has_facts: bool

    @classmethod
    def of(cls, policy: LoadedPolicy, server: str, tool: str) -> CallForm | None:
        """Return the form of a tool; None where the policy knows no such tool."""
        annotation = policy.annotation(server, tool)
        if annotation is None:
            return None
        content = policy.content
        return cls(
            server=server,
            tool=tool,
            about=annotation.comment,
            arguments=FieldGroup("other-arguments", "Arguments", _few(_arguments(annotation))),
            caller=FieldGroup("other-caller", "Who the agent acts for", _few(_caller(content))),
            facts=FieldGroup("other-facts", "Facts", _few(_facts(content, server, annotation))),
            has_facts=bool(content.facts),
        )

    def read(self, typed: Typed) -> ScenarioCall:
        """Return the call that was typed.

        Raises:
            UsageError: If a text is no JSON where it has to be, or a value is given twice.
        """
        instants = {each.key for each in self.facts.fields if each.kind == "instant"}
        facts: dict[str, JsonValue] = {}
        for key, value in self.facts.read(typed).items():
            record, _, field = key.partition("/")
            if key in instants and isinstance(value, str):
                facts[record] = {**json_text.members(facts.get(record)), field: value}
            else:
                facts[key] = value
        return ScenarioCall(
            server=self.server,
            tool=self.tool,
            arguments=self.arguments.read(typed),
            caller=self.caller.read(typed) or None,
            facts=facts or None,
            at=typed.get(TIME, "").strip() or None,
        )

    def written(self, call: ScenarioCall) -> dict[str, str]:
        """Return what stands in the fields for a call of the tool."""
        facts: dict[str, JsonValue] = {}
        for name, value in (call.facts or {}).items():
            inner = value if isinstance(value, dict) else None
            facts |= {name: value} if inner is None else {f"{name}/{key}": v for key, v in inner.items()}
        return {
            **self.arguments.written(call.arguments),
            **self.caller.written(call.caller or {}),
            **self.facts.written(facts),
            **({TIME: call.at} if call.at else {}),
        }


def as_json(value: JsonValue) -> str:
    """Return a value as JSON of one line in which nothing is hidden."""
    text = json.dumps(value, ensure_ascii=False)
    return json.dumps(value) if any(map(is_hidden, text)) else text


def _parsed(text: str, what: str) -> JsonValue:
    try:
        return json_text.parse(text)
    except json_text.MalformedJsonError as error:
        raise UsageError(f"{visible(what)} is not strict JSON: {visible(str(error))}") from None


def _few(fields: Iterator[FormField]) -> tuple[FormField, ...]:
    """Return the fields that a form can have: a name that a browser would change gets none."""
    return tuple(each for each in fields if visible(each.key) == each.key)[:MOST_FIELDS]


def _arguments(tool: ToolAnnotation) -> Iterator[FormField]:
    roles: dict[str, list[str]] = {}
    for argument in tool.args:
        roles.setdefault(argument.top_level, []).extend(argument.possible_roles)
    required = (tool.input_schema or {}).get("required")
    for key in dict.fromkeys((*tool.properties, *tool.argument_names)):
        schema = tool.properties.get(key)
        kind, choices = _kind(schema) if schema is not None else ("text", ())
        words = [*dict.fromkeys(role for role in roles.get(key, ()) if role != "none")]
        words += ["required"] if isinstance(required, list) and key in required else []
        described = json_text.members(schema).get("description")
        words += [cut(visible(described), _ABOUT)] if isinstance(described, str) else []
        yield FormField(f"argument:{key}", key, kind, ", ".join(words), choices)


def _kind(schema: JsonValue) -> tuple[FieldKind, tuple[tuple[str, str], ...]]:
    """Return how values of a schema are typed."""
    known = json_text.members(schema)
    listed = known.get("enum")
    if isinstance(listed, list):
        return "choice", tuple((as_json(value), _words(value)) for value in listed)
    types = set(_types(known))
    if types == {"string"}:
        return "text", ()
    return ("choice", _TRUTH) if types == {"boolean"} else ("json", ())


def _types(schema: dict[str, JsonValue]) -> Iterator[str]:
    """Yield the types that a schema names, null left out; `any` where it says something else."""
    branches = schema.get("anyOf", schema.get("oneOf"))
    if isinstance(branches, list):
        for branch in branches:
            given = json_text.members(branch)
            yield from ("any",) if "enum" in given or "const" in given else _types(given)
        return
    named = schema.get("type", "any")
    yield from (str(each) for each in (named if isinstance(named, list) else [named]) if each != "null")


def _words(value: JsonValue) -> str:
    return value if isinstance(value, str) and value else as_json(value)


_TRUTH = (("true", "true"), ("false", "false"))
_KINDS: dict[str, FieldKind] = {"string": "text", "boolean": "choice", "instant": "instant"}


def _of_type(name: str, key: str, type_: str, about: str) -> FormField:
    return FormField(name, key, _KINDS.get(type_, "json"), about, _TRUTH if type_ == "boolean" else ())


def _caller(content: PolicyContent) -> Iterator[FormField]:
    for key, fact in content.caller.items():
        if not key.startswith("/"):
            about = f"{fact.type}, such as {as_json(fact.example)}: {fact.meaning}"
            yield _of_type(f"caller:{key}", key, fact.type, about)


def _facts(content: PolicyContent, server: str, tool: ToolAnnotation) -> Iterator[FormField]:
    concerned = ConcernedTools(content).of(server, tool)
    for key, type_ in fact_types(concerned.declarations if concerned is not None else {}).items():
        if type_ != "clock":
            source = content.facts[key.partition("/")[0]].source
            yield _of_type(f"fact:{key}", key, type_, f"{source}, {type_}")
