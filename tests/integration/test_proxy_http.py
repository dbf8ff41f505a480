"""The same face over Streamable HTTP: both eras, this machine only, no web page."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp_types import CallToolResult
from support.policies import write_servers
from support.proxied import MODERN, SERVER, Place, text_of, wait_for


@contextmanager
def listening(place: Place) -> Iterator[str]:
    """Run the proxy over HTTP; yield its URL."""
    with (place.root / "stderr").open("a") as stderr:
        command = place.command("--http", "127.0.0.1:0", "--no-approver")
        process = subprocess.Popen(
            command, env=place.environment(), cwd=place.root, stdout=subprocess.PIPE, stderr=stderr
        )
        try:
            yield wait_for(lambda: re.search(r"listening on (\S+)", place.said))[1]
        finally:
            process.terminate()
            assert process.wait(60) == 0
            assert process.stdout.read() == b""
            process.stdout.close()


def test_two_clients_of_both_eras_at_once(tmp_path: Path) -> None:
    place = Place(tmp_path, {"fix": MODERN})

    async def work(url: str) -> None:
        async with Client(url, mode="legacy", cache=None) as old, Client(url, cache=None) as new:
            assert (old.protocol_version, new.protocol_version) == ("2025-11-25", "2026-07-28")
            for client in (old, new):
                assert "fix__echo" in {tool.name for tool in (await client.list_tools()).tools}
                assert (await client.call_tool("fix__echo", {"text": "x"})).structured_content == {
                    "text": "x"
                }
                refused = await client.call_tool("fix__read", {"path": "/etc/passwd"})
                assert refused.is_error
                assert "is not permitted" in text_of(refused)

    with listening(place) as url:
        anyio.run(work, url)
        attacks(url)
    assert [record["forwarded"] for record in place.decisions] == [True, False, True, False]


def attacks(url: str) -> None:
    """A web page, and a name that was made to lead here, get nothing."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"accept": "application/json, text/event-stream"}
    with httpx2.Client(trust_env=False) as client:
        assert (
            client.post(url, json=body, headers={**accept, "origin": "https://evil.example"}).status_code
            == 403
        )
        assert client.post(url, json=body, headers={**accept, "host": "evil.example"}).status_code == 421
        assert client.get(url.removesuffix("/mcp") + "/health").json() == {"status": "ok"}


@pytest.mark.parametrize(
    ("address", "said"),
    [("0.0.0.0:8080", "other machines"), ("example.com:80", "other machines"), ("8080", "no HOST:PORT")],
)
def test_other_machines_are_not_served_by_accident(tmp_path: Path, address: str, said: str) -> None:
    place = Place(tmp_path)
    done = subprocess.run(
        place.command("--http", address), env=place.environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


def test_a_server_over_http_is_governed_like_any_other(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    write_servers(tmp_path, {"fix": {"url": f"http://127.0.0.1:{port}/mcp"}})
    server = subprocess.Popen(
        [sys.executable, str(SERVER), "--http", str(port)],
        env={**place.environment(), "FIXTURE_JOURNAL": str(place.journal)},
        stderr=subprocess.DEVNULL,
    )
    outcomes: list[CallToolResult] = []

    async def work() -> None:
        async with place.client("--no-approver") as client:
            outcomes.append(await client.call_tool("fix__big", {"size": 3_000_000}))
            outcomes.append(await client.call_tool("fix__read", {"path": "/etc/passwd"}))
            server.kill()
            outcomes.append(await client.call_tool("fix__echo", {"text": "gone"}))

    try:
        wait_for(lambda: server.poll() is None and _listens(port))
        anyio.run(work)
    finally:
        server.kill()
        server.wait()
    assert [outcome.is_error for outcome in outcomes] == [False, True, True]
    assert text_of(outcomes[0]) == "x" * 3_000_000
    assert "gave no answer" in text_of(outcomes[2])
    assert [entry["tool"] for entry in place.sent()] == ["big"]


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
