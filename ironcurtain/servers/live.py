"""Reading tool lists from live servers, side by side.

Apart from `listing`, which loads it when there is a live server: the SDK takes a second to load.
"""

from __future__ import annotations

import asyncio

import anyio
from mcp import Client

from ironcurtain.errors import IronCurtainError, raise_all
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.config_model import Server
from ironcurtain.servers.connect import LastWords, cause, parameters
from ironcurtain.servers.launching import ServerLauncher, Start
from ironcurtain.servers.tools import ToolListing, check_tools
from ironcurtain.system.text import visible

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
