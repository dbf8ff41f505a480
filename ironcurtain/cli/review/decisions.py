"""Decisions as people and programs read them, and the exit status that each one means.

Reading the calls of `ironcurtain decide --batch`: one line, one call, whatever the line holds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypeAlias

from ironcurtain.cli.options.stated_facts import NO_FACTS, StatedFacts
from ironcurtain.decision.decide import Call
from ironcurtain.errors import Exit, UsageError
from ironcurtain.model.decision import Decision
from ironcurtain.model.reserved_rules import reserved
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.files import read_bytes
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import printable, visible

_EXITS = {Verdict.ALLOW: Exit.YES, Verdict.ESCALATE: Exit.NEEDS_APPROVAL, Verdict.DENY: Exit.NO}


def exit_of(decision: Decision) -> Exit:
    """Return the exit status of a decision: a deny for want of an answer is not one by a rule."""
    rule = reserved(decision.rule)
    if rule is not None and rule.gives_no_answer:
        return Exit.NO_ANSWER
    return _EXITS[decision.verdict]


def as_json(decision: Decision) -> str:
    """Return a decision as one line of JSON (`schemas/decision.json`).

    `arguments` is absent where the call was refused before they existed.
    """
    document = decision.model_dump(mode="json")
    if decision.arguments is None:
        del document["arguments"]
    return json.dumps(document, ensure_ascii=False)


def as_text(decision: Decision) -> str:
    """Return a decision as lines for a person: what, why, each resource, and what would change it."""
    lines = [
        f"{decision.verdict.upper()}  {visible(decision.server)}/{visible(decision.tool)}",
        f"  rule:    {visible(decision.rule)}",
        f"  reason:  {printable(decision.reason)}",
    ]
    if decision.clause:
        lines.append(f"  clause:  {visible(decision.clause)} {visible(decision.clause_text or '')}".rstrip())
    for resource in decision.subjects:
        where = resource.at or "the call"
        shown = f"{resource.role} {visible(resource.value)}" if resource.at else resource.role
        lines.append(f"  {resource.verdict.upper():8} {visible(where)}: {shown}  ({visible(resource.rule)})")
    lines += [f"  check:   {visible(each.clause)} {visible(each.text)}" for each in decision.checks]
    if decision.verdict is not Verdict.ALLOW:
        lines.append(f"  to change it: {_change(decision)}")
    return "\n".join(lines)


def _change(decision: Decision) -> str:
    """Say what would have to change for the call to be allowed."""
    rule = reserved(decision.rule)
    if rule is not None and rule.facts.remedy:
        return rule.facts.remedy
    if decision.approvers:
        return f"The approval of this call by {' and '.join(map(visible, decision.approvers))}."
    if decision.verdict is Verdict.ESCALATE:
        return "A person's approval of this call."
    return "Another clause in the constitution; no approval can permit it."


_MAX_BYTES = 1 << 30
_KEYS = {"id", "server", "tool", "arguments", "caller", "facts", "at"}

AskedCall: TypeAlias = tuple[Call, StatedFacts]
"""A call, and what is stated of the facts that its policy declares."""


def read_batch(path: Path, caller: dict[str, JsonValue] | None, facts: StatedFacts) -> list[AskedCall]:
    """Return a call for each line of a file, so that line N of the result is about line N of the file.

    Raises:
        FileError: If the file cannot be read.
        UsageError: If it is empty.
    """
    data = read_bytes(path, max_bytes=_MAX_BYTES)
    if not data.strip():
        raise UsageError(
            "the batch is empty", where=str(path), hint="Write one JSON object a line, one for each call."
        )
    return [_call(line, caller, facts) for line in data.removesuffix(b"\n").split(b"\n")]


def _call(line: bytes, caller: dict[str, JsonValue] | None, stated: StatedFacts) -> AskedCall:
    """Read one line; what is no call becomes one that is denied as malformed."""
    try:
        value = json_text.parse(line, max_bytes=2 * json_text.MAX_BYTES)
    except json_text.MalformedJsonError:
        return Call("", "", line), NO_FACTS
    if isinstance(value, dict) and value.keys() <= _KEYS:
        server, tool, own = value.get("server"), value.get("tool"), value.get("caller", {})
        if isinstance(server, str) and isinstance(tool, str) and isinstance(own, dict):
            known = own if "caller" in value else caller
            call = Call(server, tool, value.get("arguments"), known, id=_id(value))
            facts = _stated(value, stated)
            if facts is not None:
                return call, facts
    return Call("", "", "no call", id=_id(value)), NO_FACTS


def _stated(line: dict[str, JsonValue], stated: StatedFacts) -> StatedFacts | None:
    """Return the facts of a line; None where it says something else in their place."""
    values, at = line.get("facts", stated.values), line.get("at", stated.at)
    return StatedFacts(values, at) if isinstance(values, dict) and isinstance(at, str | None) else None


def _id(value: JsonValue) -> str | None:
    id_ = value.get("id") if isinstance(value, dict) else None
    return id_ if id_ is None or isinstance(id_, str) else json.dumps(id_)
