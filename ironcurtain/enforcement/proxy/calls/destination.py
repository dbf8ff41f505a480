"""Where a call goes once it may: one interface for servers, the client, and calls that are only decided."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from ironcurtain.enforcement.proxy.upstream.out_of_reach import SeparateCall
from ironcurtain.system.frozen import JsonValue

ServerResult = dict[str, JsonValue]
"""What a server answers a request with, as JSON."""


class Destination(ABC):
    """Takes one call, at most once, with exactly the arguments that were evaluated."""

    is_tool = False
    """Whether the call is of a tool that a server lists."""

    is_read_only = False
    """Whether the tool's server says that it changes nothing."""

    @abstractmethod
    async def send(
        self, arguments: Mapping[str, JsonValue], alone: SeparateCall | None = None
    ) -> ServerResult:
        """Send the canonical arguments; return the result as it came.

        Args:
            arguments: The evaluated arguments.
            alone: Given where the call is sent to a server process of its own.

        Raises:
            UpstreamError: If there is no answer.
            MCPError: The receiver's own error.
        """

    async def current_digest(self, known: str) -> str | None:
        """Return the digest of the tool as its server lists it now; `known` is that of the decision."""
        return known
