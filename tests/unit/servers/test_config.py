"""`mcp-servers.json`: the ecosystem's shape, our keys strict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn

import pytest

from ironcurtain.errors import FormatError, ServerConfigError, SeveralErrors
from ironcurtain.servers.config import ServerConfig, load_servers
from ironcurtain.servers.tool_lists.listing import list_tools


def write(directory: Path, server: dict[str, object], **top: object) -> Path:
    path = directory / "mcp-servers.json"
    path.write_text(json.dumps({"mcpServers": {"git": server}, **top}))
    return path


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("sanbox", "sandbox"),
        ("Sandbox", "sandbox"),
        ("working_root", "workingRoot"),
        ("workingroot", "workingRoot"),
        ("tool", "tools"),
        ("arg", "args"),
        ("comand", "command"),
    ],
)
def test_a_key_that_is_nearly_ours_is_an_error(tmp_path: Path, key: str, meant: str) -> None:
    with pytest.raises(ServerConfigError, match=f'nearly "{meant}"'):
        load_servers(write(tmp_path, {"command": "x", key: None}))


def test_keys_of_other_programs_are_kept_and_named_once(tmp_path: Path) -> None:
    foreign = {"disabled": True, "autoApprove": [], "timeout": 60, "envFile": ".env", "description": "d"}
    config = load_servers(write(tmp_path, {"command": "x", **foreign}, globalShortcut="F1"))
    assert sorted(note.split('"')[1] for note in config.notes) == sorted([*foreign, "globalShortcut"])
    assert config.servers["git"].foreign_keys == tuple(sorted(foreign))


@pytest.mark.parametrize(
    "server",
    [
        {},
        {"command": "x", "url": "https://x"},
        {"command": "x", "sandbox": "off"},
        {"command": "x", "sandbox": {"netwrok": {}}},
        {"command": ["x"]},
    ],
)
def test_our_keys_are_strict(tmp_path: Path, server: dict[str, object]) -> None:
    with pytest.raises((FormatError, SeveralErrors)):
        load_servers(write(tmp_path, server))


@pytest.mark.parametrize("name", ["a__b", "", "-a", "a b", "a" * 64, "a/b", "ä"])
def test_bad_server_names_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "mcp-servers.json"
    path.write_text(json.dumps({"mcpServers": {name: {"command": "x"}}}))
    with pytest.raises(FormatError):
        load_servers(path)


def test_a_file_without_servers_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mcp-servers.json"
    path.write_text('{"mcpServers": {}}')
    with pytest.raises(ServerConfigError, match="no server"):
        load_servers(path)


def test_the_built_in_tools_of_a_client_are_a_list_that_ships(tmp_path: Path) -> None:
    path = tmp_path / "mcp-servers.json"
    path.write_text('{"mcpServers": {"claude-code": {"builtin": "claude-code"}}}')
    listed = list_tools(load_servers(path), started_in_vain)["claude-code"]
    assert {"Bash", "Read", "Edit", "Write", "WebFetch"} <= {tool.name for tool in listed}


def started_in_vain(_: ServerConfig) -> NoReturn:
    raise AssertionError


@pytest.mark.parametrize(
    "more", ['"command": "x"', '"url": "https://x"', '"tools": "t.json"', '"gateway": "g.py"']
)
def test_built_in_tools_are_reached_in_no_other_way(tmp_path: Path, more: str) -> None:
    path = tmp_path / "mcp-servers.json"
    path.write_text(f'{{"mcpServers": {{"claude-code": {{"builtin": "claude-code", {more}}}}}}}')
    with pytest.raises(FormatError, match="the client runs them"):
        load_servers(path)
