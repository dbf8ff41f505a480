"""Reading tool lists from live servers, over stdio, side by side.

Apart from `listing`, which loads it when there is a live server: the SDK takes a second to load.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import IO

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from ironcurtain.errors import IronCurtainError, raise_all
from ironcurtain.model.servers import Server
from ironcurtain.servers.connect import cause, failed, parameters
from ironcurtain.servers.tools import ToolListing, check_tools

_MAX_PAGES = 100


def list_live(
    servers: dict[str, Server], directory: Path, seconds: float
) -> dict[str, tuple[ToolListing, ...]]:
    """Start servers and read their tool lists.

    Args:
        servers: The servers by name, each with a command.
        directory: The directory that relative paths of the configuration start from.
        seconds: Time for each server.

    Raises:
        ServerFailedError: For each server that does not start, dies, is too slow or lists nonsense.
    """
    results = list_each(servers, directory, seconds)
    raise_all([error for errors, _ in results.values() for error in errors])
    return {name: tools for name, (_, tools) in results.items()}


def list_each(
    servers: dict[str, Server], directory: Path, seconds: float
) -> dict[str, tuple[list[IronCurtainError], tuple[ToolListing, ...]]]:
    """Start servers and return, for each, what is wrong with it and its tools; one of them is empty.

    The arguments are those of `list_live`.
    """
    return anyio.run(_list_all, servers, directory, seconds)


async def _list_all(
    servers: dict[str, Server], directory: Path, seconds: float
) -> dict[str, tuple[list[IronCurtainError], tuple[ToolListing, ...]]]:
    results = await asyncio.gather(*(_list_one(n, s, directory, seconds) for n, s in servers.items()))
    return dict(zip(servers, results, strict=True))


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
