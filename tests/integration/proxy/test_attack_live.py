"""Respelled calls on the real file server, contained: what it touches was judged, or is told."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from support.machines.contained import NEEDS_SANDBOX
from support.projects import shipped
from support.projects.policies import rule, tool, write_bundle, write_servers

from ironcurtain.cli.main import run

PROGRAM = shipped.ROOT / "node_modules" / "@modelcontextprotocol" / "server-filesystem" / "dist" / "index.js"
FILES = {"filesystem": {"command": "node", "args": [str(PROGRAM)]}}
PROMISING = Path(__file__).parents[2] / "fixtures" / "promising_server.py"
SANDBOX = "/home/user/sandbox"


def write_scenario(bundle: Path, server: str, called: str, **arguments: str) -> None:
    """Write the one scenario of a bundle: a call that is allowed."""
    call = {"server": server, "tool": called, "arguments": arguments}
    document = {
        "format": "ironcurtain/scenarios/v1",
        "world": {"home": "/home/user", "sandbox": SANDBOX},
        "scenarios": [{"id": "call", "call": call, "expect": "allow"}],
    }
    (bundle / "test-scenarios.json").write_text(json.dumps(document))


def promising(directory: Path, *arguments: str) -> list[str]:
    """Return the command that attacks the server whose answers are not as it promised."""
    rules = [rule("read", "allow", tool=["read"], paths={"roles": ["read-path"], "within": ["~"]})]
    bundle = write_bundle(directory, {"promising": [tool("read", path=["read-path"])]}, rules)
    server = {"command": sys.executable, "args": [str(PROMISING), *arguments]}
    servers = write_servers(directory, {"promising": server})
    write_scenario(directory, "promising", "read", path=f"{SANDBOX}/a")
    return ["attack", str(bundle), "--live", "--servers", str(servers), "--maximum", "50"]


@NEEDS_SANDBOX
def test_the_shipped_file_server_touches_what_was_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    servers = write_servers(tmp_path, FILES)
    bundle = str(shipped.ROOT / "generated" / "bundle")
    command = ["attack", bundle, "--live", "--servers", str(servers), "--maximum", "100", "--format", "json"]
    assert run(command) == 0
    live = json.loads(capsys.readouterr().out)["live"]
    assert live["isolation"]["filesystem"] not in ("", "none")
    assert live["strays"] == []
    assert live["sent"] > 100
    assert live["answered"] > 30


@NEEDS_SANDBOX
def test_a_file_that_is_taken_away_unjudged_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The source of a move is annotated as if it were only read.
    move = tool("move_file", source=["read-path"], destination=["write-path"])
    rules = [rule("move", "allow", tool=["move_file"], paths={"roles": ["read-path"], "within": ["~"]})]
    bundle = write_bundle(tmp_path, {"filesystem": [move]}, rules)
    servers = write_servers(tmp_path, FILES)
    write_scenario(tmp_path, "filesystem", "move_file", source=f"{SANDBOX}/a", destination=f"{SANDBOX}/b")
    assert run(["attack", str(bundle), "--live", "--servers", str(servers), "--maximum", "50"]) == 1
    told = capsys.readouterr().out
    assert "stray  filesystem/move_file" in told
    assert "found: " in told


@NEEDS_SANDBOX
@pytest.mark.timeout(60)
def test_no_answer_of_a_server_holds_the_attack_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = promising(tmp_path)
    assert run([*command, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["live"]["answered"] > 0


@NEEDS_SANDBOX
@pytest.mark.timeout(60)
def test_a_server_that_never_answers_is_given_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ironcurtain.analysis.attack.live.DEFAULT_TIMEOUT", 1.0)
    assert run(promising(tmp_path, "silent")) == 3
    assert "the server gave no answer in time" in capsys.readouterr().err
