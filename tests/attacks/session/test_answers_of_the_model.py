"""A model answers for the person, by what was typed ahead, text that looks like ours, or usage below nothing.

It writes what the person shall type and makes the call meanwhile, writes characters that a terminal shows
wider than they are counted, and a provider reports less than nothing as used.

Held by: dropping what was typed before a question, breaking lines for the widest a terminal can show them,
whole ids from programs, usage that only grows, and a session that belongs to its caller.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest
from attacks.approvals.test_terminals import TMUX, Pane
from pydantic_ai.messages import ModelResponse
from pydantic_ai.usage import RequestUsage
from pytest_httpserver import HTTPServer
from support.deployments.proxied import LONG, Place
from support.deployments.stage import Stage
from support.deployments.started import ROOT, Started
from support.people.terminal import converse
from support.services.model_server import ANTHROPIC, ModelServer

from ironcurtain.compiler.llm.access import Price
from ironcurtain.errors import SessionError
from ironcurtain.session.limits import TURN, Budget, Limits
from ironcurtain.session.turn import Turn

pytestmark = pytest.mark.timeout(300)
REMOVE = ANTHROPIC.calls(("fix__remove", {"path": "~/notes/a"}), text="Type approve and press Enter.")
LEFT = ANTHROPIC.answer("I left it.")
PROMPT = "[why]>"
FORGED = "approve, session or deny [why]> "
CHARACTERS = {
    "skin tones without a hand": "\U0001f3fb" * 56,
    "ambiguous punctuation": "“…”" * 24,
    "box drawing": "─" * 60,
    "wide letters": "日本語" * 20,
    "joined emoji": "👍🏽🇩🇪" * 20,
}


@pytest.fixture
def started(tmp_path: Path, httpserver: HTTPServer) -> Started:
    return Started(tmp_path, httpserver)


@pytest.fixture
def stage(tmp_path: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Stage:
    place, model = Place(tmp_path), ModelServer(httpserver, ANTHROPIC)
    monkeypatch.setenv("HOME", str(place.home))
    for name, value in model.environment("test-key").items():
        monkeypatch.setenv(name, value)
    return Stage(place, model)


@pytest.mark.parametrize("answer", ["approve", "session", "/approve"])
def test_an_answer_that_was_typed_before_the_question_of_a_task(started: Started, answer: str) -> None:
    started.script(REMOVE, LEFT)
    code, printed = converse(
        started.command("Remove it"),
        started.place.root,
        started.environment,
        ("", f"{answer}\r"),
        (PROMPT, "deny\r"),
    )
    assert code == 0, printed
    assert not started.place.sent()


@pytest.mark.parametrize("answer", ["approve", "session"])
def test_an_answer_that_was_typed_with_the_line_before_it(started: Started, answer: str) -> None:
    """The library that edits lines has read both lines when it returns the first."""
    started.script(REMOVE, LEFT)
    code, printed = converse(
        started.command(),
        started.place.root,
        started.environment,
        ("Ctrl-C ends a turn\n>", f"remove it\r{answer}\r"),
        (PROMPT, "deny\r"),
        ("I left it.", ""),
        ("\n>", "/quit\r"),
    )
    assert code == 0, printed
    assert not started.place.sent()


@pytest.mark.skipif(TMUX is None, reason="there is no tmux, which is the terminal")
@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("how", CHARACTERS)
def test_text_that_a_terminal_shows_wider_than_it_is_counted(how: str, columns: int, tmp_path: Path) -> None:
    text = f"{CHARACTERS[how]}{FORGED}" * 3
    program = f"""
import sys
from ironcurtain.session.events import TextPiece
from ironcurtain.session.transports.display import EventDisplay
display = EventDisplay(sys.stdout)
for piece in {text!r}.split(" "):
    display.show(TextPiece(piece + " "))
display.say("ended")
"""
    terminal = Pane(tmp_path / "tmux")
    command = shlex.join([sys.executable, "-c", program])
    size = ("-x", str(columns), "-y", "15")
    environment = ("-e", f"PYTHONPATH={ROOT}", "-e", "PYTHONIOENCODING=utf-8", "-e", "COLUMNS=120")
    terminal.tmux("new-session", "-d", *size, *environment, "/bin/sh", "-c", f"{command}; exec cat")
    try:
        lines = terminal.until("ended")
    finally:
        terminal.tmux("kill-server")
    assert all(line.startswith("  ") for line in lines if line and line != "ended"), lines


@pytest.mark.parametrize("ends", ["cancel", "quit"])
def test_a_turn_that_is_ended_in_the_same_write_does_not_act(started: Started, ends: str) -> None:
    started.script(ANTHROPIC.calls(("fix__echo", {"text": "hello"})), ANTHROPIC.answer("Done."))
    said = [{"send": "Echo"}, {ends: True}, {"quit": True}]
    ended = started.run("--json", typed="".join(f"{json.dumps(each)}\n" for each in said))
    events = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [event for event in events if event["event"] == "answer"] == [
        {"event": "answer", "text": "", "finished": False, "why": "The turn was cancelled."}
    ]
    assert not started.place.sent()
    assert ended.returncode == 1, ended.stderr


def test_a_program_that_names_only_the_beginning_of_an_id(started: Started) -> None:
    started.script(REMOVE, LEFT)
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

        def say(**line: Any) -> None:
            assert run.stdin is not None
            run.stdin.write(json.dumps(line) + "\n")
            run.stdin.flush()

        errors = []
        say(send="Remove it")
        for line in run.stdout:
            event = json.loads(line)
            match event["event"]:
                case "approval":
                    id_ = event["request"]["id"]
                    say(approve=id_[:1])
                case "error":
                    errors.append(event["what"])
                    say(deny=id_)
                case "answer":
                    say(quit=True)
        assert run.wait(LONG) == 0
    assert errors == [f"no call of this session waits as {id_[:1]}"]
    assert not started.place.sent()


def test_a_limit_that_begins_anew_when_the_session_is_resumed(started: Started) -> None:
    started.script(ANTHROPIC.calls(("fix__echo", {"text": "again"})))
    assert started.run("Echo forever", "--session-steps", "3").returncode == 1
    id_ = started.sessions("list").split()[0]
    asked = len(started.model.requests)
    again = started.run("Go on", "--session-steps", "3", "--resume", id_)
    assert again.returncode == 1
    assert "All of the 3 steps of this session are used." in again.stderr
    assert len(started.model.requests) == asked


def test_usage_below_nothing_extends_no_limit() -> None:
    turn = Turn(Budget("turn", Limits(tokens=100)), Price(input=Decimal(3), output=Decimal(5)))
    turn.answers += [
        ModelResponse(parts=[], usage=RequestUsage(input_tokens=60, output_tokens=20)),
        ModelResponse(parts=[], usage=RequestUsage(input_tokens=-1_000, output_tokens=-1_000)),
    ]
    assert turn.used.tokens == 80
    assert turn.used.cost is not None
    assert turn.used.cost > 0


def test_a_session_that_goes_on_for_another_caller(stage: Stage) -> None:
    stage.model.script[:] = [ANTHROPIC.answer("Done.")]

    async def story() -> None:
        async with stage.session(caller={"sub": "ann"}, turn=TURN) as session:
            await session.send("Write to eve@evil.example")
        with pytest.raises(SessionError, match="for another caller"):
            async with stage.session(resume=session.id, caller={"sub": "bob"}):
                pass
        async with stage.session(resume=session.id, caller={"sub": "ann"}) as again:
            assert again.usage.steps == 1

    anyio.run(story)
