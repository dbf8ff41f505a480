"""Files that are not what they should be: a clear refusal, and not one byte is changed."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from support.deployments.wrapped import COMMAND, FILES, client_file, copied, text_of

from ironcurtain.errors import FileError, FormatError, IronCurtainError, UsageError
from ironcurtain.integrations.clients.known_clients import CLIENTS, user_files
from ironcurtain.integrations.clients.store import BackupStore
from ironcurtain.integrations.clients.target import places
from ironcurtain.integrations.clients.unwrap import is_wrapped, restore, unwrap
from ironcurtain.integrations.clients.wrap import ProxyCommand, wrap

ONE = '{"mcpServers": {"a": {"command": "true"}}}'
BAD = {
    "empty": (b"", FormatError, "expected a value"),
    "no-json": (b"hello", FormatError, "expected a value"),
    "cut": (ONE[:-3].encode(), FormatError, "expected }"),
    "list": (b"[]", FormatError, "is an object"),
    "utf-16": (ONE.encode("utf-16"), FileError, "not UTF-8"),
    "latin-1": ('{"mcpServers": {"ä": {}}}'.encode("latin-1"), FileError, "not UTF-8"),
    "twice": (b'{"mcpServers": {}, "mcpServers": {"a": {"command": "x"}}}', FormatError, "stands twice"),
    "twice-inside": (b'{"mcpServers": {"a": {"command": "x", "command": "y"}}}', FormatError, "stands twice"),
    "no-servers": (b'{"other": 1}', UsageError, "nowhere"),
    "empty-servers": (b'{"mcpServers": {}}', UsageError, "no MCP server"),
    "both-kinds": (b'{"mcpServers": {}, "servers": {}}', UsageError, "several places"),
    "servers-a-list": (b'{"mcpServers": []}', FormatError, "is no object"),
    "servers-null": (b'{"mcpServers": null}', FormatError, "is no object"),
    "server-a-string": (b'{"mcpServers": {"a": "npx"}}', FormatError, "is no object"),
    "nothing-movable": (b'{"mcpServers": {"a": {"serverUrl": "https://x"}}}', UsageError, "none of the"),
    "taken-name": (b'{"mcpServers": {"ironcurtain": {"command": "x"}}}', UsageError, "did not write"),
    "nul": (b'{"mcpServers": {"a": {"command": "x\x00"}}}', FormatError, "double quotes"),
    "deep": (b'{"mcpServers": {"a": {"x": ' + b"[" * 5000 + b"]" * 5000 + b"}}}", FormatError, "deeper"),
    "escapes": (b'{"mcpServers": {"a": "\x1b]0;x\x07"}}', FormatError, "double quotes"),
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("IRONCURTAIN_HOME", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def refused(path: Path, kind: type[IronCurtainError], what: str, home: Path) -> None:
    before = path.read_bytes(), path.stat()
    with pytest.raises(kind, match=what) as caught:
        wrap(client_file(path), COMMAND, search_path="/bin")
    assert caught.value.where is not None
    assert (path.read_bytes(), path.stat().st_ino) == (before[0], before[1].st_ino)
    assert path.stat().st_mtime_ns == before[1].st_mtime_ns
    assert [each.name for each in home.rglob("*") if each.is_file() and each.suffix != ".lock"] == []


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_not_what_it_should_be(name: str, tmp_path: Path, home: Path) -> None:
    data, kind, what = BAD[name]
    path = tmp_path / "mcp.json"
    path.write_bytes(data)
    refused(path, kind, what, home)


def test_a_file_that_may_not_be_changed(tmp_path: Path, home: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(ONE)
    path.chmod(0o444)
    refused(path, FileError, "read-only", home)
    path.chmod(0o644)
    (tmp_path / "second").hardlink_to(path)
    refused(path, FileError, "several names", home)


def test_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    for name in ("dangling", "missing", "pipe", "home"):
        with pytest.raises(FileError):
            wrap(client_file(tmp_path / name), COMMAND, search_path="/bin")
    with pytest.raises((FileError, OSError, RuntimeError)):
        wrap(client_file(tmp_path / "loop"), COMMAND, search_path="/bin")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    place = copied("cursor-user.json", tmp_path)
    before = place.path.read_bytes()
    tmp_path.chmod(0o555)
    with pytest.raises(OSError, match="denied"):
        wrap(place, COMMAND, search_path="/bin")
    tmp_path.chmod(0o755)
    assert place.path.read_bytes() == before


def test_an_unknown_server_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match='no server "gti"') as caught:
        wrap(copied("claude-desktop-two.json", tmp_path), COMMAND, search_path="/bin", only=("gti",))
    assert caught.value.hint == "There are: filesystem, git."


@pytest.mark.parametrize("damage", ["original", "wrapped", "record.json"])
def test_a_damaged_backup_restores_nothing(damage: str, tmp_path: Path) -> None:
    place = copied("claude-desktop-two.json", tmp_path)
    wrap(place, COMMAND, search_path="/bin")
    before = place.path.read_bytes()
    (generation,) = BackupStore.of(place.path).generations()
    (generation.directory / damage).write_bytes(b"{}")
    with pytest.raises(IronCurtainError):
        unwrap(place)
    (generation.directory / damage).unlink()
    with pytest.raises(IronCurtainError):
        unwrap(place)
    assert place.path.read_bytes() == before


def test_an_entry_that_names_another_files_backup(tmp_path: Path) -> None:
    place = copied("claude-desktop-two.json", tmp_path)
    wrap(place, COMMAND, search_path="/bin")
    copy = client_file(tmp_path / "copy.json")
    copy.path.write_bytes(place.path.read_bytes())
    with pytest.raises(UsageError, match="did not write"):
        unwrap(copy)
    with pytest.raises(UsageError, match="no backup"):
        restore(copy)
    assert not is_wrapped(copy)


@pytest.mark.parametrize("name", FILES)
def test_any_damage_is_refused_or_undone(name: str, tmp_path: Path) -> None:
    """Whatever happens to a wrapped file, unwrap ends with a reading of it or leaves it alone."""
    place = copied(name, tmp_path)
    command = ProxyCommand(COMMAND.program, COMMAND.options)
    wrap(place, command, search_path="/bin")
    whole = text_of(place.path)
    chance = random.Random(name)
    for _ in range(12):
        at = chance.randrange(len(whole))
        place.path.write_text(
            whole[:at] + chance.choice(["", "}", '"', ",", "x"]) + whole[at + 1 :], newline=""
        )
        before = place.path.read_bytes()
        try:
            unwrap(place)
        except IronCurtainError:
            assert place.path.read_bytes() == before
            continue
        assert "ironcurtain" not in text_of(place.path).replace("/ironcurtain", "")
        place.path.write_text(text_of(place.path), newline="")
        wrap(place, command, search_path="/bin")
        whole = text_of(place.path)


WHERE = [
    ("claude-desktop", "darwin", "Library/Application Support/Claude/claude_desktop_config.json"),
    ("claude-desktop", "linux", ".config/Claude/claude_desktop_config.json"),
    ("claude-desktop", "win32", "AppData/Roaming/Claude/claude_desktop_config.json"),
    ("claude-code", "darwin", ".claude.json"),
    ("cursor", "linux", ".cursor/mcp.json"),
    ("vscode", "darwin", "Library/Application Support/Code/User/mcp.json"),
    ("vscode", "linux", ".config/Code/User/mcp.json"),
    ("vscode", "win32", "AppData/Roaming/Code/User/mcp.json"),
]


@pytest.mark.parametrize(("client", "platform", "path"), WHERE, ids=lambda value: str(value)[:14])
def test_where_clients_keep_their_servers(client: str, platform: str, path: str, home: Path) -> None:
    assert user_files(CLIENTS[client], platform)[0] == home / path


def test_the_projects_file_comes_first_and_paths_start_where_the_client_starts_servers(
    tmp_path: Path, home: Path
) -> None:
    found = [(place.path, place.directory, place.project) for place in places("vscode", None, tmp_path)]
    assert found[0] == (tmp_path / ".vscode" / "mcp.json", tmp_path, True)
    assert found[1][1:] == (home, False)
    (by_path,) = places(".cursor/mcp.json", None, tmp_path)
    assert (by_path.client, by_path.directory, by_path.project) == ("cursor", tmp_path, True)
    (other,) = places("sub/any.json", None, tmp_path)
    assert (other.client, other.directory, other.project) == ("file", tmp_path / "sub", False)
    with pytest.raises(UsageError, match="--scope"):
        places("any.json", "user", tmp_path)
    with pytest.raises(UsageError, match="project"):
        places("claude-desktop", "project", tmp_path)
