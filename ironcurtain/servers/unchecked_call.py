"""Calling a tool without holding its answer to the schema that its server listed.

The SDK's client does that with Python's regular expressions: an answer that does not fit would be an error
of ours, and a pattern could keep us for ever, since no limit of time ends the search for it.
"""

from __future__ import annotations

from mcp import Client
from mcp.types import CallToolResult

from ironcurtain.system.frozen import JsonValue


async def call_unchecked(client: Client, tool: str, arguments: dict[str, JsonValue]) -> CallToolResult:
    """Call a tool; return its result, whether or not that is of the form that its server promised."""
    client.session.validate_tool_result = _taken  # type: ignore[method-assign] # the SDK has no setting for it
    return await client.call_tool(tool, arguments)


async def _taken(name: str, result: CallToolResult) -> None:
    """Take a result as it is."""
