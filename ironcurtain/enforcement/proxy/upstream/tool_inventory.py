"""The tools that a running server lists: as it wrote them, and by the digest of what was annotated.

A server says itself when they changed, as often as it likes, and lists what it likes; what that costs must
not keep others waiting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property

import anyio
import mcp_types as types
from anyio import from_thread, to_thread
from mcp.client.session import ClientSession
from mcp_types import PaginatedRequestParams

from ironcurtain.enforcement.proxy.upstream.events import UpstreamEvents, UpstreamLimits
from ironcurtain.model.varying import Varying
from ironcurtain.servers.connect import cause
from ironcurtain.servers.tools import MAX_TOOLS, ToolListing, check_tools, tool_digest
from ironcurtain.system.structs import Struct, field, replace
from ironcurtain.system.text import quoted

_MAX_PAGES = 100
_MOST_TOLD = 10
_MOST_FIRST = 20 * MAX_TOOLS


class ToolInventory(Struct):
    """One reading of a server's tool list.

    Attributes:
        tools: By name, in the server's order; only those that can be used.
        listed: The same, as they are compared with their annotations.
        digests: Of each tool's name, description and input schema.
        listings: Of all that a client is told of each tool.
        altered: Tools of which clients were told something else at first; their digest is no other tool's.
        problems: What was wrong with the others, in plain words.
    """

    tools: Mapping[str, types.Tool] = field(default_factory=dict)
    listed: Mapping[str, ToolListing] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    listings: Mapping[str, str] = field(default_factory=dict)
    altered: frozenset[str] = frozenset()
    problems: tuple[str, ...] = ()

    def settled(self, varying: tuple[Varying, ...]) -> ToolInventory:
        """Return the reading with the digests of tools whose texts that vary are as they were annotated."""
        if not varying:
            return self
        if varying not in self._settled:
            self._settled.clear()
            now = {name: tool.settled(varying) for name, tool in self.listed.items()}
            own = {name: tool_digest(tool) for name, tool in now.items() if name not in self.altered}
            listings = {name: tool.listing_digest or "" for name, tool in now.items()}
            self._settled[varying] = replace(self, digests={**self.digests, **own}, listings=listings)
        return self._settled[varying]

    @cached_property
    def _settled(self) -> dict[tuple[Varying, ...], ToolInventory]:
        return {}


async def read_tools(server: str, session: ClientSession) -> ToolInventory:
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
        if cursor is None or len(listed) > MAX_TOOLS:
            return await to_thread.run_sync(inventory_of, server, listed)
    raise ValueError(f"tools/list has more than {_MAX_PAGES} pages")


def inventory_of(server: str, listed: Sequence[types.Tool]) -> ToolInventory:
    """Keep the usable tools: one with a bad schema or a second one of a name costs itself, not its server."""
    tools: dict[str, types.Tool] = {}
    usable: dict[str, ToolListing] = {}
    digests: dict[str, str] = {}
    listings: dict[str, str] = {}
    problems: list[str] = []
    if len(listed) > MAX_TOOLS:
        problems.append(f"lists more than {MAX_TOOLS:,} tools; the others cannot be called")
    kept = listed[:MAX_TOOLS]
    twice = {name for name, count in Counter(tool.name for tool in kept).items() if count > 1}
    problems += [f"lists two tools named {quoted(name)}; neither can be called" for name in sorted(twice)]
    for tool in kept:
        from_thread.check_cancelled()  # a schema may take a second
        try:
            listing = ToolListing.of(tool.model_dump(mode="json", by_alias=True, exclude_none=True))
        except ValueError:
            problems.append(f"tells of {quoted(tool.name)} in what is no strict JSON; it cannot be called")
            continue
        wrong = check_tools(server, [listing])
        problems += [error.what for error in wrong]
        if not wrong and tool.name not in twice:
            tools[tool.name], usable[tool.name] = tool, listing
            digests[tool.name] = tool_digest(listing)
            listings[tool.name] = listing.listing_digest or ""
    return ToolInventory(tools, usable, digests, listings, problems=_few(problems))


def _few(problems: Sequence[str]) -> tuple[str, ...]:
    more = len(problems) - _MOST_TOLD
    return (*problems[:_MOST_TOLD], *([f"and {more:,} more like these"] if more > 0 else []))


class LiveToolInventory:
    """What a server lists, read again whenever it says that it changed.

    Attributes:
        current: The newest reading; None before the first.
    """

    def __init__(self, server: str, events: UpstreamEvents, limits: UpstreamLimits) -> None:
        self.current: ToolInventory | None = None
        self._server, self._events, self._limits = server, events, limits
        # What clients were first told of each tool, by its name and digest.
        self._first: dict[tuple[str, str], str] = {}
        # How many times the server has said so, and how many of these the newest reading came after.
        self._said = self._heeded = 0
        self._news, self._read = anyio.Event(), anyio.Event()

    def changed(self) -> None:
        """Take the server's word that its tools changed."""
        self._said += 1
        self._news.set()

    def abandon(self) -> None:
        """Wait for no reading any more: the server is gone."""
        self._done(self._said)

    async def settled(self, seconds: float) -> None:
        """Wait until whatever the server has said so far has been heeded; bounded."""
        said = self._said
        if self._heeded >= said:
            return
        with anyio.move_on_after(seconds):
            while self._heeded < said:
                await self._read.wait()

    async def read(self, session: ClientSession) -> None:
        """Read the tools now.

        Raises:
            MCPError, ValidationError, ValueError: As `read_tools` does.
        """
        said, self._news = self._said, anyio.Event()
        offered = session.server_capabilities
        none = offered is None or offered.tools is None
        found = ToolInventory() if none else self._held(await read_tools(self._server, session))
        await to_thread.run_sync(found.settled, self._events.varying(self._server))  # it is kept
        self.current = found
        self._done(said)

    def _held(self, found: ToolInventory) -> ToolInventory:
        """Hold what clients are told of each tool against what they were told of it first.

        An annotation need not pin titles, hints, output schemas and icons. A tool of which these change
        while we run counts as another tool: its digest is then that of everything it tells.
        """
        digests = dict(found.digests)
        changed = [
            name for name, digest in digests.items() if self._is_new(name, digest, found.listings[name])
        ]
        digests.update({name: found.listings[name] for name in changed})
        problems = [f"tells clients something else of {quoted(name)} than at first" for name in changed]
        return replace(
            found,
            digests=digests,
            altered=frozenset(changed),
            problems=(*found.problems, *_few(problems)),
        )

    def _is_new(self, name: str, digest: str, listing: str) -> bool:
        """Tell whether clients were told something else of a tool first; too many tools all are new."""
        if len(self._first) < _MOST_FIRST:
            self._first.setdefault((name, digest), listing)
        return self._first.get((name, digest)) != listing

    async def keep(self, session: ClientSession) -> None:
        """Read the tools again when the server says that they changed; once for all that it said meanwhile.

        A list that cannot be read leaves no tool, and is tried again.
        """
        pause = self._limits.first_pause
        while True:
            await self._news.wait()
            before, began = self.current, anyio.current_time()
            if fault := await self._fault(session):
                self._news.set()
                self._tell(f"its tools cannot be read: {fault}; tried again in {pause:g} s")
                rest, pause = pause, min(pause * 2, self._limits.longest_pause)
            else:
                took = anyio.current_time() - began
                rest, pause = max(self._limits.rest, min(took, self._limits.pulse)), self._limits.first_pause
            if self.current != before:
                self.tell_problems()
                await self._events.changed(self._server, "tools")
            await anyio.sleep(rest)

    def tell_problems(self) -> None:
        """Tell the person who started the proxy which tools cannot be used."""
        for problem in self.current.problems if self.current else ():
            self._tell(problem)

    async def _fault(self, session: ClientSession) -> str:
        """Read the tools; return why that failed, if it did."""
        said = self._said
        try:
            with anyio.fail_after(self._limits.start):
                await self.read(session)
        except TimeoutError:
            fault = f"it did not list them within {self._limits.start:g} seconds"
        except Exception as error:  # noqa: BLE001 - whatever a server causes is its own fault
            fault = cause(error)
        else:
            return ""
        self.current = ToolInventory()
        self._done(said)
        return fault

    def _done(self, said: int) -> None:
        self._heeded = max(self._heeded, said)
        self._read.set()
        self._read = anyio.Event()

    def _tell(self, text: str) -> None:
        self._events.say(f"server {self._server}: {text}")
