"""The pipes to one MCP server's process: one message a line, and bounds on what it may write.

What a line means is a matter of whoever reads it: `stdio_transport` hands messages to a session of the SDK,
`tool_lists.session` reads a tool list without it. A server ends with us (`server_process.py`), and one that
breaks a bound is stopped. To whoever reads, that looks like any other end of the connection.
"""

from __future__ import annotations

import asyncio
import re
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

import anyio
from anyio import to_thread

from ironcurtain.servers.server_process import ServerProcess
from ironcurtain.system.secret_forms.hiding import PiecewiseHiding, without_secrets
from ironcurtain.system.text import quoted, visible

_MAX_WORDS = 4_096
_MAX_NOISE = 100
_LONG_LINE = 64 << 10
_SEPARATORS = (b",", b"[", b"{")
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)

M = TypeVar("M")


class ServerPipes(ABC, Generic[M]):
    """One running server. Its lines are read as messages, and handed on in their order.

    Args:
        server: The server.
        on_words: Told each line of its standard error, safe to show.
        on_end: Told, once, that nothing more comes from it, and why.
        on_noise: Told, once, that it writes lines that are no messages.
    """

    def __init__(
        self,
        server: ServerProcess,
        on_words: Callable[[str], None],
        on_end: Callable[[str], None],
        on_noise: Callable[[str], None],
    ) -> None:
        self._server, self._limits = server, server.limits
        self._on_words, self._on_end, self._on_noise = on_words, on_end, on_noise
        self._closed = self._is_noisy = False
        self._unasked = self._unasked_bytes = 0
        self._window_ends = 0.0

    # -- what a line means ----------------------------------------------------------------------

    @abstractmethod
    def parse(self, line: bytes) -> tuple[M | None, str]:
        """Return a line's message, if it is one, and which bound it breaks, if it does.

        `garbage` and `unasked` count and say that. A long line is parsed in a thread.
        """

    @abstractmethod
    async def hand_on(self, message: M) -> bool:
        """Take a message; return whether more are taken."""

    @abstractmethod
    def no_more(self) -> None:
        """Take note that the connection is over; it may be called more than once."""

    # -- reading --------------------------------------------------------------------------------

    async def read(self) -> None:
        """Hand on what the server writes, until it ends or breaks a bound."""
        try:
            fault = await self._receive()
        finally:
            self.no_more()
        self._on_end(fault or "it ended")
        if fault:
            self._server.signal(signal.SIGTERM)  # the launcher kills all that it started

    async def _receive(self) -> str:
        """Return which bound the server broke; nothing if it ended."""
        stdout = self._server.process.stdout
        assert stdout is not None  # noqa: S101 - it was started with a pipe
        while True:
            try:
                line = await stdout.readuntil(b"\n")
            except asyncio.IncompleteReadError:
                return ""
            except asyncio.LimitOverrunError:
                return f"it wrote a line of more than {self._limits.line >> 20} MiB"
            if len(line) > _LONG_LINE:
                # What takes a while must not keep the other servers waiting.
                message, fault = await to_thread.run_sync(self._bounded, line)
            else:
                message, fault = self._bounded(line)
            if fault:
                return fault
            if message is None:
                await asyncio.sleep(0)  # of what is no message there may be a lot
            elif not await self.hand_on(message):
                return ""

    def _bounded(self, line: bytes) -> tuple[M | None, str]:
        if _has_more_values(line, self._limits.values):
            return None, f"it wrote a message of more than {self._limits.values:,} values"
        return self.parse(line)

    def garbage(self, line: bytes) -> str:
        """Count a line that is no message, unless it is blank; return the bound that is broken thereby."""
        text = line.strip()
        if not text and len(line) <= self._limits.unasked_line:
            return ""
        if not self._is_noisy:
            self._is_noisy = True
            shown = quoted(without_secrets(text[:_MAX_NOISE].decode("utf-8", "replace")))
            what = "it writes to its standard output what is no MCP message, which is ignored"
            self._on_noise(f"{what}: {shown}")
        return "it wrote what is no MCP message without end" if self.unasked(len(line)) else ""

    def unasked(self, size: int) -> str:
        """Count a message of so many bytes that answers nothing; return the bound that is broken thereby."""
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

    async def listen(self) -> None:
        """Hand on what the server writes to its standard error, one safe line without secrets at a time."""
        stderr = self._server.process.stderr
        assert stderr is not None  # noqa: S101 - as above
        rest, hiding = b"", PiecewiseHiding()
        while chunk := await stderr.read(_MAX_WORDS):
            *lines, rest = (rest + chunk).split(b"\n")
            if len(rest) >= _MAX_WORDS:
                lines, rest = [*lines, rest], b""
            for line in hiding.shown(b"\n".join(lines).decode("utf-8", "replace")).split("\n"):
                if text := line.strip():
                    self._on_words(visible(text[:_MAX_WORDS]))

    # -- writing --------------------------------------------------------------------------------

    async def write(self, line: bytes) -> None:
        """Write a message's line, once those before it are on their way.

        Raises:
            ClosedResourceError, BrokenResourceError: If no more is taken.
        """
        if self._closed:
            raise anyio.ClosedResourceError
        try:
            await self._server.stdin.drain()
        except OSError:
            self.no_more()
            raise anyio.BrokenResourceError from None
        self._server.stdin.write(line)

    @property
    def is_behind(self) -> bool:
        """Whether the server has not read yet what it was told."""
        return self._server.stdin.transport.get_write_buffer_size() > 0

    def close(self) -> None:
        """Take nothing more, from neither side."""
        self._closed = True
        self.no_more()


@asynccontextmanager
async def open_pipes(pipes: ServerPipes[M], server: ServerProcess) -> AsyncIterator[None]:
    """Read a started server's pipes while the block runs; then end the server."""
    server.listen()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pipes.read)
        tasks.start_soon(pipes.listen)
        try:
            yield
        finally:
            pipes.close()
            await server.stop()
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
