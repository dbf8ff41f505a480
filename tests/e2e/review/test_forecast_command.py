from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from e2e.program import Inside, assert_clear
from support.projects.policies import rule
from support.records.sessions import RULES, Session, make_session


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    made = make_session(tmp_path_factory.mktemp("session"))
    made.record("one", ["docs/a", "work/b", "work/c"])
    made.record("two", ["work/deep/d"])
    made.record("three", ["work/deep/d", "docs/a"], abstract=True)
    return made


PROFILE = """
format: ironcurtain/profile/v1
sessions: 2
calls:
  - {server: files, tool: read, arguments: {path: ~/docs/a}, count: 10}
  - {server: files, tool: read, arguments: {path: ~/work/b}, count: 5}
  - {server: files, tool: read, arguments: {path: ~/work/deep/c}}
  - {server: files, tool: remove, arguments: {path: ~/docs/a}}
"""


def test_a_profile_is_counted_by_clause(session: Session, inside: Inside, tmp_path: Path) -> None:
    profile = tmp_path / "profile.yaml"
    profile.write_text(PROFILE)
    ended = inside("forecast", session.bundle(RULES), "--profile", str(profile), "--format", "json")
    assert (ended.code, ended.err) == (0, "")
    found = json.loads(ended.out)
    assert (found["calls"], found["approvals"], found["unknown"]) == (8.5, 3, 0)
    assert [(c["clause"], c["approvals"], c["tools"]) for c in found["clauses"]] == [
        ("C1", 3, ["files/read"])
    ]


def test_the_budget_is_a_gate(session: Session, inside: Inside, tmp_path: Path) -> None:
    profile = tmp_path / "profile.yaml"
    profile.write_text(PROFILE)
    command = ["forecast", session.bundle(RULES), "--profile", str(profile)]
    over = inside(*command, "--budget", "2.9")
    assert over.code == 1
    assert over.out.startswith("3 approvals per session (budget 2.9), of 8.5 calls\n")
    assert inside(*command, "--budget", "3").code == 0


def test_logs_are_sessions(session: Session, inside: Inside) -> None:
    found = forecast(inside, session, RULES, "one", "two")
    assert (found["sessions"], found["approvals"], found["calls"]) == (2, 1.5, 3)
    abstract = forecast(inside, session, RULES, "one", "two", "three")
    assert (abstract["sessions"], round(abstract["approvals"] * 3)) == (3, 4)


def test_what_the_profile_does_not_tell_is_no_yes(session: Session, inside: Inside) -> None:
    options = ["--directory", str(session.audit), *session.options, "--budget", "1"]
    ended = inside("forecast", session.bundle(RULES), "--audit", "three", *options)
    assert ended.code == 3
    assert "unknown: 3 calls per session may need one, too" in ended.out


def test_a_policy_that_never_asks(session: Session, inside: Inside) -> None:
    found = forecast(inside, session, [rule("all", "allow", tool=["read"])], "one")
    assert (found["approvals"], found["clauses"]) == (0, [])


def test_wrong_usage(session: Session, inside: Inside, tmp_path: Path) -> None:
    bundle = session.bundle(RULES)
    assert_clear(inside("forecast", bundle), 2, "IC1001")
    (tmp_path / "p.yaml").write_text("format: ironcurtain/profile/v1\ncalls: [{server: s}]\n")
    assert_clear(inside("forecast", bundle, "--profile", str(tmp_path / "p.yaml")), 2, "IC1003")


def forecast(inside: Inside, session: Session, rules: list[dict[str, Any]], *logs: str) -> dict[str, Any]:
    options = [option for log in logs for option in ("--audit", log)]
    options += ["--directory", str(session.audit), "--key", str(session.root / "key"), *session.options]
    ended = inside("forecast", session.bundle(rules), *options, "--format", "json")
    assert (ended.code, ended.err) == (0, "")
    report: dict[str, Any] = json.loads(ended.out)
    return report
