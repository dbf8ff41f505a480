"""The agent swaps a directory by parallel calls, each of which is allowed, while another one is judged.

Held by: turns of calls over the same paths, and a second look; a difference is a recorded violation.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from anyio.abc import TaskGroup
from mcp import Client
from support.deployments.proxied import Place, text_of, until, written_lines
from support.documentation.client_story import NODE
from support.machines.contained import NEEDS_SANDBOX
from support.projects.policies import rule, write_bundle, write_servers

pytestmark = pytest.mark.timeout(900)

ROOT = Path(__file__).parents[3]
SLOW_SERVER = ROOT / "tests" / "fixtures" / "slow_server.py"
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


class Gated(Place):
    """A directory that may be read and removed, and a server that stops before and after it opens a file.

    With `whole`, all that lies beside it may be, too: a sandbox mounts what a rule names by itself, and then
    the server could not move it.
    """

    def __init__(self, root: Path, *, contained: bool, whole: bool = False) -> None:
        super().__init__(root, {"fix": [str(SLOW_SERVER), str(root / "work")]})
        self.work, self.directory = root / "work", root / "work" / "d"
        for name in ("d", "elsewhere"):
            (self.work / name).mkdir(parents=True)
            (self.work / name / "x").write_text(name)
        os.mkfifo(self.work / "gate")
        roles = {
            "roles": ["read-path", "delete-path"],
            "within": [str(self.work if whole else self.directory)],
        }
        self.publish([rule("work", "allow", paths=roles), rule("text", "allow", tool=["echo"])], ["fix"])
        if contained:
            self.configure(sandbox={}, env={"PYTHONPATH": ""})

    def visit(self, story: Callable[[Client, TaskGroup, list[str]], Awaitable[None]]) -> list[str]:
        """Read there and let a story happen before the file is opened; return the answers as they came."""
        said: list[str] = []

        async def visit() -> None:
            async with self.client("--sandbox", str(self.work), "--no-approver") as client:
                await until(lambda: self.is_up("fix"))
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self.call, client, said, "read", str(self.directory / "x"))
                    await self.reaches_gate()
                    await story(client, tasks, said)
                    await self.reaches_gate()
                    self.open_gate()

        anyio.run(visit)
        return said

    async def call(self, client: Client, said: list[str], tool: str, path: str) -> None:
        """Call a tool with a path."""
        said.append(text_of(await client.call_tool(f"fix__{tool}", {"path": path})))

    async def reaches_gate(self) -> None:
        """Wait until the server has stopped."""
        await until((self.work / "waits").exists)
        (self.work / "waits").unlink()

    def open_gate(self) -> None:
        """Let the server go on."""
        (self.work / "gate").write_text("")

    def swap(self) -> None:
        """Put a link in the directory's place."""
        self.directory.rename(self.work / "away")
        self.directory.symlink_to(self.work / "elsewhere")

    def undo(self) -> None:
        """Put the directory back."""
        self.directory.unlink()
        (self.work / "away").rename(self.directory)

    def violations(self) -> list[str]:
        """Return where the log says that a path was another one."""
        found = [record["detail"] for record in self.records() if record.get("event") == "violation"]
        return [detail["path"] for detail in found]


HOW = pytest.mark.parametrize("contained", [False, pytest.param(True, marks=NEEDS_SANDBOX)])


@HOW
def test_the_agents_swap_waits_until_what_is_read_has_been_answered(contained: bool, tmp_path: Path) -> None:
    place = Gated(tmp_path.resolve(), contained=contained, whole=True)

    async def story(client: Client, tasks: TaskGroup, said: list[str]) -> None:
        tasks.start_soon(place.call, client, said, "remove", str(place.directory))
        for number in range(5):  # time enough for a call that does not wait
            await client.call_tool("fix__echo", {"text": str(number)})
        place.open_gate()

    assert place.visit(story) == ["d", "swapped"]
    assert not place.violations()


@pytest.mark.skipif(sys.platform != "linux", reason="proxies share no turns elsewhere")
def test_a_swap_through_another_proxy_waits_until_what_is_read_has_been_answered(tmp_path: Path) -> None:
    place = Gated(tmp_path.resolve(), contained=False)
    options = ("--sandbox", str(place.work), "--no-approver", "--session", "other")

    log = place.home / ".ironcurtain" / "audit" / "other.jsonl"

    async def story(_: Client, tasks: TaskGroup, said: list[str]) -> None:
        tasks.start_soon(swap, said)
        await until(lambda: log.exists() and '"tool":"echo"' in log.read_text())
        place.open_gate()

    async def swap(said: list[str]) -> None:
        async with place.client(*options) as other, anyio.create_task_group() as tasks:
            await other.list_tools()
            tasks.start_soon(place.call, other, said, "remove", str(place.directory))
            for number in range(5):  # time enough for a call that does not wait
                await other.call_tool("fix__echo", {"text": str(number)})

    assert sorted(place.visit(story)) == ["d", "swapped"]
    # Which answer its client has first says nothing: the two come through two processes.
    answered = next(record["time"] for record in place.records() if record["kind"] == "result")
    others = [json.loads(line)["record"] for line in written_lines(log)]
    swapped = next(record["time"] for record in others if record.get("tool") == "remove")
    assert answered < swapped


@HOW
@pytest.mark.parametrize("undone", [False, True])
def test_a_swap_from_outside_between_judging_and_opening(
    undone: bool, contained: bool, tmp_path: Path
) -> None:
    """Nobody can keep that from happening; it is seen, recorded, and the answer is withheld."""
    place = Gated(tmp_path.resolve(), contained=contained)

    async def story(*_: object) -> None:
        place.swap()
        place.open_gate()
        await until((place.work / "waits").exists)  # it has read
        if undone:
            place.undo()

    (said,) = place.visit(story)
    assert "withheld" in said
    assert "elsewhere" not in said.replace("leads elsewhere", "")
    assert str(place.work) not in said
    assert place.violations() == [str(place.directory)]
    assert place.ends() == ["failed"]
