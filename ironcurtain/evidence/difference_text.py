"""A difference as text for a terminal and as markdown for a review."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from ironcurtain.model.base import Json
from ironcurtain.model.difference import Change, Difference, DifferentCall
from ironcurtain.text import visible

_FEW = 3


def text_lines(result: Difference) -> Iterator[str]:
    """Yield a difference as plain text: what is loosened first, then what is tightened."""
    yield from _lines(result, heading="{}", change="  {}", detail="      {}")


def markdown_lines(result: Difference) -> Iterator[str]:
    """Yield a difference as markdown."""
    yield from _lines(result, heading="## {}\n", change="- {}", detail="  - {}", markdown=True)


def _lines(
    result: Difference, *, heading: str, change: str, detail: str, markdown: bool = False
) -> Iterator[str]:
    show = _markdown if markdown else visible
    for direction in ("loosened", "tightened"):
        changes = [each for each in result.changes if each.direction == direction]
        if changes:
            yield heading.format(f"{direction.capitalize()}: {len(changes)}")
        for each in changes:
            yield change.format(show(_statement(each)))
            yield from (detail.format(show(line)) for line in _details(each))
    if not result.changes:
        yield "The two policies decide every call alike."
    yield from (f"sampled, not exact: {show(reason)}" for reason in result.reasons)


def _statement(change: Change) -> str:
    tools = _tools(change.tools)
    if not change.roles:
        return f"{tools}: {change.note}"
    when = f" when {'; '.join(change.when)}" if change.when else ""
    places = f"{', '.join(change.roles)} in {', '.join(change.where)}"
    return f"{places}{when}: {change.old} → {change.new} for {tools}"


def _tools(tools: tuple[str, ...]) -> str:
    if len(tools) <= _FEW:
        return ", ".join(tools)
    return f"{len(tools)} tools ({', '.join(tools[:_FEW])}, …)"


def _details(change: Change) -> Iterator[str]:
    if change.old_rules or change.new_rules:
        yield f"was by {_names(change.old_rules)}, now by {_names(change.new_rules)}"
    if change.witness is not None:
        yield _call(change.witness)
    elif change.masked_by:
        yield f"no call shows it: masked by {_names(change.masked_by)}"
    elif change.roles and change.note:
        yield change.note


def _names(rules: Iterable[str]) -> str:
    return ", ".join(rules) or "nothing"


def _call(call: DifferentCall) -> str:
    caller = f" as {_json(call.caller)}" if call.caller else ""
    return (
        f"for example {call.server}/{call.tool} {_json(call.arguments)}{caller}: "
        f"{call.old.verdict} by {call.old.rule} → {call.new.verdict} by {call.new.rule}"
    )


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _markdown(text: str) -> str:
    escaped = visible(text)
    for mark in "\\`*_[]<>|#":
        escaped = escaped.replace(mark, f"\\{mark}")
    return escaped
