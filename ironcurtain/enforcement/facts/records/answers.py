"""Records: what a look-up is asked with, and what of its answer is a fact.

A server may answer anything: an error, a text that is no JSON, a record of another type, one about something
else. What is not of the declared type, or not about what was asked for, is no record.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.conditional import same_json
from ironcurtain.enforcement.facts.records.fields import field_of
from ironcurtain.enforcement.facts.records.references import Operands, Raw, at
from ironcurtain.enforcement.facts.unavailable import FactUnavailableError
from ironcurtain.model.records import RecordFact
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct

ToolResult = Mapping[str, JsonValue]
"""What a tool answered a call with, as the protocol has it: content, structured content, `isError`."""


class LookUp(Struct):
    """One look-up: a call of a tool that only reads."""

    server: str
    tool: str
    arguments: dict[str, JsonValue]


AskServer = Callable[[LookUp], Awaitable[ToolResult]]
"""Makes a look-up, decided and recorded like every call; raises `LookUpError` where there is no answer."""


class LookUpError(Exception):
    """A look-up has no answer; the message says why, in our own words."""


def look_up_of(name: str, fact: RecordFact, operands: Operands) -> LookUp:
    """Return the look-up of a record.

    Args:
        name: The fact's name.
        fact: Its declaration.
        operands: What its references lead to.

    Raises:
        FactUnavailableError: If a value that it is asked with is missing.
    """
    arguments: dict[str, JsonValue] = {}
    for argument, source in fact.arguments.items():
        value = operands.value(source)
        if value is None:
            raise FactUnavailableError(name, f"the look-up's argument {argument} is missing")
        arguments[argument] = value
    return LookUp(fact.server, fact.tool, arguments)


def fields_of(name: str, fact: RecordFact, asked: LookUp, result: ToolResult, operands: Operands) -> Raw:
    """Return the declared fields of an answer; whether they are of their types is seen by `normalise`.

    Raises:
        FactUnavailableError: If it is no record about what was asked for, or lacks a field.
    """
    if result.get("isError") is True:
        raise FactUnavailableError(name, "the look-up failed")
    try:
        record = record_of(result)
    except json_text.MalformedJsonError:
        raise FactUnavailableError(name, "the answer is no strict JSON of at most 1 MiB") from None
    for argument, place in fact.identity.items():
        if not same_json(at(record, pointers.tokens(place)), asked.arguments.get(argument)):
            raise FactUnavailableError(name, "the answer is about another record")
    return {
        field: field_of(f"{name}/{field}", declared, record, operands)
        for field, declared in fact.fields.items()
    }


def record_of(result: ToolResult) -> JsonValue:
    """Return what an answer holds: its structured content, or else what its one text says.

    Raises:
        MalformedJsonError: If that is no strict JSON of at most 1 MiB.
    """
    if result.get("structuredContent") is not None:
        return json_text.plain(result["structuredContent"])
    content = result.get("content")
    texts = [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []
    if len(texts) != 1 or texts[0].get("type") != "text":
        raise json_text.MalformedJsonError("not one text")
    return json_text.parse(str(texts[0].get("text")))
