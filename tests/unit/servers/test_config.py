"""`mcp-servers.json`: the ecosystem's shape, our keys strict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ironcurtain.errors import FormatError, ServerConfigError, SeveralErrors
from ironcurtain.servers.config import load_servers


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
