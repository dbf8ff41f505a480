"""Reading tool lists from the servers of a configuration: live over stdio, or from saved files.

How a server is started, and what is said when it fails, stands in `connect`.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from ironcurtain.errors import IronCurtainError, ServerConfigError, raise_all
from ironcurtain.model.servers import Server
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.connect import cause, failed, parameters
from ironcurtain.servers.saved import read_saved_tools
from ironcurtain.servers.tools import ToolListing, check_tools
from ironcurtain.text import quoted

DEFAULT_TIMEOUT = 60.0
"""Seconds that a server has to start and to list its tools."""

_MAX_PAGES = 100

Tools = dict[str, tuple[ToolListing, ...]]
"""The tools of each server, by server name, sorted by name."""


def list_tools(
    config: ServerConfig,
    *,
    only: Iterable[str] | None = None,
    saved: bool = False,
    timeout: float = DEFAULT_TIMEOUT,
) -> Tools:
    """Read the tool lists of all servers (or of those named), live ones side by side.

    Args:
        config: The servers.
        only: Names of the servers to read; all by default.
        saved: Prefer a server's saved `tools` file where it has one.
        timeout: Seconds for each live server.

    Raises:
        ServerConfigError: For a server that is not configured, or has a `url` and no saved tools.
        ServerFailedError: For each server that does not start, dies, is too slow or lists nonsense.
    """
    names = sorted(config.servers if only is None else only)
    found: Tools = {}
    live: dict[str, Server] = {}
    for name in names:
        server = _configured(config, name)
        if server.tools and (saved or not server.command):
            found[name] = read_saved_tools(name, config.directory / server.tools)
        elif server.command:
            live[name] = server
        else:
            raise ServerConfigError(
                f"server {name} has a url; tool lists are read over stdio only",
                where=str(config.path),
                hint='Save its tools/list result to a file and name that file as "tools".',
            )
    found.update(anyio.run(_list_live, live, config.directory, timeout))
    _check_face_names(found, config)
    return dict(sorted(found.items()))


def _configured(config: ServerConfig, name: str) -> Server:
    if name not in config.servers:
        raise ServerConfigError(
            f"there is no server {quoted(name)}",
            where=str(config.path),
            hint=f"The file names: {', '.join(config.servers)}.",
        )
    return config.servers[name]


async def _list_live(servers: dict[str, Server], directory: Path, seconds: float) -> Tools:
    results = await asyncio.gather(*(_list_one(n, s, directory, seconds) for n, s in servers.items()))
    raise_all([error for errors, _ in results for error in errors])
    return {name: tools for name, (_, tools) in zip(servers, results, strict=True)}


async def _list_one(
    name: str, server: Server, directory: Path, seconds: float
) -> tuple[list[IronCurtainError], tuple[ToolListing, ...]]:
    """Return one server's tools or what is wrong with it; errors are values so that none hides another's."""
    with tempfile.TemporaryFile() as stderr:
        try:
            program = parameters(name, server, directory)
            async with asyncio.timeout(seconds):
                tools = await _ask(program, stderr)
        except TimeoutError:
            return [failed(name, f"gave no tool list within {seconds:g} seconds", stderr)], ()
        except IronCurtainError as error:
            return [error], ()
        except Exception as error:  # noqa: BLE001 - whatever the SDK raises, this server failed
            return [failed(name, f"failed: {cause(error)}", stderr)], ()
    errors = check_tools(name, tools)
    return errors, () if errors else tools


async def _ask(program: StdioServerParameters, stderr: IO[bytes]) -> tuple[ToolListing, ...]:
    tools: list[ToolListing] = []
    cursor: str | None = None
    async with Client(stdio_client(program, errlog=stderr), mode="auto", cache=None) as client:  # type: ignore[arg-type]
        for _ in range(_MAX_PAGES):
            page = await client.list_tools(cursor=cursor)
            tools += [
                ToolListing(
                    name=tool.name,
                    description=tool.description or "",
                    input_schema=tool.input_schema,
                    annotations=tool.annotations.model_dump(mode="json", by_alias=True, exclude_none=True)
                    if tool.annotations
                    else {},
                )
                for tool in page.tools
            ]
            cursor = page.next_cursor
            if cursor is None:
                return tuple(tools)
    raise ValueError(f"tools/list has more than {_MAX_PAGES} pages")


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
