"""What the proxy costs, against the thinnest pass-through proxy on the same SDK, in the same run."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

import anyio
import pytest
from bench.figures import Figures, Times, measure_async
from fixtures import passthrough_proxy
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from support.deployments.proxied import MODERN, Place

pytestmark = [pytest.mark.bench, pytest.mark.timeout(600)]
SERVERS = [f"s{number}" for number in range(4)]
CONCURRENT = 50
SLOW_CALLS = 8
_numbers = itertools.count()


@asynccontextmanager
async def thin(place: Place) -> AsyncIterator[Client]:
    """Start the pass-through proxy in front of the same servers and connect to it."""
    arguments = [passthrough_proxy.__file__, str(place.servers)]
    environment = {"PATH": os.environ["PATH"], "HOME": str(place.home)}
    started = StdioServerParameters(command=sys.executable, args=arguments, env=environment)
    async with Client(stdio_client(started), mode="legacy", cache=None) as client:
        yield client


async def call(client: Client, server: str) -> None:
    """Make one call that differs from every other; the circuit breaker stops the same ones."""
    text = f"call {next(_numbers)}"
    result = await client.call_tool(f"{server}__echo", {"text": text})
    assert result.structured_content == {"text": text}, result


@asynccontextmanager
async def direct(place: Place) -> AsyncIterator[Client]:
    """Connect to a server of the same kind without anything in between."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(place.home)}
    started = StdioServerParameters(command=sys.executable, args=MODERN, env=environment)
    async with Client(stdio_client(started), mode="legacy", cache=None) as client:
        yield client


async def result(client: Client, tool: str, size: int) -> None:
    """Make one call with a result of about that size."""
    wanted = size + next(_numbers) % 100
    found = await client.call_tool(tool, {"size": wanted})
    assert [len(block.text) for block in found.content if block.type == "text"] == [wanted]


async def many(client: Client) -> None:
    """Make fifty calls at once, over all servers."""
    async with anyio.create_task_group() as tasks:
        for number in range(CONCURRENT):
            tasks.start_soon(call, client, SERVERS[number % len(SERVERS)])


async def beside_slow(client: Client) -> tuple[Times, Times]:
    """Time a call to one server while others are idle, and while another keeps the client waiting."""

    async def quiet() -> None:
        await call(client, SERVERS[0])

    async def disturbed() -> None:
        await call(client, SERVERS[0])

    taken: list[Times] = []
    for operation, slow in ((quiet, 0), (disturbed, SLOW_CALLS), (quiet, 0), (disturbed, SLOW_CALLS)):
        async with anyio.create_task_group() as tasks:
            for number in range(slow):
                given = {"seconds": 600 + number}
                tasks.start_soon(client.call_tool, f"{SERVERS[-1]}__slow", given)
            (times,) = await measure_async(operation, repetitions=60, warm_up=10)
            taken.append(times)
            tasks.cancel_scope.cancel()
    return Times(taken[0].seconds + taken[2].seconds), Times(taken[1].seconds + taken[3].seconds)


def test_proxy(tmp_path: Path, figures: Figures) -> None:
    place = Place(tmp_path, dict.fromkeys(SERVERS, MODERN))

    async def run() -> None:
        async with place.client("--no-approver") as ours, thin(place) as bare:
            for client in (ours, bare):
                await client.list_tools()
            through, by = await measure_async(
                lambda: call(ours, SERVERS[0]), lambda: call(bare, SERVERS[0]), repetitions=200, warm_up=30
            )
            figures.add("proxy: an allowed call / pass-through", through.per(by), 1.65, f"{through}; {by}")
            fifty, fifty_by = await measure_async(
                lambda: many(ours), lambda: many(bare), repetitions=15, warm_up=3
            )
            figures.add(
                f"proxy: {CONCURRENT} calls over {len(SERVERS)} servers / pass-through",
                fifty.per(fifty_by),
                1.3,
                f"{fifty}; {fifty_by}: throughput {1 / fifty.per(fifty_by):.2f} x",
            )
            alone, disturbed = await beside_slow(ours)
            added = disturbed.median / alone.median
            figures.add("proxy: a call beside a slow server / alone", added, 1.15, f"{disturbed}; {alone}")

    anyio.run(run)
    tell_phases(place)


@pytest.mark.parametrize("size", [1_000, 1_000_000])
def test_results_beside_a_direct_call(size: int, tmp_path: Path, figures: Figures) -> None:
    place = Place(tmp_path, {SERVERS[0]: MODERN})

    async def run() -> None:
        async with place.client("--no-approver") as ours, thin(place) as passing, direct(place) as bare:
            for client in (ours, passing):
                await client.list_tools()
            through, passed, by = await measure_async(
                lambda: result(ours, f"{SERVERS[0]}__big", size),
                lambda: result(passing, f"{SERVERS[0]}__big", size),
                lambda: result(bare, "big", size),
                repetitions=50,
                warm_up=10,
            )
        name = f"proxy: a call with a result of {size:,} bytes / direct"
        least = f"pass-through {passed.per(by):.2f}: {passed}"
        figures.add(name, through.per(by), 2.2, f"{through}; {by}; {least}")

    anyio.run(run)


def tell_phases(place: Place) -> None:
    """Print how long the parts of a decision took."""
    phases = [record["phases"] for record in place.decisions if "phases" in record]
    if phases:
        print({name: median(each.get(name, 0) for each in phases) for name in phases[0]})  # noqa: T201
