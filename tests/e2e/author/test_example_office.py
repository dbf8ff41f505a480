"""The office example: it compiles to the published bytes without a model, and decides as it says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from e2e.program import ROOT, Inside
from fixtures.tiny_project import tree

from ironcurtain.policy import Policy

OFFICE = ROOT / "examples" / "office"


@pytest.fixture
def office(tmp_path: Path) -> Path:
    return Path(shutil.copytree(OFFICE, tmp_path / "office"))


def test_it_compiles_again_to_the_same_bytes(office: Path, inside: Inside) -> None:
    ended = inside("compile", "--locked", cwd=office)
    assert ended.code == 0, ended.err
    assert tree(office / "generated") == tree(OFFICE / "generated")


def test_its_constitution_is_without_findings(office: Path, inside: Inside) -> None:
    ended = inside("lint", "--strict", cwd=office)
    assert (ended.code, ended.out) == (0, "")


def test_its_answers_are_marked_as_given_by_hand() -> None:
    kept = [json.loads(path.read_text()) for path in (OFFICE / "generated" / "answers").iterdir()]
    assert {(each["provider"], each["model"]) for each in kept} == {("manual", None)}
    assert {each["stage"] for each in kept} >= {"annotate", "rules"}


@pytest.mark.parametrize(
    ("tool", "arguments", "verdict"),
    [
        ("mail_send", {"to": ["Bob@ACME.example"], "subject": "s", "body": "b"}, "allow"),
        ("mail_send", {"to": ["carol@partner.example"], "subject": "s", "body": "b"}, "escalate"),
        ("mail_send", {"to": ["mallory@evil.example"], "subject": "s", "body": "b"}, "deny"),
        ("mail_send", {"to": [], "subject": "s", "body": "b"}, "deny"),
        ("drive_read", {"path": "Private/salary.txt"}, "deny"),
        (
            "drive_share",
            {"path": "Team/plan.txt", "with": ["bob@acme.example"], "permission": "edit"},
            "escalate",
        ),
    ],
)
def test_it_decides_as_its_constitution_says(
    tmp_path: Path, tool: str, arguments: dict[str, Any], verdict: str
) -> None:
    with Policy.load(OFFICE / "generated" / "bundle", sandbox=tmp_path / "work", home=tmp_path) as policy:
        assert policy.decide("office", tool, arguments).verdict == verdict
