"""Roots: servers follow the client's; a call waits for a server that was late, and is sent once."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from support.deployments.proxied import PLAIN, Place, annotated, text_of, until, visit_all
from support.documentation.client_story import NODE
from support.projects.policies import rule, write_bundle, write_servers

pytestmark = pytest.mark.timeout(900)

ROOT = Path(__file__).parents[3]


class Person:
    """A client's side that has roots."""

    def __init__(self, *roots: Path) -> None:
        self.roots = roots

    async def answer(self, _: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=root.as_uri()) for root in self.roots])


def decided(place: Place, *tools: str) -> list[tuple[str, bool]]:
    """Return the decisions about tools: which, and whether the call was sent."""
    return [(each["tool"], each["forwarded"]) for each in place.decisions if each["tool"] in tools]


WAYS = {"fix": PLAIN, "deaf": [*PLAIN, "--deaf"], "stubborn": [*PLAIN, "--stubborn"]}
PERSON = Person()


class Rooted(Place):
    """Servers that heed roots in their ways, and the real one where it is installed."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, WAYS)
        self.first, self.second = root / "first", root / "second"
        for directory in (self.first, self.second):
            directory.mkdir()
            (directory / "a.txt").write_text(f"in {directory.name}")
        servers = json.loads(self.servers.read_text())["mcpServers"]
        shipped = json.loads((ROOT / "generated" / "tool-annotations.json").read_text())["servers"]
        tools = {name: [annotated("rooted")] for name in WAYS} | {"fs": shipped["filesystem"]["tools"]}
        free = rule("rooted", "allow", tool=["rooted", "list_allowed_directories"])
        made = [free, rule("all", "allow", roles=["read-path"])]
        self.bundle = write_bundle(root, tools, made)
        if NODE.is_dir():
            program = str(NODE / "server-filesystem" / "dist" / "index.js")
            servers["fs"] = {"command": "node", "args": [program, str(self.first)], "sandbox": False}
        write_servers(root, servers)


async def a_call_waits_for_new_roots_and_is_sent_once(client: Client, place: Rooted) -> None:
    async def rooted() -> dict[str, str]:
        return {name: text_of(await client.call_tool(f"{name}__rooted", {})) for name in WAYS}

    assert set((await rooted()).values()) == {"inside"}
    await client.send_roots_list_changed()
    await until(lambda: sum("read_roots" in entry for entry in place.sent()) == 2)
    found = await rooted()
    # A call waits until roots are read and a moment longer; it is sent once, whatever comes of it.
    assert found["fix"] == "inside"
    assert found["deaf"].startswith("Access denied")
    assert found["stubborn"].startswith("Access denied")
    assert (await rooted())["stubborn"].startswith("Access denied")
    sent = Counter(entry["pid"] for entry in place.sent() if entry.get("tool") == "rooted")
    assert sorted(sent.values()) == [3, 3, 3]
    assert decided(place, "rooted") == [("rooted", True)] * 9
    await until(lambda: len(place.ends()) == 9)


async def the_real_server_follows_roots_and_serves_what_is_allowed_elsewhere(
    client: Client, place: Rooted
) -> None:
    async def read(directory: Path) -> str:
        found = await client.call_tool("fs__read_text_file", {"path": str(directory / "a.txt")})
        return text_of(found).strip()

    before = [await read(place.first), await read(place.second)]
    PERSON.roots = (place.second,)
    await client.send_roots_list_changed()
    found = [*before, await read(place.second), await read(place.first)]
    assert found == ["in first", "in second", "in second", "in first"]
    listed = text_of(await client.call_tool("fs__list_allowed_directories", {})).splitlines()
    assert listed[1:] == [str(place.second)], "a call about another directory opens it for itself alone"
    assert decided(place, "read_text_file") == [("read_text_file", True)] * 4


REAL = the_real_server_follows_roots_and_serves_what_is_allowed_elsewhere.__name__
VISITS = {
    visit.__name__: visit
    for visit in (
        a_call_waits_for_new_roots_and_is_sent_once,
        *([the_real_server_follows_roots_and_serves_what_is_allowed_elsewhere] if NODE.is_dir() else []),
    )
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Exception]:
    place = Rooted(tmp_path_factory.mktemp("proxy").resolve())
    PERSON.roots = (place.first,)
    up = [*WAYS, *(["fs"] if NODE.is_dir() else [])]
    return visit_all(place, VISITS, "--no-approver", up=up, list_roots_callback=PERSON.answer)


@pytest.mark.parametrize("visit", [a_call_waits_for_new_roots_and_is_sent_once.__name__, REAL])
def test_roots(outcomes: dict[str, Exception], visit: str) -> None:
    if visit not in VISITS:
        pytest.skip("the servers are not installed (make demo)")
    if visit in outcomes:
        raise outcomes[visit]


def test_a_server_that_asks_before_the_client_is_ready_gets_the_clients_roots(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve(), {"fix": [*PLAIN, "--eager"]})

    async def visit() -> None:
        async with place.client(list_roots_callback=Person(tmp_path / "own").answer):
            await until(lambda: any("roots" in entry for entry in place.sent()))

    anyio.run(visit)
    assert [entry["roots"] for entry in place.sent()] == [[(tmp_path / "own").as_uri()]]
