"""A gate's report as JUnit XML: a suite for each check, a case for each thing that it looked at."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree as ET

from ironcurtain.compiler.verify.gate_report import Check, GateReport, Problem
from ironcurtain.system.text import printable

_NAME = "ironcurtain"


def junit_text(report: GateReport) -> str:
    """Return the report as XML of the schema that Jenkins' xUnit plugin publishes."""
    suites = [_suite(check) for check in report.checks]
    root = ET.Element("testsuites", name=_NAME)
    for key in ("tests", "failures", "errors"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in suites)))
    root.extend(suites)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite(check: Check) -> ET.Element:
    names = list(dict.fromkeys((*check.cases, *(p.id for p in check.failing)))) or [check.name]
    cases = [_case(check, name) for name in names]
    failures = sum(case.find("failure") is not None for case in cases)
    suite = ET.Element("testsuite", name=printable(check.name), tests=str(len(cases)))
    suite.set("failures", str(failures))
    suite.set("errors", "0")
    suite.set("skipped", str(sum(case.find("skipped") is not None for case in cases)))
    suite.extend(cases)
    others = [problem for problem in check.problems if problem.severity != "error"]
    output = ET.SubElement(suite, "system-out")
    output.text = "\n".join([printable(check.summary), *(_told(each) for each in others)])
    return suite


def _case(check: Check, name: str) -> ET.Element:
    case = ET.Element("testcase", name=printable(name), classname=f"{_NAME}.{printable(check.name)}")
    problems = [problem for problem in check.failing if problem.id == name]
    if problems:
        _add(case, "failure", problems[0].message, (_told(problem) for problem in problems))
    elif check.status == "skipped":
        _add(case, "skipped", check.summary, ())
    elif check.status == "unexamined":
        _add(case, "skipped", f"not examined: {check.summary}", ())
    elif check.status == "failed" and not check.failing:
        _add(case, "failure", check.summary, ())
    return case


def _add(case: ET.Element, kind: str, message: str, lines: Iterable[str]) -> None:
    element = ET.SubElement(case, kind, message=printable(message))
    element.text = "\n".join(lines) or None


def _told(problem: Problem) -> str:
    place = f"{problem.file}{f':{problem.line}' if problem.line else ''}" if problem.file else ""
    lines = [
        f"{problem.severity}: {problem.message}",
        *(f"clause {clause}" for clause in [problem.clause] if clause),
        *(f"at {each}" for each in [place] if each),
        *problem.details,
        *(f"to do: {each}" for each in [problem.suggestion] if each),
    ]
    return "\n".join(printable(line) for line in lines)
