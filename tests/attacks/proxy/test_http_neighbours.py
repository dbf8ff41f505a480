"""Another user or another client on this machine speaks to a proxy that serves HTTP.

Held by: a token for each client, or a Unix socket and its peer's user; the approval names the client.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
import httpx2
import pytest
from fixtures.fixture_server import NOTE
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from support.deployments.faulty import OWN
from support.deployments.proxied import LEGACY, LONG, Place, wait_for
from support.projects.policies import rule
from support.records.approvals import inbox_of, waiting

from ironcurtain.enforcement.approvals.inbox import PersonAnswer

pytestmark = pytest.mark.timeout(600)

TOKENS = {"one": "1" * 40, "two": "2" * 40}
BODY = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"accept": "application/json, text/event-stream"}


@contextmanager
def listening(place: Place, *options: str) -> Iterator[str]:
    """Run the proxy over HTTP; yield where it listens."""
    with (place.root / "stderr").open("a") as stderr, place.explained():
        process = subprocess.Popen(
            place.command(*options),
            env=place.environment(),
            cwd=place.root,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )
        try:
            yield wait_for(lambda: re.search(r"listening on (\S+)", place.said))[1]
        finally:
            process.terminate()
            assert process.wait(LONG) == 0


def with_tokens(place: Place) -> Path:
    """Write the clients' tokens; return the directory of what is ours."""
    own = place.home / OWN
    own.mkdir(mode=0o700)
    tokens = own / "http-clients.json"
    tokens.write_text(json.dumps({"format": "ironcurtain/http-clients/v1", "clients": TOKENS}))
    tokens.chmod(0o600)
    return own


async def _remove(url: str, token: str, place: Place) -> tuple[str, str]:
    """Call, as a client, what a person has to approve."""
    with_token = httpx2.AsyncClient(
        timeout=LONG, trust_env=False, headers={"authorization": f"Bearer {token}"}
    )
    async with Client(
        streamable_http_client(url, http_client=with_token), mode="legacy", cache=None
    ) as client:
        await client.call_tool("fix__remove", {"path": f"{place.home}/x"})
    found = place.decisions[-1]
    assert found["client"] == {token: name for name, token in TOKENS.items()}[token]
    return found["approval"]["state"], found["approval"]["request"]


def _without_a_token(url: str) -> None:
    with httpx2.Client(timeout=LONG, trust_env=False) as client:
        for shown in ({}, {"authorization": "Bearer " + "3" * 40}, {"authorization": TOKENS["one"]}):
            assert client.post(url, json=BODY, headers={**ACCEPT, **shown}).status_code == 401
            assert client.get(url, headers={**ACCEPT, **shown}).status_code == 401
        assert client.get(url.removesuffix("/mcp") + "/health").status_code == 200


def _anothers_session(url: str) -> None:
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    began = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    with httpx2.Client(trust_env=False, headers=ACCEPT, timeout=LONG) as client:
        one, two = ({"authorization": f"Bearer {token}"} for token in TOKENS.values())
        session = client.post(url, json=began, headers=one).headers["mcp-session-id"]
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        for who, status in ((two, 404), (one, 200)):
            assert (
                client.post(url, json=ping, headers={**who, "mcp-session-id": session}).status_code == status
            )


def test_another_user_and_another_client_at_a_port(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve())
    own = with_tokens(place)
    with listening(place, "--http", "127.0.0.1:0", "--patience", "0.2") as url:
        _without_a_token(url)
        assert not place.decisions
        state, asked = anyio.run(_remove, url, TOKENS["one"], place)
        assert state == "pending"
        with inbox_of(own) as desk:
            assert desk.answer(waiting(desk, asked), PersonAnswer("approved", scope="session")) == "recorded"
        # The approval was given for one client: another one's equal call is another request.
        state, again = anyio.run(_remove, url, TOKENS["two"], place)
        assert (state, again == asked) == ("pending", False)
        assert anyio.run(_remove, url, TOKENS["one"], place) == ("approved", asked)
        assert anyio.run(_remove, url, TOKENS["two"], place) == ("pending", again)
        _anothers_session(url)
    assert len([entry for entry in place.sent() if entry.get("tool") == "remove"]) == 1


async def _subscribe(url: str, token: str, place: Place) -> tuple[str, str]:
    """Ask to be told of changes of what a person has to let be read."""
    with_token = httpx2.AsyncClient(
        timeout=LONG, trust_env=False, headers={"authorization": f"Bearer {token}"}
    )
    async with Client(
        streamable_http_client(url, http_client=with_token), mode="legacy", cache=None
    ) as client:
        with suppress(MCPError):  # it waits for a person
            await client.subscribe_resource(NOTE)
    found = place.decisions[-1]
    assert found["client"] == {token: name for name, token in TOKENS.items()}[token]
    return found["approval"]["state"], found["approval"]["request"]


def test_an_approved_subscription_is_good_for_one_client(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve(), {"fix": LEGACY})
    asked_about = {"roles": ["resource-uri"], "allowed": [NOTE]}
    place.publish([*place.made, rule("notes-uris", "escalate", lists=asked_about)], place.names)
    own = with_tokens(place)
    with listening(place, "--http", "127.0.0.1:0", "--patience", "0.2") as url:
        state, asked = anyio.run(_subscribe, url, TOKENS["one"], place)
        assert state == "pending"
        with inbox_of(own) as desk:
            assert desk.answer(waiting(desk, asked), PersonAnswer("approved", scope="once")) == "recorded"
        state, again = anyio.run(_subscribe, url, TOKENS["two"], place)
        assert (state, again == asked) == ("pending", False)
        assert anyio.run(_subscribe, url, TOKENS["one"], place) == ("approved", asked)


def test_a_text_for_a_server_in_the_name_of_a_subscription(tmp_path: Path) -> None:
    """Ends a subscription that never began, with a URI of the client's own making.

    Held by: a server is told of the end of those subscriptions alone that were decided when they began.
    """
    place = Place(tmp_path.resolve(), {"fix": LEGACY})
    note = {"roles": ["resource-uri"], "allowed": [NOTE]}
    place.publish([*place.made, rule("notes-uris", "allow", lists=note)], place.names)

    async def visit() -> None:
        async with place.client("--no-approver") as client:
            await client.session.unsubscribe_resource("fixture://secret?stolen=words")
            await client.session.subscribe_resource(NOTE)
            await client.session.unsubscribe_resource(NOTE)

    anyio.run(visit)
    assert [entry["unsubscribed"] for entry in place.sent() if "unsubscribed" in entry] == [NOTE]


def test_the_tokens_are_made_for_the_user_alone(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve())
    with listening(place, "--http", "127.0.0.1:0", "--no-approver") as url:
        _without_a_token(url)
        tokens = place.home / OWN / "http-clients.json"
        assert tokens.stat().st_mode & 0o777 == 0o600
        assert json.loads(tokens.read_text())["clients"]["default"] not in place.said


CONNECT = """
import os, socket, sys
if sys.argv[2:]:
    os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]))
with socket.socket(socket.AF_UNIX) as s:
    s.connect(sys.argv[1])
    try:
        s.sendall(b"GET /health HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n")
        print(s.recv(100).decode())
    except ConnectionError:
        pass
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_at_the_socket(tmp_path_factory: pytest.TempPathFactory) -> None:
    place = Place(tmp_path_factory.mktemp("socket").resolve())
    path = f"{place.root}/proxy.sock"
    with listening(place, "--http", f"unix:{path}", "--no-approver") as url:
        assert url == f"unix:{path}"
        # However open its way and its mode are.
        for directory in (place.root, *place.root.parents[:-1]):
            directory.chmod(directory.stat().st_mode | 0o755)
        os.chmod(path, 0o777)  # noqa: PTH101
        said = [
            subprocess.run(
                [sys.executable, "-I", "-c", CONNECT, path, *who],
                stdout=subprocess.PIPE,
                text=True,
                check=False,
            ).stdout
            for who in ((), ("65534",))
        ]
    assert "200 OK" in said[0]
    assert said[1].strip() == ""
