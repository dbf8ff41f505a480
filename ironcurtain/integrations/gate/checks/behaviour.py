"""The checks of what a policy does, over all calls: guarantees and the golden matrix."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ironcurtain.analysis.guarantees.guarantees import status_words, step_words
from ironcurtain.compiler.verify.gate_report import Check, Problem
from ironcurtain.integrations.gate.checks.bundle import compiled_with, too_few
from ironcurtain.integrations.gate.policy_under_review import Document
from ironcurtain.model.guarantees import (
    STATUSES,
    GuaranteeReport,
    GuaranteeResult,
    GuaranteeStatus,
    WitnessCall,
)

if TYPE_CHECKING:  # `diff` reports as the gate does, and needs none of what a gate judges by
    from ironcurtain.integrations.gate.policy_under_review import PolicyUnderReview

_SAID: dict[GuaranteeStatus, str] = {
    "broken": "broken",
    "says nothing": "that say nothing",
    "not found": "not proved (no counterexample found)",
    "not examined": "not examined",
}


def guarantees(reviewed: PolicyUnderReview) -> tuple[Check, ...]:
    """Decide the guarantees over all calls."""
    name, least = "guarantees", reviewed.demands.guarantees
    if reviewed.guarantees is None:
        absent = _absent(reviewed, name, reviewed.guarantees_file)
        if absent.status == "unexamined" and reviewed.is_at_home:
            absent = _deleted(absent, reviewed.guarantees_file)
        if not least:
            return (absent,)
        missing = (*absent.problems, too_few(name, 0, least, "guarantees"))
        return (absent.model_copy(update={"status": "failed", "problems": missing}),)
    listed = reviewed.guarantees.entries
    # A file without guarantees was meant to hold some, whatever the settings say.
    if len(listed) < max(1, least):
        short = (too_few(name, len(listed), max(1, least), "guarantees"),)
        return (Check(name=name, status="failed", summary=f"{len(listed)}, too few", problems=short),)
    return (guarantee_check(reviewed.evidence.guarantee_report, reviewed.guarantees_file),)


def _absent(reviewed: PolicyUnderReview, name: str, document: Document) -> Check:
    """Return the check of a file that is not there: was the bundle compiled with it?"""
    count = compiled_with(reviewed.bundle, name)
    if not count:
        return Check(name=name, status="skipped", summary=f"there is no {document.shown}")
    summary = f"there is no {document.shown}, and the compile looked at {count} of it"
    return Check(name=name, status="unexamined", summary=summary)


def _deleted(check: Check, document: Document) -> Check:
    """Return the check of a file that people wrote, and that somebody deleted since the compile."""
    gone = Problem(
        id=check.name,
        message=f"{document.shown} is gone",
        file=document.shown,
        suggestion="Put it back, or run `ironcurtain compile` without it.",
    )
    return check.model_copy(update={"status": "failed", "problems": (gone,)})


def guarantee_check(report: GuaranteeReport, document: Document) -> Check:
    """Return the check of guarantees that were decided; `document` is the file of them."""
    problems = [_problem(document, number, result) for number, result in enumerate(report.results)]
    counts = {status: sum(each.status == status for each in report.results) for status in STATUSES}
    said = [f"{count} {_SAID[status]}" for status, count in counts.items() if count and status in _SAID]
    return Check(
        name="guarantees",
        status="passed" if report.ok else "unexamined" if report.is_unexamined else "failed",
        summary=f"{len(report.results)}, {', '.join(said) or 'all hold'}",
        cases=tuple(each.id for each in report.results),
        problems=tuple(problem for problem in problems if problem is not None),
    )


def _problem(document: Document, number: int, result: GuaranteeResult) -> Problem | None:
    if result.status == "proved":
        return None
    file, line = document.shown, document.line_of("guarantees", number)
    if result.status == "broken":
        return _broken(result, file, line)
    nothing = not result.holds
    suggestion = "Correct what it speaks of: no call of any tool is meant by it." if nothing else ""
    if result.status == "not examined":
        suggestion = "Run `ironcurtain findings`: it says which argument no value was found for."
    return Problem(
        id=result.id,
        severity="error" if nothing else "note",
        message=f"guarantee {result.id} ({result.demand}): {status_words(result)}",
        clause=result.clause,
        file=file,
        line=line,
        details=result.reasons,
        suggestion=suggestion,
    )


def _broken(result: GuaranteeResult, file: str | None, line: int | None) -> Problem:
    return Problem(
        id=result.id,
        message=f"guarantee {result.id} is broken: {result.demand}",
        clause=result.clause,
        file=file,
        line=line,
        details=_session(result) or (witness_words(result.witness) if result.witness else ()),
        suggestion="Correct the rule that decides the call; change the guarantee only if it is wrong.",
    )


def _session(result: GuaranteeResult) -> tuple[str, ...]:
    """Return the calls of a session that break a guarantee, a line each."""
    return tuple(f"{number}. {step_words(call)}" for number, call in enumerate(result.sequence, 1))


def witness_words(call: WitnessCall) -> tuple[str, str]:
    """Return a call and how it is decided, in two lines."""
    caller = f" as {json.dumps(call.caller, ensure_ascii=False)}" if call.caller else ""
    clause = f" (clause {call.clause})" if call.clause else ""
    return (
        f"{call.server}/{call.tool} {json.dumps(call.arguments, ensure_ascii=False)}{caller}",
        f"{call.subject}: the call is decided {call.verdict} by {call.rule}{clause}",
    )


def matrix(reviewed: PolicyUnderReview) -> tuple[Check, ...]:
    """Hold the golden decision matrix against the policy."""
    name, file = "decision matrix", reviewed.matrix_file.shown
    if reviewed.matrix is None:
        if not reviewed.demands.matrix:
            return (_absent(reviewed, name, reviewed.matrix_file),)
        problem = Problem(id="matrix", message=f"there is no {file}", suggestion="Compile again.")
        return (Check(name=name, status="failed", summary="missing", problems=(problem,)),)
    made = reviewed.evidence.matrix_file
    if made == reviewed.matrix:
        return (Check(name=name, status="passed", summary=f"{file} is what the policy decides"),)
    old, new = reviewed.matrix.decode("utf-8", "replace").splitlines(), made.decode().splitlines()
    wrong = next((n for n, (one, two) in enumerate(zip(old, new, strict=False), 1) if one != two), None)
    problem = Problem(
        id="matrix",
        message=f"{file} is not what the policy decides",
        file=file,
        line=wrong if wrong is not None else min(len(old), len(new)) + 1,
        suggestion="Compile again, and review the rows that change.",
    )
    return (Check(name=name, status="failed", summary="it differs", problems=(problem,)),)
