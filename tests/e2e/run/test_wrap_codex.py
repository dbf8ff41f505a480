"""Codex, which works in many projects and writes TOML: wrapped, started in a project, and unwrapped."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path

import anyio
import pytest
from e2e.program import program
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from support.deployments.proxied import PLAIN, Place, text_of

pytestmark = pytest.mark.timeout(600)
FILTER = 'disabled_tools = ["slow"]'
TEXT = f"""\
# my model
model = "gpt-5"

[mcp_servers.fix]
command = "{sys.executable}"
args = ["{PLAIN[0]}"]
{FILTER}

# trusted
[projects."/home"]
trust_level = "trusted"
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    config = made.home / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text(TEXT)
    return made


def test_each_project_is_the_workspace_of_its_own_session(place: Place, tmp_path: Path) -> None:
    config, project = place.home / ".codex" / "config.toml", tmp_path / "project"
    project.mkdir()
    given = ("wrap", "codex", "--bundle", str(place.bundle), "--sandbox", ".")
    environment = {"HOME": str(place.home), "CODEX_HOME": "", "IRONCURTAIN_HOME": ""}
    shown = program(*given, "--dry-run", cwd=project, **environment)
    assert "+[mcp_servers.ironcurtain]" in shown.out
    assert "disabled_tools is carried over: fix__slow" in shown.err
    assert "--sandbox . is kept as it is: the workspace is the directory in which codex starts" in shown.err
    printed = program(*given, "--print", cwd=project, **environment)
    assert tomllib.loads(printed.out)["mcp_servers"].keys() == {"ironcurtain"}
    done = program(*given, "--yes", "--format", "json", cwd=project, **environment)
    assert done.code == 0, done.err
    entry = tomllib.loads(config.read_text())["mcp_servers"]["ironcurtain"]
    words = entry["args"]
    assert words[words.index("--sandbox") + 1] == "."
    assert "# trusted\n[projects" in config.read_text()
    own = Path(json.loads(done.out)["servers"])
    own.write_text(own.read_text().replace('"command"', '"sandbox": false, "command"', 1))
    started = StdioServerParameters(
        command=entry["command"], args=words, cwd=project, env={"HOME": str(place.home), **entry["env"]}
    )

    async def use() -> None:
        with anyio.fail_after(300), (tmp_path / "stderr").open("w") as stderr:
            async with Client(stdio_client(started, errlog=stderr), mode="legacy", cache=None) as client:
                called = await client.call_tool("fix__echo", {"text": "hello"})
                assert not called.is_error, text_of(called)

    anyio.run(use)
    (log,) = place.home.glob(".ironcurtain/audit/s-*.jsonl")
    records = [json.loads(line)["record"] for line in log.read_text().splitlines()]
    decisions = [record for record in records if record["kind"] == "decision"]
    assert [record["sandbox"]["directory"] for record in decisions] == [str(project)]
    at_home = program(*words[words.index("proxy") :], cwd=place.home, **environment)
    assert at_home.code == 2
    assert "the workspace would be" in at_home.err
    assert program("unwrap", "codex", cwd=project, **environment).code == 0
    assert config.read_text() == TEXT


def test_the_same_file_by_another_spelling_is_protected_once(place: Place, tmp_path: Path) -> None:
    config = place.home / ".codex" / "config.toml"
    spelled = f"{place.home}/notes/../.codex/config.toml"
    given = ("--bundle", str(place.bundle), "--yes")
    done = program("wrap", spelled, *given, cwd=tmp_path, HOME=str(place.home), IRONCURTAIN_HOME="")
    assert done.code == 0, done.err
    words = tomllib.loads(config.read_text())["mcp_servers"]["ironcurtain"]["args"]
    assert words.count("--protected") == 1
    assert os.fspath(config) in words
