"""A gate's report for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from ironcurtain.analysis.diff.report import details, text_lines
from ironcurtain.compiler.verify.gate_report import Check, GateReport, Problem
from ironcurtain.system.text import printable

_MARKS = {"passed": "ok  ", "failed": "FAIL", "skipped": "--  ", "unexamined": "??  "}
DIFFERENCE = "difference"
FINDINGS = "findings"
CLAUSES = "clauses"
_MOST_NOTES = 3


def plain_text(report: GateReport) -> str:
    """Return the report as plain text, which ends with what failed: that is read first, and often alone."""
    return "".join(f"{line}\n" for line in (*check_lines(report), *_failures(report)))


def said_of_changes(report: GateReport) -> Mapping[str, tuple[str, ...]]:
    """Return by change id what the gate says of a change beyond the difference itself."""
    if report.difference is None:
        return {}
    shown = {change.id: set(details(change)) for change in report.difference.changes}
    problems = [p for check in report.checks if check.name == DIFFERENCE for p in check.problems]
    said = {}
    for problem in problems:
        if problem.id in shown:
            more = [line for line in problem.details if line not in shown[problem.id]]
            open_ = ["NOT approved"] if problem.severity == "error" else []
            said[problem.id] = (*more, *open_)
    return said


def other_problems(report: GateReport, check: Check) -> tuple[Problem, ...]:
    """Return the problems of a check that the difference itself does not show."""
    shown = said_of_changes(report) if check.name == DIFFERENCE else {}
    return tuple(problem for problem in check.problems if problem.id not in shown)


def check_lines(report: GateReport) -> Iterator[str]:
    """Yield what each check says, and the outcome."""
    if report.difference is not None:
        yield from text_lines(report.difference, said_of_changes(report))
        yield ""
    for _, (*alike, check) in groupby(report.checks, _said):
        names = ", ".join(printable(each.name) for each in (*alike, check))
        yield f"{_MARKS[check.status]}  {names}: {printable(check.summary)}"
        problems = other_problems(report, check)
        notes = [problem for problem in problems if problem.severity == "note" and not problem.details]
        joined = check.name == CLAUSES and len(notes) > _MOST_NOTES
        for problem in problems:
            if not (joined and problem in notes):
                yield from _problem(problem, named=check.name == FINDINGS)
        if joined:
            named = ", ".join(printable(problem.clause or problem.id) for problem in notes)
            yield f"      note: {len(notes)} clauses are kept by more than rules, or not at all: {named}"
            yield "        to do: Read why: `ironcurtain explain --clause ID`."
    if report.command == "verify":
        yield from _outcome(report)


def _said(check: Check) -> tuple[str, ...]:
    """Return what checks have in common that are told in one line; one with problems is told by itself."""
    return (check.status, check.summary, check.name if check.problems else "")


def _failures(report: GateReport) -> Iterator[str]:
    """Yield a line for each check that failed, with its first mistake and where that is."""
    if report.command != "verify" or report.ok:
        return
    for check in report.checks:
        if check.status != "failed":
            continue
        problem = next((each for each in check.problems if each.severity == "error"), None)
        said, more = check.summary, 0
        if problem is not None:
            said = f"{problem.message} ({problem.clause})" if problem.clause else problem.message
            more = sum(each.severity == "error" for each in check.problems) - 1
        at = f", at {problem.file}" if problem is not None and problem.file else ""
        line = f":{problem.line}" if problem is not None and problem.file and problem.line else ""
        others = f"; and {more} more" if more else ""
        yield printable(f"failed: {check.name}: {said}{at}{line}{others}")


def outcome_words(report: GateReport) -> str:
    """Return the outcome in a few words, without what was not examined."""
    if not report.ok:
        return "NOT verified"
    return "verified in part" if report.unexamined else "verified"


def _outcome(report: GateReport) -> Iterator[str]:
    if report.unexamined:
        yield f"not examined: {', '.join(map(printable, report.unexamined))}"
    yield f"{outcome_words(report)}  {report.revision}"


def _problem(problem: Problem, *, named: bool) -> Iterator[str]:
    """Yield a problem; `named` shows its id, which a waiver needs."""
    clause = f" ({printable(problem.clause)})" if problem.clause else ""
    id_ = f" [{printable(problem.id)}]" if named else ""
    yield f"      {problem.severity}: {printable(problem.message)}{clause}{id_}"
    yield from (f"        {printable(line)}" for line in problem.details)
    if problem.file:
        line = f":{problem.line}" if problem.line else ""
        yield f"        at {printable(problem.file)}{line}"
    if problem.suggestion:
        yield f"        to do: {printable(problem.suggestion)}"
