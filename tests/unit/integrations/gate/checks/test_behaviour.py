"""Guarantees about sequences in the gate's report: the session that breaks one is shown call by call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.generators import spaces_facts
from support.projects.policies import rule

from ironcurtain.analysis.guarantees.guarantees import check_guarantees, report_lines
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.integrations.gate.checks.behaviour import guarantee_check
from ironcurtain.integrations.gate.policy_under_review import Document
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.system.files import load

FILE = """\
format: ironcurtain/guarantees/v1
guarantees:
  - id: no-payment
    never: allow
    when: {tool: [pay]}
  - id: nothing-leaves-after-reading
    clause: C1
    never: {after: {tool: [get_user]}, allow: {tool: [send]}}
  - id: in-an-hour
    at_most: {total: paid, per: hour, is: 10}
"""


def test_a_broken_session_fails_with_its_calls_and_what_is_open_is_a_note(tmp_path: Path) -> None:
    path = tmp_path / "guarantees.yaml"
    path.write_text(FILE)
    rules: list[dict[str, Any]] = [
        rule("get", "allow", tool=["get_user"]),
        rule("send", "allow", tool=["send"]),
        rule("pay", "escalate", tool=["pay"], facts=[{"fact": "paid", "op": "gt", "value": 5}]),
    ]
    report = check_guarantees(
        spaces_facts.bundle_of(rules), load(path, Guarantees), spaces_facts.WORLD, OpaCommand(find())
    )
    assert [(result.id, result.status) for result in report.results] == [
        ("no-payment", "proved"),
        ("nothing-leaves-after-reading", "broken"),
        ("in-an-hour", "not found"),
    ]
    found = guarantee_check(report, Document(path))
    broken, is_open = found.problems
    assert found.status == "failed"
    assert (broken.id, broken.severity, broken.line, broken.clause) == (
        "nothing-leaves-after-reading",
        "error",
        6,
        "C1",
    )
    assert [line.split(" ")[:2] for line in broken.details] == [["1.", "shop/get_user"], ["2.", "shop/send"]]
    assert broken.details[0].endswith("allow by get, gives private")
    assert (is_open.severity, is_open.details) == ("note", ("the policy counts paid per day, not per hour",))
    told = [*report_lines(report)]
    assert [line.strip() for line in told if line.strip().startswith(("1.", "2."))] == list(broken.details)
