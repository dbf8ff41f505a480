"""Who a client over HTTP is: everybody on this machine can connect, so each client shows a token of its own.

Over a Unix socket the kernel says whose program connects, and no token is needed.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import struct
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import anyio
from pydantic import Field, StringConstraints
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ironcurtain.enforcement.audit.log import AuditLog
from ironcurtain.enforcement.calls.active_policy import ActivePolicy
from ironcurtain.enforcement.proxy.transport.scope import CLIENT, PRINCIPAL, UNASKED
from ironcurtain.enforcement.proxy.transport.tokens import BadTokenError, Tokens
from ironcurtain.errors import AuditError, FileError
from ironcurtain.gateway.admission import Stage
from ironcurtain.gateway.principal import Principal
from ironcurtain.settings import user_directory
from ironcurtain.system import json_text
from ironcurtain.system.files import atomic_write, load
from ironcurtain.system.frozen import Frozen, Slug
from ironcurtain.system.ownership import check_own, others_have_access
from ironcurtain.system.text import visible

ReportRefusal = Callable[[str], Awaitable[None]]
"""Is told why a request was refused."""

_FORMAT: Literal["ironcurtain/http-clients/v1"] = "ironcurtain/http-clients/v1"
_OPEN = frozenset({"/health"})
_BEARER = b"bearer "
_MOST_SESSIONS = 10_000
_REDIRECTED = 300
_LOCAL_PEERCRED, _SOL_LOCAL = 1, 0

Token = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._~+/=-]{32,256}$")]


class HttpClients(Frozen):
    """The file of clients: by name the token that each shows."""

    format: Literal["ironcurtain/http-clients/v1"] = _FORMAT
    clients: dict[Slug, Token] = Field(min_length=1)

    def name_of(self, headers: Mapping[bytes, bytes]) -> str | None:
        """Return the client whose token a request shows; None if it shows none of them."""
        shown = headers.get(b"authorization", b"")
        if shown[: len(_BEARER)].lower() != _BEARER:
            return None
        token, found = shown[len(_BEARER) :].strip(), None
        for name, own in self.clients.items():  # all of them: how long it takes tells nothing
            if hmac.compare_digest(token, own.encode()):
                found = name
        return found


def clients_file() -> Path:
    """Return where the clients' tokens are, unless somebody says otherwise."""
    return user_directory() / "http-clients.json"


def read_or_make(path: Path) -> HttpClients:
    """Read the clients' tokens; where there is no file, make one with one client.

    Raises:
        FileError: If others can read or change it.
        FormatError: If it is no such file.
    """
    if not path.exists():
        made = HttpClients(clients={"default": secrets.token_urlsafe(32)})
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic_write(path, json_text.pretty(made.model_dump(mode="json")).encode(), mode=0o600)
    check_own(path, "the file of clients' tokens")
    if others_have_access(path.stat()):
        raise FileError(
            "others can read the clients' tokens",
            where=str(path),
            hint=f"Run `chmod 600 {visible(str(path))}`, and give each client another token.",
        )
    return load(path, HttpClients)


def is_ours(connection: socket.socket, own: int) -> bool:
    """Tell whether the program at the other end of a Unix socket runs as a user."""
    if sys.platform == "linux":
        size = struct.calcsize("3i")
        _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
        return bool(user == own)
    found = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 8)  # struct xucred: version, user, …
    return bool(struct.unpack("2I", found)[1] == own)


@dataclass
class ClientAuthentication:
    """Lets requests through of which it is known whose they are; each session is its client's alone.

    Attributes:
        app: What serves them.
        clients: Who shows which token; None where nobody has to.
        name: What everybody is called then.
        tokens: Which signed tokens count; with them, nothing else does.
        refused: Is told why a request showed none.
    """

    app: ASGIApp
    clients: HttpClients | None
    name: str = UNASKED
    tokens: Tokens | None = None
    refused: ReportRefusal | None = None
    _sessions: dict[bytes, str] = field(default_factory=dict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it before anything of its body is read."""
        if scope["type"] != "http" or scope["path"] in _OPEN:
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if twice := _twice(scope["headers"]):
            await PlainTextResponse(f"Send the header {twice} once.\n", 400)(scope, receive, send)
            return
        client, principal = await self._who(headers)
        if client is None:
            refusal = PlainTextResponse("Show the token of a client.\n", 401, {"www-authenticate": "Bearer"})
            await refusal(scope, receive, send)
            return
        session = headers.get(b"mcp-session-id")
        if session is not None and self._sessions.get(session) != client:
            await PlainTextResponse("There is no such session.\n", 404)(scope, receive, send)
            return

        async def learning(message: Message) -> None:
            if message["type"] == "http.response.start":
                if scope["method"] == "DELETE" and session is not None and message["status"] < _REDIRECTED:
                    self._sessions.pop(session, None)  # another DELETE may have been quicker
                else:
                    self._learn(message.get("headers", ()), client)
            await send(message)

        await self.app({**scope, CLIENT: client, PRINCIPAL: principal}, receive, learning)

    async def _who(self, headers: Mapping[bytes, bytes]) -> tuple[str | None, Principal | None]:
        """Return who a client is, and whom it acts for as its token shows; nobody where it shows none."""
        if self.tokens is None:
            return (self.clients.name_of(headers) if self.clients is not None else self.name), None
        try:
            principal = self.tokens.principal_of(headers)
        except BadTokenError as error:
            if self.refused is not None:
                await self.refused(str(error))
            return None, None
        return principal.sub, principal

    def _learn(self, headers: Iterable[tuple[bytes, bytes]], client: str) -> None:
        """Note the client of the session that an answer names."""
        for name, session in headers:
            if name.lower() == b"mcp-session-id" and session not in self._sessions:
                while len(self._sessions) >= _MOST_SESSIONS:
                    del self._sessions[next(iter(self._sessions))]
                self._sessions[session] = client


def _twice(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Return a header that says who asks and stands there twice: whoever reads it next may take the other."""
    counts = Counter(name for name, _ in headers)
    return next((name.decode() for name in (b"authorization", b"mcp-session-id") if counts[name] > 1), "")


_PAUSE = 1.0


@dataclass
class Unauthenticated:
    """Records them: at most one a second, which tells how many came since the last."""

    log: AuditLog
    policy: ActivePolicy
    _next: float = 0.0
    _untold: int = 0

    async def __call__(self, why: str) -> None:
        """Record a refused request.

        Args:
            why: What was wrong; nothing of the request is in it.
        """
        if anyio.current_time() < self._next:
            self._untold += 1
            return
        self._next, untold = anyio.current_time() + _PAUSE, self._untold
        self._untold = 0
        # Our own words: a log that keeps no values keeps these.
        detail = {"stage": Stage.AUTH.value, "why": why, "others_before": untold}
        event = self.policy.current.recorder.event("unauthenticated").model_copy(update={"detail": detail})
        try:
            await self.log.event(event)
        except AuditError:
            self._untold = untold + 1  # nothing happened that would need the record
