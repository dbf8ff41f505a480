"""Somebody on this machine holds what the proxy serves HTTP with: connections, memory, sessions.

Held by: bounds of time, size, connections and sessions.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.server import Server
from support.deployments.proxied import LONG, Place, wait_for

from ironcurtain.enforcement.proxy.transport.http import Address, serve_http
from ironcurtain.enforcement.proxy.transport.http_bounds import HttpLimits
from ironcurtain.system.structs import replace

pytestmark = [pytest.mark.timeout(600), pytest.mark.anyio]

HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
ACCEPT = {"accept": "application/json, text/event-stream"}


@contextmanager
def listening(place: Place) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Run the proxy over HTTP; yield its process and its URL."""
    with (place.root / "stderr").open("a") as stderr, place.explained():
        process = subprocess.Popen(
            place.command("--http", "127.0.0.1:0", "--http-open", "--no-approver"),
            env=place.environment(),
            cwd=place.root,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )
        try:
            yield process, wait_for(lambda: re.search(r"listening on (\S+)", place.said))[1]
        finally:
            process.terminate()
            assert process.wait(LONG) == 0


async def _echoes(url: str) -> None:
    async with Client(url, mode="legacy", cache=None) as client:
        assert not (await client.call_tool("fix__echo", {"text": "x"})).is_error


def test_a_thousand_half_sent_requests_and_heavy_bodies(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve())
    with listening(place) as (process, url), ExitStack() as stack:
        port = int(url.split(":")[2].partition("/")[0])
        for _ in range(1_000):
            half = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            half.sendall(HEAD % port)
        anyio.run(_echoes, url)
        assert len(list(Path(f"/proc/{process.pid}/fd").iterdir())) < 500
        _heavy_bodies(url)
        anyio.run(_echoes, url)
        held = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
        assert held is not None
        assert int(held[1]) < 600 << 10


def _heavy_bodies(url: str) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"x": "y" * (60 << 20)}})
    with httpx2.Client(timeout=LONG, trust_env=False) as client:
        headers = {**ACCEPT, "content-type": "application/json"}
        # The answer may come, and the connection go, before all was sent.
        with suppress(httpx2.TransportError):
            assert client.post(url, content=body, headers=headers).status_code == 413


LIMITS = HttpLimits(head=0.3, body=0.3, connections=4, sessions=2, idle=0.5)


@asynccontextmanager
async def bounded(limits: HttpLimits = LIMITS) -> AsyncIterator[int]:
    """Serve an empty face under tight bounds; yield its port."""
    urls: list[str] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve_http, Server("test"), Address("127.0.0.1", 0), urls.append, None, limits)
        with anyio.fail_after(LONG):
            while not urls:  # noqa: ASYNC110 - it is told of in no other way
                await anyio.sleep(0.01)
        yield int(urls[0].split(":")[2].partition("/")[0])
        tasks.cancel_scope.cancel()


async def _until_closed(stream: anyio.abc.SocketStream) -> bytes:
    received = b""
    with anyio.fail_after(LONG):
        try:
            while True:
                received += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return received


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST ",
        HEAD,
        HEAD + b"X-A: " + b"b" * 1_000,
        HEAD + b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
        HEAD + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
        b"GET /health HTTP/1.1\r\nHost: x\r\n\r\nGET /health HTTP/1.1\r\n",
    ],
    ids=[
        "nothing",
        "a word",
        "half a head",
        "a long head",
        "half a body",
        "half a chunk",
        "half a second one",
    ],
)
async def test_a_request_that_never_arrives_is_given_up(sent: bytes) -> None:
    async with bounded() as port:
        stream = await anyio.connect_tcp("127.0.0.1", port)
        async with stream:
            await stream.send((sent % port if b"%d" in sent else sent) or b"\r\n")
            await _until_closed(stream)


@pytest.mark.parametrize("body", [b"", b"0\r\n\r\n", b"{}"], ids=["nothing", "chunks", "a length"])
async def test_a_request_that_says_in_two_ways_where_it_ends_is_refused_at_once(body: bytes) -> None:
    two = b"Content-Type: application/json\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with bounded(replace(LIMITS, head=LONG, body=LONG)) as port:
        stream = await anyio.connect_tcp("127.0.0.1", port)
        async with stream:
            await stream.send(HEAD % port + two + body)
            assert (await _until_closed(stream)).startswith(b"HTTP/1.1 400 ")


async def test_the_oldest_half_sent_request_makes_room() -> None:
    async with bounded() as port:
        streams = [await anyio.connect_tcp("127.0.0.1", port) for _ in range(12)]
        with anyio.fail_after(LONG):
            await _until_closed(streams[0])
        for stream in streams:
            await stream.aclose()


async def test_idle_sessions_are_dropped() -> None:
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }
    # All but a session's idleness as long as a busy machine needs to send a request.
    limits = HttpLimits(head=LONG, body=LONG, connections=4, sessions=2, idle=0.5)
    async with bounded(limits) as port, httpx2.AsyncClient(timeout=LONG, trust_env=False) as client:
        url = f"http://127.0.0.1:{port}/mcp"
        first = await client.post(url, json=body, headers=ACCEPT)
        session = {**ACCEPT, "mcp-session-id": first.headers["mcp-session-id"]}
        again = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        with anyio.fail_after(LONG):
            while (await client.post(url, json=again, headers=session)).status_code != 404:  # noqa: ASYNC110
                await anyio.sleep(2 * LIMITS.idle)


UPGRADE = (
    b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n"
)


async def test_requests_for_websockets_take_no_room_from_others() -> None:
    limits = replace(LIMITS, head=LONG, body=LONG, connections=4)
    async with bounded(limits) as port:
        asked = (
            b"GET /health HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % port + UPGRADE % b"dGhlIHNhbXBsZSBub25jZQ=="
        )
        for _ in range(100):
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                await stream.send(asked)
                with anyio.fail_after(LONG):
                    assert (await stream.receive()).startswith(b"HTTP/1.1 200 ")
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(b"GET /health HTTP/1.1\r\n")
            async with await anyio.connect_tcp("127.0.0.1", port):
                await anyio.sleep(0.1)  # as somebody whose head comes in two parts
                await stream.send(b"Host: 127.0.0.1:%d\r\n\r\n" % port)
                with anyio.fail_after(LONG):
                    assert (await stream.receive()).startswith(b"HTTP/1.1 200 ")
