"""The check of other spellings: whether a call gets further in one of them, where somebody asks for that."""

from __future__ import annotations

import importlib
from collections.abc import Iterable

from ironcurtain.analysis.attack.report import AttackReport, Break, break_lines, summary
from ironcurtain.compiler.verify.gate_report import Check, Problem
from ironcurtain.integrations.gate.subject import PolicyUnderReview
from ironcurtain.system.text import counted


def attacked(subject: PolicyUnderReview) -> tuple[Check, ...]:
    """Respell the calls of scenarios and witnesses, and fail where one gets further."""
    name = "attack"
    if not subject.demands.attack:
        return (Check(name=name, status="skipped", summary="none is demanded"),)
    # Loading it takes longer than some checks, and most projects do not ask for it.
    run = importlib.import_module("ironcurtain.analysis.attack.run")
    evidence, scenarios = subject.evidence.guaranteed, subject.scenarios.scenarios
    report: AttackReport = run.attack(evidence, scenarios, subject.engine)
    problems = tuple(
        _problem(subject, number, each, break_lines(each)) for number, each in enumerate(report.breaks, 1)
    )
    return (
        Check(
            name=name,
            status="failed" if problems else "passed",
            summary=f"{counted(sum(report.tried.values()), 'respelled call')}, {summary(report)}",
            problems=problems,
        ),
    )


def _problem(subject: PolicyUnderReview, number: int, found: Break, lines: Iterable[str]) -> Problem:
    clause = found.base.clause
    file, line = subject.clause_place(clause)
    _, *calls = lines
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
