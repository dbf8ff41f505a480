"""The names under which clients and models see the tools and prompts of all servers behind one endpoint.

A tool is `server__tool` where the APIs of models take that behind the prefix that clients put before it; else
it is cut and ends in a digest. The name depends on server and tool alone. No server's name holds `__`, but
one may end in `_`: a full name is taken apart by the servers that there are.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator

from ironcurtain.system.text import visible

CLIENT_ENTRY = "ironcurtain"
"""The name of the proxy among a client's servers."""

_MAX_OF_MODELS = 64
_CLIENT_PREFIX = f"mcp__{CLIENT_ENTRY}__"
MAX_NAME = _MAX_OF_MODELS - len(_CLIENT_PREFIX)
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_DIGITS = 10
# A tool whose own name ends so gets a digest, too: none can take the name of another.
_DIGEST = re.compile(rf"__[0-9a-f]{{{_DIGITS}}}\Z")


def full_name(server: str, name: str) -> str:
    """Return the full name of something of a server."""
    return f"{server}__{name}"


def endpoint_name(server: str, tool: str) -> str:
    """Return the name under which clients see a tool, which APIs of models take behind a prefix."""
    full = full_name(server, tool)
    if len(full) <= MAX_NAME and not _NOT_IN_NAMES.search(full) and not _DIGEST.search(full):
        return full
    digest = hashlib.sha256(full.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return full_name(_NOT_IN_NAMES.sub("_", full)[: MAX_NAME - len("__") - _DIGITS], digest)


def split_full_name(name: str, servers: Iterable[str]) -> tuple[str, str]:
    """Return the server of a full name, and the name there; an empty server where there is none."""
    having = [server for server in servers if name.startswith(full_name(server, ""))]
    server = max(having, key=len, default="")
    return (server, name.removeprefix(full_name(server, ""))) if server else ("", name)


def split_endpoint_name(
    name: str, servers: Iterable[str], tools: Iterable[tuple[str, str]]
) -> tuple[str, str]:
    """Return the server and the tool that a client means, by the endpoint's name, in full, or by its own.

    Its own name is what pages of MCP Apps know; it counts where one server alone has a tool of that name.

    Args:
        name: The name that the client calls.
        servers: The servers that there are.
        tools: The tools that are known, as server and name.

    Returns:
        An empty server, and the name as it is, where there is no such server.
    """
    server, own = split_full_name(name, servers)
    if server and not _DIGEST.search(name):
        return server, own
    known = [*tools]
    for tool in known:
        if endpoint_name(*tool) == name:
            return tool
    having = set() if server else {tool for tool in known if tool[1] == name}
    return having.pop() if len(having) == 1 else (server, own)


def renamed_tools(tools: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a sentence for each tool that clients see under another name than its full one."""
    for server, tool in tools:
        if (name := endpoint_name(server, tool)) != full_name(server, tool):
            yield (
                f"{server}/{visible(tool)} is called {name}: with {_CLIENT_PREFIX} before it, as clients put "
                f"it, a model's API takes {_MAX_OF_MODELS} letters, digits, _ and -"
            )
