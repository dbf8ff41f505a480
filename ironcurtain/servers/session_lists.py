"""Reading the lists of a server over a session of the SDK, whose own methods refuse a page for one entry."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.client.session import ClientSession
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ironcurtain.servers.tool_lists.listed_tool import ListKind
from ironcurtain.servers.tool_lists.pages import read_pages
from ironcurtain.system.frozen import JsonValue


async def read_list(
    session: ClientSession, kind: ListKind, *, seconds: float
) -> tuple[list[JsonValue], tuple[str, ...]]:
    """Read a list within so many seconds, as `read_pages` does.

    Raises:
        MCPError: The server's own error; no answer.
        ValueError: If a page is none of the protocol.
    """

    async def ask(method: str, params: Mapping[str, JsonValue]) -> dict[str, Any]:
        data: dict[str, Any] = {"method": method, **({"params": {**params}} if params else {})}
        options: CallOptions = {"timeout": seconds}
        session._stamp(data, options)  # noqa: SLF001 - `send_request` would validate all entries at once
        return await session._dispatcher.send_raw_request(method, data.get("params"), options)  # noqa: SLF001

    try:
        async with asyncio.timeout(seconds):
            return await read_pages(kind, ask)
    except TimeoutError:
        raise MCPError(types.REQUEST_TIMEOUT, f"no whole list came within {seconds:g} seconds") from None


def is_of_handshake(session: ClientSession) -> bool:
    """Tell whether a protocol of the handshake era was agreed on."""
    return session.protocol_version not in MODERN_PROTOCOL_VERSIONS
