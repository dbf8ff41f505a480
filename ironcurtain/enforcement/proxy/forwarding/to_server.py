"""Requests on their way through: what the client wrote, what the server is sent, what comes back."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any, cast

import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import ConfigDict, TypeAdapter, ValidationError

from ironcurtain.enforcement.calls.destination import NoAnswerError, OwnProcess, ServerResult
from ironcurtain.enforcement.proxy.forwarding.receiver import ToReceiver
from ironcurtain.enforcement.proxy.forwarding.server_requests import ServerRequest
from ironcurtain.enforcement.proxy.transport.client_requests import ClientRequest
from ironcurtain.enforcement.proxy.transport.clients import Clients
from ironcurtain.enforcement.proxy.upstream.local import LocalServer
from ironcurtain.enforcement.proxy.upstream.upstream import Upstream
from ironcurtain.enforcement.proxy.upstream.upstream_manager import UpstreamManager
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import AbstractStruct

_MOST_ROUNDS = 10
_NOT_RUNNING = "the server is not running"
_TRACE = {
    "traceparent": re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}"),
    "tracestate": re.compile(r"[\x20-\x7e]{1,512}"),
    "baggage": re.compile(r"[\x20-\x7e]{1,8192}"),
}
"""What joins a call to a trace (W3C Trace Context and Baggage), and the form that it must have."""
_FRAME_BYTES = 1 << 16
_INPUTS: TypeAdapter[dict[str, Any]] = TypeAdapter(types.InputRequests, config=ConfigDict(defer_build=True))


async def written_arguments(
    context: ServerRequestContext[Any, Any], parsed: dict[str, JsonValue] | None
) -> JsonValue | bytes:
    """Return a call's arguments as they are to be evaluated.

    The SDK has parsed the message already, and what two parsers could read differently is gone by then.
    So the bytes that came in are held to strict JSON; where they are none, they are evaluated, and refused.
    """
    request = context.request
    written = request if isinstance(request, bytes) or request is None else await request.body()
    if written is None:
        return parsed
    try:
        json_text.parse(written, max_bytes=json_text.MAX_BYTES + _FRAME_BYTES)
    except json_text.MalformedJsonError:
        return bytes(written)
    return parsed


class ToServer(ToReceiver, AbstractStruct):
    """The server of one request, sent once: whatever its answer says, a call may have had its effect.

    Attributes:
        manager: All servers.
        clients: Are told meanwhile for whom the server works.
        request: What is sent.
        client_request: The client's request, through which the client can be asked.
    """

    manager: UpstreamManager
    clients: Clients
    request: ServerRequest
    client_request: ClientRequest

    @property
    def is_tool(self) -> bool:  # type: ignore[override] # a fact of the request
        """Whether it is a call of a tool."""
        return self.request.is_tool

    @property
    def is_read_only(self) -> bool:  # type: ignore[override] # likewise
        """Whether the server lists the tool with the hint that it only reads."""
        upstream = self.manager.upstreams.get(self.request.call.server)
        inventory = upstream.inventory if upstream is not None else None
        tool = inventory.tools.get(self.request.call.tool) if inventory is not None else None
        return tool is not None and tool.annotations.get("readOnlyHint") is True

    async def send(
        self, arguments: Mapping[str, JsonValue], own_process: OwnProcess | None = None
    ) -> ServerResult:
        """Send it, to a server process of its own where that is wanted.

        Raises:
            MCPError: The server's own error.
            NoAnswerError: If it gives no answer.
        """
        call = self.request.call
        send_to = partial(self._send_to, arguments)
        if own_process is not None:
            return await self.manager.own_processes.send(call, own_process, self.client_request, send_to)
        if (upstream := self.manager.upstreams.get(call.server)) is None:
            raise NoAnswerError(_NOT_RUNNING)
        with self.clients.served_by(call.server, self.client_request):
            return await send_to(upstream)

    async def current_digest(self, known: str) -> str | None:  # noqa: ARG002 - the server is asked
        """Return the digest of the tool as its server lists it now."""
        upstream = self.manager.upstreams.get(self.request.call.server)
        return await upstream.digest_of(self.request.call.tool) if upstream is not None else None

    async def _send_to(
        self, arguments: Mapping[str, JsonValue], upstream: Upstream | LocalServer
    ) -> ServerResult:
        if self.is_tool:
            # What could not be compared with what was annotated is decided and recorded, but never sent.
            if self.request.call.live_digest is None:
                raise NoAnswerError(_NOT_RUNNING)
            await upstream.roots.understood()
        more: dict[str, Any] = {}
        on_progress = self.client_request.on_server_progress
        # A server of the stateless era asks by answering: each round brings the answers to its questions.
        for _ in range(_MOST_ROUNDS):
            meta = _meta(upstream, self.client_request)
            if self.is_tool and not more:
                call = {"name": self.request.call.tool, "arguments": arguments}
                params = {**call, "_meta": meta} if meta else call
                result = await upstream.call_tool(params, on_progress=on_progress)
            else:
                message = self.request.message(arguments, {"_meta": meta, **more})
                result = await upstream.request(message, on_progress=on_progress)
            if result.get("resultType") != "input_required":
                return _unstamped(result)
            more = await _answers(self.manager, upstream, result, self.client_request)
        raise NoAnswerError("the server asked for more input without end")


async def _answers(
    manager: UpstreamManager,
    upstream: Upstream | LocalServer,
    result: ServerResult,
    client_request: ClientRequest,
) -> dict[str, Any]:
    """Return what a server of the stateless era is to be sent along with its request the next time."""
    try:
        asked = _INPUTS.validate_python(result.get("inputRequests") or {}, by_name=False)
    except ValidationError:
        raise NoAnswerError("the server's answer is not of the protocol") from None
    answers: dict[str, Any] = {}
    for key, request in asked.items():
        answer = upstream.roots.answered(await manager.ask(upstream.name, request, client_request))
        if isinstance(answer, types.ErrorData):
            raise MCPError.from_error_data(answer)
        answers[key] = answer
    state = result.get("requestState")
    return {"input_responses": answers or None, "request_state": state if isinstance(state, str) else None}


def passed_meta(given: Mapping[str, Any] | None, passes: Collection[str]) -> dict[str, JsonValue]:
    """Return the members of a request's `_meta` that a server's configuration lets through.

    Raises:
        MCPError: If they are no strict JSON.
    """
    chosen = {name: value for name, value in (given or {}).items() if name in passes}
    if not chosen:
        return {}
    try:
        return cast("dict[str, JsonValue]", json_text.plain(chosen))  # a copy of an object is one
    except json_text.MalformedJsonError:
        raise MCPError(types.INVALID_PARAMS, "The request's _meta is no strict JSON.") from None


def _meta(upstream: Upstream | LocalServer, client_request: ClientRequest) -> dict[str, Any] | None:
    """Return the `_meta` to send on: what was let through, and the trace that the call belongs to.

    Whatever else the client wrote there no rule has evaluated and nobody was shown. The session adds what the
    protocol needs, a token for progress included.
    """
    given: Mapping[str, Any] = client_request.context.meta or {}
    meta: dict[str, Any] = {
        name: given[name]
        for name, form in _TRACE.items()
        if isinstance(given.get(name), str) and form.fullmatch(given[name])
    }
    meta |= client_request.passed
    if upstream.modern and upstream.log_level is not None:
        meta[types.LOG_LEVEL_META_KEY] = upstream.log_level
    return meta or None


def _unstamped(result: ServerResult) -> ServerResult:
    """Leave out who answered: to the client that is the proxy."""
    meta = result.get("_meta")
    if not isinstance(meta, dict) or types.SERVER_INFO_META_KEY not in meta:
        return result
    kept = {key: value for key, value in meta.items() if key != types.SERVER_INFO_META_KEY}
    return {
        **{key: value for key, value in result.items() if key != "_meta"},
        **({"_meta": kept} if kept else {}),
    }
