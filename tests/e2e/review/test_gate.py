"""`verify` as a gate: what is demanded, what is missing, what is compared, and who is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from e2e.program import Ended, Inside, assert_clear

BUNDLE = "generated/bundle"
GUARANTEES = """\
format: ironcurtain/guarantees/v1
guarantees:
  - id: notes-only
    clause: C2
    never: allow
    when: {roles: [read-path], outside: [sandbox, "~/notes"]}
  - id: tags
    always: allow
    when: {tool: [list_tags]}
"""


def demand(project: Path, *lines: str) -> None:
    """Add lines to the table [verify]."""
    with (project / "ironcurtain.toml").open("a") as settings:
        settings.write("\n".join(["[verify]", *lines, ""]))


def checks(ended: Ended) -> dict[str, str]:
    """Return the status of each check of a report in JSON."""
    return {check["name"]: check["status"] for check in json.loads(ended.out)["checks"]}


@pytest.fixture
def project(project: Path, waivers: str) -> Path:
    (project / "waivers.yaml").write_text(waivers)
    return project


@pytest.fixture
def guarded(project: Path) -> Path:
    (project / "guarantees.yaml").write_text(GUARANTEES)
    return project


def test_all_evidence_passes_and_reports_are_written(guarded: Path, inside: Inside) -> None:
    demand(guarded, "guarantees = 2", "scenarios = 3", "coverage = 1")
    outputs = [f"--output=out/gate.{suffix}" for suffix in ("txt", "json", "md", "sarif", "xml")]
    ended = inside("verify", BUNDLE, "--format", "json", *outputs, cwd=guarded)
    assert ended.code == 0, ended.err + ended.out
    found = checks(ended)
    assert set(found.values()) <= {"passed", "skipped"}
    assert found["guarantees"] == found["coverage"] == found["findings"] == "passed"
    assert (guarded / "out/gate.json").read_text() == ended.out
    assert (guarded / "out/gate.md").read_text().startswith("# The policy is verified")
    written = {path.suffix for path in (guarded / "out").iterdir()}
    assert written == {".txt", ".json", ".md", ".sarif", ".xml"}
    quiet = inside("verify", BUNDLE, "-q")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


@pytest.mark.parametrize(
    ("lines", "check", "says"),
    [
        (["guarantees = 1"], "guarantees", "0 guarantees, and at least 1 are demanded"),
        (["scenarios = 1000"], "scenarios", "scenarios that somebody demanded, and at least 1000"),
        (["tests = 10000"], "opa check, opa test", "Rego tests, and at least 10000"),
        (["coverage = 100"], "coverage", "of the policy is reached, and at least 100 %"),
    ],
    ids=["guarantees", "scenarios", "tests", "coverage"],
)
def test_too_little_evidence_is_a_failure(
    project: Path, inside: Inside, lines: list[str], check: str, says: str
) -> None:
    demand(project, *lines)
    ended = inside("verify", BUNDLE, "--format", "json", cwd=project)
    assert ended.code == 1
    assert [name for name, status in checks(ended).items() if status == "failed"] == [check]
    assert says in ended.out


def test_guarantees_that_somebody_deletes_after_the_compile_are_a_failure(
    guarded: Path, inside: Inside
) -> None:
    compiled = inside("compile", "--locked", "--saved-tools", cwd=guarded)
    assert compiled.code == 0, compiled.err
    assert inside("verify", cwd=guarded).code == 0
    (guarded / "guarantees.yaml").unlink()
    ended = inside("verify", cwd=guarded)
    assert ended.code == 1
    assert "error: guarantees.yaml is gone" in ended.out


def test_a_file_without_guarantees_fails_though_none_are_demanded(project: Path, inside: Inside) -> None:
    assert inside("verify", BUNDLE, cwd=project).code == 0
    (project / "guarantees.yaml").write_text("format: ironcurtain/guarantees/v1\nguarantees: []\n")
    ended = inside("verify", BUNDLE)
    assert ended.code == 1
    assert "0 guarantees, and at least 1 are demanded" in ended.out


def test_no_scenarios_prove_nothing(project: Path, inside: Inside) -> None:
    empty = project / "none.json"
    empty.write_text(
        '{"format": "ironcurtain/scenarios/v1", "scenarios": [], "world": {"home": "/home/user"}}'
    )
    ended = inside("verify", BUNDLE, "--scenarios", "none.json", cwd=project)
    assert ended.code == 1
    assert "FAIL  scenarios: 0, no scenarios, which proves nothing" in ended.out


def test_a_broken_guarantee_is_named_with_its_line_and_a_call(guarded: Path, inside: Inside) -> None:
    path = guarded / "guarantees.yaml"
    path.write_text(path.read_text().replace('"~/notes"', '"~/tagged"'))
    ended = inside("verify", BUNDLE, cwd=guarded)
    assert ended.code == 1
    assert "guarantee notes-only is broken: never allow (C2)" in ended.out
    assert "at guarantees.yaml:3" in ended.out
    assert "notes/read_note" in ended.out


def test_a_guarantee_about_nothing_is_a_mistake_and_no_failed_check(guarded: Path, inside: Inside) -> None:
    path = guarded / "guarantees.yaml"
    path.write_text(path.read_text().replace("list_tags", "no_such_tool"))
    assert_clear(inside("verify", BUNDLE, cwd=guarded), 2, "IC1401")


def test_the_golden_matrix_is_held_against_the_policy(project: Path, inside: Inside) -> None:
    golden = project / "generated" / "decision-matrix.json"
    printed = inside("matrix", BUNDLE, "--format", "json", cwd=project)
    golden.write_text(printed.out)
    assert checks(inside("verify", BUNDLE, "--format", "json"))["decision matrix"] == "passed"
    lines = printed.out.splitlines(keepends=True)
    number = next(n for n, line in enumerate(lines) if '"allow"' in line)
    lines[number] = lines[number].replace('"allow"', '"deny"')
    golden.write_text("".join(lines))
    ended = inside("verify", BUNDLE)
    assert ended.code == 1
    assert f"at generated/decision-matrix.json:{number + 1}" in ended.out
    golden.unlink()
    assert inside("verify", BUNDLE).code == 0
    demand(project, "matrix = true")
    assert inside("verify", BUNDLE).code == 1


def test_findings_fail_until_they_are_waived_and_not_for_ever(project: Path, inside: Inside) -> None:
    file = project / "waivers.yaml"
    demand(project, 'findings = "warning"')
    assert inside("verify", BUNDLE, cwd=project).code == 0
    file.write_text(file.read_text().replace("9999-12-31", "2020-01-01"))
    expired = inside("verify", BUNDLE)
    assert expired.code == 1
    assert "expired on 2020-01-01" in expired.out
    assert "error: clause C4: the clause C4 is not enforceable" in expired.out


@pytest.mark.parametrize(
    "line",
    ["scenarios = 0", "tests = 0", "guarantees = -1", "coverage = 101", 'findings = "all"', "skip = true"],
)
def test_settings_that_are_none_are_refused(project: Path, inside: Inside, line: str) -> None:
    demand(project, line)
    assert_clear(inside("verify", BUNDLE, cwd=project), 2, "IC1003")


def test_no_environment_variable_weakens_the_gate(
    project: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = project / "weak.toml"
    other.write_text("")
    demand(project, "guarantees = 1")
    for name in ("CONFIG", "VERIFY_CONFIG", "GUARANTEES", "VERIFY_FAIL_UNDER"):
        monkeypatch.setenv(f"IRONCURTAIN_{name}", str(other))
    assert inside("verify", BUNDLE, cwd=project).code == 1


def test_a_copy_within_the_project_is_held_to_the_same_demands(project: Path, inside: Inside) -> None:
    demand(project, "guarantees = 1")
    (project / "dist").mkdir()
    (project / "dist" / "policy.tar.gz").write_bytes((project / "generated" / "bundle.tar.gz").read_bytes())
    scenarios = str(project / "generated" / "test-scenarios.json")
    ended = inside("verify", "dist/policy.tar.gz", "--scenarios", scenarios, cwd=project)
    assert ended.code == 1
    assert "0 guarantees, and at least 1 are demanded" in ended.out


def test_a_report_that_cannot_be_written_or_has_no_format(project: Path, inside: Inside) -> None:
    (project / "blocked").write_text("")
    assert_clear(inside("verify", BUNDLE, "--output", "gate.html", cwd=project), 2, "IC1001")
    ended = inside("verify", BUNDLE, "--output", "blocked/gate.md")
    assert (ended.code, ended.out, ended.codes) == (3, "", ["IC3403"])


def test_the_summary_page_of_a_job_gets_the_report(
    project: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = project / "summary.md"
    page.write_text("what another step wrote\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    assert inside("verify", BUNDLE, "--format", "github", cwd=project).out.startswith("::")
    assert page.read_text().startswith("what another step wrote\n# The policy is verified\n")
    inside("verify", BUNDLE)
    assert page.read_text().count("# The policy") == 1


@pytest.mark.parametrize("options", [["--against", "main"], ["--against", ""]], ids=["main", "empty"])
def test_nothing_to_compare_with(project: Path, inside: Inside, options: list[str]) -> None:
    (project / ".git").write_text("gitdir: /nowhere\n")
    assert_clear(inside("verify", BUNDLE, *options, cwd=project), 2, "IC1001")


# -- diff ----------------------------------------------------------------------------------------


@pytest.fixture
def loosened(guarded: Path) -> Path:
    """Return the project with a second bundle, `new.tar.gz`, whose rules read one directory more."""
    policy = json.loads((guarded / "generated" / "compiled-policy.json").read_text())
    rule = next(each for each in policy["rules"] if each["name"] == "notes-allow-read")
    condition = rule["if"]["paths"]
    (condition[0] if isinstance(condition, list) else condition)["within"].append("~/mail")
    (guarded / "policy.json").write_text(json.dumps(policy))
    return guarded


def test_an_approval_is_written_reviewed_and_counts(loosened: Path, inside: Inside) -> None:
    made = ["--annotations", "generated/tool-annotations.json", "-o", "new.tar.gz"]
    assert inside("bundle", "--policy", "policy.json", *made, cwd=loosened).code == 0
    diff = ["diff", "generated/bundle", "new.tar.gz", "--scenarios", "generated/test-scenarios.json"]
    first = inside(*diff)
    assert first.code == 1
    assert "read-path in ~/mail: deny → allow for notes/read_note" in first.out
    wanted = ["--write-approval", "ok.yaml", "--reason", "mail, too"]
    assert_clear(inside(*diff, *wanted), 2, "IC1001")
    written = inside(*diff, *wanted, "--approver", "alice")
    assert (written.code, written.err) == (4, "1 approval written to ok.yaml: let it be reviewed\n")
    passed = inside(*diff, "--approvals", "ok.yaml")
    assert passed.code == 0
    assert "approved by alice: mail, too" in passed.out
    again = inside(*diff, "--approvals", "ok.yaml", *wanted, "--approver", "alice")
    assert (again.code, again.err) == (0, "")
    broken = inside(*diff, "--approvals", "ok.yaml", "--guarantees", "guarantees.yaml")
    assert broken.code == 1
    assert "guarantee notes-only is broken: never allow (C2)" in broken.out
    expired = inside(*diff, *wanted, "--approver", "alice", "--expires", "2020-01-01")
    assert expired.code == 4
    late = inside(*diff, "--approvals", "ok.yaml")
    assert late.code == 1
    assert "its approval by alice expired on 2020-01-01" in late.out


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--approvals", "nowhere.yaml"], "IC1002"),
        (["--guarantees", "nowhere.yaml"], "IC1002"),
        (["--reason", "x"], "IC1001"),
        (["--write-approval", "a.json", "--reason", "x", "--approver", "y"], "IC1001"),
        (["--expires", "soon"], "IC1001"),
        (["--output", "x"], "IC1001"),
    ],
    ids=["approvals", "guarantees", "reason-alone", "json", "expires", "output"],
)
def test_mistakes_in_options_of_diff(project: Path, inside: Inside, options: list[str], code: str) -> None:
    assert_clear(inside("diff", BUNDLE, BUNDLE, *options, cwd=project), 2, code)
