"""`ironcurtain compile` with a model on loopback: what is paid, kept, shown and stopped.

It runs in this process where it is not the program that is tested.
"""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time

import click
import pytest
from e2e.program import PROGRAM, Ended, environment
from fixtures.tiny_project import tree
from support.projects.modelled import Place, Playing
from support.projects.notes_project import COMPILE, Notes
from support.services.model_server import ANTHROPIC, OPENAI, Play, slow

CANARY = "sk-canary-0123456789"
FOREIGN = ("ANTHROPIC_", "OPENAI_", "GOOGLE_", "GEMINI_", "IRONCURTAIN_")


class Compiler(Notes):
    """The tiny project with a key that nobody may see, and prices."""

    def __init__(self, place: Place) -> None:
        for name in filter(lambda name: name.startswith(FOREIGN), [*os.environ]):
            place.monkeypatch.delenv(name)
        super().__init__(place)
        place.monkeypatch.setenv(ANTHROPIC.variables[0], CANARY)
        (self.directory / "home").mkdir()
        self.home = self.directory / "home" / "config.json"
        self.prices({"input": 3, "output": 15})

    def prices(self, price: dict[str, int] | None) -> None:
        content = {"prices": {"anthropic:m": price} if price else {}, "timeout": 60}
        self.home.write_text(json.dumps(content))
        self.home.chmod(0o600)

    def run(self, *arguments: str) -> Ended:
        result = super().run(*arguments)
        written = b"".join(data for name, data in tree(self.directory).items())
        for shown in (result.out, result.err, written.decode(errors="replace")):
            assert CANARY not in shown
        return result

    def program(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a command line as a program of its own."""
        return subprocess.run(
            arguments,
            cwd=self.directory,
            env=environment(**more),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    @property
    def kept(self) -> list[str]:
        return sorted(path.name.rsplit("-", 1)[0] for path in self.directory.glob("questions/kept/*.json"))


@pytest.fixture
def compiler(place: Place) -> Compiler:
    return Compiler(place)


def test_an_interrupted_compile_repeats_no_paid_call(compiler: Compiler) -> None:
    compiler.answers["rules"] = [Playing(slow(300)), *compiler.answers["rules"]]
    program = subprocess.Popen(
        [*PROGRAM, *COMPILE],
        cwd=compiler.directory,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 300
    while len(compiler.model.requests) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    program.send_signal(signal.SIGINT)
    stdout, stderr = program.communicate(timeout=300)
    assert (program.returncode, stdout) == (130, "")
    assert "interrupted" in stderr
    assert "model: 1 call, 1,000 + 200 tokens, cost $0.0060" in stderr
    assert compiler.kept > []
    assert compiler.calls == {"annotate": 1, "rules": 1}
    assert compiler.compile().code == 0
    assert compiler.calls == {"rules": 1}


def test_a_budget_stops_the_compile_and_a_larger_one_goes_on(compiler: Compiler) -> None:
    compiler.prices({"input": 0, "output": 15})
    result = compiler.compile("--max-cost", "0.481")
    assert (result.code, result.out) == (3, "")
    assert "error[IC3303]: question rules-notes was not asked: it may cost up to $0.4800" in result.err
    assert "model: 1 call, 1,000 + 200 tokens, cost $0.0030" in result.err
    assert compiler.kept > []
    assert not (compiler.directory / "generated").exists()
    assert compiler.calls == {"annotate": 1}
    assert compiler.compile("--max-cost", "5").code == 0
    assert compiler.calls == {"rules": 1}


def test_each_stage_is_one_line_with_its_cost(compiler: Compiler) -> None:
    result = compiler.compile()
    assert result.out == ""
    assert "2/8 annotate: 2 tools of 1 server; 1 call, 1,000 + 200 tokens, cost $0.0060 (" in result.err
    assert "\x1b" not in result.err


def test_an_unknown_price_is_said_and_refuses_a_budget(compiler: Compiler) -> None:
    compiler.prices(None)
    result = compiler.compile("--max-cost", "1")
    assert result.code == 3
    assert "nobody knows what anthropic:m costs" in result.err
    assert compiler.model.requests == []
    assert "cost unknown" in compiler.compile().err


@pytest.mark.parametrize(
    ("play", "said"),
    [
        (ANTHROPIC.answer('{"tools": [', "limit"), "cut off at the limit"),
        (ANTHROPIC.answer('{"tools": []}'), 'after 2 corrections: tool "list_tags" of notes'),
        (
            ANTHROPIC.failure(401, "authentication_error", f"key {CANARY}"),
            "does not accept the key (401): key ***",
        ),
        (ANTHROPIC.failure(429, "rate_limit_error", retry_after="900"), "it asks to wait 900 seconds"),
    ],
)
def test_each_failure_ends_the_compile_in_its_own_words(compiler: Compiler, play: Play, said: str) -> None:
    compiler.model.script = [play]
    result = compiler.compile()
    assert (result.code, result.out) == (3, "")
    assert "error[IC3301]: question annotate-notes-1: " in result.err
    assert said in result.err
    assert "hint:" in result.err
    assert not (compiler.directory / "generated").exists()


def test_the_traceback_of_a_failure_does_not_show_the_key_either(compiler: Compiler) -> None:
    compiler.model.script = [ANTHROPIC.failure(401, "authentication_error", f"key {CANARY}")]
    result = compiler.program(*PROGRAM, "--debug", *COMPILE, ANTHROPIC_LOG="debug")
    assert "Traceback" in result.stderr
    assert CANARY not in result.stdout + result.stderr


def test_a_configuration_that_others_can_read_is_refused(compiler: Compiler) -> None:
    compiler.home.chmod(0o644)
    result = compiler.compile()
    assert result.code == 2
    assert "others can read or change it" in result.err
    assert compiler.model.requests == []


def test_compile_and_judge_have_models_of_their_own(compiler: Compiler) -> None:
    result = compiler.compile("--judge-model", "nobody:x")
    assert result.code == 2
    assert "nobody:x" in result.err
    assert compiler.model.requests == []


def test_an_sdk_that_is_not_installed_names_its_extra(compiler: Compiler) -> None:
    hidden = "import sys; sys.modules['openai'] = None; " + PROGRAM[2]
    program = (sys.executable, "-c", hidden, "compile", "--saved-tools", "--model", "openai:x")
    result = compiler.program(*program, **{OPENAI.variables[0]: CANARY})
    assert result.returncode == 3
    assert f"{sys.executable} -m pip install 'httpx2>=2.16' 'openai<4,>=3.54'" in result.stderr


def test_on_a_terminal_a_table_lives_and_the_terminal_is_left_as_it_was(compiler: Compiler) -> None:
    compiler.answers["rules"] = [Playing(ANTHROPIC.answer("", "refusal"))]
    shown = on_a_terminal(compiler)
    assert "stage" in shown
    assert "2/8 annotate" in shown
    assert "notes-1" in shown
    assert "1,000 + 200" in shown
    assert "$0.0060" in shown
    assert "error[IC3301]: question rules-notes: the model refused to answer" in click.unstyle(shown)
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")
    assert CANARY not in shown


def on_a_terminal(compiler: Compiler) -> str:
    """Run the program with a terminal of 100 columns as its stderr; return what it showed there."""
    ours, theirs = pty.openpty()
    program = subprocess.Popen(
        [*PROGRAM, *COMPILE],
        cwd=compiler.directory,
        env=environment(TERM="xterm-256color", COLUMNS="100", LINES="40"),
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 65_536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    stdout, _ = program.communicate(timeout=300)
    os.close(ours)
    assert stdout == b""
    return shown.decode(errors="replace")
