"""The same face over Streamable HTTP: both eras, this machine only, no web page."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from e2e.program import in_process
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from support.deployments.proxied import LONG, PLAIN, SERVER, Place, text_of, wait_for
from support.projects.policies import write_servers

pytestmark = pytest.mark.timeout(900)


@contextmanager
def listening(place: Place) -> Iterator[str]:
    """Run the proxy over HTTP; yield its URL."""
    with (place.root / "stderr").open("a") as stderr:
        command = place.command("--http", "127.0.0.1:0", "--http-open", "--no-approver")
        process = subprocess.Popen(
            command, env=place.environment(), cwd=place.root, stdout=subprocess.PIPE, stderr=stderr
        )
        try:
            with place.explained():
                yield wait_for(lambda: re.search(r"listening on (\S+)", place.said))[1]
        finally:
            process.terminate()
            assert process.wait(LONG) == 0
            assert process.stdout is not None
            assert process.stdout.read() == b""
            process.stdout.close()


@contextmanager
def server_over_http(place: Place) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the SDK's fixture server over HTTP; yield its process and URL."""
    environment = {**place.environment(), "FIXTURE_JOURNAL": str(place.journal)}
    server = subprocess.Popen(
        [sys.executable, str(SERVER), "--http"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout is not None
    try:
        yield server, server.stdout.readline().strip()
    finally:
        server.kill()
        server.communicate()


def test_clients_of_both_eras_at_once_and_a_server_over_http(tmp_path: Path) -> None:
    place = Place(tmp_path, {"fix": PLAIN, "web": PLAIN})
    with server_over_http(place) as (server, own):
        (servers := json.loads(place.servers.read_text())["mcpServers"])["web"] = {"url": own}
        write_servers(tmp_path, servers)
        with listening(place) as url:
            anyio.run(two_clients, url)
            attacks(url)
            assert [record["forwarded"] for record in place.decisions] == [True, False, True, False]
            anyio.run(of_a_server_over_http, place, url, server)


async def two_clients(url: str) -> None:
    async with Client(url, mode="legacy", cache=None) as old, Client(url, cache=None) as new:
        assert (old.protocol_version, new.protocol_version) == ("2025-11-25", "2026-07-28")
        for client in (old, new):
            assert "fix__echo" in {tool.name for tool in (await client.list_tools()).tools}
            echoed = await client.call_tool("fix__echo", {"text": "x"})
            assert echoed.structured_content == {"text": "x"}
            refused = await client.call_tool("fix__read", {"path": "/etc/passwd"})
            assert refused.is_error
            assert "is not permitted" in text_of(refused)


def attacks(url: str) -> None:
    """A web page, and a name that was made to lead here, get nothing."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"accept": "application/json, text/event-stream"}
    with httpx2.Client(timeout=LONG, trust_env=False) as client:
        assert (
            client.post(url, json=body, headers={**accept, "origin": "https://evil.example"}).status_code
            == 403
        )
        assert client.post(url, json=body, headers={**accept, "host": "evil.example"}).status_code == 421
        assert client.get(url.removesuffix("/mcp") + "/health").json() == {"status": "ok"}


async def of_a_server_over_http(place: Place, url: str, server: subprocess.Popen[str]) -> None:
    """A server over HTTP is governed like any other."""
    before = len(place.sent())
    roomy = streamable_http_client(url, max_sse_event_size=1 << 24)
    async with Client(roomy, mode="legacy", cache=None) as client:
        big = await client.call_tool("web__big", {"size": 3_000_000})
        assert (big.is_error, text_of(big)) == (False, "x" * 3_000_000)
        assert (await client.call_tool("web__read", {"path": "/etc/passwd"})).is_error
        server.kill()
        gone = await client.call_tool("web__echo", {"text": "gone"})
        assert gone.is_error
        assert "gave no answer" in text_of(gone)
    assert [entry["tool"] for entry in place.sent()[before:]] == ["big"]


@pytest.mark.parametrize(
    ("address", "said"),
    [("0.0.0.0:8080", "other machines"), ("example.com:80", "other machines"), ("8080", "no HOST:PORT")],
)
def test_other_machines_are_not_served_by_accident(tmp_path: Path, address: str, said: str) -> None:
    place = Place(tmp_path)
    done = in_process(*place.command("--http", address)[3:], cwd=place.root, HOME=str(place.home))
    assert (done.code, done.out) == (2, "")
    assert said in done.err
