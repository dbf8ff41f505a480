"""A server's row: its tools and one call, directly and behind the proxy, by a plain client of the MCP SDK."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from field.person import ROUNDS, Person
from field.place import HOMES, SCRATCH, CommandError, Home, install
from field.rows import ServerRow, filled
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

STARTS = 2
"""How often a server is started each way for the times."""

LONGEST = 180
"""Seconds that a visit may take, on a busy machine."""


@dataclass
class Visit:
    """What one start of a server, or of the proxy in front of it, gave.

    Attributes:
        seconds: From the start to its tools.
        tools: Their names, or None if it failed before.
        result: What the call gave.
        message: Why it failed, if it did.
    """

    seconds: float = 0
    tools: list[str] | None = None
    result: dict[str, Any] | None = None
    message: str = ""


@dataclass
class ServerResult:
    """A row's result.

    Attributes:
        refusal: Rule and reason for which the wrapped call was not permitted, if it was not.
        hidden: What the proxy said of tools that it withholds.
        mended: Commands that a message named and that were typed.
        times: Seconds to the tools, directly and wrapped, of interleaved starts.
    """

    direct: Visit
    wrapped: Visit = field(default_factory=Visit)
    refusal: str = ""
    hidden: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)
    times: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))

    @property
    def equal(self) -> bool:
        """Tell whether the call gave the same both times."""
        return self.direct.result is not None and self.direct.result == self.wrapped.result


def run(name: str, row: ServerRow) -> ServerResult:
    """Run a server both ways, in turn."""
    place = HOMES / name
    shutil.rmtree(place, ignore_errors=True)
    home = Home(place / "d")
    try:
        program = install(name, row)
    except CommandError as error:
        return ServerResult(Visit(message=str(error)))
    entry = filled({"command": str(program), "args": row.args, "env": row.env}, {"home": str(home.path)})
    direct = _visit(entry, home, row.call[0], row)
    if direct.tools is None:
        return ServerResult(direct)
    # What IronCurtain fetches stays for the next run.
    person = Person(Home(place / "w", {"XDG_DATA_HOME": str(SCRATCH / "data")}))
    try:
        wrapped = _wrapped(name, row, person, program)
        used = _use(name, row, person, wrapped, direct)
        hidden = re.findall(r"(tool \"[^\n]* is hidden: [^\n]*)", person.home.typed[-1])
        result = ServerResult(direct, used, person.refusal(), hidden, person.mended)
        if result.wrapped.tools is not None:
            result.times = ([direct.seconds], [result.wrapped.seconds])
            for _ in range(1, STARTS):
                result.times[0].append(_visit(entry, home).seconds)
                result.times[1].append(_visit(wrapped, person.home).seconds)
    except CommandError as error:
        result = ServerResult(direct, Visit(message=str(error)), mended=person.mended)
    (place / "typed.txt").write_text("\n".join(person.home.typed))
    return result


def _wrapped(name: str, row: ServerRow, person: Person, program: Path) -> Any:
    """Wrap a client that has the server as its documentation says; return the entry that it then has."""
    words = [str(program)]
    if row.fetched:
        words = ["npx", "-y", row.npm] if row.npm else ["uvx", row.pypi or ""]
    command, *args = [*words, *row.args]
    servers = {name: {"command": command, "args": args, "env": row.env}}
    client = person.home.path / "work" / "client.json"
    document = filled({"mcpServers": servers}, {"home": str(person.home.path)})
    client.write_text(json.dumps(document, indent=2))
    person.make_policy(document["mcpServers"])
    person.wrap(str(client))
    (entry,) = json.loads(client.read_text())["mcpServers"].values()
    return entry


def _use(name: str, row: ServerRow, person: Person, entry: Any, direct: Visit) -> Visit:
    """Use the wrapped server; mend what the proxy says how to mend."""
    for _ in range(ROUNDS):
        visit = _visit(entry, person.home, f"{name}__{row.call[0]}", row)
        said = (person.home.path / "stderr").read_text(errors="replace")
        person.home.typed.append(f"proxy: {said}\n{visit}")
        if visit.result == direct.result or not person.mend(said + json.dumps(visit.result)):
            break
    return visit


def _visit(entry: Any, home: Home, tool: str = "", row: ServerRow | None = None) -> Visit:
    """Start a server, list its tools and call one; a failure is part of what is returned."""
    visit, errors = Visit(), home.path / "stderr"
    parameters = StdioServerParameters(
        command=entry["command"],
        args=entry["args"],
        env=home.environment(**entry.get("env", {})),
        cwd=home.path / "work",
    )

    async def go() -> None:
        with errors.open("w") as stderr, anyio.fail_after(LONGEST):
            begun = time.monotonic()
            async with Client(stdio_client(parameters, errlog=stderr), mode="legacy", cache=None) as client:
                visit.tools = [each.name async for each in _listed(client)]
                visit.seconds = time.monotonic() - begun
                if row is not None:
                    arguments = filled(row.call[1], {"home": str(home.path)})
                    visit.result = await _called(client, tool, arguments, home)

    try:
        anyio.run(go)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        said = " ".join(errors.read_text(errors="replace").split())
        visit.message = f"{_first(error)}; it wrote: {said[-600:]}"
    return visit


async def _listed(client: Client) -> AsyncIterator[Any]:
    cursor = None
    while True:
        page = await client.list_tools(cursor=cursor)
        for each in page.tools:
            yield each
        if (cursor := page.next_cursor) is None:
            return


def _first(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


async def _called(client: Client, tool: str, arguments: dict[str, Any], home: Home) -> dict[str, Any]:
    """Return what a call gives, an error too, in a form that can be compared."""
    try:
        result = await client.call_tool(tool, arguments)
    except MCPError as error:
        text = json.dumps({"isError": True, "error": error.error.message})
    else:
        text = result.model_dump_json(by_alias=True, exclude_none=True, exclude={"meta", "result_type"})
    document: dict[str, Any] = json.loads(text.replace(str(home.path), "~"))
    return document
