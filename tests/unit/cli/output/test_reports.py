"""Reports: every format of one shape, held against its own schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import xmlschema
from support.documents import object_at
from support.oracles.report_schemas import JUNIT, SARIF

from ironcurtain.cli.output.report_formats import formats_of
from ironcurtain.cli.output.reports import RENDERERS
from ironcurtain.cli.output.schemas import SCHEMAS
from ironcurtain.compiler.verify.gate_report import Check, GateReport, Problem
from ironcurtain.errors import UsageError

BROKEN = Problem(
    id="read-note",
    message="scenario read-note: expected deny, got allow by allow-notes",
    clause="C2",
    file="my rules/constitution.md",
    line=7,
    details=('notes/read_note {"path": "/etc/passwd"}',),
    suggestion="Correct the rule.",
)
REPORT = GateReport(
    command="verify",
    ok=False,
    revision=f"sha256:{'0' * 64}",
    engine_version="1.22.2",
    checks=(
        Check(name="manifest", status="passed", summary="15, content is that of the revision"),
        Check(
            name="scenarios",
            status="failed",
            summary="2, 1 of 2 fail",
            cases=("read-note", "tags"),
            problems=(BROKEN, Problem(id="left-out-1", severity="warning", message="left out")),
        ),
        Check(name="guarantees", status="failed", summary="cannot be judged"),
        Check(name="decision matrix", status="skipped", summary="there is none"),
    ),
    clauses={"C2": "Notes may be read."},
)
PASSED = REPORT.model_copy(update={"ok": True, "checks": REPORT.checks[:1], "clauses": {}})


def sarif(report: GateReport) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(RENDERERS["sarif"](report))
    jsonschema.Draft4Validator(SARIF, format_checker=jsonschema.FormatChecker()).validate(log)
    return log


def junit(report: GateReport) -> dict[str, Any]:
    text = RENDERERS["junit"](report)
    JUNIT.validate(text)
    decoded = JUNIT.to_dict(text)
    assert isinstance(decoded, dict)
    return decoded


@pytest.mark.parametrize("report", [REPORT, PASSED], ids=["failed", "passed"])
def test_every_format_is_valid(report: GateReport) -> None:
    sarif(report)
    junit(report)
    jsonschema.validate(json.loads(RENDERERS["json"](report)), object_at(SCHEMAS["gate-report"]()))
    assert GateReport.model_validate_json(RENDERERS["json"](report)) == report


def test_the_schemas_refuse_what_is_none() -> None:
    log = sarif(REPORT)
    log["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft4Validator(SARIF).validate(log)
    with pytest.raises(xmlschema.XMLSchemaValidationError):
        JUNIT.validate(RENDERERS["junit"](REPORT).replace(' tests="2"', ""))


def test_sarif_names_the_clause_and_its_sentence() -> None:
    (run,) = sarif(REPORT)["runs"]
    assert run["tool"]["driver"]["rules"][0] == {
        "id": "C2",
        "shortDescription": {"text": "Notes may be read."},
    }
    broken, left_out, unjudged = run["results"]
    assert (broken["ruleId"], broken["level"]) == ("C2", "error")
    assert broken["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "my%20rules/constitution.md", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 7},
    }
    assert (left_out["ruleId"], left_out["level"]) == ("scenarios", "warning")
    assert (unjudged["ruleId"], unjudged["level"]) == ("guarantees", "error")


def test_sarif_fingerprints_stay_when_words_and_lines_change() -> None:
    moved = BROKEN.model_copy(update={"line": 9, "message": "other words"})
    check = REPORT.checks[1].model_copy(update={"problems": (moved,)})
    other = REPORT.model_copy(update={"checks": (check,)})
    prints = [sarif(each)["runs"][0]["results"][0]["partialFingerprints"] for each in (REPORT, other)]
    assert prints[0] == prints[1]


def test_junit_has_a_case_for_each_thing_and_counts_them() -> None:
    decoded = junit(REPORT)
    suites = {suite["@name"]: suite for suite in decoded["testsuite"]}
    assert {name: (s["@tests"], s["@failures"], s["@skipped"]) for name, s in suites.items()} == {
        "manifest": ("1", "0", "0"),
        "scenarios": ("2", "1", "0"),
        "guarantees": ("1", "1", "0"),
        "decision matrix": ("1", "0", "1"),
    }
    assert (decoded["@tests"], decoded["@failures"]) == ("5", "2")
    failed = suites["scenarios"]["testcase"][0]["failure"][0]
    assert "expected deny, got allow" in failed["@message"]
    assert "clause C2" in failed["$"]
    assert "/etc/passwd" in failed["$"]


def test_text_and_markdown_say_what_to_do() -> None:
    text, markdown = RENDERERS["text"](REPORT), RENDERERS["markdown"](REPORT)
    for line in ("FAIL  scenarios: 2, 1 of 2 fail", "to do: Correct the rule.", "--    decision matrix"):
        assert line in text
    end = [f"NOT verified  {REPORT.revision}"]
    end.append(
        "failed: scenarios: scenario read-note: expected deny, got allow by allow-notes (C2), "
        "at my rules/constitution.md:7"
    )
    end.append("failed: guarantees: cannot be judged")
    assert text.splitlines()[-3:] == end
    assert markdown.startswith("# The policy is not verified\n")
    assert "| scenarios | **failed** | 2, 1 of 2 fail |" in markdown
    assert "C2: Notes may be read." in markdown


def test_many_notes_about_clauses_are_one_line() -> None:
    notes = [
        Problem(id=f"clause-C{n}", severity="note", message="is untested", clause=f"C{n}") for n in range(15)
    ]
    check = Check(name="clauses", status="passed", summary="15", problems=tuple(notes))
    text = RENDERERS["text"](PASSED.model_copy(update={"checks": (check,)}))
    assert "is untested" not in text
    assert "note: 15 clauses are kept by more than rules, or not at all: C0, C1, " in text


@pytest.mark.parametrize(
    ("name", "format_"),
    [
        ("a.md", "markdown"),
        ("a.sarif", "sarif"),
        ("a.sarif.json", "sarif"),
        ("a.json", "json"),
        ("a.xml", "junit"),
    ],
)
def test_the_suffix_names_the_format(name: str, format_: str) -> None:
    assert formats_of([name]) == {Path(name): format_}


@pytest.mark.parametrize("name", ["report", "report.html", ".md"])
def test_a_suffix_that_names_none_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="names no format"):
        formats_of([name])
