"""Look-ups: calls of the gateway's own, for a record that another call is decided on.

They go to the same session of the same server as that call, once, and to no client: what a server asks
meanwhile nobody answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ironcurtain.decision.decide import Call
from ironcurtain.enforcement.calls.destination import Destination, NoAnswerError, OwnProcess
from ironcurtain.enforcement.facts.records.answers import LookUp, LookUpError
from ironcurtain.enforcement.proxy.forwarding.receiver import ToReceiver
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import AbstractStruct

if TYPE_CHECKING:
    from ironcurtain.enforcement.proxy.upstream.local import LocalServer
    from ironcurtain.enforcement.proxy.upstream.upstream import Upstream


class ToRecord(ToReceiver, AbstractStruct):
    """The server of one look-up.

    Attributes:
        upstream: The server.
        tool: The tool that is called there.
    """

    upstream: Upstream | LocalServer
    tool: str
    is_tool = True

    async def send(
        self,
        arguments: Mapping[str, JsonValue],
        own_process: OwnProcess | None = None,  # noqa: ARG002 - what is allowed needs no process of its own
    ) -> dict[str, JsonValue]:
        """Send it.

        Raises:
            MCPError: The server's own error.
            NoAnswerError: If it gives no answer, or asks for more.
        """
        await self.upstream.roots.understood()
        result = await self.upstream.call_tool({"name": self.tool, "arguments": dict(arguments)})
        if result.get("resultType") == "input_required":
            raise NoAnswerError("the server asked for input")
        return result

    async def current_digest(self, known: str) -> str | None:  # noqa: ARG002 - the server is asked
        """Return the digest of the tool as its server lists it now."""
        return await self.upstream.digest_of(self.tool)


async def found_tool(
    asked: LookUp, upstreams: Mapping[str, Upstream | LocalServer]
) -> tuple[Call, Destination]:
    """Return a look-up as the call that it is decided as, and where it goes.

    Raises:
        LookUpError: If its server was never up: then it is not known what the tool is.
    """
    upstream = upstreams.get(asked.server)
    digest = await upstream.digest_of(asked.tool) if upstream is not None else None
    if upstream is None or digest is None or upstream.inventory is None:
        raise LookUpError("the server of the look-up is not running")
    listing = upstream.inventory.listings.get(asked.tool)
    call = Call(asked.server, asked.tool, asked.arguments, live_digest=digest, live_listing=listing)
    return call, ToRecord(upstream, asked.tool)
