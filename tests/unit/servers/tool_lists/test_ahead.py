"""Reading tool lists while something else is done: the same lists, and no server that is left."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from support.deployments.proxied import is_alive, wait_for

from ironcurtain.enforcement.sandbox.tool_discovery import contained_launcher
from ironcurtain.errors import SandboxMissingError, ServerFailedError
from ironcurtain.servers.config import ServerConfig, load_servers
from ironcurtain.servers.launching import ServerLauncher, Start
from ironcurtain.servers.tool_lists.ahead import listing_ahead
from ironcurtain.servers.tool_lists.listing import list_tools
from ironcurtain.servers.tools import ListedServer

SERVER = Path(__file__).parents[3] / "fixtures" / "tiny_server.py"
LAUNCHER = contained_launcher(lambda _: None)
WHY = "this machine cannot contain servers"


def entry(mode: str, **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(SERVER), mode], "sandbox": False, **more}


def written(directory: Path, **servers: dict[str, Any]) -> Path:
    for server in servers.values():
        server["args"] = [*server["args"], str(directory)]  # which it does not read, and we know it by
    path = directory / "mcp-servers.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


def unused(config: ServerConfig) -> Start:
    raise AssertionError(f"{config.path} was read anew")


def incapable(_: Callable[[str], None]) -> ServerLauncher:
    def start(config: ServerConfig) -> Start:
        raise SandboxMissingError(WHY, where=str(config.path))

    return start


def running(directory: Path) -> list[str]:
    """Return the command lines of the servers that were written there and run now."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(FileNotFoundError, ProcessLookupError):
            lines.append(file.read_text())
    return [line for line in lines if f"{directory}\0" in line]


def test_lists_are_those_that_are_read_otherwise_and_notes_are_said(tmp_path: Path) -> None:
    path = written(tmp_path, one=entry("good"), two=entry("changed"))
    said: list[str] = []
    with listing_ahead(path, contained_launcher) as ahead:
        tools = list_tools(load_servers(path), unused, read=ahead.reader(said.append))
    assert tools == list_tools(load_servers(path), LAUNCHER)
    assert [note for note in said if "NOT CONTAINED" in note] == said != []
    assert not running(tmp_path)


def telling_late(say: Callable[[str], None]) -> ServerLauncher:
    """Tell of each server when it has ended, as a sandbox may."""

    def launcher(config: ServerConfig) -> Start:
        start = contained_launcher(say)(config)

        @asynccontextmanager
        async def started(name: str, *how: Any) -> AsyncIterator[Any]:
            async with start(name, *how) as session:
                yield session
            await anyio.sleep(0.3)
            say(f"{name} has ended")

        return started

    return launcher


@pytest.mark.parametrize("fails", [False, True])
def test_what_is_seen_of_a_server_at_its_end_is_told(tmp_path: Path, *, fails: bool) -> None:
    path = written(tmp_path, one=entry("good"), two=entry("good"))
    said: list[str] = []

    def use() -> None:
        with listing_ahead(path, telling_late) as ahead, ahead.telling():
            list_tools(load_servers(path), unused, read=ahead.reader(said.append))
            if fails:
                raise ServerFailedError("another")

    with pytest.raises(ServerFailedError) if fails else nullcontext():
        use()
    assert sorted(note for note in said if "has ended" in note) == ["one has ended", "two has ended"]


def test_another_configuration_than_the_one_that_was_read_is_read_anew(tmp_path: Path) -> None:
    with listing_ahead(written(tmp_path, one=entry("good")), contained_launcher) as ahead:
        changed = load_servers(written(tmp_path, one=entry("more")))
        tools = list_tools(changed, LAUNCHER, read=ahead.reader(lambda _: None))
    assert [tool.name for tool in tools["one"]] == ["read_note", "list_tags", "count_notes"]


@pytest.mark.parametrize("content", ["{", '{"mcpServers": {}}'])
def test_a_file_that_cannot_be_used_is_left_to_who_reads_it(tmp_path: Path, content: str) -> None:
    path = tmp_path / "mcp-servers.json"
    path.write_text(content)
    with listing_ahead(path, contained_launcher) as ahead:
        path = written(tmp_path, one=entry("good"))
        assert list_tools(load_servers(path), LAUNCHER, read=ahead.reader(lambda _: None))


def test_a_server_with_a_saved_list_is_not_started(tmp_path: Path) -> None:
    path = written(tmp_path, one=entry("dies", tools="one.json"))
    (tmp_path / "one.json").write_text('{"tools": []}')
    with listing_ahead(path, incapable, saved=True) as ahead:
        read = ahead.reader(lambda _: None)
        assert list_tools(load_servers(path), unused, saved=True, read=read) == {"one": ListedServer()}


def test_what_is_wrong_with_a_server_is_raised_where_its_list_is_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, one=entry("dies"), two=entry("good"))
    with listing_ahead(path, contained_launcher) as ahead, pytest.raises(ServerFailedError) as caught:
        list_tools(load_servers(path), unused, read=ahead.reader(lambda _: None))
    assert str(caught.value.where) == "one"
    assert not running(tmp_path)


def test_that_servers_cannot_be_contained_is_raised_where_lists_are_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, one=entry("good"))
    with listing_ahead(path, incapable) as ahead, pytest.raises(SandboxMissingError, match=WHY):
        list_tools(load_servers(path), unused, read=ahead.reader(lambda _: None))


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are found in /proc")
@pytest.mark.parametrize("error", [KeyboardInterrupt(), ServerFailedError("another")])
def test_an_error_ends_servers_that_hang(tmp_path: Path, error: BaseException) -> None:
    def fail() -> None:
        with listing_ahead(written(tmp_path, one=entry("hangs")), contained_launcher):
            wait_for(lambda: running(tmp_path))
            raise error

    with pytest.raises(type(error)):
        fail()
    wait_for(lambda: not running(tmp_path))


def test_an_interrupt_ends_the_trial_of_the_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs, started, main = tmp_path / "bin", tmp_path / "pid", threading.get_ident()
    programs.mkdir(mode=0o755)
    trial = programs / "bwrap"
    trial.write_text(f"#!/bin/sh\nsleep 600 & echo $! > {started}.new; mv {started}.new {started}; wait\n")
    trial.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")

    def interrupt() -> None:
        wait_for(started.exists)
        signal.pthread_kill(main, signal.SIGINT)

    def read() -> None:
        with listing_ahead(written(tmp_path, one=entry("good", sandbox={})), contained_launcher):
            pytest.fail("it was not interrupted")

    with ThreadPoolExecutor(1) as person:
        person.submit(interrupt)
        with pytest.raises(KeyboardInterrupt):
            read()
    tried = int(started.read_text())
    wait_for(lambda: not is_alive(tried))
