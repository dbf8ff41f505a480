"""The clients of the proxy: who is connected, whose requests are answered, how they are told things."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)

from ironcurtain.enforcement.proxy.transport.client_requests import ClientRequest, client_of

_MOST = 1_000
_PATIENCE = 10.0
"""Seconds that what a server asks waits for a client that is not ready yet."""
_EVENTS: dict[str, ServerEvent] = {
    "tools": ToolsListChanged(),
    "prompts": PromptsListChanged(),
    "resources": ResourcesListChanged(),
}
_NOTIFICATIONS: dict[str, type[types.ServerNotification]] = {
    "tools": types.ToolListChangedNotification,
    "prompts": types.PromptListChangedNotification,
    "resources": types.ResourceListChangedNotification,
}


@dataclass
class StandingClient:
    """A client of the handshake era: its connection stays, and can be sent things at any time."""

    session: ServerSession
    ready: anyio.Event = field(default_factory=anyio.Event)
    subscribed: set[str] = field(default_factory=set)


class Clients:
    """Clients of both eras. Those of the stateless one hear of changes through `bus`."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self._standing: dict[str, StandingClient] = {}
        self._arrival: anyio.Event | None = None
        self._exchanges: dict[str, list[ClientRequest]] = {}

    def arrived(self, context: ServerRequestContext[Any, Any]) -> StandingClient:
        """Remember a client of the handshake era."""
        while len(self._standing) >= _MOST:
            self._standing.pop(next(iter(self._standing)))
        known = self._standing.setdefault(client_of(context), StandingClient(context.session))
        known.session = context.session
        if self._arrival is not None:
            self._arrival.set()
        return known

    def expect(self) -> None:
        """Know that a client of the handshake era greets us, and will arrive."""
        self._arrival = self._arrival or anyio.Event()

    def standing(self) -> list[StandingClient]:
        """Return the clients that can be sent things."""
        return [client for client in self._standing.values() if client.ready.is_set()]

    async def only_one(self) -> StandingClient | None:
        """Return the one client of the handshake era, once it is ready; None if there are several or none.

        One that is expected is waited for, since a server may ask sooner than it is greeted; bounded.
        """
        with anyio.move_on_after(_PATIENCE):
            if self._arrival is not None:
                await self._arrival.wait()
            if len(self._standing) == 1:
                (client,) = self._standing.values()
                await client.ready.wait()
                return client
        return None

    @contextmanager
    def served_by(self, server: str, client_request: ClientRequest) -> Iterator[None]:
        """Note that a server works for a request, so that what it sends meanwhile finds its client."""
        exchanges = self._exchanges.setdefault(server, [])
        exchanges.append(client_request)
        try:
            yield
        finally:
            exchanges.remove(client_request)

    def exchange_of(self, server: str) -> ClientRequest | None:
        """Return the newest request that a server works for."""
        exchanges = self._exchanges.get(server)
        return exchanges[-1] if exchanges else None

    def is_ambiguous(self, server: str) -> bool:
        """Tell whether a server works for several clients: whom it asks something cannot be told then."""
        return len({client_request.client for client_request in self._exchanges.get(server, ())}) > 1

    async def tell_changed(self, what: str) -> None:
        """Tell every client that a list changed."""
        await self.bus.publish(_EVENTS[what])
        for client in self.standing():
            await client.session.send_notification(_NOTIFICATIONS[what]())

    async def tell_updated(self, uri: str) -> None:
        """Tell those who subscribed that a resource changed."""
        await self.bus.publish(ResourceUpdated(uri=uri))
        for client in self.standing():
            if uri in client.subscribed:
                params = types.ResourceUpdatedNotificationParams(uri=uri)
                await client.session.send_notification(types.ResourceUpdatedNotification(params=params))
