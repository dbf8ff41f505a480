"""One approved call, sent to a server process of its own.

The server that runs reaches what rules allow. What a person has approved beyond that is opened to a process
that is started contained for the one call, and ended with it: it is wider by what that call names, for as
long as that call takes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

import anyio
import mcp_types as types
from anyio import to_thread

from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.decision.decide import Call
from ironcurtain.enforcement.calls.destination import NoAnswerError, OwnProcess
from ironcurtain.enforcement.proxy.transport.client_requests import ClientRequest
from ironcurtain.enforcement.proxy.upstream.servers_reach import explained
from ironcurtain.enforcement.proxy.upstream.tool_inventory import ToolInventory
from ironcurtain.enforcement.proxy.upstream.upstream import Upstream
from ironcurtain.enforcement.sandbox.launcher import SandboxLauncher
from ironcurtain.enforcement.sandbox.report import Observation
from ironcurtain.errors import IronCurtainError
from ironcurtain.model.varying import Varying
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import visible

MOST = 4
"""So many of one server run at once: one that keeps them from ending keeps no other server waiting."""
PATIENCE = 120.0
"""Seconds that a call waits for one of them to end."""

SendTo = Callable[[Upstream], Awaitable[dict[str, JsonValue]]]
"""Sends one call to the server that it is given."""


class CallEvents(Protocol):
    """What a server may cause while it serves one call of one client."""

    async def ask(
        self, server: str, request: types.InputRequest, client_request: ClientRequest
    ) -> types.InputResponse | types.ErrorData:
        """Answer what a server asks of the client whose request it serves."""

    async def logged(
        self, server: str, params: types.LoggingMessageNotificationParams, client_request: ClientRequest
    ) -> None:
        """Hand on a log message that belongs to a request."""

    async def seen(self, server: str, seen: Observation, decision: str) -> None:
        """Record what was seen of a server's sandbox while it served the call of a decision."""

    def varying(self, server: str) -> tuple[Varying, ...]:
        """Return the texts of a server that depend on where it runs."""


class OwnProcesses:
    """Starts server processes for single calls, a few of each server at a time.

    Args:
        processes: The servers that go on running, by name.
        events: Told what the processes cause.
        launcher: Contains them.
    """

    def __init__(
        self, processes: Mapping[str, Upstream], events: CallEvents, launcher: SandboxLauncher
    ) -> None:
        self._processes, self._events, self._launcher = processes, events, launcher
        self._rooms = {name: anyio.Semaphore(MOST) for name in processes}

    async def send(
        self, call: Call, own_process: OwnProcess, client_request: ClientRequest, sending: SendTo
    ) -> dict[str, JsonValue]:
        """Start a process of a call's server, hold its tool against the evaluated one, send, and end it.

        Raises:
            NoAnswerError: If it does not start, lists another tool, or gives no answer.
            MCPError: The server's own error.
        """
        room = self._rooms[call.server]
        with anyio.move_on_after(PATIENCE) as waited:
            await room.acquire()
        if waited.cancelled_caught:
            raise NoAnswerError(f"{MOST} of its processes for single calls run already")
        try:
            launcher = await self._launcher_for(call.server, own_process.resources)
            paths = [each.value for each in own_process.resources if each.role.category == "path"]
            events = _Events(self._events, client_request, own_process)
            usual = self._processes[call.server]
            made = usual.for_one_call(events, launcher, paths)

            async def work() -> dict[str, JsonValue]:
                if usual.roots.asked_for:
                    made.roots.expect()
                await own_process.ready(_difference(call, made.inventory or ToolInventory()))
                return await explained(
                    launcher, call.server, [*own_process.resources], partial(sending, made)
                )

            return await made.once(work)
        finally:
            room.release()

    async def _launcher_for(self, server: str, resources: Sequence[Resource]) -> SandboxLauncher:
        try:
            return await to_thread.run_sync(self._launcher.for_one_call, server, resources)
        except IronCurtainError as error:
            raise NoAnswerError(error.what) from None
        except OSError as error:
            raise NoAnswerError(f"what it names cannot be looked at: {visible(str(error))}") from None


def _difference(call: Call, inventory: ToolInventory) -> str:
    """Say that a process lists another tool than the one that was evaluated; nothing if it is the same."""
    decided = (call.live_digest, call.live_listing)
    if call.live_digest is None:  # it is about no tool of the server
        return ""
    listed = (inventory.digests.get(call.tool), inventory.listings.get(call.tool))
    return (
        "" if listed == decided else "the process that was started for it lists another tool than was judged"
    )


class _Events:
    """What the process may cause: all of it belongs to the one call and its client."""

    def __init__(self, events: CallEvents, client_request: ClientRequest, own_process: OwnProcess) -> None:
        self._events, self._client_request, self._own_process = events, client_request, own_process

    async def ask(self, server: str, request: types.InputRequest) -> types.InputResponse | types.ErrorData:
        return await self._events.ask(server, request, self._client_request)

    async def logged(self, server: str, params: types.LoggingMessageNotificationParams) -> None:
        await self._events.logged(server, params, self._client_request)

    async def seen(self, server: str, seen: Observation) -> None:
        await self._events.seen(server, seen, self._own_process.id)

    async def changed(self, server: str, what: str) -> None:
        """Nobody is told: the lists of the server that goes on running are the ones that count."""

    async def updated(self, server: str, uri: str) -> None:
        """Nobody is told, likewise."""

    def varying(self, server: str) -> tuple[Varying, ...]:
        """Return the texts of a server that depend on where it runs."""
        return self._events.varying(server)

    def say(self, text: str) -> None:
        """Nobody is told: what went wrong is in the answer."""
