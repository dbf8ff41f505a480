"""What a command loads: libraries that it does not need are most of the time until its first answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from e2e.program import PROGRAM, ROOT, SHIPPED, environment

MODELS = {"anthropic", "google.genai", "openai", "pydantic_ai"}
SERVERS = {"mcp", "ironcurtain.servers.tools"}
NETWORK = {"aiohttp", "httpx", "opa_client", "requests"}
COMPILER = {"ironcurtain.compiler", "ruamel"}
CHECKS = {"attrs", "difflib", "jsonschema", "referencing"}
CALL = ["filesystem", "read_text_file", json.dumps({"path": "notes.txt"})]
UNCONTAINED = ["--servers", "servers.json"]
SERVED = ["--servers", str(ROOT / "mcp-servers.json")]

# What a command does without: a prefix of modules.
WITHOUT = {
    "decide": (
        [*("decide", "--bundle", str(SHIPPED), "--sandbox", "."), *SERVED, *CALL],
        MODELS | SERVERS | NETWORK | COMPILER | CHECKS | {"ironcurtain.gateway"},
    ),
    "input": (
        [*("input", "--bundle", str(SHIPPED), "--sandbox", "."), *SERVED, *CALL],
        MODELS | SERVERS | NETWORK | COMPILER | CHECKS | {"ironcurtain.gateway"},
    ),
    "verify": (
        ["verify", str(SHIPPED)],
        MODELS | {"cryptography", "mcp"} | NETWORK | {"ironcurtain.gateway", "ironcurtain.analysis.replay"},
    ),
    "proxy": (
        [*("proxy", "--bundle", str(SHIPPED), "--sandbox", "work"), *UNCONTAINED, "--no-approver"],
        MODELS | NETWORK | COMPILER | {"ironcurtain.analysis.replay"},
    ),
}


@pytest.mark.parametrize("command", WITHOUT)
def test_a_command_loads_nothing_that_it_does_without(command: str, tmp_path: Path) -> None:
    arguments, without = WITHOUT[command]
    (tmp_path / "work").mkdir()
    server = {"command": sys.executable, "args": ["-c", "pass"], "sandbox": False}
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"filesystem": server}}))
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", *PROGRAM[1:], *arguments],
        env=environment(IRONCURTAIN_HOME=str(tmp_path / "own")),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    lines = ended.stderr.splitlines()
    loaded = {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}
    assert "ironcurtain.engine.locate" in loaded
    assert not {name for name in loaded if any(f"{name}.".startswith(f"{each}.") for each in without)}


PLUGGED = "a plugin was loaded"
PLUGIN = f"print({PLUGGED!r})\n\n\ndef new_schema_validator(*_, **__):\n    return None, None, None\n"


def test_no_plugin_of_another_package_sees_what_a_command_validates(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text(PLUGIN)
    described = tmp_path / "beside-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: beside\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text("[pydantic]\nbeside = beside\n")
    (tmp_path / "work").mkdir()
    command = ["input", "--bundle", str(SHIPPED), "--sandbox", "work", *SERVED, *CALL]
    printed = [
        subprocess.run(
            [sys.executable, "-c", program, *command],
            env=environment(PYTHONPATH=f"{ROOT}{os.pathsep}{tmp_path}"),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for program in ("import pydantic; pydantic.TypeAdapter(int)", PROGRAM[-1])
    ]
    assert [PLUGGED in each for each in printed] == [True, False]
