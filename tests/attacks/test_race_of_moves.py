"""The agent swaps a directory by parallel calls, each of which is allowed, while another one is judged."""

from __future__ import annotations

import json
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from support.client_story import NODE
from support.policies import rule, write_bundle, write_servers
from support.proxied import Place, text_of, until

pytestmark = pytest.mark.timeout(900)

ROOT = Path(__file__).parents[2]
ROUNDS = 60


class Swapped(Place):
    """Directories that may be read and moved, each beside one with a link of the same name to a secret."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.open, self.secret = root / "open", root / "secret"
        self.secret.mkdir()
        (self.secret / "x.txt").write_text("SECRET")
        for number in range(ROUNDS):
            (self.open / f"d{number}" / "s").mkdir(parents=True)
            (self.open / f"d{number}" / "s" / "x.txt").write_text("open")
            (self.open / f"e{number}").mkdir()
            (self.open / f"e{number}" / "s").symlink_to(self.secret)
        shipped = json.loads((ROOT / "generated" / "tool-annotations.json").read_text())["servers"]
        roles = ["read-path", "write-path", "delete-path"]
        made = [rule("open", "allow", paths={"roles": roles, "within": [str(self.open)]})]
        self.bundle = write_bundle(root, {"fs": shipped["filesystem"]["tools"]}, made)
        program = str(NODE / "server-filesystem" / "dist" / "index.js")
        write_servers(root, {"fs": {"command": "node", "args": [program, str(root)], "sandbox": False}})

    async def roots(self, _: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=self.root.as_uri())])


async def _round(client: Client, place: Swapped, number: int) -> str:
    said: list[str] = []

    async def move(source: str, destination: str) -> None:
        ends = {"source": source, "destination": destination}
        paths = {name: f"{place.open}/{end}{number}" for name, end in ends.items()}
        await client.call_tool("fs__move_file", paths)

    async def read() -> None:
        given = {"path": f"{place.open}/d{number}/s/x.txt"}
        said.append(text_of(await client.call_tool("fs__read_text_file", given)))

    calls = (read, partial(move, "d", "t"), read, partial(move, "e", "d"), read)
    async with anyio.create_task_group() as tasks:
        for call in calls:
            tasks.start_soon(call)
            await anyio.sleep(0.0005 * (number % 8))
    return " ".join(said)


@pytest.mark.skipif(not NODE.is_dir(), reason="the servers are not installed (make demo)")
def test_a_directory_swapped_by_parallel_allowed_moves(tmp_path: Path) -> None:
    place = Swapped(tmp_path.resolve())
    said: list[str] = []

    async def visit() -> None:
        async with place.client("--no-approver", list_roots_callback=place.roots) as client:
            await until(lambda: place.is_up("fs"))
            said.extend([await _round(client, place, number) for number in range(ROUNDS)])

    anyio.run(visit)
    assert not [each for each in said if "SECRET" in each]
    # The directories were swapped all the same, and read while they were not.
    assert any((place.open / f"d{number}" / "s").is_symlink() for number in range(ROUNDS))
    assert any("open" in each for each in said)


def test_a_directory_swapped_from_outside_while_the_server_works(tmp_path: Path) -> None:
    """Nobody can keep that from happening; it is seen, recorded, and the answer is withheld."""
    place = Place(tmp_path.resolve())
    judged = place.home / "notes" / "d"
    judged.mkdir()
    (judged / "x").write_text("open")
    given = {"path": str(judged / "x")}
    said: list[str] = []

    async def visit() -> None:
        async with place.client() as client:
            await client.call_tool("fix__echo", {})
            server = place.sent()[-1]["pid"]
            os.kill(server, signal.SIGSTOP)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read, client)
                # The call is in the server's pipe when nothing looks at its path any more.
                await until(lambda: place.decisions[-1]["tool"] == "read")
                await anyio.sleep(1)
                judged.rename(judged.with_name("away"))
                judged.symlink_to("/etc")
                os.kill(server, signal.SIGCONT)

    async def read(client: Client) -> None:
        said.append(text_of(await client.call_tool("fix__read", given)))

    anyio.run(visit)
    assert "withheld" in said[0]
    assert str(judged) not in said[0]
    (told,) = [record["detail"] for record in place.records() if record.get("event") == "violation"]
    assert told["path"] == given["path"]
    assert place.ends()[-1] == "failed"
