"""The client's side over Streamable HTTP: on this machine only, and closed to web pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from ironcurtain.enforcement.proxy.transport.http_bounds import HttpLimits, bounded
from ironcurtain.enforcement.proxy.transport.http_clients import (
    ClientAuthentication,
    HttpClients,
    ReportRefusal,
)
from ironcurtain.enforcement.proxy.transport.http_server import listen, run_server
from ironcurtain.enforcement.proxy.transport.scope import ON_SOCKET, UNASKED
from ironcurtain.enforcement.proxy.transport.tokens import Tokens
from ironcurtain.errors import UsageError
from ironcurtain.system.loopback import is_loopback
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted

PATH = "/mcp"
_LIMITS = HttpLimits()


class Address(Struct):
    """Where to listen.

    Attributes:
        port: 0 takes a free one.
        path: The Unix socket, instead of host and port.
    """

    host: str
    port: int
    path: Path | None = None

    @classmethod
    def parse(cls, text: str, *, anywhere: bool) -> Address:
        """Read `HOST:PORT` or `unix:PATH`.

        Args:
            text: As `127.0.0.1:8080`, `localhost:0`, `[::1]:8080`, `unix:/home/me/proxy.sock`.
            anywhere: Whether an address that other machines can reach is meant.

        Raises:
            UsageError: If it is none, or other machines could reach it and that is not meant.
        """
        kind, _, path = text.partition(":")
        if kind == "unix" and path.startswith("/"):
            return cls("localhost", 0, Path(path))
        host, _, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:  # noqa: PLR2004
            raise UsageError(f"{quoted(text)} is no HOST:PORT", hint="Write --http 127.0.0.1:8080.")
        if not anywhere and not is_loopback(host):
            raise UsageError(
                f"other machines could reach {quoted(text)}, and what goes there is not encrypted",
                hint="Listen on 127.0.0.1; with a gateway of your own in front, add --http-anywhere.",
            )
        return cls(host, int(port))


async def serve_http(
    server: Server[Any],
    address: Address,
    listening: Callable[[str], None],
    clients: HttpClients | None = None,
    limits: HttpLimits = _LIMITS,
    *,
    tokens: Tokens | None = None,
    refused: ReportRefusal | None = None,
) -> None:
    """Serve until cancelled.

    Args:
        server: The endpoint.
        address: Where to listen.
        listening: Told the URL once clients can connect.
        clients: Who may connect, by their tokens; None asks nobody. A Unix socket is for its user alone.
        limits: Bounds on what clients can hold.
        tokens: Which signed tokens say whom a client acts for; with them, nothing else counts.
        refused: Is told why a request showed none of these.

    Raises:
        SystemFailedError: If the address cannot be taken.
    """
    taken = listen(address.host, address.port) if address.path is None else None
    host = f"[{address.host}]" if ":" in address.host else address.host
    names: tuple[str, ...] = (host, "127.0.0.1", "localhost", "[::1]")
    url = f"unix:{address.path}"
    if taken is not None:
        names = tuple(f"{name}:{taken.getsockname()[1]}" for name in names)
        url = f"http://{names[0]}{PATH}"
    knowing = partial(
        ClientAuthentication, clients=None if address.path else clients, tokens=tokens, refused=refused
    )
    named = partial(knowing, name=ON_SOCKET if address.path else UNASKED)
    await run_server(
        _config(server, address, names, named, limits),
        [taken] if taken is not None else None,
        lambda: listening(url),
    )


def _config(
    server: Server[Any],
    address: Address,
    names: tuple[str, ...],
    known: Callable[[ASGIApp], ASGIApp],
    limits: HttpLimits,
) -> uvicorn.Config:
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=limits.bytes,
        session_idle_timeout=limits.idle,
        max_sessions=limits.sessions,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=list(names),
            allowed_origins=[f"http://{name}" for name in names],
        ),
        custom_starlette_routes=[Route("/health", _health)],
    )
    path = str(address.path) if address.path is not None else None
    return bounded(known(app), limits, uds=path, lifespan="on")


async def _health(_: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})
