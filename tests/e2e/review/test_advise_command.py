"""`ironcurtain advise`: what it prints, and the logs that it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from e2e.program import Inside, assert_clear
from support.projects.policies import rule
from support.records.sessions import RULES, Session, make_session

APPROVED = [f"work/{name}.txt" for name in ("b", "c", "d", "deep/e") for _ in range(5)]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    made = make_session(tmp_path)
    made.record("one", ["docs/a.txt", *APPROVED])
    return made


def options(session: Session) -> list[str]:
    return ["--directory", str(session.audit), "--key", str(session.root / "key"), *session.options]


def test_use_and_sentences_are_printed(session: Session, inside: Inside) -> None:
    bundle = session.bundle(RULES)
    ended = inside("advise", bundle, "--audit", "one", *options(session))
    assert (ended.code, ended.err) == (0, "")
    assert "22 calls on 1 day, 20 questions (one)" in ended.out
    assert "files/read allow by C1: 1 of 1 class, 1 call" in ended.out
    assert (
        "> The agent may use `read` of `files` without approval where every read-path lies in `~/work`."
        in ended.out
    )
    assert "saves 20 questions" in ended.out
    assert "read-path in ~/work: escalate → allow for files/read" in ended.out
    assert "a template made these sentences" in ended.out
    printed = inside("advise", bundle, "--audit", "one", *options(session), "--format", "json").out
    document = json.loads(printed)
    assert (document["format"], document["saved"]) == ("ironcurtain/advice/v1", 20)


def test_a_log_of_another_policy(session: Session, inside: Inside) -> None:
    other = session.bundle([rule("all", "allow", tool=["read"])], "other.tar.gz")
    ended = inside("advise", other, "--audit", "one", *options(session))
    assert_clear(ended, 3, "IC3404")
    assert "another policy decided the call" in ended.err


def test_a_log_that_was_changed(session: Session, inside: Inside) -> None:
    log = session.audit / "one.jsonl"
    log.write_text(log.read_text().replace('"denied"', '"approved"').replace("ada", "eve"))
    ended = inside("advise", session.bundle(RULES), "--audit", "one", *options(session))
    assert_clear(ended, 3, "IC3404")
    assert "not intact" in ended.err


def test_the_end_of_a_log_cut_off(session: Session, inside: Inside) -> None:
    (session.audit / "heads" / "one.json").unlink()
    log = session.audit / "one.jsonl"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:-2]))
    ended = inside("advise", session.bundle(RULES), "--audit", "one", *options(session))
    assert_clear(ended, 3, "IC3404")
    assert "may be cut off" in ended.err


def test_a_foreign_key(session: Session, inside: Inside) -> None:
    (session.root / "key").write_text("ff" * 32)
    ended = inside("advise", session.bundle(RULES), "--audit", "one", *options(session))
    assert_clear(ended, 3, "IC3404")
    assert "this key" in ended.err


def test_a_log_that_is_read_without_its_key_says_so(session: Session, inside: Inside) -> None:
    ended = inside("advise", session.bundle(RULES), "--audit", "one", *options(session)[:2], *session.options)
    assert ended.code == 0
    assert "one was read without its key" in ended.out


def test_calls_that_cannot_be_decided_again_are_counted(session: Session, inside: Inside) -> None:
    session.record("two", ["work/q.txt", "other/y.txt"], abstract=True)
    logs = ["--audit", "one", "--audit", "two", *options(session)[:2], *session.options]
    ended = inside("advise", session.bundle(RULES), *logs)
    # The second log holds no values: its two reads, and the deletion that ends it, are known by its key only.
    assert "replay: 25 calls, 20 escalate → allow, 3 unknown" in ended.out


@pytest.mark.parametrize("own_first", [True, False])
def test_the_proxys_own_key_is_for_its_own_logs(
    session: Session, inside: Inside, monkeypatch: pytest.MonkeyPatch, own_first: bool
) -> None:
    monkeypatch.setenv("HOME", str(session.root))
    own = session.root / ".ironcurtain"
    shutil.copytree(session.audit, own / "audit")
    (session.root / "key").rename(own / "audit.key")
    session.record("two", ["docs/a.txt"])
    logs = [str(own / "audit" / "one.jsonl"), str(session.audit / "two.jsonl")]
    named = [word for log in (logs if own_first else logs[::-1]) for word in ("--audit", log)]
    ended = inside("advise", session.bundle(RULES), *named, *session.options)
    assert (ended.code, ended.err) == (0, "")
    assert "two was read without its key" in ended.out
    assert "one was read without its key" not in ended.out


def test_wrong_usage(session: Session, inside: Inside) -> None:
    assert_clear(inside("advise", session.bundle(RULES)), 2, "IC1001")
    assert_clear(inside("advise", session.bundle(RULES), "--audit", "two", *options(session)), 2, "IC1002")
