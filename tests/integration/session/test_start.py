"""`ironcurtain start` as a program: one task, a terminal, JSON lines, a kill and its resumption."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from support.deployments.proxied import LONG, wait_for
from support.deployments.started import Started
from support.people.terminal import converse
from support.services.model_server import ANTHROPIC

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def started(tmp_path: Path, httpserver: HTTPServer) -> Started:
    return Started(tmp_path, httpserver)


def test_one_task_prints_the_answer_alone_to_standard_output(started: Started) -> None:
    started.script(
        ANTHROPIC.calls(
            ("fix__echo", {"text": "hello"}), ("fix__read", {"path": "/etc/passwd"}), text="I look."
        ),
        ANTHROPIC.answer("It says \x1b[31mhello."),
    )
    ended = started.run("What does it say?", "--no-approver")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "It says \\x1b[31mhello.\n"
    assert "I look." in ended.stderr
    assert "allow    fix/echo hello" in ended.stderr
    assert "deny     fix/read /etc/passwd" in ended.stderr
    assert "is not permitted" in ended.stderr
    listed = started.sessions("list")
    assert "anthropic:test-model  What does it say?" in listed
    id_ = listed.split()[0]
    assert "## Agent\n\nIt says \\x1b[31mhello." in started.sessions("show", id_)
    started.sessions("remove", id_)
    assert started.sessions("list") == "no sessions\n"


def test_a_turn_that_a_limit_ends_is_exit_code_1(started: Started) -> None:
    started.script(ANTHROPIC.calls(("fix__echo", {"text": "again"})))
    ended = started.run("Echo forever", "--turn-steps", "2")
    assert ended.returncode == 1
    assert "All of the 2 steps of this turn are used." in ended.stderr
    id_ = started.sessions("list").split()[0]
    assert f"To go on with it: ironcurtain start --resume {id_}" in ended.stderr


def test_a_call_that_waits_is_answered_at_the_terminal(started: Started) -> None:
    started.script(ANTHROPIC.calls(("fix__remove", {"path": "~/notes/a"})), ANTHROPIC.answer("Gone."))
    code, printed = converse(
        started.command("Remove it"), started.place.root, started.environment, ("[why]>", "approve\r")
    )
    assert code == 0, printed
    assert "what it touches:" in printed
    assert "approved fix/remove ~/notes/a" in printed
    assert printed.rstrip().endswith("Gone.")
    assert len(started.place.sent()) == 1


def test_what_is_no_answer_is_asked_again_and_denied_with_a_reason(started: Started) -> None:
    started.script(ANTHROPIC.calls(("fix__remove", {"path": "~/notes/a"})), ANTHROPIC.answer("I left it."))
    code, printed = converse(
        started.command("Remove it"),
        started.place.root,
        started.environment,
        ("[why]>", "yes\r"),
        ("Type approve", ""),
        ("[why]>", "deny keep it\r"),
    )
    assert code == 0, printed
    assert "Type approve to approve this one call" in printed
    assert not started.place.sent()
    assert "keep it" in json.dumps(started.model.requests[-1])


def test_a_program_has_a_session_over_json_lines(started: Started) -> None:
    started.script(ANTHROPIC.calls(("fix__remove", {"path": "~/notes/a"})), ANTHROPIC.answer("Gone."))
    with subprocess.Popen(
        started.command("--json"),
        cwd=started.place.root,
        env=started.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        events: list[dict[str, Any]] = []

        def say(**line: Any) -> None:
            assert run.stdin is not None
            run.stdin.write(json.dumps(line) + "\n")
            run.stdin.flush()

        say(nonsense=1)
        say(send="Remove it")
        for line in run.stdout:
            events.append(json.loads(line))
            if events[-1]["event"] == "approval":
                say(approve=events[-1]["request"]["id"])
            if events[-1]["event"] == "answer":
                say(quit=True)
        assert run.wait(LONG) == 0
    names = [event["event"] for event in events]
    assert names[:2] == ["ready", "error"]
    assert [name for name in names if name in ("call", "approval", "resolved", "result", "answer")] == [
        "call",
        "approval",
        "resolved",
        "result",
        "answer",
    ]
    assert events[-1]["text"] == "Gone."


def test_a_session_that_was_killed_goes_on_and_repeats_no_call(started: Started) -> None:
    started.script(ANTHROPIC.calls(("fix__remove", {"path": "~/notes/a"})))
    with subprocess.Popen(
        started.command("Remove it"), cwd=started.place.root, env=started.environment, stderr=subprocess.PIPE
    ) as run:
        waiting = started.place.home / ".ironcurtain" / "approvals"
        end = time.monotonic() + LONG
        while not [*waiting.glob("request-*.json")]:
            assert time.monotonic() < end
            time.sleep(0.05)
        run.send_signal(signal.SIGKILL)
    id_ = started.sessions("list").split()[0]
    started.script(ANTHROPIC.answer("I do not know whether it is gone."))
    ended = started.run("And?", "--resume", id_)
    assert ended.returncode == 0, ended.stderr
    told = json.dumps(started.model.requests[-1]["messages"])
    assert "outcome is unknown" in told
    assert not started.place.sent()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["Task", "--json"], 2, "from stdin"),
        ([], 2, "needs a terminal"),
        ([" "], 2, "the task is empty"),
        (["Task", "--turn-cost", "1"], 2, "nobody knows the price"),
        (["Task", "--resume", "nothing"], 2, "there is no session"),
        (["Task", "--sandbox", "."], 2, "holds the bundle"),
        (["Task", "--turn-steps", "0"], 2, "turn-steps"),
        (["Task", "--approver", "boss=client"], 2, "no client at which a person sits"),
    ],
)
def test_wrong_options_are_told(started: Started, arguments: list[str], code: int, said: str) -> None:
    ended = started.run(*arguments)
    assert ended.returncode == code
    assert said in ended.stderr


def test_a_conversation_at_a_terminal_with_its_commands(started: Started) -> None:
    started.script(
        ANTHROPIC.calls(("fix__read", {"path": "/etc/passwd"})),
        ANTHROPIC.answer("I may not.\n\n- " + "read " * 20 + "whole."),
        ANTHROPIC.calls(("fix__remove", {"path": "~/notes/a"})),
        ANTHROPIC.answer("Removed."),
    )
    saved = started.place.root / "saved.md"
    code, printed = converse(
        started.command(),
        started.place.root,
        started.environment,
        ("Ctrl-C ends a turn\n>", "read the passwords\r"),
        ("I may not.", ""),
        ("\n>", "/why\r"),
        ("rule: default-deny", ""),
        ("\n>", "/policy\r"),
        ("model anthropic:test-model", ""),
        ("always ask: 1 (fix/remove)", ""),
        ("limits: a turn 100 steps; the session without limits", ""),
        ("\n>", "remove the note\r"),
        ("[why]>", "approve\r"),
        ("Removed.", ""),
        ("\n>", "/usage\r"),
        ("4 steps", ""),
        ("\n>", f"/save {saved}\r"),
        ("Written:", ""),
        ("\n>", "/nothing\r"),
        ("There is no command /nothing", ""),
        ("\n>", "/quit\r"),
    )
    assert code == 0, printed
    assert "deny     fix/read /etc/passwd" in printed
    assert "whole." in printed  # nothing of a long line is cut off
    assert "pydantic" not in printed
    assert "approved fix/remove ~/notes/a" in printed
    assert "## You\n\nread the passwords" in saved.read_text()


def test_a_session_belongs_to_one_process_at_a_time(started: Started) -> None:
    started.script(ANTHROPIC.calls(("fix__remove", {"path": "~/notes/a"})), ANTHROPIC.answer("No."))
    with subprocess.Popen(
        started.command("Remove it"), cwd=started.place.root, env=started.environment, stderr=subprocess.PIPE
    ) as run:
        waiting = started.place.home / ".ironcurtain" / "approvals"
        wait_for(lambda: [*waiting.glob("request-*.json")])
        id_ = started.sessions("list").split()[0]
        files = started.place.home / ".ironcurtain" / "sessions" / id_
        kept = (files / "messages.jsonl").read_bytes()
        second = started.run("And?", "--resume", id_)
        assert second.returncode != 0
        assert f"another process has the session {id_} open" in second.stderr
        assert (files / "messages.jsonl").read_bytes() == kept
        run.send_signal(signal.SIGKILL)
    started.script(ANTHROPIC.answer("Here."))
    both = [
        subprocess.Popen(
            started.command("Go on", "--resume", id_),
            cwd=started.place.root,
            env=started.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    said = [run.communicate(timeout=LONG) for run in both]
    assert 0 in [run.returncode for run in both]
    for code, (answer, told) in zip([run.returncode for run in both], said, strict=True):
        assert answer == "Here.\n" if code == 0 else "another process has the session" in told
    assert started.sessions("show", id_).count("## Agent") == [run.returncode for run in both].count(0)
