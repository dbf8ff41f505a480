"""What clients call the tools and prompts of servers behind one endpoint: `server__tool`.

No server's name holds `__`, but one may end in `_`. So a name is taken apart by the servers that there are.
"""

from __future__ import annotations

from collections.abc import Iterable

_SEPARATOR = "__"


def endpoint_name(server: str, name: str) -> str:
    """Return what clients call something of a server."""
    return f"{server}{_SEPARATOR}{name}"


def split_endpoint_name(name: str, servers: Iterable[str]) -> tuple[str, str]:
    """Return the server of what clients call so, and its name there; an empty server where there is none."""
    known = [server for server in servers if name.startswith(endpoint_name(server, ""))]
    server = max(known, key=len, default="")
    return (server, name.removeprefix(endpoint_name(server, ""))) if server else ("", name)
