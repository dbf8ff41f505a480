"""Decisions as people and programs read them, and the exit status that each one means."""

from __future__ import annotations

import json

from ironcurtain.errors import Exit
from ironcurtain.model.decision import Decision
from ironcurtain.model.reserved_rules import reserved
from ironcurtain.model.verdict import Verdict
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
    rule = reserved(decision.rule)
    if rule is not None and rule.facts.remedy:
        return rule.facts.remedy
    if decision.verdict is Verdict.ESCALATE:
        return "A person's approval of this call."
    return "Another clause in the constitution; no approval can permit it."
