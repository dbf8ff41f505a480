"""Asking our own OPA from an event loop: the same request as the thread's client sends, without a thread.

The bounds are those of `blocking_client.py`: one time for the whole request, however slowly its answer
trickles in, one size of an answer, one number of connections, no retries. Only a connection on which a whole
answer, and nothing more, has come is used again.
"""

from __future__ import annotations

import asyncio
import http.client
import io
import select
import time
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from ironcurtain.engine.answer import HTTP_OK, EngineAnswerError
from ironcurtain.engine.rest_api import (
    CONNECTIONS,
    IDLE,
    MAX_ANSWER,
    STRICT_DECISION,
    as_body,
    head_of,
    too_long,
    too_slow,
    unreachable,
)
from ironcurtain.model.reserved_rules import ReservedRule

_MAX_HEAD = 1 << 18
_HEAD_ENDS = b"\r\n\r\n"
_CHUNKS_END = b"\r\n0\r\n\r\n"


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
        self._health = head_of("GET /health", token)
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

    async def check_health(self) -> bool:
        """Tell whether the server answers that it is well."""
        try:
            status, _ = await self._request(self._health, b"")
        except EngineAnswerError:
            return False
        return status == HTTP_OK

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
        except (OSError, http.client.HTTPException, ValueError) as error:
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
        self._transport: asyncio.Transport | None = None
        self._reading: _Reading | None = None
        self._answered: asyncio.Future[tuple[int, bytes]] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(
            "asyncio.Transport", transport
        )  # a stream's; other loops have classes of their own

    def data_received(self, data: bytes) -> None:
        self._go_on(data, ended=False)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport, self.reusable = None, False
        if exc is None:
            self._go_on(b"", ended=True)
        elif self._answered is not None and not self._answered.done():
            self._answered.set_exception(exc)

    def is_usable(self) -> bool:
        """Tell whether it is fresh and silent: bytes that wait belong to no question, or tell of its end."""
        transport = self._transport
        if transport is None or not self.reusable or time.monotonic() - self._last > IDLE:
            return False
        waiting = select.poll()
        waiting.register(transport.get_extra_info("socket"), select.POLLIN)
        return not waiting.poll(0)

    async def exchange(self, request: bytes) -> tuple[int, bytes]:
        """Send a request and wait for its answer."""
        if self._transport is None:
            raise ConnectionResetError
        self.reusable = False
        self._reading = _Reading()
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

    def _go_on(self, data: bytes, *, ended: bool) -> None:
        if self._reading is None or self._answered is None or self._answered.done():
            self.reusable = False  # what nobody asked for answers nothing
            return
        try:
            content = self._reading.go_on(data, ended=ended)
        except Exception as error:  # noqa: BLE001 - whoever waits is told
            self._answered.set_exception(error)
            return
        if content is not None:
            self._last = time.monotonic()
            self.reusable = not ended and self._reading.is_last
            self._answered.set_result((self._reading.status, content))


@dataclass(frozen=True, slots=True)
class _Head:
    """What the head of an answer tells: where its body begins, and how it ends."""

    status: int
    start: int
    length: int | None
    chunked: bool
    keeps: bool


class _Reading:
    """One answer while it comes; `is_last` says whether it ended where nothing more had come."""

    def __init__(self) -> None:
        self.is_last = False
        self._received = bytearray()
        self._head: _Head | None = None

    @property
    def status(self) -> int:
        """The HTTP status, once the head has come; 0 before."""
        return self._head.status if self._head is not None else 0

    def go_on(self, data: bytes, *, ended: bool) -> bytes | None:
        """Take what has come; return the body once it is whole.

        Raises:
            HTTPException, ValueError: If it is no answer.
            EngineAnswerError: If it is too long.
        """
        scanned = len(self._received)
        self._received += data
        if self._head is None:
            self._head = _read_head(self._received)
        if self._head is None:
            if ended or len(self._received) > _MAX_HEAD:
                raise http.client.BadStatusLine("no whole head")
            return None
        if len(self._received) - self._head.start > MAX_ANSWER:
            raise too_long()
        if self._head.chunked:
            return self._dechunked(self._head, scanned, ended=ended)
        return self._plain(self._head, ended=ended)

    def _plain(self, head: _Head, *, ended: bool) -> bytes | None:
        came = len(self._received) - head.start
        if head.length is None:
            return bytes(self._received[head.start :]) if ended else None
        if came < head.length:
            if ended:
                raise http.client.IncompleteRead(b"", head.length - came)
            return None
        self.is_last = head.keeps and came == head.length
        return bytes(self._received[head.start : head.start + head.length])

    def _dechunked(self, head: _Head, scanned: int, *, ended: bool) -> bytes | None:
        # The mark of the last chunk can also stand inside of one; OPA sends no trailers behind it.
        from_ = max(head.start - 2, scanned - len(_CHUNKS_END))
        if not ended and self._received.find(_CHUNKS_END, from_) < 0:
            return None
        source = _Source(self._received)
        response = _begun(source)
        try:
            content = response.read()
        except http.client.IncompleteRead:
            if ended:
                raise
            return None
        self.is_last = head.keeps and not source.read(1)
        return content


class _Source(io.BytesIO):
    """Bytes for whom expects a socket, and closes it."""

    def makefile(self, _mode: str) -> _Source:
        return self

    def close(self) -> None:
        """Stay open: what follows an answer is looked at."""


def _read_head(received: bytearray) -> _Head | None:
    end = received.find(_HEAD_ENDS, 0, _MAX_HEAD)
    if end < 0:
        return None
    start = end + len(_HEAD_ENDS)
    response = _begun(_Source(received[:start]))
    return _Head(response.status, start, response.length, response.chunked, not response.will_close)


def _begun(source: _Source) -> http.client.HTTPResponse:
    # All that the library asks of a socket is a file to read from.
    response = http.client.HTTPResponse(source, method="POST")  # type: ignore[arg-type]
    response.begin()
    return response
