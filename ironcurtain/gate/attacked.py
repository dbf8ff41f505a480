"""The check of other spellings: whether a call gets further in one of them, where somebody asks for that."""

from __future__ import annotations

from ironcurtain.attack.report_text import break_lines, summary
from ironcurtain.attack.run import attack
from ironcurtain.gate.subject import Subject
from ironcurtain.model.attack import Break
from ironcurtain.model.gate import Check, Problem


def attacked(subject: Subject) -> tuple[Check, ...]:
    """Respell the calls of scenarios and witnesses, and fail where one gets further."""
    name = "attack"
    if not subject.demands.attack:
        return (Check(name=name, status="skipped", summary="none is demanded"),)
    report = attack(subject.evidence.guaranteed, subject.scenarios.scenarios, subject.engine)
    tried = sum(report.tried.values())
    return (
        Check(
            name=name,
            status="failed" if report.breaks else "passed",
            summary=f"{tried} respelled calls, {summary(report)}",
            problems=tuple(_problem(subject, number, each) for number, each in enumerate(report.breaks, 1)),
        ),
    )


def _problem(subject: Subject, number: int, found: Break) -> Problem:
    clause = found.base.clause
    file, line = subject.clause_place(clause)
    _, *calls = break_lines(found)
    kind = "reaches what is denied" if found.kind == "reached" else "gets further than what it stands for"
    return Problem(
        id=f"attack-{number}",
        message=f"a respelled call ({found.respelling}) {kind}",
        clause=clause,
        file=file,
        line=line,
        details=tuple(line.strip() for line in calls),
        suggestion="Give the argument its role, or write the rule so that it names what is allowed.",
        docs="docs/attack.md",
    )
