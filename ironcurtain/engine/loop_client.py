"""Asking our own OPA from an event loop: the same request as the thread's client sends, without a thread.

The bounds are those of `blocking_client.py`: one time for the whole request, however slowly its answer
trickles in, one size of an answer, one number of connections, no retries. Only a connection on which a whole
answer, and nothing more, has come is used again.
"""

from __future__ import annotations

import asyncio
import select
import time
from pathlib import Path
from typing import cast

from ironcurtain.engine.answer import EngineAnswerError
from ironcurtain.engine.http_answer import AnswerReader
from ironcurtain.engine.rest_api import (
    CONNECTIONS,
    IDLE,
    STRICT_DECISION,
    as_body,
    head_of,
    too_slow,
    unreachable,
)
from ironcurtain.model.reserved_rules import ReservedRule


class LoopClient:
    """A client on a Unix socket, for the event loop that it is first used in.

    Args:
        path: The path of the socket.
        token: The bearer token of this start.
        timeout: Seconds for one request, waiting for a free connection included.
    """

    def __init__(self, path: Path, token: str, timeout: float) -> None:
        self._path = path
        self._timeout = timeout
        self._head = head_of(f"POST /v1/{STRICT_DECISION}", token)
        self._free = asyncio.Semaphore(CONNECTIONS)
        self._idle: list[_Connection] = []
        self._used: set[_Connection] = set()
        self._closed = False

    async def decide(self, policy_input: bytes) -> tuple[int, bytes]:
        """Ask for the decision on a policy input (the JSON text of an object); return HTTP status and body.

        Raises:
            EngineAnswerError: `engine-timeout`, `engine-unreachable`, `engine-dead` for a client that was
                closed, or `engine-malformed` for an answer that is too long.
        """
        return await self._request(self._head, as_body(policy_input))

    def close(self) -> None:
        """Close all connections; what is asked over one is not answered any more."""
        self._closed = True
        for connection in (*self._idle, *self._used):
            connection.end()
        self._idle.clear()

    async def _request(self, head: bytes, body: bytes) -> tuple[int, bytes]:
        request = b"%b%d\r\n\r\n%b" % (head, len(body), body)
        try:
            async with asyncio.timeout(self._timeout), self._free:
                return await self._exchange(request)
        except TimeoutError:
            raise too_slow(self._timeout) from None
        except (OSError, ValueError) as error:
            raise unreachable(error) from error

    async def _exchange(self, request: bytes) -> tuple[int, bytes]:
        """Send a request over a connection of its own; whatever happens but a whole answer ends that."""
        connection = self._kept() or await self._connect()
        self._used.add(connection)
        try:
            self._refuse_if_closed()
            answer = await connection.exchange(request)
        except BaseException:
            connection.end()
            raise
        finally:
            self._used.discard(connection)
        if connection.reusable and not self._closed:
            self._idle.append(connection)
        else:
            connection.end()
        return answer

    def _kept(self) -> _Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable():
                return connection
            connection.end()
        return None

    async def _connect(self) -> _Connection:
        self._refuse_if_closed()
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_unix_connection(_Connection, str(self._path))
        return connection

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise EngineAnswerError(ReservedRule.ENGINE_DEAD, "the engine was closed")


class _Connection(asyncio.Protocol):
    """A connection, and the answer that comes over it; `reusable` says whether another one may."""

    def __init__(self) -> None:
        self.reusable = False
        self._last = 0.0
        self._waiting = select.poll()
        self._transport: asyncio.Transport | None = None
        self._reading: AnswerReader | None = None
        self._answered: asyncio.Future[tuple[int, bytes]] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(
            "asyncio.Transport", transport
        )  # a stream's; other loops have classes of their own
        self._waiting.register(transport.get_extra_info("socket"), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        self._go_on(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport, self.reusable = None, False
        if exc is None:
            self._go_on(b"")
        elif self._answered is not None and not self._answered.done():
            self._answered.set_exception(exc)

    def is_usable(self) -> bool:
        """Tell whether it is fresh and silent: bytes that wait belong to no question, or tell of its end."""
        if self._transport is None or not self.reusable or time.monotonic() - self._last > IDLE:
            return False
        return not self._waiting.poll(0)

    async def exchange(self, request: bytes) -> tuple[int, bytes]:
        """Send a request and wait for its answer."""
        if self._transport is None:
            raise ConnectionResetError
        self.reusable = False
        self._reading = AnswerReader()
        self._answered = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answered

    def end(self) -> None:
        """Close it; whoever waits for an answer is told."""
        self.reusable = False
        if self._transport is not None:
            self._transport.abort()
        if self._answered is not None and not self._answered.done():
            self._answered.set_exception(ConnectionAbortedError())

    def _go_on(self, data: bytes) -> None:
        if self._reading is None or self._answered is None or self._answered.done():
            self.reusable = False  # what nobody asked for answers nothing
            return
        try:
            content = self._reading.take(data)
        except Exception as error:  # noqa: BLE001 - whoever waits is told
            self._answered.set_exception(error)
            return
        if content is not None:
            self._last = time.monotonic()
            self.reusable = bool(data) and self._reading.is_last
            self._answered.set_result((self._reading.status, content))
