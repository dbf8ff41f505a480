"""A gate's report as markdown: for the comment on a pull request and the summary page of a job."""

from __future__ import annotations

from collections.abc import Iterator

from ironcurtain.analysis.diff.report import escaped, markdown_lines
from ironcurtain.cli.output.report_text import other_problems, said_of_changes
from ironcurtain.compiler.verify.gate_report import GateReport, Problem

_RESULTS = {
    "passed": "passed",
    "failed": "**failed**",
    "skipped": "skipped",
    "unexamined": "**not examined**",
}
_TITLES = {
    ("verify", True): "The policy is verified",
    ("verify", False): "The policy is not verified",
    ("diff", True): "The change of the policy may pass",
    ("diff", False): "The change of the policy may not pass",
}


def markdown_text(report: GateReport) -> str:
    """Return the report as markdown; nothing in it that strangers wrote is markup."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: GateReport) -> Iterator[str]:
    yield f"# {_TITLES[report.command, report.ok]}{' in part' if report.ok and report.unexamined else ''}"
    yield ""
    compared = f", compared with `{report.against}`" if report.against else ""
    yield f"Revision `{report.revision}`{compared}."
    yield ""
    if report.unexamined:
        yield f"Not examined: {', '.join(map(escaped, report.unexamined))}."
        yield ""
    yield "| check | result | |"
    yield "|---|---|---|"
    for check in report.checks:
        yield f"| {escaped(check.name)} | {_RESULTS[check.status]} | {escaped(check.summary)} |"
    yield ""
    if report.difference is not None:
        yield from markdown_lines(report.difference, said_of_changes(report))
        yield ""
    problems = [(check, problem) for check in report.checks for problem in other_problems(report, check)]
    if problems:
        yield f"## Problems: {len(problems)}"
        yield ""
    for check, problem in problems:
        yield f"- {problem.severity} in {escaped(check.name)}: {escaped(problem.message)}{_where(problem)}"
        yield from (f"  - {escaped(line)}" for line in problem.details)
        if problem.clause in report.clauses:
            yield f"  - {escaped(problem.clause or '')}: {escaped(report.clauses[problem.clause or ''])}"
        if problem.suggestion:
            yield f"  - To do: {escaped(problem.suggestion)}"


def _where(problem: Problem) -> str:
    if problem.file is None:
        return ""
    return f" ({escaped(problem.file)}{f':{problem.line}' if problem.line else ''})"
