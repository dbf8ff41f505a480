"""`ironcurtain approvals` in a second terminal, and programs that ask and are killed."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

import anyio
import pytest
from e2e.program import PROGRAM, ROOT, Ended, Inside, assert_clear, environment
from fixtures import asking_program
from jsonschema import Draft202012Validator
from support.projects.policies import write_bundle
from support.records.approvals import RULES as ASK_WRITE
from support.records.approvals import WRITE, Rendezvous, written
from support.records.sessions import RULES, Session, make_session, request_of

from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from ironcurtain.enforcement.approvals.request import Clock
from ironcurtain.enforcement.audit.record_types import Sandbox
from ironcurtain.enforcement.audit.recorder import Observed

LIMIT = 300.0


@pytest.fixture
def place(tmp_path: Path) -> Rendezvous:
    return Rendezvous(tmp_path / "own", Clock())


Approvals: TypeAlias = Callable[..., Ended]
"""Runs `ironcurtain approvals` on a directory of approvals."""


def asked(place: Rendezvous, *requests: ApprovalRequest) -> None:
    with place.open() as directory:
        for request in requests:
            directory._store.write_request(request)


@pytest.fixture
def approvals(inside: Inside, place: Rendezvous) -> Approvals:
    def run(*arguments: str) -> Ended:
        return inside("approvals", *arguments, "--dir", str(place.path), "--key", str(place.key))

    return run


def stale(request: ApprovalRequest) -> ApprovalRequest:
    hour = timedelta(hours=1)
    return request.model_copy(update={"asked": request.asked - hour, "expires": request.expires - hour})


# -- list and show ------------------------------------------------------------------------------


def test_nothing_waits(approvals: Approvals, place: Rendezvous) -> None:
    ended = approvals("list")
    assert (ended.code, ended.out, ended.err) == (0, "", "nothing waits for you\n")
    asked(place)
    assert approvals("list").code == 0
    assert json.loads(approvals("list", "--format", "json").out)["requests"] == []


def test_the_default_place_is_in_the_users_own_directory(tmp_path: Path, inside: Inside) -> None:
    tmp_path.chmod(0o700)
    own = Rendezvous(tmp_path / ".ironcurtain", Clock())
    asked(own, written())
    inside.monkeypatch.setenv("HOME", str(tmp_path))
    inside.monkeypatch.setenv("IRONCURTAIN_HOME", "/nowhere")
    ended = inside("approvals", "list")
    assert ended.code == 4, ended.err
    assert "s write_file" in ended.out


def test_list_is_compact_and_in_order(approvals: Approvals, place: Rendezvous) -> None:
    first, second, old = written("/srv/1"), written("/srv/2", content="x" * 5000), stale(written("/srv/0"))
    asked(place, second, first, old)
    (place.path / f"request-{'f' * 16}.json").write_text("{}")
    place.answer(second)
    ended = approvals("list")
    assert (ended.code, ended.err) == (4, "")
    lines = ended.out.splitlines()
    assert [re.split(r" {2,}", line)[:2] for line in lines] == [
        [first.id, lines[0].split("  ")[1]],
        [second.id, "answered"],
        ["f" * 16, "unreadable"],
    ]
    assert re.fullmatch(r"\d+:\d\d left", lines[0].split("  ")[1])
    assert all(len(line) < 160 for line in lines)
    document = json.loads(approvals("list", "--format", "json").out)
    Draft202012Validator(json.loads((ROOT / "schemas" / "approvals.json").read_text())).validate(document)
    states = [each["state"] for each in document["requests"]]
    assert states == ["pending", "answered", "unreadable"]
    assert approvals("show", old.id).code == 0


def test_show_tells_everything(approvals: Approvals, place: Rendezvous) -> None:
    request = written(content="one\n\x1b[31mtwo\u202e" + "z" * 3000)
    asked(place, request)
    ended = approvals("show", request.id[:6])
    assert (ended.code, ended.err) == (0, "")
    assert "\x1b" not in ended.out
    text = "".join(line[6:] for line in ended.out.splitlines() if line.startswith(("    | ", "    : ")))
    for part in ("z" * 3000, r"\x1b[31mtwo\u202e", "/srv/a.txt", "ask-write", "as said", request.binding):
        assert part in f"{text}{ended.out}"
    assert "any file directly in /srv" in text
    assert ended.out.endswith("  state: pending (nobody waits; it counts if it is repeated)\n")
    shown = json.loads(approvals("show", request.id, "--format", "json").out)
    assert shown["request"] == request.model_dump(mode="json")


def test_show_what_cannot_be_trusted(approvals: Approvals, place: Rendezvous) -> None:
    request = written()
    asked(place, request)
    file = place.request_file(request.id)
    file.write_bytes(file.read_bytes().replace(b"hello", b"HELLO"))
    for command in (["show"], ["approve", "--yes"], ["deny"]):
        ended = approvals(*command, request.id)
        assert (ended.code, ended.out) == (1, "")
        assert "its seal is not ours" in ended.err
    assert not place.response(request.id).exists()


@pytest.mark.parametrize("id_", ["", "xyz", "../../etc/passwd", "A" * 16, "0" * 17, "\x1b[2J"], ids=ascii)
def test_what_is_no_id(id_: str, approvals: Approvals, place: Rendezvous) -> None:
    asked(place, written())
    assert_clear(approvals("show", id_), 2, "IC1001")


def test_an_ambiguous_beginning(approvals: Approvals, place: Rendezvous) -> None:
    twins = [written().model_copy(update={"id": f"{digit:x}".rjust(16, "a")}) for digit in (1, 2)]
    asked(place, *twins)
    ended = approvals("approve", "aaa", "--yes")
    assert_clear(ended, 2, "IC1001")
    assert "2 requests begin with aaa" in ended.err


def test_a_directory_that_cannot_be_trusted(approvals: Approvals, place: Rendezvous) -> None:
    asked(place, written())
    place.path.chmod(0o755)
    for command in (["list"], ["show", "0"], ["approve", "0"], ["deny", "0"]):
        assert_clear(approvals(*command), 2, "IC1008")
    place.path.chmod(0o700)
    place.key.unlink()
    assert_clear(approvals("list"), 2, "IC1008")


# -- always ------------------------------------------------------------------------------------


def by_sentence() -> ApprovalRequest:
    return written("/srv/now.txt").model_copy(update={"clause": "C1", "clause_text": "Ask before writing."})


@pytest.fixture
def session(tmp_path: Path, inside: Inside) -> Session:
    made = make_session(tmp_path / "session")
    inside.monkeypatch.setenv("HOME", str(made.home))
    read = [f"work/{name}.txt" for name in ("b", "c", "d", "deep/e")]
    made.record("one", read, observed=Observed(sandbox=Sandbox(directory=str(made.root / "box"))))
    return made


def test_always_proposes_sentences_and_grants_nothing(
    approvals: Approvals, place: Rendezvous, session: Session
) -> None:
    request = request_of(session, "work/new.txt", "one")
    asked(place, request)
    before = place.names()
    options = ("--audit", str(session.audit), "--bundle", session.bundle(RULES))
    ended = approvals("always", request.id[:6], *options)
    assert (ended.code, ended.err) == (0, "")
    may = "> The agent may use `read` of `files` without approval where every read-path lies in"
    for line in (
        f"request {request.id}: files/read",
        "asked before: 4 requests: 4 approved",
        "Instead of being asked always: 2 sentences to choose from",
        f"{may} `~/work/new.txt`.",
        f"{may} `~/work`.",
        "rests on 1 call on 1 day for 1 caller",
        "rests on 5 calls on 1 day for 1 caller, 3 answers",
        "opens no class of which no call was asked about",
        "read-path in ~/work: escalate → allow for files/read",
        "one was read without its key",
        "Nothing was changed",
    ):
        assert line in ended.out
    shown = json.loads(approvals("always", request.id, *options, "--format", "json").out)
    Draft202012Validator(json.loads((ROOT / "schemas/advice.json").read_text())).validate(shown)
    assert shown["asking"]["before"] == {"approved": 4}
    assert [each["saves"] for each in shown["proposals"]] == [1, 5]
    assert place.names() == before
    assert json.loads(approvals("list", "--format", "json").out)["requests"][0]["state"] == "pending"


def test_always_without_a_policy_shows_what_asks(
    approvals: Approvals, place: Rendezvous, session: Session
) -> None:
    request = request_of(session, "work/new.txt", "one")
    asked(place, request)
    ended = approvals("always", request.id, "--audit", str(session.audit))
    assert ended.code == 0
    assert "C1: As said." in ended.out
    assert "no sentence is proposed: No policy is named" in ended.out


@pytest.mark.parametrize(("spoilt", "why"), [("one.jsonl", "was removed"), ("heads/one.json", "head of the")])
def test_always_proposes_nothing_where_a_denial_may_be_missing(
    approvals: Approvals, place: Rendezvous, session: Session, spoilt: str, why: str
) -> None:
    request = request_of(session, "work/new.txt", "one")
    asked(place, request)
    (session.audit / spoilt).unlink()
    options = ("--audit", str(session.audit), "--bundle", session.bundle(RULES), "--format", "json")
    shown = json.loads(approvals("always", request.id, *options).out)
    assert shown["proposals"] == []
    assert why in shown["notes"][-1]


@pytest.mark.parametrize(
    ("text", "line"), [("Ask before writing.", "constitution.md:7"), ("Other words.", "")]
)
def test_always_tells_where_the_sentence_stands_that_has_the_same_words(
    approvals: Approvals, place: Rendezvous, tmp_path: Path, text: str, line: str
) -> None:
    request = by_sentence()
    asked(place, request)
    clause = {"id": "C1", "text": text, "source": "constitution.md:7"}
    bundle = write_bundle(tmp_path, {"s": [WRITE]}, ASK_WRITE, policy={"clauses": [clause]})
    options = ("--audit", str(tmp_path / "none"), "--bundle", str(bundle), "--format", "json")
    shown = json.loads(approvals("always", request.id, *options).out)
    assert (shown["asking"]["source"], shown["asking"]["before"]) == (line, {})


def test_always_of_what_is_gone(approvals: Approvals, place: Rendezvous) -> None:
    asked(place)
    assert approvals("always", "0" * 16).code == 1


# -- answering ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "verdict", "scope", "reason"),
    [
        (["approve", "--yes"], "approved", "once", ""),
        (["approve", "--yes", "--session"], "approved", "session", ""),
        (["deny"], "denied", "once", ""),
        (["deny", "--reason", "another day"], "denied", "once", "another day"),
    ],
    ids=["once", "session", "denied", "reason"],
)
def test_answers(
    command: list[str], verdict: str, scope: str, reason: str, approvals: Approvals, place: Rendezvous
) -> None:
    request = written()
    asked(place, request)
    ended = approvals(*command, request.id)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"{request.id}: {verdict}")
    answer = json.loads(place.response(request.id).read_bytes())["answer"]
    assert (answer["verdict"], answer["scope"], answer["reason"]) == (verdict, scope, reason)
    again = approvals(*command, request.id)
    assert (again.code, again.out) == (1, "")
    assert "answered already" in again.err


def test_answers_as_json(approvals: Approvals, place: Rendezvous) -> None:
    request = written()
    asked(place, request)
    said = json.loads(approvals("approve", request.id, "--yes", "--format", "json").out)
    assert said == {"request": request.id, "verdict": "approved", "scope": "once"}


def clock_in(hours: int) -> datetime:
    """Return the next moment at which the clock on the wall shows what it will show in some hours."""
    shown = (datetime.now(UTC) + timedelta(hours=hours)).astimezone().replace(tzinfo=None)
    return shown.astimezone()  # of two such moments, at the end of summer time, the first


def test_an_approval_that_ends_at_a_time(approvals: Approvals, place: Rendezvous) -> None:
    request = written()
    asked(place, request)
    until = clock_in(2)
    ended = approvals("approve", request.id, "--yes", "--until", f"{until:%H:%M}")
    assert ended.code == 0
    assert ended.out == f"{request.id}: approved for this session, until {until:%H:%M %Z}\n"
    answer = json.loads(place.response(request.id).read_bytes())["answer"]
    assert answer["scope"] == "session"
    assert datetime.fromisoformat(answer["until"]) == until.replace(second=0, microsecond=0)


def test_an_end_that_is_none_or_too_far(approvals: Approvals, place: Rendezvous) -> None:
    request = written()
    asked(place, request)
    far = datetime.now(UTC).astimezone() + timedelta(hours=10)
    for text in ("25:00", "soon", f"{far:%H:%M}"):
        assert_clear(approvals("approve", request.id, "--yes", "--until", text), 2, "IC1001")
    assert not place.response(request.id).exists()


def test_too_late(approvals: Approvals, place: Rendezvous) -> None:
    request = stale(written())
    asked(place, request)
    ended = approvals("approve", request.id, "--yes")
    assert (ended.code, ended.out) == (1, "")
    assert "its time is over" in ended.err


def test_gone(approvals: Approvals, place: Rendezvous) -> None:
    asked(place)
    ended = approvals("deny", "0123456789abcdef")
    assert (ended.code, ended.out) == (1, "")
    assert "gone" in ended.err


def test_what_cannot_be_widened(approvals: Approvals, place: Rendezvous) -> None:
    request = written()
    offer = request.session_offer.model_copy(update={"covers": (), "why_not": "history"})
    asked(place, request.model_copy(update={"session_offer": offer}))
    assert_clear(approvals("approve", request.id, "--session", "--yes"), 2, "IC1001")
    soon = datetime.now(UTC).astimezone() + timedelta(hours=1)
    assert_clear(approvals("approve", request.id, "--until", f"{soon:%H:%M}", "--yes"), 2, "IC1001")
    assert not place.response(request.id).exists()


def test_approving_needs_a_terminal_or_yes(place: Rendezvous) -> None:
    request = written()
    asked(place, request)
    ended = subprocess.run(
        [*PROGRAM, "approvals", "approve", request.id, "--dir", str(place.path), "--key", str(place.key)],
        env=environment(),
        input="approve\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "error[IC1001]" in ended.stderr
    assert not place.response(request.id).exists()


@contextmanager
def terminal(place: Rendezvous, *arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Run the command in a terminal; yield the process and the terminal's other end."""
    ours, theirs = pty.openpty()
    if "--watch" in arguments:  # a request takes two pages
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 18, 80, 0, 0))
    command = [*PROGRAM, "approvals", *arguments, "--dir", str(place.path), "--key", str(place.key)]
    try:
        with subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment(TERM="xterm"), close_fds=True
        ) as process:
            os.close(theirs)
            try:
                yield process, ours
            finally:
                if process.poll() is None:
                    process.kill()
    finally:
        os.close(ours)


def read_until(descriptor: int, wanted: str, seen: str = "") -> str:
    """Read from a terminal until a text has appeared."""
    end = time.monotonic() + LIMIT
    while wanted not in seen:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, end - time.monotonic()))
        assert ready, f"no {wanted!r} in {seen!r}"
        seen += os.read(descriptor, 65536).decode()
    return seen


@pytest.mark.parametrize(("typed", "code"), [("approve", 0), ("y", 1), ("", 1), ("approved", 1)])
def test_a_person_confirms_by_a_word(typed: str, code: int, place: Rendezvous) -> None:
    request = written(content="\x1b[2Jhidden")
    asked(place, request)
    with terminal(place, "approve", request.id) as (process, screen):
        shown = read_until(screen, "> ")
        assert r"\x1b[2Jhidden" in shown
        assert "\x1b" not in shown
        assert not place.response(request.id).exists()
        os.write(screen, f"{typed}\n".encode())
        assert process.wait(LIMIT) == code
    assert place.response(request.id).exists() is (code == 0)


def test_interrupted_while_confirming(place: Rendezvous) -> None:
    request = written()
    asked(place, request)
    with terminal(place, "approve", request.id) as (process, screen):
        read_until(screen, "> ")
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT) == 130
    assert not place.response(request.id).exists()


@pytest.mark.parametrize("command", [["--watch"], ["list", "--watch"]], ids=" ".join)
def test_watch_refreshes_and_rings(command: list[str], place: Rendezvous) -> None:
    first, second = written("/srv/1"), written("/srv/2")
    with terminal(place, *command) as (process, screen):
        # Before any proxy has asked there is no directory yet.
        seen = read_until(screen, "Nothing waits")
        assert "\a" not in seen
        asked(place, first)
        seen = read_until(screen, "\a") + read_until(screen, first.id)
        assert first.id in seen
        asked(place, second)
        read_until(screen, second.id, read_until(screen, "\a"))
        place.answer(first, "denied")
        assert "\a" not in read_until(screen, "answered")
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT) == 130


def test_watch_prints_the_list_anew_where_no_terminal_is(place: Rendezvous) -> None:
    asked(place, written("/srv/1"))
    where = ["--dir", str(place.path), "--key", str(place.key)]
    with subprocess.Popen(
        [*PROGRAM, "approvals", "--watch", *where],
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT) == 130
    assert 's write_file  changes "/srv/1"' in line
    assert "\x1b" not in line


DOWN = "\x1b[B"


def paged(screen: int) -> str:
    """Turn the pages of a request, which is longer than the screen, until the question; return them."""
    seen = read_until(screen, "q goes back --")
    os.write(screen, b" ")
    return read_until(screen, "leaves it waiting.\r\n> ", seen)


@pytest.mark.parametrize(
    ("typed", "verdict", "scope", "reason"),
    [
        ("approve", "approved", "once", ""),
        ("session", "approved", "session", ""),
        ("deny another day", "denied", "once", "another day"),
        ("deny", "denied", "once", ""),
    ],
    ids=["approve", "session", "deny", "deny without a reason"],
)
def test_a_person_answers_from_the_watched_list(
    typed: str, verdict: str, scope: str, reason: str, place: Rendezvous
) -> None:
    first, second = written("/srv/1"), written("/srv/2", content="\x1b[2Jhidden")
    asked(place, first, second)
    with terminal(place, "--watch") as (process, screen):
        seen = read_until(screen, second.id)
        assert 'changes "/srv/1"' in seen
        os.write(screen, DOWN.encode())
        read_until(screen, f"> {second.id}")
        os.write(screen, b"\n")
        shown = paged(screen)
        assert f"request {second.id}" in shown
        assert r"\x1b[2Jhidden" in shown
        assert not place.response(second.id).exists()
        os.write(screen, f"{typed}\n".encode())
        read_until(screen, f"{second.id}: {verdict}")
        os.write(screen, b"q")
        assert process.wait(LIMIT) == 4  # the first one waits
    answer = json.loads(place.response(second.id).read_bytes())["answer"]
    assert (answer["verdict"], answer["scope"], answer["reason"]) == (verdict, scope, reason)
    assert not place.response(first.id).exists()


@pytest.mark.parametrize("typed", ["", "y", "APPROVE", "approve it"])
def test_any_other_word_leaves_a_watched_call_waiting(typed: str, place: Rendezvous) -> None:
    request = written()
    asked(place, request)
    with terminal(place, "--watch") as (process, screen):
        read_until(screen, request.id)
        os.write(screen, b"\n")
        paged(screen)
        os.write(screen, f"{typed}\n".encode())
        read_until(screen, "was not answered")
        os.write(screen, b"q")
        assert process.wait(LIMIT) == 4
    assert not place.response(request.id).exists()


def test_a_watched_call_is_approved_until_a_time(place: Rendezvous) -> None:
    request = written()
    asked(place, request)
    until = clock_in(3)
    with terminal(place, "--watch") as (process, screen):
        read_until(screen, request.id)
        os.write(screen, b"\n")
        paged(screen)
        os.write(screen, f"until {until:%H:%M}\n".encode())
        read_until(screen, f"{request.id}: approved for this session, until {until:%H:%M}")
        os.write(screen, b"q")
        assert process.wait(LIMIT) == 0
    answer = json.loads(place.response(request.id).read_bytes())["answer"]
    assert datetime.fromisoformat(answer["until"]) == until.replace(second=0, microsecond=0)


def test_a_watched_call_that_somebody_else_answers_meanwhile(place: Rendezvous) -> None:
    request = written()
    asked(place, request)
    with terminal(place, "--watch") as (process, screen):
        read_until(screen, request.id)
        os.write(screen, b"\n")
        paged(screen)
        place.answer(request, "denied")
        os.write(screen, b"approve\n")
        read_until(screen, "was not approved")
        os.write(screen, b"q")
        assert process.wait(LIMIT) == 0
    assert json.loads(place.response(request.id).read_bytes())["answer"]["verdict"] == "denied"


def test_without_a_command_it_lists(approvals: Approvals, place: Rendezvous) -> None:
    request = written()
    asked(place, request)
    ended = approvals()
    assert (ended.code, ended.err) == (4, "")
    assert ended.out.startswith(request.id)


def test_options_before_a_command_are_refused_not_passed_over(inside: Inside, place: Rendezvous) -> None:
    ended = inside("approvals", "--dir", str(place.path), "list")
    assert_clear(ended, 2, "IC1001")
    assert "behind `list`" in ended.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--on-approval", "no-such-program-anywhere"], '"no-such-program-anywhere" was not found'),
        (["--on-approval", "'"], "is no command"),
        (["--on-approval", "true", "--no-approver"], "--on-approval would tell nobody"),
    ],
    ids=["missing", "unquoted", "nobody"],
)
def test_a_command_that_could_not_tell_keeps_the_proxy_from_starting(
    options: list[str], said: str, inside: Inside
) -> None:
    ended = inside("proxy", "--bundle", "bundle", "--servers", "mcp-servers.json", *options)
    assert_clear(ended, 2, "IC1001")
    assert said in ended.err


# -- programs that ask and die ------------------------------------------------------------------


def with_request(base: Path) -> Path:
    """Write down the call that is asked about."""
    if not base.exists():
        base.mkdir(mode=0o700)
        (base / "request.json").write_text(written().model_dump_json())
    return base


def asking(base: Path, seconds: float, *more: str) -> subprocess.Popen[str]:
    """Ask in a program of its own."""
    return subprocess.Popen(
        [sys.executable, asking_program.__file__, str(with_request(base)), str(seconds), *more],
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )


def waiting(place: Rendezvous) -> str:
    """Return the id of the one request, once it is there."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        found = list(place.path.glob("request-*.json")) if place.path.exists() else []
        if found:
            return found[0].name[8:24]
        time.sleep(0.05)
    pytest.fail("nothing was asked")


def forwarded(place: Rendezvous) -> int:
    file = place.base / "forwarded"
    return len(file.read_text().splitlines()) if file.exists() else 0


def outcome(place: Rendezvous) -> str:
    """Ask in this process, as whoever is started anew does; return what came of it at once."""
    return anyio.run(asking_program.ask, with_request(place.base), 0)


def test_killed_while_a_person_decides(approvals: Approvals, place: Rendezvous) -> None:
    with asking(place.base, LIMIT) as process:
        id_ = waiting(place)
        process.kill()
    assert approvals("approve", id_, "--yes").code == 0
    assert outcome(place) == "approved"
    assert forwarded(place) == 1
    assert outcome(place) == "pending"
    assert forwarded(place) == 1


def test_killed_between_taking_the_answer_and_forwarding(approvals: Approvals, place: Rendezvous) -> None:
    assert outcome(place) == "pending"
    assert approvals("approve", waiting(place), "--yes").code == 0
    with asking(place.base, 0, "die-before-forwarding") as process:
        said, _ = process.communicate(timeout=LIMIT)
    assert (process.returncode, said) == (-signal.SIGKILL, "")
    # The answer is used up: nothing is approved by it again.
    assert outcome(place) == "pending"
    assert forwarded(place) == 0


def test_programs_that_race_for_one_answer(approvals: Approvals, place: Rendezvous) -> None:
    assert outcome(place) == "pending"
    assert approvals("approve", waiting(place), "--yes").code == 0
    racers = [asking(place.base, 0) for _ in range(3)]
    said = sorted(racer.communicate(timeout=LIMIT)[0].strip() for racer in racers)
    assert said == ["approved", "pending", "pending"]
    assert forwarded(place) == 1
