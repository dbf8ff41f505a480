"""The SDK's sessions over the pipes of one MCP server's process: one JSON-RPC message a line.

The SDK's own stdio client trusts the server: a line may be endless, garbage may come without end, and a
proxy that is killed leaves the server's children behind. Here all of that has bounds (`server_pipes.py`).
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.shared.dispatcher import coerce_request_id
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

from ironcurtain.servers.direct_requests import DirectRequests, RawResult
from ironcurtain.servers.server_pipes import ServerPipes, open_pipes
from ironcurtain.servers.server_process import ServerProcess

_TURNS = 3
"""How often the event loop goes round, at most, until the session has a message in its handler."""


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
    on_words: Callable[[str], None],
    on_end: Callable[[str], None],
    direct: DirectRequests | None = None,
    on_noise: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[Streams]:
    """Yield the streams of a started server, as `mcp.Client` takes them as a transport; then end it.

    Args:
        process: The server.
        on_words: Told each line of the server's standard error, safe to show.
        on_end: Told, once, that nothing more comes from the server, and why.
        direct: Sends requests of its own beside the session, from now until the server ends.
        on_noise: Told, once, that it writes lines that are no messages.
    """
    pipes = _SessionPipes(process, on_words, on_end, on_noise, direct or DirectRequests())
    async with open_pipes(pipes, process):
        yield pipes.received, pipes


class _SessionPipes(ServerPipes[JSONRPCMessage | RawResult], MessageSink):
    """One running server: what it says comes out of `received`, what it is told is sent here."""

    def __init__(
        self,
        server: ServerProcess,
        on_words: Callable[[str], None],
        on_end: Callable[[str], None],
        on_noise: Callable[[str], None],
        direct: DirectRequests,
    ) -> None:
        super().__init__(server, on_words, on_end, on_noise)
        self._direct = direct
        self._direct.open(self.write)
        self._arrived, self.received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self._has_handed_on = False
        self._sessions_own: set[int | str] = set()

    def parse(self, line: bytes) -> tuple[JSONRPCMessage | RawResult | None, str]:
        """Return a line's message, as its base says."""
        if (answer := self._plain_answer(line)) is not None:
            return answer, ""
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            answer = self._direct.unreadable_answer_in(line)
            return answer, self.garbage(line) if answer is None else ""
        return message, "" if self._is_asked_for(message) else self.unasked(len(line))

    def _is_asked_for(self, message: JSONRPCMessage) -> bool:
        """Tell whether a message is the answer to a request, of the session or beside it."""
        if isinstance(message, JSONRPCRequest | JSONRPCNotification) or message.id is None:
            return False
        if (number := coerce_request_id(message.id)) in self._sessions_own:
            self._sessions_own.remove(number)
            return True
        return self._direct.expects(number)

    def _plain_answer(self, line: bytes) -> RawResult | None:
        """Return the plain answer that a line is, found without the SDK, which tries each kind of message."""
        if not self._direct.is_waiting:
            return None
        try:
            return self._direct.answer_in(from_json(line))
        except ValueError:
            return None

    async def hand_on(self, message: JSONRPCMessage | RawResult) -> bool:
        """Take a message to the request that it answers, or to the session."""
        if isinstance(message, RawResult | JSONRPCResponse | JSONRPCError):
            await self._let_session_go_first()
        if isinstance(message, RawResult):
            self._direct.answered(message)
        elif not self._direct.heard(message):
            self._has_handed_on = True
            try:
                await self._arrived.send(SessionMessage(message))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return False
        return True

    async def _let_session_go_first(self) -> None:
        """Let what came before an answer be handled first, as a log message that belongs to its call."""
        if self._has_handed_on:
            self._has_handed_on = False
            for _ in range(_TURNS):
                await asyncio.sleep(0)

    def no_more(self) -> None:
        """End the session's half of the connection."""
        self._arrived.close()

    async def read(self) -> None:
        """Hand on what the server writes; then whoever waits for an answer gets none."""
        await super().read()
        self._direct.close()

    async def send(self, message: SessionMessage, /) -> None:
        """Write a message once those before it are on their way; if that fails, the connection is over."""
        if isinstance(message.message, JSONRPCRequest):
            self._sessions_own.add(message.message.id)
        await self.write(as_line(message))

    async def aclose(self) -> None:
        """Take no more."""
        self._closed = True

    def close(self) -> None:
        """Take nothing more, from neither side."""
        super().close()
        self._direct.close()
        self.received.close()
