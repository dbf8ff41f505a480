"""Editing `mcp-servers.json`: the new server is there, and not one other byte is different."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ironcurtain.errors import FormatError, ServerConfigError
from ironcurtain.integrations.clients.servers_file import (
    alone,
    read_or_start,
    with_server,
    without_server,
    write,
)

ENTRY: dict[str, Any] = {"command": "node", "args": ["a b", 'quo"te'], "env": {"K": "ü"}}
TEXTS = {
    "pretty": '{\n  "mcpServers": {\n    "a": {\n      "command": "x"\n    }\n  }\n}\n',
    "tabs": '{\n\t"mcpServers": {\n\t\t"a": {"command": "x"}\n\t},\n\t"other": [1, 2]\n}',
    "one-line": '{"mcpServers": {"a": {"command": "x"}}, "more": {"b": null}}',
    "odd": '{ "z" : 1.50,\n\n "mcpServers":\n   {"a":{"command":"x"},\n    "b" : {"url": "https://x"}  } }',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_add_and_remove_give_the_same_bytes(text: str) -> None:
    added = with_server(text, "file", "new", ENTRY)
    before, after = json.loads(text), json.loads(added)
    assert after["mcpServers"].pop("new") == ENTRY
    assert after == before
    assert without_server(added, "file", "new") == text


@pytest.mark.parametrize(
    "text", ['{"mcpServers": {}}', '{\n  "mcpServers": {\n  }\n}\n'], ids=["short", "long"]
)
def test_the_first_server(text: str) -> None:
    assert json.loads(with_server(text, "file", "new", ENTRY)) == {"mcpServers": {"new": ENTRY}}


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "mcp-servers.json"
    write(path, with_server(read_or_start(path), str(path), "new", ENTRY))
    assert path.read_text().startswith('{\n  "mcpServers": {\n    "new": {\n      "command": "node",\n')


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_removing_leaves_the_others(name: str) -> None:
    text = '{"mcpServers": {\n "a": {"command": "1"},\n "b": {"command": "2"},\n "c": {"command": "3"}\n}}'
    expected = json.loads(text)
    del expected["mcpServers"][name]
    assert json.loads(without_server(text, "file", name)) == expected


def test_what_is_refused() -> None:
    with pytest.raises(ServerConfigError, match="no server"):
        without_server(TEXTS["pretty"], "file", "b")
    with pytest.raises(ServerConfigError, match="the only server"):
        without_server(TEXTS["pretty"], "file", "a")
    for text in ("{}", '{"mcpServers": []}', '{"mcpServers": '):
        with pytest.raises(FormatError):
            with_server(text, "file", "new", ENTRY)


def test_the_file_behind_a_link_is_written_and_keeps_its_mode(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("{}")
    real.chmod(0o600)
    link.symlink_to(real)
    write(link, "{ }")
    assert link.is_symlink()
    assert (real.read_text(), real.stat().st_mode & 0o777) == ("{ }", 0o600)


def test_many_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "mcp-servers.json"

    def add(number: int) -> None:
        with alone(path):
            write(path, with_server(read_or_start(path), str(path), f"s{number}", {"command": str(number)}))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(40)))
    assert json.loads(path.read_text())["mcpServers"] == {f"s{n}": {"command": str(n)} for n in range(40)}
    assert [each.name for each in tmp_path.iterdir()] == ["mcp-servers.json"]
