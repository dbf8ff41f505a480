"""A gate's report as SARIF 2.1.0: a rule for each clause (or check), a result for each problem."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import PurePosixPath
from urllib.parse import quote

from ironcurtain.cli.output.report_json import ascii_json
from ironcurtain.compiler.verify.gate_report import Check, GateReport, Problem
from ironcurtain.integrations.gate.report import exit_of
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import printable

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "%SRCROOT%"
# Code scanning shows no result without a place.
_NO_PLACE = "ironcurtain.toml"


def sarif_text(report: GateReport) -> str:
    """Return the report as a SARIF log; fingerprints are of what a problem is about, so they stay."""
    problems = [(check, problem) for check in report.checks for problem in _problems(check)]
    rules = list(dict.fromkeys(_rule_id(check, problem) for check, problem in problems))
    run: dict[str, JsonValue] = {
        "tool": {
            "driver": {
                "name": "IronCurtain",
                "semanticVersion": version("ironcurtain"),
                "rules": [_rule(rule, report) for rule in rules],
            }
        },
        "automationDetails": {"id": f"ironcurtain-{report.command}/"},
        "invocations": [_invocation(report)],
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The working directory."}}},
        "columnKind": "unicodeCodePoints",
        "properties": {"revision": report.revision, "engine": report.engine_version},
        "results": [_result(check, problem, rules) for check, problem in problems],
    }
    return ascii_json({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _invocation(report: GateReport) -> JsonValue:
    """Say how it ended, and what it could not look at."""
    said: list[JsonValue] = [
        {"level": "warning", "message": {"text": printable(f"{check.name}: not examined: {check.summary}")}}
        for check in report.checks
        if check.status == "unexamined"
    ]
    ended: dict[str, JsonValue] = {"executionSuccessful": True, "exitCode": int(exit_of(report))}
    return {**ended, "toolExecutionNotifications": said} if said else ended


def _problems(check: Check) -> tuple[Problem, ...]:
    if check.status == "failed" and not check.failing:
        return (*check.problems, Problem(id=check.name, message=check.summary))
    return check.problems


def _rule_id(check: Check, problem: Problem) -> str:
    return printable(problem.clause or check.name)


def _rule(rule: str, report: GateReport) -> JsonValue:
    words = printable(report.clauses.get(rule, f"The check `{rule}` of the policy."))
    return {"id": rule, "shortDescription": {"text": words}}


def _result(check: Check, problem: Problem, rules: list[str]) -> JsonValue:
    rule = _rule_id(check, problem)
    lines = [problem.message, *problem.details]
    if problem.suggestion:
        lines.append(f"To do: {problem.suggestion}")
    about = json_text.digest([printable(each or "") for each in (check.name, problem.id, problem.clause)])
    return {
        "ruleId": rule,
        "ruleIndex": rules.index(rule),
        "level": problem.severity,
        "message": {"text": "\n".join(printable(line) for line in lines)},
        "locations": [{"physicalLocation": _place(problem)}],
        "partialFingerprints": {"ironcurtain/v1": about},
        "properties": {"check": check.name, "id": printable(problem.id), "docs": problem.docs},
    }


def _place(problem: Problem) -> JsonValue:
    region: dict[str, JsonValue] = {"region": {"startLine": problem.line}} if problem.line else {}
    return {"artifactLocation": _artifact(problem.file or _NO_PLACE), **region}


def _artifact(file: str) -> JsonValue:
    path = PurePosixPath(file)
    encoded = quote(file.encode("utf-8", "surrogatepass"), safe="/")
    return {"uri": f"file://{encoded}"} if path.is_absolute() else {"uri": encoded, "uriBaseId": _ROOT}
