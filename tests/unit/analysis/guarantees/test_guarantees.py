"""Guarantees: those of the shipped policy hold, broken ones show a call, wrong ones are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.projects import shipped

from ironcurtain.analysis.guarantees.guarantees import check_guarantees, report_lines
from ironcurtain.bundle.archive import Bundle
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.errors import GuaranteeError, SeveralErrors
from ironcurtain.model.guarantees import GuaranteeReport, Guarantees
from ironcurtain.system.files import load

INDEX = {"name": "/edits/0", "op": "present", "value": True}


def compared(kind: str, name: str) -> dict[str, Any]:
    """Return a test of something that is there against something that perhaps is not."""
    return {"name": "dryRun", "op": "equals", "value": {kind: name}}


MISSPELT = {"name": "dryrun", "op": "equals", "value": False}
ELSEWHERE = {"server": ("filesystem",), "roles": ("delete-path",), "outside": ("sandbox", "~/Downloads")}


def check(bundle: Bundle, *statements: dict[str, Any]) -> GuaranteeReport:
    listed = [{"id": f"G{number}", **each} for number, each in enumerate(statements, 1)]
    read = Guarantees.model_validate(
        {"format": "ironcurtain/guarantees/v1", "guarantees": tuple(listed)}, strict=False
    )
    return check_guarantees(bundle, read, shipped.world(), OpaCommand(find()))


def test_the_shipped_guarantees_are_at_least_ten_and_hold_exactly() -> None:
    guarantees = load(shipped.ROOT / "guarantees.yaml", Guarantees)
    report = check_guarantees(shipped.bundle(), guarantees, shipped.world(), OpaCommand(find()))
    assert report.ok
    assert len(report.results) >= 10
    assert {result.status for result in report.results} == {"proved"}
    assert all(result.cells > 0 for result in report.results)


def test_a_broken_guarantee_shows_the_smallest_call_and_the_rule() -> None:
    def loosen(rules: list[dict[str, Any]]) -> None:
        shipped.named(rules, "filesystem-deny-delete-elsewhere")["then"] = "escalate"

    report = check(shipped.bundle(loosen), {"clause": "C10", "never": "escalate", "when": ELSEWHERE})
    (result,) = report.results
    assert not report.ok
    assert result.witness is not None
    assert (result.witness.tool, result.witness.verdict.value) == ("move_file", "escalate")
    assert result.witness.rule == "filesystem-deny-delete-elsewhere"
    assert set(result.witness.arguments) == {"source", "destination"}
    assert any("move_file" in line for line in report_lines(report))


def test_a_co_active_role_keeps_a_loosened_one_from_breaking_a_guarantee() -> None:
    # A move deletes its source and reads it: if reading is denied everywhere, no call is let through.
    def loosen(rules: list[dict[str, Any]]) -> None:
        shipped.named(rules, "filesystem-deny-delete-elsewhere")["then"] = "allow"
        shipped.named(rules, "filesystem-ask-read-elsewhere")["then"] = "deny"
        shipped.named(rules, "filesystem-allow-read-documents")["then"] = "deny"

    assert check(shipped.bundle(loosen), {"never": "escalate", "when": ELSEWHERE}).ok


def test_modes_and_the_caller_narrow_a_guarantee() -> None:
    clean = {"server": ("git",), "tool": ("git_clean",)}
    dry = {"name": "dryRun", "op": "equals", "value": True}
    report = check(
        shipped.bundle(),
        {"never": "allow", "when": {**clean, "args": ({**dry, "value": False},)}},
        {"never": "allow", "when": {**clean, "args": (dry,)}},
        {"always": "allow", "when": {**clean, "within": ("sandbox",), "args": (dry,)}},
    )
    assert [result.holds for result in report.results] == [True, False, True]
    assert report.results[1].witness is not None
    assert report.results[1].witness.arguments["dryRun"] is True


def test_always_with_roles_is_about_the_subject_and_without_about_the_call() -> None:
    edit = {"server": ("filesystem",), "tool": ("edit_file",)}
    report = check(
        shipped.bundle(),
        {"always": "allow", "when": {**edit, "roles": ("read-path",), "within": ("~/Documents",)}},
        {"always": "allow", "when": {**edit, "within": ("~/Documents",)}},
    )
    assert [result.holds for result in report.results] == [True, False]


@pytest.mark.parametrize(
    ("when", "complaint", "hint"),
    [
        ({"server": ("filesytem",)}, "no server", "filesystem"),
        ({"tool": ("read_fil",)}, "no tool", "Known"),
        ({"roles": ("delete-pth",)}, "no role", "delete-path"),
        ({"server": ("filesystem",), "roles": ("recipient",)}, "no tool that it speaks of", "read-path"),
        ({"roles": ("read-path",), "within": ("~/a/b",), "outside": ("~/a",)}, "nothing lies within", ""),
        ({"roles": ("read-path",), "within": ("relative",)}, "pattern", ""),
        ({"roles": ("read-path", "git-remote-url"), "within": ("~/a",)}, "cannot speak of", "each role"),
        ({"within": ("github.com",)}, "no directories", "roles"),
        ({"tool": ("edit_file",), "args": (INDEX,)}, "no tool that it speaks of", "by `*`"),
        ({"tool": ("edit_file",), "args": (MISSPELT,)}, "no tool that it speaks of", "dryRun"),
        ({"tool": ("edit_file",), "caller": ({**INDEX, "name": "/teams/0"},)}, "by its index", "by `*`"),
        ({"tool": ("edit_file",), "args": (compared("arg", "dry_run"),)}, '"dry_run": no tool', "dryRun"),
        ({"tool": ("edit_file",), "args": (compared("caller", "/teams/0"),)}, "by its index", "by `*`"),
        ({"tool": ("edit_file",), "caller": (compared("arg", "dry_run"),)}, '"dry_run": no tool', "dryRun"),
    ],
)
def test_a_guarantee_that_cannot_be_meant_is_refused(when: dict[str, Any], complaint: str, hint: str) -> None:
    with pytest.raises(GuaranteeError, match=complaint) as refused:
        check(shipped.bundle(), {"never": "allow", "when": when})
    assert refused.value.code == "IC1401"
    assert hint in refused.value.hint


def test_all_mistakes_of_a_file_are_reported_together() -> None:
    with pytest.raises(SeveralErrors) as refused:
        check(
            shipped.bundle(),
            {"clause": "C99", "never": "allow", "when": {"tool": ("read_file",)}},
            {"never": "allow", "when": {"tool": ("nothing",)}},
        )
    assert [error.what.split(":")[0] for error in refused.value.errors] == ["guarantee G1", "guarantee G2"]


def test_the_page_of_the_error_exists() -> None:
    assert Path(shipped.ROOT, "docs/errors/IC1401.md").exists()
