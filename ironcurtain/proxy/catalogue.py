"""The tools that a running server lists: as it wrote them, and by the digest of what was annotated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import mcp_types as types
from mcp.client.session import ClientSession
from mcp_types import PaginatedRequestParams

from ironcurtain.servers.tools import ToolListing, check_tools, tool_digest
from ironcurtain.text import quoted

_MAX_PAGES = 100


@dataclass(frozen=True)
class Catalogue:
    """One reading of a server's tool list.

    Attributes:
        tools: By name, in the server's order; only those that can be used.
        digests: Of each tool's name, description and input schema.
        problems: What was wrong with the others, in plain words.
    """

    tools: Mapping[str, types.Tool] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


async def read_tools(server: str, session: ClientSession) -> Catalogue:
    """Read all pages of a server's tool list.

    Raises:
        MCPError, ValidationError: As the session does.
        ValueError: If the list has no end.
    """
    listed: list[types.Tool] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor) if cursor else None)
        listed += page.tools
        cursor = page.next_cursor
        if cursor is None:
            return _catalogue(server, listed)
    raise ValueError(f"tools/list has more than {_MAX_PAGES} pages")


def _catalogue(server: str, listed: list[types.Tool]) -> Catalogue:
    """Keep the usable tools: one with a bad schema or a second one of a name costs itself, not its server."""
    tools: dict[str, types.Tool] = {}
    digests: dict[str, str] = {}
    problems: list[str] = []
    twice = {tool.name for tool in listed if sum(other.name == tool.name for other in listed) > 1}
    problems += [f"lists two tools named {quoted(name)}; neither can be called" for name in sorted(twice)]
    for tool in listed:
        listing = ToolListing(
            name=tool.name, description=tool.description or "", input_schema=tool.input_schema
        )
        wrong = check_tools(server, [listing])
        problems += [error.what for error in wrong]
        if not wrong and tool.name not in twice:
            tools[tool.name] = tool
            digests[tool.name] = tool_digest(listing)
    return Catalogue(tools, digests, tuple(problems))
