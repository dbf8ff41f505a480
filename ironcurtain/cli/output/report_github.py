"""A gate's report as workflow commands, which GitHub shows beside the lines of a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from ironcurtain.compiler.verify.gate_report import GateReport, Problem
from ironcurtain.system.text import printable


def github_text(report: GateReport) -> str:
    """Return the report as workflow commands, one a line; notes are left to the summary page."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: GateReport) -> Iterator[str]:
    for check in report.checks:
        for problem in check.problems:
            if problem.severity != "note":
                yield _command(check.name, problem)
        if check.status == "failed" and not check.failing:
            yield f"::error title={_property(check.name)}::{_data(printable(check.summary))}"
        if check.status == "unexamined":
            said = printable(f"not examined: {check.summary}")
            yield f"::warning title={_property(check.name)}::{_data(said)}"
    failed = [check.name for check in report.checks if check.status == "failed"]
    result = f"failed: {', '.join(failed)}" if failed else "no check failed"
    if report.unexamined:
        result += f"; not examined: {', '.join(report.unexamined)}"
    elif not failed:
        result = "all checks passed"
    yield f"::notice title=IronCurtain::{_data(printable(f'{result}; {report.revision}'))}"


def _command(check: str, problem: Problem) -> str:
    places = []
    if problem.file is not None:
        places.append(f"file={_property(problem.file)}")
        if problem.line is not None:
            places.append(f"line={problem.line}")
    title = f"title={_property(f'{check}: {problem.id}')}"
    lines = [problem.message, *problem.details]
    if problem.suggestion:
        lines.append(f"To do: {problem.suggestion}")
    message = "\n".join(printable(line) for line in lines)
    return f"::{problem.severity} {','.join([*places, title])}::{_data(message)}"


def _data(text: str) -> str:
    """Escape the message of a command: whatever it holds, it ends with the line."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Escape a property of a command: it ends neither itself nor the properties."""
    return _data(printable(text)).replace(":", "%3A").replace(",", "%2C")
