"""The stdio transport to one MCP server's process: one JSON-RPC message a line, and bounds on both sides.

The SDK's own stdio client trusts the server: a line may be endless, garbage may come without end, and a
proxy that is killed leaves the server's children behind. A server here ends with us (`server_process.py`),
and one that breaks a bound is stopped. To the session that looks like any other end of its connection.
"""

from __future__ import annotations

import asyncio
import re
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

import anyio
from anyio import to_thread
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic_core import from_json

from ironcurtain.servers.direct_requests import Answer, DirectRequests
from ironcurtain.servers.server_process import ServerProcess
from ironcurtain.system.text import visible

_MAX_WORDS = 4_096
_LONG_LINE = 64 << 10
_TURNS = 3
"""How often the event loop goes round, at most, until the session has a message in its handler."""
_SEPARATORS = (b",", b"[", b"{")
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


class MessageSink(ABC):
    """Where a session writes its messages: the sending half of a transport, without a task in between."""

    @abstractmethod
    async def send(self, message: SessionMessage, /) -> None:
        """Write a message, or have it written; it may wait for those before it.

        Raises:
            ClosedResourceError, BrokenResourceError: If no more is taken.
        """

    @abstractmethod
    async def aclose(self) -> None:
        """Take no more."""

    async def __aenter__(self) -> Self:
        """Be what a session writes to."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Take no more."""
        await self.aclose()


Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MessageSink]


def as_line(message: SessionMessage) -> bytes:
    """Return a message as its line, with its end."""
    return message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"


@asynccontextmanager
async def connect_pipes(
    process: ServerProcess,
    *,
    on_words: Callable[[str], None],
    on_end: Callable[[str], None],
    direct: DirectRequests | None = None,
) -> AsyncIterator[Streams]:
    """Yield the streams of a started server, as `mcp.Client` takes them as a transport; then end it.

    Args:
        process: The server.
        on_words: Told each line of the server's standard error, safe to show.
        on_end: Told, once, that nothing more comes from the server, and why.
        direct: Sends requests of its own beside the session, from now until the server ends.
    """
    pipes = _Pipes(process, on_words, on_end, direct or DirectRequests())
    process.listen()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pipes.read)
        tasks.start_soon(pipes.listen)
        try:
            yield pipes.received, pipes
        finally:
            pipes.close()
            await process.stop()
            tasks.cancel_scope.cancel()


def _has_more_values(line: bytes, most: int) -> bool:
    """Tell whether JSON holds more than so many values, without reading it."""
    if len(line) <= most or sum(map(line.count, _SEPARATORS)) <= most:
        return False
    count = end = 0
    for text in _STRING.finditer(line):
        count += sum(line.count(mark, end, text.start()) for mark in _SEPARATORS)
        end = text.end()
        if count > most:
            return True
    return count + sum(line.count(mark, end) for mark in _SEPARATORS) > most


class _Pipes(MessageSink):
    """One running server: what it says comes out of `received`, what it is told is sent here."""

    def __init__(
        self,
        server: ServerProcess,
        on_words: Callable[[str], None],
        on_end: Callable[[str], None],
        direct: DirectRequests,
    ) -> None:
        self._server = server
        self._process = server.process
        self._stdin = server.stdin
        self._limits = server.limits
        self._on_words = on_words
        self._on_end = on_end
        self._direct = direct
        self._direct.open(self._write)
        self._arrived, self.received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self._closed = self._has_handed_on = False
        self._garbage = 0
        self._unasked = self._unasked_bytes = 0
        self._window_ends = 0.0

    async def read(self) -> None:
        """Hand on what the server writes, until it ends or breaks a bound."""
        stdout = self._process.stdout
        assert stdout is not None  # noqa: S101 - it was started with a pipe
        async with self._arrived:
            fault = await self._receive(stdout)
        self._on_end(fault or "it ended")
        self._direct.close()
        if fault:
            self._server.signal(signal.SIGTERM)  # the launcher kills all that it started

    async def _receive(self, stdout: asyncio.StreamReader) -> str:
        """Return which bound the server broke; nothing if it ended."""
        while True:
            try:
                line = await stdout.readuntil(b"\n")
            except asyncio.IncompleteReadError:
                return ""
            except asyncio.LimitOverrunError:
                return f"it wrote a line of more than {self._limits.line >> 20} MiB"
            if len(line) > _LONG_LINE:
                # What takes a while must not keep the other servers waiting.
                message, fault = await to_thread.run_sync(self._read_line, line)
            else:
                message, fault = self._read_line(line)
            if fault:
                return fault
            if isinstance(message, Answer | JSONRPCResponse | JSONRPCError):
                await self._let_session_go_first()
            if isinstance(message, Answer):
                self._direct.answered(message)
            elif message is not None and not self._direct.heard(message):
                self._has_handed_on = True
                try:
                    await self._arrived.send(SessionMessage(message))
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    return ""

    async def _let_session_go_first(self) -> None:
        """Let what came before an answer be handled first, as a log message that belongs to its call."""
        if self._has_handed_on:
            self._has_handed_on = False
            for _ in range(_TURNS):
                await asyncio.sleep(0)

    def _read_line(self, line: bytes) -> tuple[JSONRPCMessage | Answer | None, str]:
        """Return a line's message, if it is one, and which bound it breaks, if it does."""
        if _has_more_values(line, self._limits.values):
            return None, f"it wrote a message of more than {self._limits.values:,} values"
        if (answer := self._plain_answer(line)) is not None:
            return answer, ""
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            return None, self._count_garbage(line)
        return message, self._count_unasked(message, len(line))

    def _plain_answer(self, line: bytes) -> Answer | None:
        """Return the plain answer that a line is, found without the SDK, which tries each kind of message."""
        if not self._direct.is_waiting:
            return None
        try:
            return self._direct.answer_in(from_json(line))
        except ValueError:
            return None

    def _count_garbage(self, line: bytes) -> str:
        self._garbage += bool(line.strip())
        too_much = self._garbage > self._limits.garbage or len(line) > self._limits.unasked_line
        return "it wrote what is no MCP message" if too_much else ""

    def _count_unasked(self, message: JSONRPCMessage, size: int) -> str:
        if not isinstance(message, JSONRPCRequest | JSONRPCNotification):
            return ""
        if size > self._limits.unasked_line:
            return (
                f"it sent a message of more than {self._limits.unasked_line >> 20} MiB that nobody asked for"
            )
        now = time.monotonic()
        if now >= self._window_ends:
            self._window_ends, self._unasked, self._unasked_bytes = now + self._limits.window, 0, 0
        self._unasked += 1
        self._unasked_bytes += size
        endless = self._unasked > self._limits.unasked or self._unasked_bytes > self._limits.unasked_bytes
        return "it sent messages without end" if endless else ""

    async def send(self, message: SessionMessage, /) -> None:
        """Write a message once those before it are on their way; if that fails, the connection is over."""
        await self._write(as_line(message))

    async def _write(self, line: bytes) -> None:
        if self._closed:
            raise anyio.ClosedResourceError
        try:
            await self._stdin.drain()
        except OSError:
            self._arrived.close()
            raise anyio.BrokenResourceError from None
        self._stdin.write(line)

    async def aclose(self) -> None:
        """Take no more."""
        self._closed = True

    async def listen(self) -> None:
        """Hand on what the server writes to its standard error, one safe line at a time."""
        stderr = self._process.stderr
        assert stderr is not None  # noqa: S101 - as above
        rest = b""
        while chunk := await stderr.read(_MAX_WORDS):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines if len(rest) < _MAX_WORDS else [*lines, rest]:
                if text := line.decode("utf-8", "replace").strip():
                    self._on_words(visible(text[:_MAX_WORDS]))
            rest = rest if len(rest) < _MAX_WORDS else b""

    def close(self) -> None:
        """Take nothing more, from neither side."""
        self._closed = True
        self._direct.close()
        self.received.close()
