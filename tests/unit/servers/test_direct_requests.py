"""Requests beside a session: what is written for them, and what each kind of answer ends them with."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio
import pytest
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT, jsonrpc_message_adapter

from ironcurtain.servers.direct_requests import DirectRequests

pytestmark = pytest.mark.anyio


class Peer:
    """The other side: what it was written, and how it answers."""

    def __init__(self) -> None:
        self.requests = DirectRequests()
        self.requests.open(self._take)
        self.written: list[dict[str, Any]] = []
        self.is_gone = False
        self._wrote = anyio.Event()

    async def _take(self, line: bytes) -> None:
        if self.is_gone:
            raise anyio.ClosedResourceError
        self.written.append(json.loads(line))
        self._wrote.set()

    async def asked(self) -> int:
        """Wait for the first request; return its number."""
        await self._wrote.wait()
        number: int = self.written[0]["id"]
        return number

    def say(self, **message: Any) -> bool:
        """Write a message; tell whether a request of ours took it."""
        line = json.dumps({"jsonrpc": "2.0", **message})
        return self.requests.heard(jsonrpc_message_adapter.validate_json(line, by_name=False))


async def ended(peer: Peer, act: Callable[[], Awaitable[object]], **options: Any) -> Any:
    """Send a request, do something once it is written, and return its result or its error's code."""
    found: list[Any] = []

    async def send() -> None:
        given: CallOptions = {"timeout": 60.0, **options}  # type: ignore[typeddict-item] # any of them
        try:
            found.append(await peer.requests.send_raw_request("tools/call", {"name": "a"}, given))
        except MCPError as error:
            found.append(error.error.code)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(send)
        await act()
    return found[0]


async def test_the_first_answer_counts_and_a_later_one_is_nobodys() -> None:
    peer = Peer()

    async def answer() -> None:
        id_ = await peer.asked()
        plain = peer.requests.answer_in({"jsonrpc": "2.0", "id": id_, "result": {"first": True}})
        assert plain is not None
        peer.requests.answered(plain)
        assert peer.say(id=id_, result={"first": False})

    assert await ended(peer, answer) == {"first": True}
    number = peer.written[0]["id"]
    assert peer.written == [{"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "a"}}]
    assert not peer.say(id=number, result={})
    assert peer.requests.answer_in({"jsonrpc": "2.0", "id": number, "result": {}}) is None


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": True, "result": {}},
        {"jsonrpc": "2.0", "id": "{id}", "result": {}, "method": "tools/call"},
        {"jsonrpc": "2.0", "id": "{id}", "result": []},
        {"jsonrpc": "1.0", "id": "{id}", "result": {}},
        {"jsonrpc": "2.0", "id": "{id}", "error": {"code": 1, "message": "no"}},
        ["jsonrpc"],
    ],
)
async def test_only_a_plain_answer_needs_no_model(message: Any) -> None:
    peer = Peer()

    async def answer() -> None:
        id_ = await peer.asked()
        asked = {**message, "id": id_} if isinstance(message, dict) and message["id"] == "{id}" else message
        assert peer.requests.answer_in(asked) is None
        assert peer.say(id=id_, result={})

    assert await ended(peer, answer) == {}


@pytest.mark.parametrize(
    ("outcome", "found"),
    [({"result": {"x": [1, None]}}, {"x": [1, None]}), ({"error": {"code": -7, "message": "no"}}, -7)],
)
async def test_an_answer_whose_number_comes_back_as_a_text(outcome: dict[str, Any], found: Any) -> None:
    peer = Peer()

    async def answer() -> None:
        assert peer.say(id=str(await peer.asked()), **outcome)

    assert await ended(peer, answer) == found


async def test_progress_is_told_in_order_until_the_answer() -> None:
    peer, told = Peer(), list[tuple[float, float | None, str | None]]()

    async def report(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))
        if progress == 1:
            raise ValueError("the first one cannot be told")

    async def answer() -> None:
        token = await peer.asked()
        assert peer.written[0]["params"]["_meta"] == {"progressToken": token}
        steps: list[dict[str, Any]] = [
            {"progress": 1},
            {"progress": True},
            {"progress": 10**400},
            {"progress": float("inf")},
            {"progress": 2.5, "total": 3, "message": "x"},
            {"progress": 3, "total": 10**400, "message": 1},
        ]
        for step in steps:
            assert peer.say(method="notifications/progress", params={"progressToken": token, **step})
        assert not peer.say(method="notifications/progress", params={"progressToken": 1, "progress": 1})
        assert not peer.say(method="notifications/message", params={"level": "info", "data": token})
        peer.say(id=token, result={})

    assert await ended(peer, answer, on_progress=report) == {}
    assert told == [(1.0, None, None), (2.5, 3.0, "x"), (3.0, None, None)]


async def test_a_request_that_is_not_answered_is_called_off() -> None:
    peer = Peer()
    assert await ended(peer, anyio.lowlevel.checkpoint, timeout=0.05) == REQUEST_TIMEOUT
    params = {"requestId": peer.written[0]["id"], "reason": "timed out after 0.05s"}
    assert peer.written[1] == {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
    assert not peer.requests.is_waiting


async def test_a_request_whose_sender_is_cancelled_is_called_off() -> None:
    peer = Peer()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(peer.requests.send_raw_request, "tools/call", None))
        number = await peer.asked()
        tasks.cancel_scope.cancel()
    assert "params" not in peer.written[0]
    assert peer.written[1]["params"] == {"requestId": number, "reason": "caller cancelled"}
    assert not peer.requests.is_waiting


async def test_whoever_waits_when_the_connection_closes_gets_no_answer_and_nothing_more_is_sent() -> None:
    peer = Peer()

    async def close() -> None:
        await peer.asked()
        peer.requests.close()

    assert await ended(peer, close) == CONNECTION_CLOSED
    assert not peer.requests.is_open
    assert await ended(peer, anyio.lowlevel.checkpoint) == CONNECTION_CLOSED
    await peer.requests.notify("notifications/progress", {})
    assert len(peer.written) == 1


async def test_a_peer_that_takes_no_more_lines_has_closed_the_connection() -> None:
    peer = Peer()
    peer.is_gone = True
    assert await ended(peer, anyio.lowlevel.checkpoint) == CONNECTION_CLOSED
    await peer.requests.notify("notifications/progress", None)
    assert not peer.written


async def test_a_request_that_the_peer_does_not_even_take_ends_in_time() -> None:
    peer = Peer()
    peer.requests.open(lambda _: anyio.sleep_forever())
    assert await ended(peer, anyio.lowlevel.checkpoint, timeout=0.05) == REQUEST_TIMEOUT
    assert not peer.requests.is_waiting
