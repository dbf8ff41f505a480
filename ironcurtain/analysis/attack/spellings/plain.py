"""Spellings of values that are no resources, where a rule asks for the value: modes, names, flags."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from ironcurtain.analysis.attack.spellings.spelling import TOOLS, Spelling
from ironcurtain.decision.canonical import pointers
from ironcurtain.model.conditions import ArgCondition, If
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue

_NAMES_VALUES = frozenset({"equals", "in", "matches"})


def respell_value(value: JsonValue) -> Iterator[Spelling]:
    """Yield values that many tools take for the same. A policy cannot know whether this tool does."""
    for kind, spelled in _spelled(value):
        if type(spelled) is not type(value) or spelled != value:
            yield Spelling(kind, TOOLS, spelled, neighbour=True)


def _spelled(value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    if isinstance(value, bool):
        yield from (("type", int(value)), ("type", str(value).lower()), ("type", str(value)))
    elif isinstance(value, int | float):
        yield from (("type", str(value)), ("type", float(value)))
    elif isinstance(value, str):
        yield from (
            ("case", text) for text in (value.upper(), value.lower(), value.swapcase(), value.title())
        )
        yield from (("spaces", text) for text in (f" {value}", f"{value} ", f"{value}\n"))
        yield "end of text", f"{value}\0"
        yield from (("Unicode form", unicodedata.normalize(form, value)) for form in ("NFD", "NFKC"))
        yield "Unicode form", "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in value)
        yield "scalar and list", [value]
        yield "scalar and list", [[value]]
        if value in ("true", "false"):
            yield "type", value == "true"
        if value.isdecimal():
            yield "type", int(value)


def named_places(if_: If, then: Verdict, arguments: JsonValue) -> Iterator[tuple[str, ...]]:
    """Yield the places of values that a rule names in order to deny or escalate them.

    A rule that denies everything but some values names none of those that it denies.
    """
    if then is Verdict.ALLOW:
        return
    for test in if_.args or ():
        if test.op in _NAMES_VALUES:
            steps = pointers.steps_of(test.name)
            yield from (
                place for place, value in pointers.matches(arguments, steps) if _is_named(test, value)
            )


def _is_named(test: ArgCondition, value: JsonValue) -> bool:
    if test.op == "matches" or isinstance(test.value, dict):
        return value is not None
    return any(type(value) is type(operand) and value == operand for operand in test.operands)
