"""The tools that a running server lists: as it wrote them, and by the digest of what was annotated.

A server says itself when they changed, as often as it likes, and lists what it likes; what that costs must
not keep others waiting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial

import anyio
from anyio import from_thread, to_thread
from mcp.client.session import ClientSession

from ironcurtain.enforcement.proxy.upstream.events import UpstreamEvents, UpstreamLimits
from ironcurtain.model.varying import Varying
from ironcurtain.servers.connect import cause
from ironcurtain.servers.session_lists import is_of_handshake, read_list
from ironcurtain.servers.tool_lists.listed_tool import TOOLS, read_tools
from ironcurtain.servers.tools import MAX_TOOLS, ToolListing, few, tool_digest
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, field, replace
from ironcurtain.system.text import quoted

_MOST_FIRST = 20 * MAX_TOOLS


class ToolInventory(Struct):
    """One reading of a server's tool list.

    Attributes:
        tools: By name, in the server's order; only those that can be used.
        digests: Of each tool's name, description and input schema.
        listings: Of all that a client is told of each tool.
        altered: Tools of which clients were told something else at first; their digest is no other tool's.
        problems: What is wrong with the others, in plain words.
    """

    tools: Mapping[str, ToolListing] = field(default_factory=dict)
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
            now = {name: tool.settled(varying) for name, tool in self.tools.items()}
            own = {name: tool_digest(tool) for name, tool in now.items() if name not in self.altered}
            listings = {name: tool.listing_digest or "" for name, tool in now.items()}
            self._settled[varying] = replace(self, digests={**self.digests, **own}, listings=listings)
        return self._settled[varying]

    @cached_property
    def _settled(self) -> dict[tuple[Varying, ...], ToolInventory]:
        return {}


async def read_inventory(session: ClientSession, seconds: float) -> ToolInventory:
    """Read all pages of a server's tool list within so many seconds.

    Raises:
        MCPError: As the session does.
        ValueError: If a page is none of the protocol.
    """
    listed, cut = await read_list(session, TOOLS, seconds=seconds)
    found = await to_thread.run_sync(partial(inventory_of, listed, of_handshake=is_of_handshake(session)))
    return replace(found, problems=(*cut, *found.problems))


def inventory_of(listed: Sequence[JsonValue], *, of_handshake: bool) -> ToolInventory:
    """Keep the usable tools: one with a bad schema or a second one of a name costs itself, not its server."""
    # A schema may take a second.
    tools, problems = read_tools(listed, of_handshake=of_handshake, between=from_thread.check_cancelled)
    return ToolInventory(
        {tool.name: tool for tool in tools},
        {tool.name: tool_digest(tool) for tool in tools},
        {tool.name: tool.listing_digest or "" for tool in tools},
        problems=problems,
    )


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
            MCPError, ValueError: As `read_inventory` does.
        """
        said, self._news = self._said, anyio.Event()
        offered = session.server_capabilities
        none = offered is None or offered.tools is None
        found = ToolInventory() if none else self._held(await read_inventory(session, self._limits.start))
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
        problems = [f"it tells clients something else of {quoted(name)} than at first" for name in changed]
        return replace(
            found,
            digests=digests,
            altered=frozenset(changed),
            problems=(*found.problems, *few(problems)),
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
                await self._events.changed(self._server, "tools")
            await anyio.sleep(rest)

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
