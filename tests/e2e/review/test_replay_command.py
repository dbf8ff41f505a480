from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from e2e.program import Ended, Inside, assert_clear
from support.projects.policies import rule
from support.records.sessions import RULES, Session, make_session

from ironcurtain.enforcement.audit.record_types import Sandbox
from ironcurtain.enforcement.audit.recorder import Observed

PATHS = ["docs/a", "docs/b", "work/c", "work/deep/d"]
LOOSER = [RULES[0] | {"name": "read-all", "if": {"tool": ["read"]}}, *RULES]
MODE = [rule("hard", "deny", tool=["read"], args=[{"name": "mode", "op": "matches", "value": "h.*"}]), *RULES]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    made = make_session(tmp_path_factory.mktemp("session"))
    made.record("raw", PATHS)
    made.record("abstract", PATHS, abstract=True)
    return made


@pytest.mark.parametrize("log", ["raw", "abstract"])
def test_replay_under_the_same_policy_flips_nothing(log: str, session: Session, inside: Inside) -> None:
    ended = run(inside, session, log, RULES)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == "5 calls: 5 the same, 0 flipped, 0 unknown\n"


def test_what_a_sandbox_did_not_reach_is_left_out(session: Session, inside: Inside) -> None:
    session.record("beyond", PATHS, out_of_reach=("docs/a", "work/c"))
    ended = run(inside, session, "beyond", RULES)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "5 calls: 3 the same, 0 flipped, 0 unknown",
        "left out: 2 that no policy decided (no engine, or the proxy itself refused)",
    ]


@pytest.mark.parametrize("log", ["raw", "abstract"])
def test_flips_are_grouped_by_clause(log: str, session: Session, inside: Inside) -> None:
    ended = run(inside, session, log, LOOSER, "--format", "json")
    assert ended.code == 1
    (flips,) = json.loads(ended.out)["flips"]
    assert (flips["direction"], flips["old"], flips["new"], flips["count"]) == (
        "loosened",
        "escalate",
        "allow",
        2,
    )
    assert (flips["old_clause"], flips["new_clause"], flips["ids"]) == ("C1", "C1", ["id0002", "id0003"])
    assert "loosened: 2 calls escalate → allow, C1 → C1" in run(inside, session, log, LOOSER).out


def test_an_abstracted_log_knows_an_absent_argument(session: Session, inside: Inside) -> None:
    assert run(inside, session, "abstract", MODE).code == 0


def test_an_abstracted_log_needs_its_key(session: Session, inside: Inside) -> None:
    bundle = session.bundle(RULES)
    ended = inside(
        "replay", "--bundle", bundle, "abstract", "--directory", str(session.audit), *session.options
    )
    assert ended.code == 3
    assert "unknown: 5 calls: the log holds no values, and its key is not given" in ended.out


def test_another_home_or_sandbox_is_unknown_and_not_a_guess(session: Session, inside: Inside) -> None:
    bundle, audit = session.bundle(RULES), ["--directory", str(session.audit)]
    ended = inside("replay", "--bundle", bundle, "raw", *audit, "--home", str(session.home))
    assert ended.code == 3
    assert "home or sandbox are others now" in ended.out


def test_a_call_is_decided_in_the_workspace_of_its_record(session: Session, inside: Inside) -> None:
    """`explain` took it from the record, and `replay` had to be told."""
    session.record("placed", PATHS, observed=Observed(sandbox=Sandbox(directory=str(session.root / "box"))))
    bundle, audit = session.bundle(RULES), ["--directory", str(session.audit)]
    ended = inside("replay", "--bundle", bundle, "placed", *audit, "--home", str(session.home))
    assert (ended.code, ended.out) == (0, "5 calls: 5 the same, 0 flipped, 0 unknown\n"), ended.err
    elsewhere = ["--home", str(session.home), "--sandbox", str(session.audit)]
    assert inside("replay", "--bundle", bundle, "placed", *audit, *elsewhere).code == 3


def test_a_log_that_is_not_intact_is_not_replayed(session: Session, inside: Inside, tmp_path: Path) -> None:
    copy = tmp_path / "raw.jsonl"
    copy.write_bytes((session.audit / "raw.jsonl").read_bytes().replace(b"docs/a", b"docs/b"))
    assert_clear(inside("replay", "--bundle", session.bundle(RULES), str(copy)), 3, "IC3404")


def run(inside: Inside, session: Session, log: str, rules: list[dict[str, Any]], *more: str) -> Ended:
    options = ["--directory", str(session.audit), "--key", str(session.root / "key"), *session.options]
    return inside("replay", "--bundle", session.bundle(rules, "new.tar.gz"), log, *options, *more)
