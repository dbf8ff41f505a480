"""Destinations that speak MCP: an error of the protocol is the receiver's own answer."""

from __future__ import annotations

from mcp.shared.exceptions import MCPError

from ironcurtain.enforcement.calls.destination import Destination


class ToReceiver(Destination):
    """A server or a client, over a session of the protocol."""

    def own_error(self, error: Exception) -> str:
        """Return the code of an error of the protocol, for the log."""
        return f"error {error.error.code}" if isinstance(error, MCPError) else ""
