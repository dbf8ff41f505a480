"""Reading tool lists from the servers of a configuration: live over stdio, or from saved files.

Live ones are read by `live`; how one is started, and what is said when it fails, stands in `connect`.

Reading tool lists from live servers, side by side.

Apart from `listing`, which loads it when there is a live server: the SDK takes a second to load.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

import anyio
from mcp import Client

from ironcurtain.errors import IronCurtainError, ServerConfigError, SeveralErrors, raise_all
from ironcurtain.gateway.gateway import load_gateway
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.config_model import Server
from ironcurtain.servers.connect import LastWords, ServerLauncher, Start, cause, parameters
from ironcurtain.servers.declared import declared_listing
from ironcurtain.servers.tools import ToolListing, check_tools, read_saved_tools
from ironcurtain.system.text import quoted, visible

DEFAULT_TIMEOUT = 60.0
"""Seconds that a server has to start and to list its tools."""

Tools = dict[str, tuple[ToolListing, ...]]
"""The tools of each server, by server name, sorted by name."""


def list_tools(
    config: ServerConfig,
    starter: ServerLauncher,
    *,
    only: Iterable[str] | None = None,
    saved: bool = False,
    timeout: float = DEFAULT_TIMEOUT,
) -> Tools:
    """Read the tool lists of all servers (or of those named), live ones side by side.

    Args:
        config: The servers.
        starter: Starts the live ones.
        only: Names of the servers to read; all by default.
        saved: Prefer a server's saved `tools` file where it has one.
        timeout: Seconds for each live server.

    Raises:
        ServerConfigError: For a server that is not configured, or has a `url` and no saved tools.
        ServerFailedError: For each server that does not start, dies, is too slow or lists nonsense.
        SandboxMissingError: If live ones have to be contained and cannot be.
    """
    names = sorted(config.servers if only is None else only)
    found: Tools = {}
    live: dict[str, Server] = {}
    for name in names:
        server = _configured(config, name)
        if server.gateway:
            tools = load_gateway(config.directory / server.gateway).tools.values()
            found[name] = tuple(sorted(map(declared_listing, tools), key=lambda tool: tool.name))
        elif server.tools and (saved or not server.command):
            found[name] = read_saved_tools(name, config.directory / server.tools)
        elif server.command:
            live[name] = server
        else:
            raise ServerConfigError(
                f"server {name} has a url; tool lists are read over stdio only",
                where=str(config.path),
                hint='Save its tools/list result to a file and name that file as "tools".',
            )
    if live:
        found.update(list_live(replace(config, servers=live), starter, timeout))
    _check_face_names(found, config)
    return dict(sorted(found.items()))


def list_reachable(
    config: ServerConfig,
    starter: ServerLauncher,
    *,
    only: Iterable[str] | None = None,
    timeout: float = DEFAULT_TIMEOUT,
) -> tuple[Tools, dict[str, list[IronCurtainError]]]:
    """Read the tool lists of all servers (or of those named); one that fails does not hide the others.

    Args:
        config: The servers.
        starter: Starts the live ones.
        only: Names of the servers to read; all by default.
        timeout: Seconds for each live server.

    Returns:
        The tools of those that could be read, and by name what is wrong with the others.

    Raises:
        ServerConfigError: For a name that is not configured.
        SandboxMissingError: If live ones have to be contained and cannot be.
    """
    names = sorted(config.servers if only is None else only)
    live = {name: _configured(config, name) for name in names if _configured(config, name).command}
    found: Tools = {}
    failed: dict[str, list[IronCurtainError]] = {}
    for name in (name for name in names if name not in live):
        try:
            found.update(list_tools(config, starter, only=[name]))
        except SeveralErrors as several:
            failed[name] = several.errors
        except IronCurtainError as error:
            failed[name] = [error]
    if live:
        for name, (errors, tools) in list_each(replace(config, servers=live), starter, timeout).items():
            if errors:
                failed[name] = errors
            else:
                found[name] = tuple(sorted(tools, key=lambda tool: tool.name))
    return dict(sorted(found.items())), failed


def _configured(config: ServerConfig, name: str) -> Server:
    if name not in config.servers:
        raise ServerConfigError(
            f"there is no server {quoted(name)}",
            where=str(config.path),
            hint=f"The file names: {', '.join(config.servers)}.",
        )
    return config.servers[name]


def _check_face_names(tools: Tools, config: ServerConfig) -> None:
    """Refuse two tools whose names `server__tool` on an aggregated face are the same (`a_` `b`, `a` `_b`)."""
    seen: dict[str, str] = {}
    for server, listed in tools.items():
        for tool in listed:
            face = f"{server}__{tool.name}"
            if face in seen:
                raise ServerConfigError(
                    f"servers {seen[face]} and {server} both have a tool called {quoted(face)}",
                    where=str(config.path),
                    hint="Rename one of the servers.",
                )
            seen[face] = server


_MAX_PAGES = 100

Each = dict[str, tuple[list[IronCurtainError], tuple[ToolListing, ...]]]
"""By server what is wrong with it, and its tools; one of them is empty."""


def list_live(
    config: ServerConfig, starter: ServerLauncher, seconds: float
) -> dict[str, tuple[ToolListing, ...]]:
    """Start the servers of a configuration and read their tool lists.

    Args:
        config: Servers that have a command, each.
        starter: Starts them.
        seconds: Time for each server.

    Raises:
        ServerFailedError: For each server that does not start, dies, is too slow or lists nonsense.
        SandboxMissingError: If they have to be contained and cannot be.
    """
    results = list_each(config, starter, seconds)
    for name, (errors, _) in results.items():
        for error in errors:
            error.hint = f"{error.hint} {_without_it(config.servers[name])}".strip()
    raise_all([error for errors, _ in results.values() for error in errors])
    return {name: tools for name, (_, tools) in results.items()}


def _without_it(server: Server) -> str:
    """Say how to compile where the server cannot run."""
    if server.tools:
        return f"`compile --saved-tools` reads its tools from {visible(server.tools)} instead."
    return (
        "Where it cannot run, save what `ironcurtain tools` prints elsewhere, name the file as its "
        '"tools", and compile with --saved-tools.'
    )


def list_each(config: ServerConfig, starter: ServerLauncher, seconds: float) -> Each:
    """Start servers and return, for each, what is wrong with it and its tools; one of them is empty.

    The arguments are those of `list_live`.

    Raises:
        SandboxMissingError: If they have to be contained and cannot be.
    """
    return anyio.run(_list_all, config, starter(config), seconds)


async def _list_all(config: ServerConfig, start: Start, seconds: float) -> Each:
    results = await asyncio.gather(*(_list_one(config, name, start, seconds) for name in config.servers))
    return dict(zip(config.servers, results, strict=True))


async def _list_one(
    config: ServerConfig, name: str, start: Start, seconds: float
) -> tuple[list[IronCurtainError], tuple[ToolListing, ...]]:
    """Return one server's tools or what is wrong with it; errors are values so that none hides another's."""
    words = LastWords()
    try:
        program = parameters(name, config)
        async with (
            asyncio.timeout(seconds),
            Client(start(name, program, words.line, words.end), mode="auto", cache=None) as client,
        ):
            tools = await _all_tools(client)
    except TimeoutError:
        return [words.failed(name, f"gave no tool list within {seconds:g} seconds")], ()
    except IronCurtainError as error:
        return [error], ()
    except Exception as error:  # noqa: BLE001 - whatever the SDK raises, this server failed
        return [words.failed(name, f"failed: {cause(error)}")], ()
    errors = check_tools(name, tools)
    return errors, () if errors else tools


async def _all_tools(client: Client) -> tuple[ToolListing, ...]:
    tools: list[ToolListing] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += [
            ToolListing.of(tool.model_dump(mode="json", by_alias=True, exclude_none=True))
            for tool in page.tools
        ]
        cursor = page.next_cursor
        if cursor is None:
            return tuple(tools)
    raise ValueError(f"tools/list has more than {_MAX_PAGES} pages")
