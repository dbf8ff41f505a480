"""Respelled calls on the real file server, contained: what it touches was judged, or is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.machines.contained import NEEDS_SANDBOX
from support.projects import shipped
from support.projects.policies import rule, tool, write_bundle, write_servers

from ironcurtain.cli.main import run

PROGRAM = shipped.ROOT / "node_modules" / "@modelcontextprotocol" / "server-filesystem" / "dist" / "index.js"
FILES = {"filesystem": {"command": "node", "args": [str(PROGRAM)]}}


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
    call = {
        "server": "filesystem",
        "tool": "move_file",
        "arguments": {"source": "/home/user/sandbox/a", "destination": "/home/user/sandbox/b"},
    }
    document = {
        "format": "ironcurtain/scenarios/v1",
        "world": {"home": "/home/user", "sandbox": "/home/user/sandbox"},
        "scenarios": [{"id": "move", "call": call, "expect": "allow"}],
    }
    (tmp_path / "test-scenarios.json").write_text(json.dumps(document))
    assert run(["attack", str(bundle), "--live", "--servers", str(servers), "--maximum", "50"]) == 1
    told = capsys.readouterr().out
    assert "stray  filesystem/move_file" in told
    assert "found: " in told
