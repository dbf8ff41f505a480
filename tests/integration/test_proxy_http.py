"""The same face over Streamable HTTP: both eras, this machine only, no web page."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from support.proxied import MODERN, Place, text_of, wait_for


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
