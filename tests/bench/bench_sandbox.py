"""What containing a server costs: its start, which is reported, and its calls."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from bench.figures import Figures, measure_async
from mcp import Client
from support.machines.contained import NEEDS_SANDBOX, SERVER, Scene

from ironcurtain.enforcement.sandbox.launcher import SandboxLauncher
from ironcurtain.servers.connect import parameters
from ironcurtain.servers.stdio_transport import connect_pipes

pytestmark = [pytest.mark.bench, NEEDS_SANDBOX]
CALLS = 200
TARGET = 1.2
REPORTED = float("inf")


class Started:
    """One server, started for as long as the stack is open."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @classmethod
    async def start(cls, scene: Scene, stack: AsyncExitStack, **server: Any) -> Started:
        config = scene.config(args=[SERVER, scene.aim(1, 1, "marker")], **server)
        launcher = SandboxLauncher.open(config, scene.grounds(config))
        start = parameters("escaping", config)

        async def tell(*_: object) -> None:
            pass

        said = scene.said.append
        streams = launcher.connect(
            "escaping",
            start,
            on_words=said,
            on_end=said,
            tell=tell,
            opened=connect_pipes,
        )
        return cls(await stack.enter_async_context(Client(streams, mode="legacy", cache=None)))

    async def quick(self) -> None:
        await self._client.call_tool("quick", {})

    async def write(self) -> None:
        await self._client.call_tool("write_inside", {})


def test_calls_of_a_contained_server(figures: Figures, tmp_path: Path) -> None:
    asyncio.run(_calls(figures, Scene(tmp_path.resolve() / "scene")))


async def _calls(figures: Figures, scene: Scene) -> None:
    async with AsyncExitStack() as stack:
        held = await Started.start(scene, stack)
        free = await Started.start(scene, stack, sandbox=False)
        for what, first, second in (
            ("a call of a contained server / uncontained", held.quick, free.quick),
            ("a call that writes a file, contained / uncontained", held.write, free.write),
        ):
            mine, theirs = await measure_async(first, second, repetitions=CALLS, warm_up=20)
            figures.add(what, mine.per(theirs), TARGET, f"{mine} / {theirs}")


def test_start_of_a_contained_server(figures: Figures, tmp_path: Path) -> None:
    scene = Scene(tmp_path.resolve() / "scene")

    async def contained() -> None:
        async with AsyncExitStack() as stack:
            await Started.start(scene, stack)

    async def uncontained() -> None:
        async with AsyncExitStack() as stack:
            await Started.start(scene, stack, sandbox=False)

    mine, theirs = asyncio.run(measure_async(contained, uncontained, repetitions=3, warm_up=0))
    figures.add(
        "start and end of a contained server / uncontained", mine.per(theirs), REPORTED, f"{mine} / {theirs}"
    )
