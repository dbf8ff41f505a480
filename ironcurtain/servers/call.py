"""Calling one tool of an MCP server, at compile time, to resolve a list.

What a server answers is data written by strangers: it is bounded, parsed strictly and never shown raw.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import anyio
from mcp import Client
from mcp.types import CallToolResult, TextContent

from ironcurtain.errors import IronCurtainError, ServerConfigError, ServerFailedError
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.connect import LastWords, cause, parameters
from ironcurtain.servers.launching import ServerLauncher
from ironcurtain.servers.session_lists import is_of_handshake, read_list
from ironcurtain.servers.stdio_transport import connect_pipes
from ironcurtain.servers.tool_lists.listed_tool import TOOLS, read_tools
from ironcurtain.servers.tool_lists.listing import DEFAULT_TIMEOUT
from ironcurtain.servers.tools import ToolListing
from ironcurtain.servers.unchecked_call import call_unchecked
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import replace
from ironcurtain.system.text import quoted, visible

MAX_RESULT_BYTES = 8 << 20
_SHOWN = 200


def call_tool(
    config: ServerConfig,
    launcher: ServerLauncher,
    server: str,
    tool: str,
    arguments: dict[str, JsonValue],
    is_expected: Callable[[ToolListing], bool],
) -> JsonValue:
    """Call a tool and return its result as JSON: structured content, or else its text parsed as JSON.

    Several texts that are JSON each become an array.

    Args:
        config: Where the server is configured.
        launcher: Makes ready to start it, contained if that is wanted.
        server: The server's name.
        tool: The tool's name there.
        arguments: What it is called with, as they are.
        is_expected: Tells whether the tool, as the process that is called lists it, is the one that is meant.

    Raises:
        ServerConfigError: If the server is not configured with a command.
        SandboxMissingError: If it has to be contained and cannot be.
        ServerFailedError: If it fails, is too slow, lists another tool of that name or none, refuses the
            call, or answers with anything but JSON.
    """
    configured = config.servers.get(server)
    if configured is None or not configured.command:
        raise ServerConfigError(
            f"the server {quoted(server)} is not started over stdio, and no tool of it can be called",
            where=str(config.path),
        )
    words = LastWords()
    try:
        program = parameters(server, config)
        start = launcher(replace(config, servers={server: configured}))

        async def ask() -> CallToolResult:
            streams = start(server, program, words.line, words.end, connect_pipes)
            async with asyncio.timeout(DEFAULT_TIMEOUT), Client(streams, mode="auto", cache=None) as client:
                await _check_listed(client, server, tool, is_expected)
                return await call_unchecked(client, tool, arguments)

        result = anyio.run(ask)
    except IronCurtainError:
        raise
    except TimeoutError:
        raise words.failed(server, f"gave no answer within {DEFAULT_TIMEOUT:g} seconds") from None
    except Exception as error:  # noqa: BLE001 - whatever the SDK raises, this server failed
        raise words.failed(server, f"failed: {cause(error)}") from None
    return _content(server, tool, result)


async def _check_listed(
    client: Client, server: str, tool: str, is_expected: Callable[[ToolListing], bool]
) -> None:
    """Refuse a tool that is not listed as expected: each start of a server can list another one."""
    listed, _ = await read_list(client.session, TOOLS, seconds=DEFAULT_TIMEOUT)
    tools, _ = read_tools(listed, of_handshake=is_of_handshake(client.session))
    if any(each.name == tool and is_expected(each) for each in tools):
        return
    raise ServerFailedError(
        f"the tool {quoted(tool)} is another one whenever the server is started; it was not called",
        where=server,
        hint="Choose another tool, or keep the list by hand.",
    )


def _content(server: str, tool: str, result: CallToolResult) -> JsonValue:
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    if result.is_error:
        raise ServerFailedError(
            f"the tool {quoted(tool)} refused the call: {visible(' '.join(texts))[:_SHOWN]}", where=server
        )
    structured: JsonValue = result.structured_content
    if structured is not None:
        return structured
    if sum(map(len, texts)) > MAX_RESULT_BYTES:
        raise ServerFailedError(f"the tool {quoted(tool)} answered more than 8 MiB", where=server)
    try:
        values = [json_text.parse(text, max_bytes=MAX_RESULT_BYTES, any_double=True) for text in texts]
    except json_text.MalformedJsonError as error:
        raise ServerFailedError(
            f"the tool {quoted(tool)} answered with text that is no JSON: {visible(str(error))[:_SHOWN]}",
            where=server,
            hint="Choose another tool, or keep the list by hand.",
        ) from None
    return values[0] if len(values) == 1 else values
