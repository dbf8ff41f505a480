"""Decisions as people and programs read them, and the exit status that each one means."""

from __future__ import annotations

import json

from ironcurtain.errors import Exit
from ironcurtain.model.decision import Decision
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.text import printable, visible

_EXITS = {Verdict.ALLOW: Exit.YES, Verdict.ESCALATE: Exit.PERSON, Verdict.DENY: Exit.NO}
_CHANGES = {
    "structural-malformed-call": "Send strict JSON.",
    "structural-unknown-tool": "Annotate the tool, or call one that is annotated.",
    "structural-tool-drift": "Annotate the changed tool again.",
    "structural-invalid-arguments": "Correct the arguments.",
    "structural-unrepresentable-argument": "Write the argument plainly.",
    "structural-protected-path": "Nothing: no policy can permit it.",
    "structural-domain-escalate": "A person's approval, or the address on the server's domain list.",
    "structural-unresolved-remote": "A person's approval, or a remote given as URL.",
    "default-deny": "A rule that covers the denied subjects.",
    "internal-error": "Nothing in the call: this is a bug in IronCurtain.",
}


def exit_of(decision: Decision) -> Exit:
    """Return the exit status of a decision: a deny for want of an answer is not one by a rule."""
    if decision.rule.startswith("engine-") or decision.rule == "internal-error":
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
    """Return a decision as lines for a person: what, why, each subject, and what would change it."""
    lines = [
        f"{decision.verdict.upper()}  {visible(decision.server)}/{visible(decision.tool)}",
        f"  rule:    {visible(decision.rule)}",
        f"  reason:  {printable(decision.reason)}",
    ]
    if decision.clause:
        lines.append(f"  clause:  {visible(decision.clause)} {visible(decision.clause_text or '')}".rstrip())
    for subject in decision.subjects:
        where = subject.at or "the call"
        shown = f"{subject.role} {visible(subject.value)}" if subject.at else subject.role
        lines.append(f"  {subject.verdict.upper():8} {visible(where)}: {shown}  ({visible(subject.rule)})")
    if decision.verdict is not Verdict.ALLOW:
        lines.append(f"  to change it: {_change(decision)}")
    return "\n".join(lines)


def _change(decision: Decision) -> str:
    """Say what would have to change for the call to be allowed."""
    if decision.rule.startswith("engine-"):
        return "Nothing in the call: the engine has to answer."
    if decision.rule in _CHANGES:
        return _CHANGES[decision.rule]
    if decision.verdict is Verdict.ESCALATE:
        return "A person's approval of this call."
    return "Another clause in the constitution; no approval can permit it."
