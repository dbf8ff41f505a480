"""Calls of tools that the client sends over stdio, answered without what the SDK's server does for a request.

The SDK's server parses a line, matches it against the models of every message, passes it through streams and
tasks, validates its params twice, and does as much on the way back. A call that is written as nearly all are
is read here once, strictly, and goes to its handler; its answer goes straight to the client. Every other
line is the SDK's: other methods, unusual members, what is no strict JSON, all that a client of the stateless
era writes.

    async with direct.serving(write):          # serve_stdio: for as long as the client can be written to
        direct.follow(context.session)         # the endpoint, when the client of the handshake era is ready
        direct.takes(line)                     # serve_stdio, with each line, before the SDK sees it
        direct.heard(message)                  # serve_stdio, with what the SDK's models made of the others

The contract with handlers is that of the SDK's dispatcher: a task and a cancel scope for each call, a
session to ask the client through, exactly one answer, and none for a call that was called off.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio
import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.server.connection import Connection
from mcp.server.session import ServerSession
from mcp.shared.dispatcher import CallOptions, as_request_id, coerce_request_id
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.jsonrpc_dispatcher import (
    cancelled_request_id_from_params,
    handler_exception_to_error_data,
    progress_token_from_params,
)
from mcp.shared.transport_context import TransportContext
from mcp_types import methods
from pydantic import ValidationError
from pydantic_core import from_json

from ironcurtain.servers.direct_requests import DirectRequests, Write, line_of
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct

Context = ServerRequestContext[Any, Any]
Handle = Callable[[Context, str, dict[str, JsonValue] | None], Awaitable[dict[str, JsonValue]]]
"""Answers a call: its context, the tool's name, its arguments as strict JSON."""

_METHOD = "tools/call"
_MARK = b'"tools/call"'
_MEMBERS = frozenset({"jsonrpc", "id", "method", "params"})
_PIPE = TransportContext(kind="jsonrpc", can_send_request=True)
_LAST_WORD = 1.0

_log = logging.getLogger(__name__)


@dataclass(eq=False)
class _Call:
    """One call while it is answered, as the SDK's `DispatchContext`: the way back to the client."""

    request_id: types.RequestId
    requests: DirectRequests
    token: types.ProgressToken | None = None
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)
    is_over: bool = False
    is_answered: bool = False

    transport: TransportContext = _PIPE
    message_metadata: None = None

    @property
    def can_send_request(self) -> bool:
        """Whether the client can be asked something about it: not when it is over."""
        return not self.is_over

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Ask the client.

        Raises:
            NoBackChannelError: If the call is over.
            MCPError: The client's error.
        """
        if self.is_over:
            raise NoBackChannelError(method)
        return await self.requests.send_raw_request(method, params, opts)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        """Tell the client something, as long as the call is not over."""
        if not self.is_over:
            await self.requests.notify(method, params, opts)

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client of progress, if it wants to know."""
        if self.token is None:
            return
        told = {"progressToken": self.token, "progress": progress, "total": total, "message": message}
        await self.notify(
            "notifications/progress", {name: value for name, value in told.items() if value is not None}
        )


class DirectCalls:
    """The calls of the one client over stdio that go this way.

    Args:
        handle: Answers a call.
    """

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._requests = DirectRequests()
        self._connection: Connection | None = None
        self._calls: dict[types.RequestId, _Call] = {}
        self._answering: dict[asyncio.Task[None], _Call] = {}
        self._write: Write

    @asynccontextmanager
    async def serving(self, write: Write) -> AsyncIterator[None]:
        """Answer calls until the block ends; those that go on then are told that the connection is closed."""
        self._write = write
        self._requests.open(write)
        try:
            yield
        finally:
            self._connection = None
            self._requests.close()
            for call in self._answering.values():
                call.scope.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.gather(*self._answering)

    def follow(self, session: ServerSession) -> None:
        """Take the calls of a client of the handshake era: what it said of itself is in its session."""
        self._connection = Connection(
            self._requests, protocol_version=session.protocol_version, client_params=session.client_params
        )
        self._connection.initialized.set()

    # -- what the client writes -----------------------------------------------------------------

    def takes(self, line: bytes) -> bool:
        """Take a line that is a call, or a plain answer to a question about one; tell whether it was."""
        if self._connection is None:
            return False
        if _MARK in line:
            return self._takes_call(line, self._connection)
        if self._requests.is_waiting:
            try:
                answer = self._requests.answer_in(from_json(line))
            except ValueError:
                return False
            if answer is not None:
                self._requests.answered(answer)
                return True
        return False

    def takes_unreadable(self, line: bytes) -> bool:
        """Take an answer that no parser of the protocol takes; tell whether it was one to a question here."""
        answer = self._requests.unreadable_answer_in(line)
        if answer is not None:
            self._requests.answered(answer)
        return answer is not None

    def heard(self, message: types.JSONRPCMessage) -> bool:
        """Take a message that concerns a call or a question here; tell whether the SDK needs not see it."""
        match message:
            case types.JSONRPCRequest(method="initialize"):
                self._connection = None  # what the client says of itself now holds for its next call
                return False
            case types.JSONRPCNotification(method="notifications/cancelled", params=params):
                id_ = cancelled_request_id_from_params(params)
                call = self._called(id_) if id_ is not None else None
                if call is not None:
                    call.cancel_requested.set()
                    call.scope.cancel()
                return call is not None
            case _:
                return self._requests.heard(message)

    def _called(self, id_: types.RequestId) -> _Call | None:
        """Return the call under a number, which may come as a text and the other way round."""
        other = str(id_) if isinstance(id_, int) else coerce_request_id(id_)
        return self._calls.get(id_) or self._calls.get(other)

    def _takes_call(self, line: bytes, connection: Connection) -> bool:
        written = _read(line)
        if written is None:
            return False
        call = _Call(written.id, self._requests, progress_token_from_params(written.params))
        context = Context(
            session=ServerSession(call, connection, request_meta=written.meta),
            lifespan_context={},
            protocol_version=connection.protocol_version,
            method=_METHOD,
            params=written.params,
            request_id=written.id,
            meta=written.meta,
            request=line,
        )
        self._calls[written.id] = call
        handle = partial(self._handle, context, written.name, written.arguments)
        # A group of AnyIO's takes five times as long to start one; each call has a scope of its own.
        task = asyncio.create_task(self._answer(call, handle, connection.protocol_version))
        self._answering[task] = call
        task.add_done_callback(self._answering.pop)
        return True

    # -- what it is answered --------------------------------------------------------------------

    async def _answer(
        self, call: _Call, handle: Callable[[], Awaitable[dict[str, JsonValue]]], version: str
    ) -> None:
        """Answer one call: once, or not at all if it was called off."""
        with call.scope:
            try:
                try:
                    result = _shaped(version, await handle())
                finally:
                    self._end(call)
                await self._say(call, result=result)
            except Exception as error:  # noqa: BLE001 - whatever a handler raises is an answer
                told = handler_exception_to_error_data(error)
                if told is None:
                    _log.debug("a call ended with an error", exc_info=error)
                    told = types.ErrorData(code=0, message=str(error))
                await self._say(call, error=_dumped(told))
        if call.scope.cancelled_caught:
            closed = types.ErrorData(code=types.CONNECTION_CLOSED, message="Connection closed")
            with anyio.move_on_after(_LAST_WORD):
                await self._say(call, error=_dumped(closed))

    def _end(self, call: _Call) -> None:
        call.is_over = True
        if self._calls.get(call.request_id) is call:  # a later call may have its number
            del self._calls[call.request_id]

    async def _say(self, call: _Call, **answer: Mapping[str, Any]) -> None:
        line = line_of({"jsonrpc": "2.0", "id": call.request_id, **answer})
        if not (call.is_answered or call.cancel_requested.is_set()):
            call.is_answered = True
            await self._write(line)


class _Written(Struct):
    """A call as the client wrote it."""

    id: types.RequestId
    name: str
    arguments: dict[str, JsonValue] | None
    params: dict[str, JsonValue]
    meta: types.RequestParamsMeta | None


def _read(line: bytes) -> _Written | None:
    """Return the call that a line is, if it is one of the handshake era that holds nothing unusual."""
    try:
        message = json_text.parse_object(line)
        params = json_text.members(message.get("params"))
        id_, name = as_request_id(message.get("id")), params.get("name")
        is_call = message.keys() == _MEMBERS and (message["jsonrpc"], message["method"]) == ("2.0", _METHOD)
        if is_call and id_ is not None and isinstance(name, str) and _are_usual(params):
            sent = types.RequestParams.model_validate(params, by_name=False) if "_meta" in params else None
            arguments = json_text.members(params["arguments"]) if "arguments" in params else None
            return _Written(id_, name, arguments, params, sent.meta if sent is not None else None)
    except (json_text.MalformedJsonError, ValidationError):
        pass  # the SDK's server says what is wrong with it
    return None


def _are_usual(params: Mapping[str, JsonValue]) -> bool:
    """Tell whether the params of a call are those that nearly all calls of the handshake era have."""
    arguments, meta = params.get("arguments", {}), params.get("_meta", {})
    return (
        params.keys() <= {"name", "arguments", "_meta"}
        and isinstance(arguments, dict)
        and isinstance(meta, dict)
        and types.PROTOCOL_VERSION_META_KEY not in meta
    )


def _shaped(version: str, result: dict[str, JsonValue]) -> dict[str, Any]:
    """Return a result as the client's protocol knows it.

    Raises:
        MCPError: If it is none.
    """
    try:
        return methods.serialize_server_result(_METHOD, version, result)
    except ValidationError:
        raise MCPError(types.INTERNAL_ERROR, "Handler returned an invalid result") from None


def _dumped(error: types.ErrorData) -> dict[str, Any]:
    return error.model_dump(by_alias=True, mode="json", exclude_unset=True)
