"""Roots: what servers are told where the client names none; one more try for a server that was late."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from support.client_story import NODE
from support.policies import rule, write_bundle, write_servers
from support.proxied import LEGACY, MODERN, Place, text_of, until

ROOT = Path(__file__).parents[2]


class Person:
    """A client's side that has roots."""

    def __init__(self, *roots: Path) -> None:
        self.roots = roots

    async def answer(self, _: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=root.as_uri()) for root in self.roots])


def decided(place: Place, *tools: str) -> list[tuple[str, bool]]:
    """Return the decisions about tools: which, and whether the call was sent."""
    return [(each["tool"], each["forwarded"]) for each in place.decisions if each["tool"] in tools]


def test_a_client_without_roots_leaves_it_to_the_policy(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve(), {"old": LEGACY, "new": MODERN})
    inside = place.root / "work"
    inside.mkdir()

    async def ask() -> list[list[str]]:
        async with place.client("--no-approver", "--sandbox", str(inside)) as client:
            answers = [await client.call_tool(f"{name}__ask_roots", {}) for name in ("old", "new")]
            return [[root["uri"] for root in json.loads(text_of(each))["roots"]] for each in answers]

    expected = [inside.as_uri(), (place.home / "notes").as_uri()]
    assert anyio.run(ask) == [expected, expected]


def test_one_more_try_after_a_change_and_only_then(tmp_path: Path) -> None:
    ways = {"fix": LEGACY, "deaf": [*LEGACY, "--deaf"], "stubborn": [*LEGACY, "--stubborn"]}
    place = Place(tmp_path, ways)

    async def rooted(client: Client) -> dict[str, str]:
        return {name: text_of(await client.call_tool(f"{name}__rooted", {})) for name in ways}

    async def change() -> None:
        person = Person(Path("/the/root"))
        async with place.client("--no-approver", list_roots_callback=person.answer) as client:
            assert set((await rooted(client)).values()) == {"inside"}
            await client.send_roots_list_changed()
            await until(lambda: sum("read_roots" in entry for entry in place.sent()) == 2)
            found = await rooted(client)
            # Whoever read its roots was asked once more, whatever came of that.
            assert found["fix"] == "inside"
            assert found["deaf"].startswith("Access denied")
            assert found["stubborn"].startswith("Access denied")
            assert (await rooted(client))["stubborn"].startswith("Access denied")

    anyio.run(change)
    sent = Counter(entry["pid"] for entry in place.sent() if entry.get("tool") == "rooted")
    # Three calls each: `fix` and `stubborn` were sent one of them twice.
    assert sorted(sent.values()) == [3, 4, 4]
    assert decided(place, "rooted") == [("rooted", True)] * 9
    assert len(place.ends()) == 9


@pytest.mark.skipif(not NODE.is_dir(), reason="the servers are not installed (make demo)")
def test_the_real_file_server_follows_the_clients_roots(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve())
    first, second = place.root / "first", place.root / "second"
    for directory in (first, second):
        directory.mkdir()
        (directory / "a.txt").write_text(f"in {directory.name}")
    shipped = json.loads((ROOT / "generated" / "tool-annotations.json").read_text())["servers"]
    tools = {"fs": shipped["filesystem"]["tools"]}
    place.bundle = write_bundle(place.root, tools, [rule("all", "allow", roles=["read-path"])])
    server = {"command": "node", "args": [str(NODE / "server-filesystem" / "dist" / "index.js"), str(first)]}
    place.servers = write_servers(place.root, {"fs": {**server, "sandbox": False}})

    async def follow() -> list[str]:
        person = Person(first)
        async with place.client("--no-approver", list_roots_callback=person.answer) as client:

            async def read(directory: Path) -> str:
                found = await client.call_tool("fs__read_text_file", {"path": str(directory / "a.txt")})
                return text_of(found).strip()

            before = [await read(first), await read(second)]
            person.roots = (second,)
            await client.send_roots_list_changed()
            return [*before, await read(second), await read(first)]

    one, denied, two, gone = anyio.run(follow)
    assert (one, two) == ("in first", "in second")
    assert denied.startswith("Access denied")
    assert gone.startswith("Access denied")
    assert decided(place, "read_text_file") == [("read_text_file", True)] * 4
