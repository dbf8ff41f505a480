"""Tool lists from files, where servers that have to be contained cannot be started."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from ironcurtain.enforcement.sandbox.tool_discovery import contained_launcher
from ironcurtain.errors import SandboxMissingError, ServerConfigError, SeveralErrors
from ironcurtain.servers.config import ServerConfig, load_servers
from ironcurtain.servers.launching import Start
from ironcurtain.servers.tool_lists.listing import list_tools
from ironcurtain.servers.tool_lists.published import recorded_files
from ironcurtain.servers.tool_lists.recorded import list_or_recorded, list_without_starting
from ironcurtain.servers.tools import Tools

SERVER = Path(__file__).parents[3] / "fixtures" / "tiny_server.py"
LAUNCHER = contained_launcher(lambda _: None)
WHY = "servers cannot be contained on this machine: bubblewrap (bwrap) is not installed"


def entry(mode: str, **more: object) -> dict[str, object]:
    return {"command": sys.executable, "args": [str(SERVER), mode], **more}


def config(directory: Path, **servers: dict[str, object]) -> ServerConfig:
    path = directory / "mcp-servers.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return load_servers(path)


def uncontained(configured: ServerConfig) -> Start:
    """Start what need not be contained, as a machine does that cannot contain anything."""
    if any(server.sandbox is not False for server in configured.servers.values()):
        raise SandboxMissingError(WHY, where=str(configured.path))
    return LAUNCHER(configured)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """Return a published directory with the tools that `notes` had when the last compile listed them."""
    tools = list_tools(config(tmp_path, notes=entry("good", sandbox=False)), LAUNCHER)
    record(tmp_path / "generated", tools)
    return tmp_path / "generated"


def record(directory: Path, tools: Tools) -> None:
    for name, content in recorded_files(tools).items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content)


def descriptions(tools: Tools, server: str) -> list[str]:
    return [tool.description for tool in tools[server]]


def test_recorded_lists_are_read_and_that_is_said_in_one_line(tmp_path: Path, output: Path) -> None:
    said: list[str] = []
    servers = config(tmp_path, notes=entry("changed"), free=entry("changed", sandbox=False))
    tools = list_or_recorded(servers, uncontained, output, said.append)
    assert descriptions(tools, "notes") == ["Reads a note.", "Lists all tags."]
    assert descriptions(tools, "free")[0] == "Reads a note, and its history."
    (line,) = said
    assert line.startswith(f"{WHY}; ")
    assert "the tools of notes were read from" in line
    assert "not compared with the servers" in line


def test_what_a_person_saved_goes_before_what_a_compile_recorded(tmp_path: Path, output: Path) -> None:
    saved = list_tools(config(tmp_path, notes=entry("changed", sandbox=False)), LAUNCHER)
    record(tmp_path / "by-hand", saved)
    servers = config(tmp_path, notes=entry("good", tools="by-hand/tools/notes.json"))
    tools = list_or_recorded(servers, uncontained, output, lambda _: None)
    assert descriptions(tools, "notes")[0] == "Reads a note, and its history."
    assert list_without_starting(servers, uncontained, output) == tools


def test_where_servers_can_be_started_they_are_asked(tmp_path: Path, output: Path) -> None:
    said: list[str] = []
    servers = config(tmp_path, notes=entry("changed", sandbox=False))
    tools = list_or_recorded(servers, LAUNCHER, output, said.append)
    assert descriptions(tools, "notes")[0] == "Reads a note, and its history."
    assert said == []


def test_a_server_that_nobody_listed_is_an_error_and_started_by_nobody(tmp_path: Path, output: Path) -> None:
    servers = config(tmp_path, notes=entry("good"), new=entry("good"))
    with pytest.raises(SandboxMissingError) as caught:
        list_or_recorded(servers, uncontained, output, lambda _: None)
    assert caught.value.what == WHY
    assert "ironcurtain tools new > FILE" in caught.value.hint


def test_only_those_that_are_named_need_a_list(tmp_path: Path, output: Path) -> None:
    servers = config(tmp_path, notes=entry("good"), new=entry("good"))
    assert list(list_or_recorded(servers, uncontained, output, lambda _: None, only=["notes"])) == ["notes"]


def test_offline_every_server_needs_one_and_all_that_lack_it_are_named(tmp_path: Path, output: Path) -> None:
    servers = config(tmp_path, a=entry("good"), b=entry("good", sandbox=False), notes=entry("good"))
    with pytest.raises(SeveralErrors) as caught:
        list_without_starting(servers, uncontained, output)
    assert all(isinstance(error, ServerConfigError) for error in caught.value.errors)
    assert [error.what.split()[1] for error in caught.value.errors] == ["a", "b"]
