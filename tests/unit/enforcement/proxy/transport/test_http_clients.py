"""Sessions over HTTP are their client's alone, however many another client opens and ends."""

from __future__ import annotations

import itertools

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from ironcurtain.enforcement.proxy.transport.http_clients import ClientAuthentication, HttpClients

pytestmark = pytest.mark.anyio

TOKENS = {"one": "1" * 40, "two": "2" * 40}


async def test_sessions_that_another_client_opened_and_ended_leave_ours_alone() -> None:
    numbers = itertools.count()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        named = dict(scope["headers"]).get(b"mcp-session-id", b"%d" % next(numbers))
        await PlainTextResponse("", headers={"mcp-session-id": named.decode()})(scope, receive, send)

    served = ClientAuthentication(app, HttpClients(clients=TOKENS))

    async def answer(method: str, client: str, session: bytes = b"") -> tuple[int, bytes]:
        """Return status and session of the answer to a request."""
        answers: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": b""}

        async def send(message: Message) -> None:
            answers.append(message)

        named = [(b"mcp-session-id", session)] if session else []
        headers = [(b"authorization", f"Bearer {TOKENS[client]}".encode()), *named]
        scope = {"type": "http", "path": "/mcp", "method": method, "headers": headers}
        await served(scope, receive, send)
        return answers[0]["status"], dict(answers[0]["headers"]).get(b"mcp-session-id", b"")

    _, ours = await answer("POST", "one")
    for _ in range(10_001):
        _, other = await answer("POST", "two")
        assert await answer("DELETE", "two", other) == (200, other)
    assert (await answer("POST", "two", other))[0] == 404
    assert await answer("POST", "one", ours) == (200, ours)
