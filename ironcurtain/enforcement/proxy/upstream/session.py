"""How a server is spoken to: the session that is opened with it, and calls of its tools beside that."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx2
import mcp_types as types
from anyio import to_thread
from mcp import Client
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.dispatcher import CallOptions, ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types import methods
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, TypeAdapter

from ironcurtain.enforcement.proxy.upstream.server_messages import ServerMessages
from ironcurtain.servers.config_model import Server
from ironcurtain.servers.direct_requests import DirectRequests
from ironcurtain.servers.variables import filled_server
from ironcurtain.system.frozen import JsonValue

_US = types.Implementation(name="ironcurtain", version="1")
"""What servers are told of who connects."""

_MAX_EVENT = 32 << 20
_HTTP_SECONDS = 30.0
_METHOD = "tools/call"
_STATELESS = frozenset({"resultType", "inputRequests", "requestState"})
"""Members of a result that mean something in the stateless era only."""
_RAW: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])
_TO_WRITE = 5.0
"""Seconds that a server has to take a request: the session's own time begins when it has, and one that reads
nothing could keep us waiting for ever."""


def client_over(transport: Any, wanted: types.ClientCapabilities, heard: ServerMessages) -> Client:  # noqa: ANN401 - the SDK's transports have no common public type
    """Return the client to enter.

    Args:
        transport: The connection.
        wanted: What the server may ask for.
        heard: What it sends by itself goes there.
    """
    return Client(
        transport,
        mode="auto",
        cache=None,
        client_info=_US,
        sampling_callback=heard.sampling if wanted.sampling is not None else None,
        sampling_capabilities=wanted.sampling,
        elicitation_callback=heard.elicitation if wanted.elicitation is not None else None,
        list_roots_callback=heard.roots if wanted.roots is not None else None,
        logging_callback=heard.log,
        message_handler=heard.message,
    )


async def over_http(name: str, server: Server) -> Any:  # noqa: ANN401 - as above
    """Return the transport to a server that has a URL."""
    server = await to_thread.run_sync(filled_server, server, name)
    timeout = httpx2.Timeout(_HTTP_SECONDS, read=None)
    client = httpx2.AsyncClient(headers=server.headers, timeout=timeout, trust_env=False)
    return streamable_http_client(server.url or "", http_client=client, max_sse_event_size=_MAX_EVENT)


def envelope(session: ClientSession, wanted: types.ClientCapabilities) -> dict[str, Any]:
    """Return the members of `_meta` that a session puts into each request: none in the handshake era.

    Args:
        session: The session of a client that was made for `wanted`.
        wanted: What the server may ask for.
    """
    if session.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return {}
    modes = types.ElicitationCapability(
        form=types.FormElicitationCapability(), url=types.UrlElicitationCapability()
    )
    capabilities = types.ClientCapabilities(
        sampling=wanted.sampling,
        elicitation=modes if wanted.elicitation is not None else None,
        roots=types.RootsCapability(list_changed=True) if wanted.roots is not None else None,
    )
    return {
        types.PROTOCOL_VERSION_META_KEY: session.protocol_version,
        types.CLIENT_INFO_META_KEY: _dumped(_US),
        types.CLIENT_CAPABILITIES_META_KEY: _dumped(capabilities),
    }


async def request_over(
    session: ClientSession,
    request: types.ClientRequest,
    *,
    seconds: float,
    on_progress: ProgressFnT | None = None,
) -> dict[str, JsonValue]:
    """Send a request over a session; return its result as the server wrote it.

    Args:
        session: The session.
        request: The request.
        seconds: How long the answer may take.
        on_progress: Told of progress.

    Raises:
        MCPError: The server's own error; no answer.
        ValueError: If the answer is none of the protocol.
    """
    try:
        async with asyncio.timeout(seconds + _TO_WRITE):
            result: dict[str, JsonValue] = await session.send_request(  # type: ignore[type-var]
                request, _RAW, request_read_timeout_seconds=seconds, progress_callback=on_progress
            )
    except TimeoutError:
        raise MCPError(types.REQUEST_TIMEOUT, "the server took no request") from None
    _check_flag(result)
    return result


async def call_directly(
    direct: DirectRequests,
    version: str,
    params: Mapping[str, Any],
    *,
    seconds: float,
    on_progress: ProgressFnT | None,
) -> dict[str, JsonValue]:
    """Call a tool; return the result as the server wrote it, as far as its protocol knows it.

    Args:
        direct: The connection.
        version: The protocol that was agreed on.
        params: `name`, `arguments` and, with the envelope in it, `_meta`.
        seconds: How long the answer may take.
        on_progress: Told of progress.

    Raises:
        MCPError: The server's own error; no answer.
        ValueError: If the answer is none of the protocol.
    """
    options: CallOptions = {"timeout": seconds}
    if on_progress is not None:
        options["on_progress"] = on_progress
    result = await direct.send_raw_request(_METHOD, params, options)
    methods.validate_server_result(_METHOD, version, result)
    _check_flag(result)
    if version not in MODERN_PROTOCOL_VERSIONS and not _STATELESS.isdisjoint(result):
        return {name: value for name, value in result.items() if name not in _STATELESS}
    return result


def _check_flag(result: Mapping[str, JsonValue]) -> None:
    """See that a result says plainly whether it is an error: the models take `1` and `"true"` for true, too.

    Raises:
        ValueError: If clients would read it in another way than we do.
    """
    flag = result.get("isError")
    if flag is not None and flag is not True and flag is not False:
        raise ValueError("isError")


def _dumped(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)
