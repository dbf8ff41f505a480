"""Decisions as people and programs read them, and the exit status that each one means.

Reading the calls of `ironcurtain decide --batch`: one line, one call, whatever the line holds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from ironcurtain.cli.options.stated_facts import StatedFacts
from ironcurtain.decision.decide import Call
from ironcurtain.decision.reserved_tools import RESERVED
from ironcurtain.errors import Exit, IronCurtainError, Place, ScenarioError, UsageError
from ironcurtain.model.decision import Decision
from ironcurtain.model.reserved_rules import ReservedRule, reserved
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.files import read_bytes
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import printable, quoted, visible

if TYPE_CHECKING:
    from ironcurtain.policy import Policy

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
    if rule is ReservedRule.UNKNOWN_TOOL and decision.tool in RESERVED:
        return f"A rule that names this kind of request: `tool: [{decision.tool}]`; no annotation is needed."
    if rule is not None and rule.facts.remedy:
        return rule.facts.remedy
    if decision.approvers:
        return f"The approval of this call by {' and '.join(map(visible, decision.approvers))}."
    if decision.verdict is Verdict.ESCALATE:
        return "A person's approval of this call."
    return "Another clause in the constitution; no approval can permit it."


class BadLine(Struct):
    """A line of a batch that is no call, or none under its policy.

    Attributes:
        line: Where it is.
        error: What is wrong with it, and what to do.
        id: Of the call, where it has one; `server` and `tool` are empty where it names none.
    """

    line: Place
    error: IronCurtainError
    id: str | None = None
    server: str = ""
    tool: str = ""

    def denied(self, revision: str) -> Decision:
        """Return the deny that stands in its line of the result."""
        what, hint = self.error.what, self.error.hint
        said = what if what.endswith("?") else f"{what}."
        return Decision(
            id=self.id,
            server=self.server,
            tool=self.tool,
            verdict=Verdict.DENY,
            rule=ReservedRule.MALFORMED_CALL.value,
            reason=f"{visible(str(self.line))}: {said} {hint}".rstrip(),
            revision=revision,
        )


class AskedCall(Struct):
    """A call that somebody asks about, and what they state of the facts that its policy declares.

    Attributes:
        line: Where it stands in a batch; None for the call of a command line.
    """

    call: Call
    stated: StatedFacts
    line: Place | None = None

    def under(self, policy: Policy) -> Call | BadLine:
        """Return the call with its facts; of a batch the bad line that it is where it has other facts.

        Raises:
            ScenarioError: If a command line states a fact that is not declared, or not of its type.
        """
        try:
            return self.stated.in_call(self.call, policy)
        except ScenarioError as error:
            if self.line is None:
                raise
            return BadLine(self.line, error, self.call.id, self.call.server, self.call.tool)

    def note(self, policy: Policy) -> str:
        """Return which facts the policy's rules test and nobody stated; empty if there are none."""
        return self.stated.missing(self.call, policy)


_MAX_BYTES = 1 << 30
_KEYS = {"id", "server", "tool", "arguments", "caller", "facts", "at"}


def read_batch(
    path: Path, caller: dict[str, JsonValue] | None, stated: StatedFacts
) -> list[AskedCall | BadLine]:
    """Return what each line of a file asks, so that line N of the result is about line N of the file.

    Raises:
        FileError: If the file cannot be read.
        UsageError: If it is empty.
    """
    data = read_bytes(path, max_bytes=_MAX_BYTES)
    if not data.strip():
        raise UsageError(
            "the batch is empty", where=str(path), hint="Write one JSON object a line, one for each call."
        )
    lines = data.removesuffix(b"\n").split(b"\n")
    places = (Place(str(path), number) for number in range(1, len(lines) + 1))
    return [_asked(line, place, caller, stated) for line, place in zip(lines, places, strict=True)]


def _asked(
    line: bytes, place: Place, caller: dict[str, JsonValue] | None, stated: StatedFacts
) -> AskedCall | BadLine:
    try:
        value = json_text.parse(line, max_bytes=2 * json_text.MAX_BYTES)
    except json_text.MalformedJsonError as error:
        return BadLine(place, _no_call(f"not strict JSON: {visible(str(error))}"))
    if not isinstance(value, dict):
        return BadLine(place, _no_call("no JSON object"))
    server, tool, at = value.get("server"), value.get("tool"), value.get("at", stated.at)
    own, facts = value.get("caller", {}), value.get("facts", stated.values)
    if unknown := sorted(value.keys() - _KEYS):
        wrong = f"a call has no key {quoted(unknown[0])}"
    elif not (isinstance(server, str) and isinstance(tool, str)):
        wrong = '"server" and "tool" must be texts'
    elif not (isinstance(own, dict) and isinstance(facts, dict)):
        wrong = '"caller" and "facts" must be objects'
    elif not isinstance(at, str | None):
        wrong = '"at" must be a text'
    else:
        known = own if "caller" in value else caller
        call = Call(server, tool, value.get("arguments"), known, id=_id(value))
        return AskedCall(call, StatedFacts(facts, at), place)
    return BadLine(place, _no_call(wrong), _id(value))


def _no_call(what: str) -> UsageError:
    hint = (
        'Write {"id": …, "server": …, "tool": …, "arguments": …}, with "caller", "facts" and "at" as needed.'
    )
    return UsageError(what, hint=hint)


def _id(value: dict[str, JsonValue]) -> str | None:
    id_ = value.get("id")
    return id_ if id_ is None or isinstance(id_, str) else json.dumps(id_)
