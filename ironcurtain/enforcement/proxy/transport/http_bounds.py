"""Bounds on what a client over HTTP can hold: connections, and the time that a request takes to arrive.

The HTTP server itself waits for a request for ever. Here a request has some seconds for its head and more for
its body. Where there are too many connections, one goes that was answered before it has sent its whole body,
or else the oldest of those that have sent no whole head.
"""

from __future__ import annotations

import asyncio
import os
import socket
from dataclasses import dataclass, field
from typing import Any

import anyio
import h11
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from ironcurtain.enforcement.proxy.transport.http_clients import is_ours
from ironcurtain.system.structs import Struct

_SPARED = 64
"""How many connections more there may be for the moment in which the others are answered."""


class HttpLimits(Struct):
    """Bounds of one listening proxy.

    Attributes:
        head: Seconds in which the head of a request has to arrive, counted from the connection or from the
            answer before.
        body: Seconds for the rest of it.
        connections: How many there are at once.
        sessions: How many sessions there are at once.
        idle: Seconds after which a session without a request is dropped.
        bytes: Of a request's body: a call has at most 1 MiB of arguments.
    """

    head: float = 10.0
    body: float = 30.0
    connections: int = 256
    sessions: int = 256
    idle: float = 1_800.0
    bytes: int = 4 << 20


@dataclass
class Connections:
    """All connections of one listening proxy.

    Attributes:
        waiting: Those that have sent no whole head yet, or were answered and go on sending, the oldest first.
            Nobody waits for what the latter still send.
    """

    limits: HttpLimits
    count: int = 0
    waiting: dict[BoundedProtocol, None] = field(default_factory=dict)

    def protocol(self, *arguments: Any, **named: Any) -> BoundedProtocol:  # noqa: ANN401 - the server's own
        """Make the protocol of one connection, as the HTTP server asks for it."""
        return BoundedProtocol(self, *arguments, **named)

    def opened(self) -> None:
        """Count a connection."""
        self.count += 1

    def closed(self) -> None:
        """Count one less."""
        self.count -= 1

    def make_room(self) -> None:
        """Close a connection that keeps us waiting, where there are too many."""
        # The one that has just come is spared for a moment, in which others are still being answered.
        is_spared = self.count <= self.limits.connections + _SPARED
        waiting = list(self.waiting)[: -1 if is_spared else None]
        if self.count > self.limits.connections and waiting:
            next((each for each in waiting if each.is_answered), waiting[0]).drop()


class BoundedProtocol(H11Protocol):
    """One connection, which cannot wait for ever for the head of a request."""

    def __init__(self, all_of_them: Connections, *arguments: Any, **named: Any) -> None:  # noqa: ANN401
        super().__init__(*arguments, **named)
        self._all = all_of_them
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first head."""
        super().connection_made(transport)
        self._all.opened()
        if not _may_connect(transport.get_extra_info("socket")):
            transport.abort()
            return
        self._watch()
        self._all.make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._all.closed()
        self._rest()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take some bytes: the time goes on until they make a whole head."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Begin to wait for the next head."""
        super().on_response_complete()
        self._watch()

    @property
    def is_answered(self) -> bool:
        """Whether a request was answered that has not come to its end."""
        goes_on = self.conn.their_state is h11.SEND_BODY
        return goes_on and self.cycle is not None and self.cycle.response_complete

    def drop(self) -> None:
        """Close the connection, whatever it was about to send."""
        self._rest()
        self.transport.abort()

    def _watch(self) -> None:
        """Count the time while no whole head has come, from the first moment on, or the rest has no use."""
        is_waiting = self.is_answered or self.conn.their_state is h11.IDLE
        if self.transport.is_closing() or not is_waiting:
            self._rest()
        elif self._timer is None:
            self._timer = self.loop.call_later(self._all.limits.head, self.drop)
            self._all.waiting[self] = None

    def _rest(self) -> None:
        self._all.waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _may_connect(connected: socket.socket) -> bool:
    """Tell whether whoever connected may: at a Unix socket, only who runs as our user."""
    if connected.family != socket.AF_UNIX:
        return True
    with socket.fromfd(connected.fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as own:
        return is_ours(own, os.geteuid())


_CLOSE = {"Connection": "close"}


def _has_two_lengths(scope: Scope) -> bool:
    """Tell whether a request says in two ways where it ends: others could read another end than we do."""
    return {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}


class Punctual:
    """Lets a request's body take only so long, and refuses one that says in two ways where it ends."""

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        self._app, self._seconds = app, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; to one whose body is late its client seems gone."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if _has_two_lengths(scope):
            answer = PlainTextResponse(
                "Content-Length and Transfer-Encoding contradict each other\n", 400, _CLOSE
            )
            await answer(scope, receive, send)
            return
        end = anyio.current_time() + self._seconds
        is_whole = False

        async def punctually() -> Message:
            nonlocal is_whole
            if is_whole:
                return await receive()
            with anyio.CancelScope(deadline=end):
                message = await receive()
                is_whole = not message.get("more_body", False)
                return message
            is_whole = True
            return {"type": "http.disconnect"}

        await self._app(scope, punctually, send)


def bounded(app: ASGIApp, limits: HttpLimits, **more: Any) -> uvicorn.Config:  # noqa: ANN401 - the server's own
    """Return how an application is served under bounds.

    A request for a WebSocket is one of HTTP like any other: a library for them, where one is installed, would
    take its connection away from the bounds, and answer it before anybody is asked who it is.
    """
    return uvicorn.Config(
        Punctual(app, limits.body),
        http=Connections(limits).protocol,  # type: ignore[arg-type] # any maker of a protocol will do
        ws="none",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=1,
        server_header=False,
        **more,
    )
