"""The client's side over stdio: standard input and output belong to the protocol, and to nothing else.

While it is served, whatever else writes to standard output (a warning, a library, a child) lands on
standard error. Each message keeps the bytes that it came in, so that a call's arguments can be evaluated as
they were written.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import select
import stat
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import anyio
from mcp.shared.dispatcher import as_request_id
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCResponse, jsonrpc_message_adapter

from ironcurtain.enforcement.proxy.transport.direct_calls import DirectCalls
from ironcurtain.servers.stdio_transport import MessageSink, Streams, as_line

_CHUNK = 1 << 16
_MAX_LINE = 64 << 20
_MAX_CHUNKS = 8
_MAX_WAITING = 256
_LAST_ANSWERS = 1.0


@asynccontextmanager
async def serve_stdio(direct: DirectCalls) -> AsyncIterator[Streams]:
    """Yield the streams that a `Server` runs on; they end when the client closes its side.

    Args:
        direct: Takes the calls that the `Server` needs not see.
    """
    wire_in, wire_out = os.dup(0), os.dup(1)
    for wire in (wire_in, wire_out):
        os.set_blocking(wire, True)  # whoever made them may have left them otherwise
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    arrived, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    reader = _Reader(wire_in)
    writer = _Writer(wire_out, reader)

    async def read() -> None:
        async with arrived:
            async for line in _lines(reader):
                if direct.takes(line):
                    continue
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    if not direct.takes_unreadable(line):
                        await writer.write(_parse_failed(line))
                    continue
                if direct.heard(message):
                    continue
                try:
                    await arrived.send(SessionMessage(message, ServerMessageMetadata(request_context=line)))
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    return

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            try:
                async with direct.serving(writer.write):
                    yield received, writer
            finally:
                # What was answered last is still on its way, whatever ends us.
                await writer.aclose()
                with anyio.move_on_after(_LAST_ANSWERS, shield=True):
                    await writer.flush()
            tasks.cancel_scope.cancel()
    finally:
        reader.close()
        received.close()


def _parse_failed(line: bytes) -> bytes:
    """Return the answer to a line that is no message: to its number, if it is a request that has one.

    Python reads more than the protocol's models: half a character, as whoever cuts a text may leave it.
    """
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        message = None
    is_request = isinstance(message, dict) and isinstance(message.get("method"), str)
    failed = partial(JSONRPCError, jsonrpc="2.0", error=ErrorData(code=PARSE_ERROR, message="Parse error"))
    try:
        answer = failed(id=as_request_id(message.get("id")) if is_request else None).model_dump_json()
    except ValueError:  # a number with half a character
        answer = failed(id=None).model_dump_json()
    return answer.encode() + b"\n"


class _Writer(MessageSink):
    """Writes messages as lines to a descriptor, from a thread of its own; at most so many wait."""

    def __init__(self, descriptor: int, reader: _Reader) -> None:
        self._descriptor, self._reader = descriptor, reader
        self._lines: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]]] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._room = anyio.Semaphore(_MAX_WAITING, fast_acquire=True)
        self._last: asyncio.Future[None] | None = None
        self._closed = False
        self._room_at_once = select.poll()
        if _tells_of_room(descriptor):
            self._room_at_once.register(descriptor, select.POLLOUT)
        threading.Thread(target=self._work, name="ironcurtain-stdout", daemon=True).start()

    async def aclose(self) -> None:
        """Take no more; what waits is written still."""
        self._closed = True

    async def send(self, message: SessionMessage, /) -> None:
        """Queue a message; of a client that has closed its side, only what it waits for.

        Clients of the SDK that close and read something else then fail.

        Raises:
            ClosedResourceError: If no more is taken.
        """
        if self._closed:
            raise anyio.ClosedResourceError
        is_awaited = isinstance(message.message, JSONRPCResponse | JSONRPCError)
        if is_awaited or not self._reader.is_over:
            await self.write(as_line(message))

    async def write(self, data: bytes) -> None:
        """Queue some lines, after `aclose`, too: the SDK closes this before calls beside it have ended."""
        data = data[self._written_at_once(data) :]
        if not data:
            return
        await self._room.acquire()
        self._last = self._loop.create_future()
        self._last.add_done_callback(lambda _: self._room.release())
        self._lines.put((data, self._last))

    def _written_at_once(self, data: bytes) -> int:
        """Write a short line without the thread, where it waits for nothing; return how much of it went."""
        is_last = self._last is None or self._last.done()
        if not is_last or len(data) > select.PIPE_BUF or not self._room_at_once.poll(0):
            return 0
        try:
            return os.write(self._descriptor, data)
        except OSError:
            return 0  # the thread finds the same

    async def flush(self) -> None:
        """Wait until everything that was queued is written."""
        if self._last is not None:
            await asyncio.wait([self._last])

    def _work(self) -> None:
        broken = False
        while True:
            line, written = self._lines.get()
            rest = memoryview(line)
            while rest and not broken:
                try:
                    rest = rest[os.write(self._descriptor, rest) :]
                except OSError:
                    broken = True  # the client has gone; its input will end, too
            if not _tell(self._loop, partial(_done, written)):
                return


def _tells_of_room(descriptor: int) -> bool:
    """Tell whether what says that it can be written to takes `PIPE_BUF` bytes; a terminal need not."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _tell(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> bool:
    """Have an event loop do something; tell whether it still runs."""
    try:
        loop.call_soon_threadsafe(act)
    except RuntimeError:  # it has been closed
        return False
    return True


def _done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class _Reader:
    """Reads a descriptor ahead of whoever takes what comes; at most so many chunks wait.

    Attributes:
        is_over: Whether its end was read, however much before it is still to be taken.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self.is_over = descriptor, False
        self._loop = asyncio.get_running_loop()
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue()
        self._listen()

    async def take(self) -> bytes:
        """Return the next chunk; nothing at the end."""
        chunk = await self._chunks.get()
        if chunk and self._is_paused:
            self._listen()
        return chunk

    def close(self) -> None:
        """Read no more."""
        self._loop.remove_reader(self._descriptor)

    def _listen(self) -> None:
        try:
            self._loop.add_reader(self._descriptor, self._read)
            self._is_paused = False
        except OSError:  # a file can always be read, and nobody tells of that; one chunk ahead is enough
            self._loop.call_soon(self._read)
            self._is_paused = True

    def _read(self) -> None:
        try:
            chunk = os.read(self._descriptor, _CHUNK)
        except OSError:
            chunk = b""  # nothing more comes from there: that is its end
        self._chunks.put_nowait(chunk)
        if not chunk:
            self.is_over = True
            self.close()
        elif self._chunks.qsize() >= _MAX_CHUNKS:
            self._is_paused = True
            self.close()


async def _lines(reader: _Reader) -> AsyncIterator[bytes]:
    """Yield the lines that come; an endless one ends the input."""
    buffer = bytearray()
    while chunk := await reader.take():
        buffer += chunk
        if b"\n" not in chunk:
            if len(buffer) > _MAX_LINE:
                return
            continue
        *lines, rest = bytes(buffer).split(b"\n")
        buffer = bytearray(rest)
        for line in lines:
            if line.strip():
                yield line
