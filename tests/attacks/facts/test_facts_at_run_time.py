"""An agent or a server makes a policy's records, totals and labels say what they should not.

A look-up lies in type, answers about another record, is huge or slow. A record changes between its look-up
and the sending, by a call of the agent's own or while a person is asked. An amount is negative, beyond
every number (`1e999`), so fine that no other can be added to it, or overflows its counter. Two payments are
made at once under one budget. The store or the log is changed. A label is to be lost by cancelling, by a
crash, by a reload, by an answer that cannot be read, or by a second client. The proxy is killed before it
books a payment, before it records it, and before it sends it.

Held by: deny where a fact cannot be had; one booking with its decision; no label is ever taken away.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from fixtures import killed_proxy
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from support.deployments.faulty import proxy_of
from support.deployments.open_place import listening
from support.deployments.proxied import LONG, Place, text_of, until, visit_all, wait_for
from support.deployments.remembered import FACTS, ORDER, RULES, Shop
from support.deployments.wire import send, speaking
from support.records.approvals import inbox_of

from ironcurtain.enforcement.approvals.inbox import PersonAnswer

pytestmark = pytest.mark.timeout(600)

UNAVAILABLE = "structural-fact-unavailable"
CANCEL = {"order_id": "o1"}


async def refused_for(client: Client, shop: Shop, reason: str, tool: str, arguments: dict[str, Any]) -> None:
    """Make a call that is refused for a fact, and never sent."""
    before = len(shop.called(tool))
    answer = await client.call_tool(f"shop__{tool}", arguments)
    assert answer.is_error
    assert text_of(answer).startswith("The call could not be checked, so it was refused.")
    decided = shop.decisions[-1]
    assert (decided["tool"], decided["rule"], decided["forwarded"]) == (tool, UNAVAILABLE, False)
    assert re.search(reason, decided["reason"]), decided["reason"]
    assert len(shop.called(tool)) == before


# -- a look-up that lies ------------------------------------------------------------------------


def _answer(value: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}


def _text(*texts: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text} for text in texts]}


PENDING = json.dumps(ORDER)
LIES: dict[str, tuple[Any, str]] = {
    "about-another-record": (_answer({**ORDER, "order_id": "o2"}), "about another record"),
    "about-no-record": (_answer({**ORDER, "order_id": None}), "about another record"),
    "a-status-that-is-a-number": (_answer({**ORDER, "status": 1}), "order/status .* type string"),
    "a-status-in-a-list": (_answer({**ORDER, "status": ["pending"]}), "order/status .* type string"),
    "no-status": (_answer({**ORDER, "status": None}), "order/status .* missing"),
    "items-without-ids": (_answer({**ORDER, "items": [{}]}), "order/items .* missing"),
    "a-time-without-a-zone": (_answer({**ORDER, "placed": "2026-11-23T08:00:00"}), "type instant"),
    "no-json": (_text("the order is pending"), "strict JSON"),
    "two-statuses": (_text('{"status": "shipped", ' + PENDING[1:]), "strict JSON"),
    "two-answers": (_text(PENDING, PENDING), "strict JSON"),
    "not-a-number": (_text('{"n": NaN, ' + PENDING[1:]), "strict JSON"),
    "an-error": ({**_answer(ORDER), "isError": True}, "look-up failed"),
    "huge": (_answer({**ORDER, "more": "x" * (1 << 20)}), "1 MiB"),
    "slow": (None, "no answer within 10 seconds"),
}


async def _lie(answer: Any, reason: str, client: Client, place: Place) -> None:
    assert isinstance(place, Shop)
    place.answer(ORDER, get_order=answer)
    await refused_for(client, place, reason, "cancel_order", CANCEL)
    place.answer(ORDER)


@pytest.fixture(scope="module")
def lies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Exception]:
    shop = Shop(tmp_path_factory.mktemp("shop").resolve())
    return visit_all(shop, {name: partial(_lie, *lie) for name, lie in LIES.items()}, up=["shop"])


@pytest.mark.parametrize("lie", LIES)
def test_a_look_up_that_lies_refuses_the_call(lie: str, lies: dict[str, Exception]) -> None:
    if lie in lies:
        raise lies[lie]


# -- a record that changes after it was looked up -----------------------------------------------


async def _overtaken(client: Client, place: Place) -> None:
    """A person approves the cancellation of a held order, and the order changes before the call is sent."""
    assert isinstance(place, Shop)
    for id_, changed in (("o1", {"status": "delivered"}), ("o2", {"items": []}), ("o3", {})):
        held = {**ORDER, "order_id": id_, "status": "held"}
        place.answer(held)
        assert (await client.call_tool("shop__cancel_order", {"order_id": id_})).is_error
        with inbox_of(place.home / ".ironcurtain") as inbox:
            waiting = [each.request for each in inbox.statuses() if each.state == "pending"]
            (request,) = [each for each in waiting if each is not None and each.arguments["order_id"] == id_]
            assert request.facts["order"]["status"] == "held"  # type: ignore[index,call-overload]
            assert inbox.answer(request, PersonAnswer("approved")) == "recorded"
        place.answer({**held, **changed})
        await client.call_tool("shop__cancel_order", {"order_id": id_})
    assert place.called("cancel_order") == [{"order_id": "o3"}]


async def _raced(client: Client, place: Place) -> None:
    """The agent changes the order by one call while another is decided on it: that one is decided again."""
    assert isinstance(place, Shop)
    gate = place.root / "gate"
    place.answer({**ORDER, "order_id": "o4"}, refund={"when": str(gate)})
    results: list[bool] = []

    async def cancel() -> None:
        answer = await client.call_tool("shop__cancel_order", {"order_id": "o4"})
        results.append(bool(answer.is_error))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, "shop__refund", {"amount": 1})
        await until(lambda: place.called("refund"))
        tasks.start_soon(cancel)
        await until(lambda: {"order_id": "o4"} in place.called("get_order"))
        place.answer({**ORDER, "order_id": "o4", "status": "delivered"})
        gate.touch()
    assert results == [True]
    assert {"order_id": "o4"} not in place.called("cancel_order")
    assert place.called("get_order").count({"order_id": "o4"}) == 2
    place.answer(ORDER)


# -- amounts ------------------------------------------------------------------------------------

AMOUNTS: dict[str, tuple[Any, str]] = {
    "negative": (-900, "the amount is negative"),
    "negative-fraction": (-0.01, "the amount is negative"),
    "overflow": (2**53 - 1, "the total is too large"),
    "more-digits-than-a-decision-can-see": (1e-300, "digits"),
}


async def _amounts(client: Client, place: Place) -> None:
    assert isinstance(place, Shop)
    assert not (await client.call_tool("shop__pay", {"amount": 600})).is_error
    for amount, reason in AMOUNTS.values():
        await refused_for(client, place, reason, "pay", {"amount": amount})
    assert (await client.call_tool("shop__pay", {"amount": 600})).is_error
    assert place.called("pay") == [{"amount": 600}]


async def _tampered_store(client: Client, place: Place) -> None:
    """Somebody sets the total back, by a number and by taking the whole store away."""
    assert isinstance(place, Shop)
    with sqlite3.connect(place.store) as database:
        database.execute("UPDATE totals SET total = '0'")
    await refused_for(client, place, "not what was written", "pay", {"amount": 1})
    for file in place.store.parent.iterdir():
        file.unlink()
    await refused_for(client, place, "less than this session has booked", "pay", {"amount": 1})
    for part in (place.store, place.store.with_name(f"{place.store.name}-wal")):
        part.write_bytes(b"no database" * 10_000)
    await refused_for(client, place, "cannot be used", "pay", {"amount": 1})
    assert not (await client.call_tool("shop__refund", {"amount": 1})).is_error  # it needs no store


VISITS = {
    "overtaken": _overtaken,
    "raced": _raced,
    "amounts": _amounts,
    "tampered-store": _tampered_store,
}


@pytest.fixture(scope="module")
def visited(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Exception]:
    shop = Shop(tmp_path_factory.mktemp("shop").resolve())
    return visit_all(shop, VISITS, "--patience", "0.5", up=["shop"])


@pytest.mark.parametrize("visit", VISITS)
def test_totals_and_records_that_are_changed(visit: str, visited: dict[str, Exception]) -> None:
    if visit in visited:
        raise visited[visit]


def test_an_amount_beyond_every_number_is_not_sent(tmp_path: Path) -> None:
    shop = Shop(tmp_path.resolve())
    with speaking(shop) as process:
        wait_for(lambda: shop.is_up("shop"))
        for id_, amount in enumerate(("1e999", "-1e999", "Infinity", "NaN", "600"), start=10):
            params = f'{{"name": "shop__pay", "arguments": {{"amount": {amount}}}}}'
            send(process, f'{{"jsonrpc": "2.0", "id": {id_}, "method": "tools/call", "params": {params}}}')
        wait_for(lambda: shop.called("pay"))
    assert shop.called("pay") == [{"amount": 600}]


# -- two gateways -------------------------------------------------------------------------------


@pytest.mark.parametrize(("per", "window"), [("caller", "week"), ("session", "session")])
def test_an_amount_too_fine_to_be_added_to_locks_no_counter(tmp_path: Path, per: str, window: str) -> None:
    facts = {**FACTS, "paid": {**FACTS["paid"], "per": per, "window": window}}
    shop = Shop(tmp_path.resolve(), facts=facts)

    async def story() -> None:
        async with shop.client() as client:
            await until(lambda: shop.is_up("shop"))
            for amount in (1e-300, 1e-9):
                await refused_for(client, shop, "8 digits after the point", "pay", {"amount": amount})
            for amount in (1e-8, 600, 0.1):
                assert not (await client.call_tool("shop__pay", {"amount": amount})).is_error

    anyio.run(story)


def test_two_payments_at_once_under_one_budget_of_two_gateways(tmp_path: Path) -> None:
    shop = Shop(tmp_path.resolve())
    results: list[bool] = []

    async def pay(client: Client) -> None:
        results.append(bool((await client.call_tool("shop__pay", {"amount": 600})).is_error))

    async def race() -> None:
        async with shop.client("--session", "one") as one, shop.client("--session", "two") as two:
            await until(lambda: shop.said.count("server shop: 10 tools") == 2)
            async with anyio.create_task_group() as tasks:
                for client in (one, two, one, two):
                    tasks.start_soon(pay, client)

    anyio.run(race)
    assert sorted(results) == [False, True, True, True]
    assert shop.called("pay") == [{"amount": 600}]


# -- a label that is to be forgotten ------------------------------------------------------------


async def _reads(client: Client, shop: Shop) -> None:
    """Read what is private, and lose the answer: the server gives none."""
    shop.answer(ORDER, read_private=None)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, "shop__read_private", {})
        await until(lambda: shop.called("read_private"))
        tasks.cancel_scope.cancel()


async def _reloads(client: Client, shop: Shop) -> None:
    assert not (await client.call_tool("shop__read_private", {})).is_error
    shop.publish_facts([*RULES, {**RULES[0], "name": "more"}])
    await until(lambda: "now enforced" in shop.said)


async def _is_killed(client: Client, shop: Shop) -> None:
    shop.answer(ORDER, read_private=None)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, "shop__read_private", {})
        await until(lambda: shop.called("read_private"))
        os.kill(await proxy_of(shop), signal.SIGKILL)


async def _receives(client: Client, shop: Shop) -> None:
    """Receive a message that is confidential, after one that is not."""
    shop.answer(ORDER, read_inbox=_answer({"class": "public"}))
    assert not (await client.call_tool("shop__read_inbox", {})).is_error
    assert not (await client.call_tool("shop__send_mail", {"to": "before"})).is_error
    shop.answer(ORDER, read_inbox=_answer({"class": "confidential"}))
    assert not (await client.call_tool("shop__read_inbox", {})).is_error


async def _receives_what_cannot_be_read(client: Client, shop: Shop) -> None:
    shop.answer(ORDER, read_inbox=_text("confidential, but no JSON"))
    assert not (await client.call_tool("shop__read_inbox", {})).is_error


EVASIONS: dict[str, Callable[[Client, Shop], Any]] = {
    "cancelled": _reads,
    "reloaded": _reloads,
    "killed": _is_killed,
    "answered": _receives,
    "answered-without-json": _receives_what_cannot_be_read,
}


@pytest.mark.parametrize("evasion", EVASIONS)
def test_a_label_outlives(evasion: str, tmp_path: Path) -> None:
    """Whatever happened to the call, and to the proxy: the session has read it, and sends no mail."""
    shop = Shop(tmp_path.resolve())

    async def first() -> None:
        async with shop.client() as client:
            await until(lambda: shop.is_up("shop"))
            with anyio.move_on_after(LONG):
                await EVASIONS[evasion](client, shop)
            if evasion != "killed":
                assert (await client.call_tool("shop__send_mail", {"to": "same"})).is_error

    async def second() -> None:
        async with shop.client() as client:
            await until(lambda: shop.said.count("server shop: 10 tools") >= 2)
            assert (await client.call_tool("shop__send_mail", {"to": "second"})).is_error
            assert shop.decisions[-1]["rule"] in ("kept", "kept-too")

    try:
        anyio.run(first)
    except* Exception:
        if evasion != "killed":
            raise
    anyio.run(second)
    assert all(mail == {"to": "before"} for mail in shop.called("send_mail"))


def test_a_label_and_a_count_are_not_left_behind_by_a_second_client(tmp_path: Path) -> None:
    """What one client of a proxy has read and paid back counts for the next one: the session is one log."""
    shop = Shop(tmp_path.resolve())

    async def reads(url: str) -> None:
        async with Client(streamable_http_client(url), cache=None) as client:
            await until(lambda: shop.is_up("shop"))
            assert not (await client.call_tool("shop__read_private", {})).is_error
            for _ in range(3):
                assert not (await client.call_tool("shop__refund", {"amount": 1})).is_error

    async def sends(url: str) -> None:
        async with Client(streamable_http_client(url), cache=None) as client:
            assert (await client.call_tool("shop__send_mail", {"to": "second"})).is_error
            assert shop.decisions[-1]["rule"] == "kept"
            assert (await client.call_tool("shop__refund", {"amount": 1})).is_error

    with listening(shop) as url:
        anyio.run(reads, url)
        anyio.run(sends, url)
    assert shop.called("send_mail") == []
    assert len(shop.called("refund")) == 3


# -- killed between booking and sending ---------------------------------------------------------

MOMENTS = {
    "before-booking": "SqliteStore.book",
    "in-the-store": "AuditLog.decision",
    "recorded": "Sending.send",
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_payment_of_a_killed_proxy_is_booked_or_was_not_sent(moment: str, tmp_path: Path) -> None:
    """A proxy that ends between any two steps has sent nothing that it did not book."""
    shop = Shop(tmp_path.resolve())
    options = shop.command()[3:]

    async def is_killed() -> None:
        started = StdioServerParameters(
            command=sys.executable,
            args=[killed_proxy.__file__, MOMENTS[moment], *options],
            env=shop.environment(),
            cwd=tmp_path,
        )
        with (tmp_path / "stderr").open("a") as stderr:
            async with Client(stdio_client(started, errlog=stderr), mode="legacy", cache=None) as client:
                await until(lambda: shop.is_up("shop"))
                await client.call_tool("shop__pay", {"amount": 600})

    async def goes_on() -> None:
        async with shop.client() as client:
            await until(lambda: shop.said.count("server shop: 10 tools") == 2)
            refused = bool((await client.call_tool("shop__pay", {"amount": 600})).is_error)
            assert refused == (moment != "before-booking")

    with pytest.raises(BaseExceptionGroup) as ended:
        anyio.run(is_killed)
    assert "Connection closed" in "".join(traceback.format_exception(ended.value))
    assert shop.called("pay") == []
    anyio.run(goes_on)
    assert shop.called("pay") == ([] if moment != "before-booking" else [{"amount": 600}])


def test_a_tampered_log_starts_no_proxy(tmp_path: Path) -> None:
    shop = Shop(tmp_path.resolve())

    async def read(client: Client, _place: Place) -> None:
        assert not (await client.call_tool("shop__read_private", {})).is_error

    for error in visit_all(shop, {"read": read}, up=["shop"]).values():
        raise error
    log = shop.home / ".ironcurtain" / "audit" / "test.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"fact":"private"', b'"fact":"privat_"'))
    started = subprocess.run(
        shop.command(),
        env=shop.environment(),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert started.returncode not in (0, 1)
    assert b"is not what was sealed" in started.stderr
