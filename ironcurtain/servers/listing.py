"""Reading tool lists from the servers of a configuration: live over stdio, or from saved files.

This module alone imports `mcp` on the compile side. A server's standard error goes to a temporary file;
only its last lines are ever shown, escaped, inside an error.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from mcp import Client, StdioServerParameters
from mcp.client.stdio import get_default_environment, stdio_client

from ironcurtain.errors import IronCurtainError, ServerConfigError, ServerFailedError, raise_all
from ironcurtain.model.servers import Server
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.saved import read_saved_tools
from ironcurtain.servers.tools import ToolListing, check_tools
from ironcurtain.text import quoted, visible

DEFAULT_TIMEOUT = 60.0
"""Seconds that a server has to start and to list its tools."""

_MAX_PAGES = 100
_TAIL_BYTES = 4_096
_TAIL_LINES = 5

# The SDK logs what it cannot parse; without a handler Python would print that on our standard error.
logging.getLogger("mcp").addHandler(logging.NullHandler())
logging.getLogger("client").addHandler(logging.NullHandler())

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
    found.update(asyncio.run(_list_live(live, config.directory, timeout)))
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
            parameters = _parameters(name, server, directory)
            async with asyncio.timeout(seconds):
                tools = await _ask(parameters, stderr)
        except TimeoutError:
            return [_failed(name, f"gave no tool list within {seconds:g} seconds", stderr)], ()
        except IronCurtainError as error:
            return [error], ()
        except Exception as error:  # noqa: BLE001 - whatever the SDK raises, this server failed
            return [_failed(name, f"failed: {_cause(error)}", stderr)], ()
    errors = check_tools(name, tools)
    return errors, () if errors else tools


def _parameters(name: str, server: Server, directory: Path) -> StdioServerParameters:
    cwd = directory / (server.cwd or "")
    if not cwd.is_dir():
        raise ServerFailedError(f"the working directory {quoted(str(cwd))} does not exist", where=name)
    environment = get_default_environment() | server.env
    command = server.command or ""
    program = str(cwd / command) if "/" in command else command
    if shutil.which(program, path=environment.get("PATH")) is None:
        raise ServerFailedError(
            f"the server does not start: the command {quoted(command)} was not found",
            where=name,
            hint="Install it, or write its absolute path.",
        )
    return StdioServerParameters(command=program, args=list(server.args), env=environment, cwd=cwd)


async def _ask(parameters: StdioServerParameters, stderr: IO[bytes]) -> tuple[ToolListing, ...]:
    tools: list[ToolListing] = []
    cursor: str | None = None
    async with Client(stdio_client(parameters, errlog=stderr), mode="auto", cache=None) as client:  # type: ignore[arg-type]
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


def _failed(name: str, what: str, stderr: IO[bytes]) -> ServerFailedError:
    """Make the error for a server, with the last lines that it wrote to its standard error."""
    stderr.seek(0, 2)
    stderr.seek(max(0, stderr.tell() - _TAIL_BYTES))
    lines = stderr.read().decode("utf-8", "replace").split("\n")
    shown = [visible(line.rstrip("\r"))[:300] for line in lines if line.strip()][-_TAIL_LINES:]
    hint = "It last wrote: " + " | ".join(shown) if shown else "It wrote nothing to its standard error."
    return ServerFailedError(f"the server {what}", where=name, hint=hint)


def _cause(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = visible(str(error)).strip()
    return f"{text[:300]} ({type(error).__name__})" if text else type(error).__name__


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
