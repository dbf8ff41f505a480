"""`ironcurtain compile` as a program with a model on loopback: what is paid, kept, shown and stopped."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from fixtures.tiny_project import ANNOTATIONS, RULES, tree, write_project
from pytest_httpserver import HTTPServer
from support.model_server import ANTHROPIC, OPENAI, ModelServer, Play, slow
from werkzeug import Response

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-c", "from ironcurtain.cli.main import main; main()", "compile"]
CANARY = "sk-canary-0123456789"
# The model says it in its own words; that a tool is contained only a person can say.
KNOWN_TAGS = {**ANNOTATIONS["tools"][0]}
READ = {**ANNOTATIONS["tools"][1], "contained": False}


class Compiler:
    """A project, a model, and the program between them."""

    def __init__(self, server: HTTPServer, directory: Path) -> None:
        self.model = ModelServer(server, ANTHROPIC, [self._answer])
        self.directory = write_project(directory)
        (directory / "home").mkdir()
        self.home = directory / "home" / "config.json"
        self.prices({"input": 3, "output": 15})

    def prices(self, price: dict[str, int] | None) -> None:
        content = {"prices": {"anthropic:m": price} if price else {}, "timeout": 20}
        self.home.write_text(json.dumps(content))
        self.home.chmod(0o600)

    @property
    def environment(self) -> dict[str, str]:
        foreign = ("ANTHROPIC_", "OPENAI_", "GOOGLE_", "GEMINI_", "IRONCURTAIN_")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        return {
            **inherited,
            **self.model.environment(CANARY),
            "IRONCURTAIN_HOME": str(self.home.parent),
            "PYTHONPATH": str(ROOT),
        }

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        result = subprocess.run(
            [*PROGRAM, "--model", "m", *arguments],
            cwd=self.directory,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        written = b"".join(data for name, data in tree(self.directory).items())
        for shown in (result.stdout, result.stderr, written.decode(errors="replace")):
            assert CANARY not in shown
        return result

    @property
    def kept(self) -> list[str]:
        return sorted(path.name.rsplit("-", 1)[0] for path in self.directory.glob("questions/kept/*.json"))

    def asked(self, stage: str) -> int:
        return sum(self._kind(request) == stage for request in self.model.requests)

    @staticmethod
    def _kind(request: Any) -> str:
        return next(iter(sorted(request["output_config"]["format"]["schema"]["properties"])))

    def _answer(self) -> Response:
        """Answer whatever was asked last, rightly."""
        answers = {
            "tools": {"tools": [KNOWN_TAGS, READ]},
            "not_enforceable": RULES,
            "scenarios": {"scenarios": []},
        }
        return ANTHROPIC.answer(json.dumps(answers[self._kind(self.model.requests[-1])]))()

    @property
    def right(self) -> Play:
        return self._answer


@pytest.fixture
def compiler(threaded_server: HTTPServer, tmp_path: Path) -> Compiler:
    threaded_server.clear()
    return Compiler(threaded_server, tmp_path)


def test_an_interrupted_compile_repeats_no_paid_call(compiler: Compiler) -> None:
    compiler.model.script = [compiler.right, slow(15)]
    program = subprocess.Popen(
        [*PROGRAM, "--model", "m"],
        cwd=compiler.directory,
        env=compiler.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 60
    while len(compiler.model.requests) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    program.send_signal(signal.SIGINT)
    stdout, stderr = program.communicate(timeout=30)
    assert (program.returncode, stdout) == (130, "")
    assert "interrupted" in stderr
    assert "model: 1 call, 1,000 + 200 tokens, cost $0.0060" in stderr
    assert compiler.kept > []
    compiler.model.script = [compiler.right]
    compiler.run()
    assert compiler.asked("tools") == 1


def test_a_budget_stops_the_compile_and_a_larger_one_goes_on(compiler: Compiler) -> None:
    compiler.prices({"input": 0, "output": 15})
    result = compiler.run("--max-cost", "0.481")
    assert (result.returncode, result.stdout) == (3, "")
    assert "error[IC3303]: question rules-notes was not asked: it may cost up to $0.4800" in result.stderr
    assert "model: 1 call, 1,000 + 200 tokens, cost $0.0030" in result.stderr
    assert compiler.kept > []
    assert not (compiler.directory / "generated").exists()
    compiler.run("--max-cost", "5")
    assert compiler.asked("tools") == 1
    assert compiler.asked("not_enforceable") == 1


def test_each_stage_is_one_line_with_its_cost(compiler: Compiler) -> None:
    result = compiler.run()
    assert result.stdout == ""
    assert "2/8 annotate: 2 tools of 1 servers; 1 call, 1,000 + 200 tokens, cost $0.0060 (" in result.stderr
    assert "\x1b" not in result.stderr


def test_an_unknown_price_is_said_and_refuses_a_budget(compiler: Compiler) -> None:
    compiler.prices(None)
    result = compiler.run("--max-cost", "1")
    assert result.returncode == 3
    assert "nobody knows what anthropic:m costs" in result.stderr
    assert compiler.model.requests == []
    assert "cost unknown" in compiler.run().stderr


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
    result = compiler.run()
    assert (result.returncode, result.stdout) == (3, "")
    assert "error[IC3301]: question annotate-notes-1: " in result.stderr
    assert said in result.stderr
    assert "hint:" in result.stderr
    assert not (compiler.directory / "generated").exists()


def test_the_traceback_of_a_failure_does_not_show_the_key_either(compiler: Compiler) -> None:
    compiler.model.script = [ANTHROPIC.failure(401, "authentication_error", f"key {CANARY}")]
    result = subprocess.run(
        [*PROGRAM[:-1], "--debug", "compile", "--model", "m"],
        cwd=compiler.directory,
        env={**compiler.environment, "ANTHROPIC_LOG": "debug"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" in result.stderr
    assert CANARY not in result.stdout + result.stderr


def test_a_configuration_that_others_can_read_is_refused(compiler: Compiler) -> None:
    compiler.home.chmod(0o644)
    result = compiler.run()
    assert result.returncode == 2
    assert "others can read or change it" in result.stderr
    assert compiler.model.requests == []


def test_compile_and_judge_have_models_of_their_own(compiler: Compiler) -> None:
    result = compiler.run("--judge-model", "nobody:x")
    assert result.returncode == 2
    assert "nobody:x" in result.stderr
    assert compiler.model.requests == []


def test_an_sdk_that_is_not_installed_names_its_extra(compiler: Compiler) -> None:
    hidden = "import sys; sys.modules['openai'] = None; " + PROGRAM[2]
    result = subprocess.run(
        [sys.executable, "-c", hidden, "compile", "--model", "openai:x"],
        cwd=compiler.directory,
        env={**compiler.environment, OPENAI.variables[0]: CANARY},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 3
    assert "pip install 'ironcurtain[openai]'" in result.stderr


@pytest.mark.parametrize("colour", [True, False])
def test_on_a_terminal_a_table_lives_and_the_terminal_is_left_as_it_was(
    compiler: Compiler, *, colour: bool
) -> None:
    compiler.model.script = [compiler.right, ANTHROPIC.answer("", "refusal")]
    shown = on_a_terminal(compiler, {} if colour else {"NO_COLOR": "1"})
    assert "stage" in shown
    assert "2/8 annotate" in shown
    assert "notes-1" in shown
    assert "1,000 + 200" in shown
    assert "$0.0060" in shown
    assert "error[IC3301]: question rules-notes: the model refused to answer" in shown
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")
    assert CANARY not in shown


def on_a_terminal(compiler: Compiler, more: dict[str, str]) -> str:
    """Run the program with a terminal of 100 columns as its stderr; return what it showed there."""
    ours, theirs = pty.openpty()
    environment = {**compiler.environment, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40", **more}
    program = subprocess.Popen(
        [*PROGRAM, "--model", "m"],
        cwd=compiler.directory,
        env=environment,
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
    stdout, _ = program.communicate(timeout=60)
    os.close(ours)
    assert stdout == b""
    return shown.decode(errors="replace")
