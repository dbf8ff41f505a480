from __future__ import annotations

import json
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from e2e.program import PROGRAM, ROOT, Inside, assert_clear, environment
from support.records.audited import write_log
from support.records.sessions import Session, make_session

from ironcurtain.enforcement.audit.log_paths import make_key


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    made = make_session(tmp_path_factory.mktemp("session"))
    made.record("work", ["docs/a", "docs/b", "work/\u202ec"])
    return made


def test_verify_before_and_after_changing_one_byte(session: Session, inside: Inside, tmp_path: Path) -> None:
    audit, key = ["--directory", str(session.audit)], ["--key", str(session.root / "key")]
    good = inside("audit", "verify", "work", *audit, *key)
    assert (good.code, good.err) == (0, "")
    assert good.out.startswith("intact: work, 8 records in 1 segment\n")
    assert inside("audit", "verify", "work", *audit, *key, "-q").out == ""
    copy, head = tmp_path / "work.jsonl", str(session.audit / "heads" / "work.json")
    data = bytearray((session.audit / "work.jsonl").read_bytes())
    data[data.index(b"docs/b")] ^= 1
    copy.write_bytes(data)
    bad = inside("audit", "verify", str(copy), "--head", head, *key, "--format", "json")
    found = json.loads(bad.out)
    assert (bad.code, found["intact"], [p["kind"] for p in found["problems"]]) == (1, False, ["changed"])
    copy.write_bytes((session.audit / "work.jsonl").read_bytes())
    alone = inside("audit", "verify", str(copy))
    assert alone.code == 3
    assert "truncation cannot be checked" in alone.out
    assert inside("audit", "verify", str(copy), "--no-head").code == 0


def test_the_proxys_own_key_vouches_for_the_proxys_own_logs(
    inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever writes log and head anew, without the key, is found out by the plain command."""
    monkeypatch.setenv("HOME", str(tmp_path))
    own = tmp_path / ".ironcurtain"
    key = make_key(own / "audit.key")
    write_log(own / "audit", 2, key=key)
    good = inside("audit", "verify")
    assert (good.code, good.err) == (0, "")
    assert f"nothing is cut off (the key {own}/audit.key vouches for it)" in good.out
    assert json.loads(inside("audit", "verify", "work", "--format", "json").out)["key"] == f"{own}/audit.key"
    assert "audit.key vouches for it" in inside("audit", "report", "work").out
    for written_with in (None, bytes(32)):
        shutil.rmtree(own / "audit")
        write_log(own / "audit", 1, key=written_with)
        assert inside("audit", "verify", "work").code == 1
    elsewhere = write_log(tmp_path / "elsewhere", 1, key=None)
    assert "verified without a key" in inside("audit", "verify", str(elsewhere.path)).out


def test_tail_prints_the_last_records(session: Session, inside: Inside) -> None:
    audit = ["--directory", str(session.audit)]
    shown = inside("audit", "tail", *audit, "-n", "3")
    assert (shown.code, shown.err) == (0, "")
    lines = shown.out.splitlines()
    assert len(lines) == 3
    assert "ESCALATE files/read" in lines[0]
    assert "work/\\u202ec" in lines[0]
    assert "[C1 ask-elsewhere, approved by ada]" in lines[0]
    assert "DENY files/remove" in lines[2]
    assert "not sent]" in lines[2]
    denied = inside("audit", "tail", *audit, "--verdict", "deny", "--format", "json")
    assert [json.loads(line)["tool"] for line in denied.out.splitlines()] == ["remove"]
    read = inside("audit", "tail", *audit, "--tool", "files/read", "--format", "json")
    assert len(read.out.splitlines()) == 3


def test_tail_follows_until_it_is_interrupted(tmp_path: Path) -> None:
    write_log(tmp_path, 1)
    command = [
        *PROGRAM,
        "audit",
        "tail",
        "work",
        "--directory",
        str(tmp_path),
        "--follow",
        "--format",
        "json",
    ]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment(PYTHONUNBUFFERED="1"), stdout=subprocess.PIPE, text=True
    ) as tail:
        assert tail.stdout is not None
        first = [json.loads(tail.stdout.readline()) for _ in range(2)]
        write_log(tmp_path, 2)
        then = [json.loads(tail.stdout.readline()) for _ in range(4)]
        tail.send_signal(signal.SIGINT)
        assert tail.wait(60) == 130
    assert [record["kind"] for record in (*first, *then)] == [
        "decision", "result", "decision", "decision", "result", "result",
    ]  # fmt: skip


def test_show_prints_one_record_in_full(session: Session, inside: Inside) -> None:
    audit = ["--directory", str(session.audit)]
    shown = inside("audit", "show", "id0002", "work", *audit)
    assert (shown.code, shown.err) == (0, "")
    assert "\u202e" not in shown.out
    entry = json.loads(inside("audit", "show", "id0002", "work", *audit, "--format", "json").out)
    assert entry["decision"]["subjects"][0]["value"].endswith("work/\u202ec")
    assert entry["decision"]["approval"]["approver"] == "ada"
    assert entry["result"]["status"] == "ok"
    assert_clear(inside("audit", "show", "id", "work", *audit), 2, "IC1001")
    assert_clear(inside("audit", "show", "nothing", "work", *audit), 2, "IC1001")


def test_show_finds_a_decision_in_whichever_log_it_is(tmp_path: Path, inside: Inside) -> None:
    audit = ["--directory", str(tmp_path)]
    write_log(tmp_path, 4, session="monday")
    write_log(tmp_path, 2, session="tuesday")
    shown = inside("audit", "show", "d000003", *audit)
    assert (shown.code, "d000003" in shown.out) == (0, True), shown.err
    several = inside("audit", "show", "d00000", *audit)
    assert (several.code, several.out) == (2, "")
    assert 'there are 6 decisions whose id begins with "d00000"' in several.err
    assert inside("audit", "show", "d000003", "tuesday", *audit).codes == ["IC1001"]
    assert_clear(inside("audit", "show", "d000009", *audit), 2, "IC1001")


def test_stats_and_report(session: Session, inside: Inside) -> None:
    audit = ["--directory", str(session.audit)]
    stats = json.loads(inside("audit", "stats", "work", *audit, "--format", "json").out)
    assert stats["verdicts"] == {"allow": 2, "deny": 1, "escalate": 1}
    assert (stats["forwarded"], stats["missing"], stats["approvals"]) == (3, 0, {"approved": 1})
    assert "decisions:\n       2 allow\n" in inside("audit", "stats", "work", *audit).out
    report = json.loads(inside("audit", "report", "work", *audit, "--format", "json").out)
    assert [record["id"] for record in report["asked"]] == ["id0002"]
    assert [record["id"] for record in report["refused"]] == ["id0003"]
    markdown = inside("audit", "report", "work", *audit, "--format", "markdown").out
    assert markdown.startswith("# Session work\n")
    assert "## Asked of a person: 1" in markdown
    text = inside("audit", "report", "work", *audit).out
    assert "4 calls: 2 allow, 1 deny, 1 escalate; 3 sent" in text


def test_a_line_that_cannot_be_trusted_is_not_shown(inside: Inside, tmp_path: Path) -> None:
    place = write_log(tmp_path, 2)
    place.path.write_bytes(place.path.read_bytes().replace(b"/box/1", b"/box/2"))
    for command in (["tail"], ["stats"], ["report"], ["show", "d000001"]):
        assert_clear(inside("audit", *command, str(place.path)), 3, "IC3404")


def test_a_log_of_which_the_head_alone_is_left_was_removed(inside: Inside, tmp_path: Path) -> None:
    log = write_log(tmp_path, 2)
    log.path.unlink()
    for named in ("work", str(log.path)):
        found = inside("audit", "verify", named, "--directory", str(tmp_path), "--format", "json")
        assert found.code == 1
        (problem,) = json.loads(found.out)["problems"]
        assert problem["message"] == "the log was removed, and its head knows of 4 lines"
        shown = inside("audit", "tail", named, "--directory", str(tmp_path))
        assert shown.code == 2
        assert "only its head is left" in shown.err
    log.head.unlink()
    assert inside("audit", "verify", "work", "--directory", str(tmp_path)).code == 2


def test_no_log(inside: Inside, tmp_path: Path) -> None:
    assert_clear(inside("audit", "tail", "--directory", str(tmp_path)), 2, "IC1002")
    assert_clear(inside("audit", "verify", str(tmp_path / "x.jsonl")), 2, "IC1002")
    place = write_log(tmp_path, 1)
    assert_clear(inside("audit", "verify", str(place.path), "--key", str(tmp_path / "none")), 2, "IC1002")
    (tmp_path / "open").write_text("00" * 32)
    (tmp_path / "open").chmod(0o644)
    assert_clear(inside("audit", "verify", str(place.path), "--key", str(tmp_path / "open")), 2, "IC1002")
