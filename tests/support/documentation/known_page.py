"""The list of well-known servers, which `make docs` puts below the text of `docs/known-servers.md`."""

from __future__ import annotations

from ironcurtain.compiler.annotate.known import KnownServers, shipped_collection
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.known import KnownServer
from ironcurtain.servers.tools import tool_digest

_TABLE = """| server | package | version | tools | roles to declare |
|---|---|---|---|---|
"""


def tables() -> str:
    """Return the list in Markdown: a table of the servers, and a section for each with its tools."""
    collection = shipped_collection()
    count = sum(len(collection.listed(server, server.versions[-1])) for server in collection.servers)
    head = f"\nCovered: {count} tools of {len(collection.servers)} servers.\n\n{_TABLE}"
    rows = "".join(_row(server) for server in collection.servers)
    return head + rows + "".join(_section(collection, server) for server in collection.servers)


def _row(server: KnownServer) -> str:
    roles = ", ".join(f"`{role.name}`" for role in server.roles)
    return (
        f"| [{server.server}](#{server.server}) | `{server.package.name}` ({server.package.registry}) "
        f"| {', '.join(_numbers(server))} | {len({tool.tool for tool in server.tools})} | {roles} |\n"
    )


def _numbers(server: KnownServer) -> list[str]:
    return list(dict.fromkeys(version.partition("~")[0] for version in server.versions))


def _section(collection: KnownServers, server: KnownServer) -> str:
    latest = {tool_digest(tool) for tool in collection.listed(server, server.versions[-1])}
    tools = "".join(_line(tool) for tool in server.tools if tool.schema_digest in latest)
    condition = (
        f"Contained if {server.contained_if}; a person confirms it.\n\n" if server.contained_if else ""
    )
    return f"\n## {server.server}\n\n{condition}{tools}"


def _line(tool: ToolAnnotation) -> str:
    parts = ["side effects" if tool.side_effects else "no side effects"]
    parts += ["contained"] if tool.contained else []
    parts += [f"`{c.with_.join(c.join)}` {c.role}" for c in tool.composites]
    parts += [
        f"`{argument.name}` {' and '.join(argument.possible_roles)}"
        for argument in tool.args
        if argument.possible_roles != ("none",)
    ]
    comment = f" {tool.comment}" if tool.comment else ""
    return f"- `{tool.tool}`: {'; '.join(parts)}.{comment}\n"
