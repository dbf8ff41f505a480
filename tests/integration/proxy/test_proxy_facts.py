"""Records, memory and totals at a real proxy: what a call is decided on, and what it books."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from support.deployments.proxied import Place, text_of, until, visit_all
from support.deployments.remembered import FACTS, ORDER, Shop, fact
from support.projects.policies import rule

pytestmark = pytest.mark.timeout(600)
CHECKED = "The call could not be checked"


async def _records(client: Client, place: Place) -> None:
    assert isinstance(place, Shop)
    assert not (await client.call_tool("shop__cancel_order", {"order_id": "o1"})).is_error
    asked, decided = place.decisions[-2:]
    assert (asked["tool"], asked["parent"], asked["verdict"]) == ("get_order", decided["id"], "allow")
    assert decided["facts"]["values"]["order/status"] == "pending"
    assert set(decided["facts"]["values"]) == {"order/items", "order/placed", "order/status"}
    assert decided["facts"]["values"]["order/items"] == ["i1", "i2"]
    place.answer({**ORDER, "status": "delivered"})
    assert (await client.call_tool("shop__cancel_order", {"order_id": "o1"})).is_error
    assert place.decisions[-1]["rule"] == "default-deny"
    assert len(place.called("cancel_order")) == 1


async def _no_record(client: Client, place: Place) -> None:
    place.answer()  # type: ignore[attr-defined]
    refused = await client.call_tool("shop__cancel_order", {"order_id": "o1"})
    decided = place.decisions[-1]
    assert text_of(refused).startswith(CHECKED)
    assert "order" not in text_of(refused).partition("Decision")[0]
    assert (decided["rule"], decided["verdict"]) == ("structural-fact-unavailable", "deny")
    assert decided["reason"] == "The fact order cannot be had: the look-up failed."


async def _session_counter(client: Client, place: Place) -> None:
    results = [await client.call_tool("shop__refund", {"amount": 1}) for _ in range(4)]
    assert [bool(each.is_error) for each in results] == [False, False, False, True]
    assert 'The count "refunds" of this session decided that: with this call it is 4.' in text_of(results[3])
    assert place.decisions[-1]["facts"]["decisive"] == ["refunds"]
    assert [r["facts"]["values"]["refunds"] for r in place.decisions if r["tool"] == "refund"] == [1, 2, 3, 4]


async def _many_at_once(client: Client, place: Place) -> None:
    results: list[bool] = []

    async def pay() -> None:
        results.append(bool((await client.call_tool("shop__pay", {"amount": 300})).is_error))

    async with anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(pay)
    assert sorted(results) == [False] * 3 + [True] * 3
    assert len(place.called("pay")) == 3  # type: ignore[attr-defined]
    booked = [
        r["facts"]["booked"][0]["add"] for r in place.decisions if r["tool"] == "pay" and r["forwarded"]
    ]
    assert booked == ["300"] * 3


VISITS = {
    "records": _records,
    "no-record": _no_record,
    "session-counter": _session_counter,
    "many-at-once": _many_at_once,
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Exception]:
    shop = Shop(tmp_path_factory.mktemp("shop").resolve())
    return visit_all(shop, VISITS, up=["shop"])


@pytest.mark.parametrize("visit", VISITS)
def test_a_proxy_with_declared_facts(visit: str, outcomes: dict[str, Exception]) -> None:
    if visit in outcomes:
        raise outcomes[visit]


def test_the_totals_of_a_look_up_include_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As evidence takes it: what no total of a call permits, no look-up does either."""
    reads = {"source": "counter", "clause": "C1", "of": {"tool": ["get_order"]}}
    monkeypatch.setitem(FACTS, "reads", {**reads, "per": "session", "window": "session"})
    none = rule("reading", "allow", tool=["get_order"], facts=[fact("reads", "le", 0)])
    pending = rule(
        "pending", "allow", tool=["cancel_order"], facts=[fact("order/status", "equals", "pending")]
    )
    shop = Shop(tmp_path.resolve(), [none, pending])

    async def cancel(client: Client, _place: Place) -> None:
        assert (await client.call_tool("shop__cancel_order", {"order_id": "o1"})).is_error
        look_up, _ = shop.decisions
        assert (look_up["verdict"], look_up["facts"]["values"]) == ("deny", {"reads": 1})
        assert not shop.called("get_order")

    for error in visit_all(shop, {"cancel": cancel}, up=["shop"]).values():
        raise error


def test_look_ups_book_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = {"source": "counter", "clause": "C1", "of": {"tool": ["get_order"]}}
    monkeypatch.setitem(FACTS, "reads", {**reads, "per": "session", "window": "session"})
    one = rule("reading", "allow", tool=["get_order"], facts=[fact("reads", "le", 1)])
    pending = rule(
        "pending", "allow", tool=["cancel_order"], facts=[fact("order/status", "equals", "pending")]
    )
    shop = Shop(tmp_path.resolve(), [one, pending])

    async def cancel(client: Client, _place: Place) -> None:
        for _ in range(2):
            assert not (await client.call_tool("shop__cancel_order", {"order_id": "o1"})).is_error

    for error in visit_all(shop, {"cancel": cancel}, up=["shop"]).values():
        raise error


def test_a_session_is_one_start_of_the_proxy_unless_it_has_a_name(tmp_path: Path) -> None:
    shop = Shop(tmp_path.resolve())
    named = shop.command()
    unnamed = [word for word in named if word not in {"--session", "test"}]

    async def refunds(command: list[str], times: int) -> list[bool]:
        started = StdioServerParameters(command=command[0], args=command[1:], env=shop.environment())
        with (shop.root / "stderr").open("a") as stderr:
            async with Client(stdio_client(started, errlog=stderr), mode="legacy", cache=None) as client:
                assert not (await client.call_tool("shop__pay", {"amount": 1})).is_error
                calls = [await client.call_tool("shop__refund", {"amount": 1}) for _ in range(times)]
                return [bool(each.is_error) for each in calls]

    assert anyio.run(refunds, unnamed, 4) == [False, False, False, True]
    (log,) = shop.home.glob(".ironcurtain/audit/s-*.jsonl")
    assert "count refunds at 4, not sent]" in shop.printed("audit", "tail", log.stem)
    assert anyio.run(refunds, unnamed, 2) == [False, False]
    lines = shop.printed("audit", "state", log.stem).splitlines()
    assert lines[1].startswith("counter paid in ")  # a caller's total goes on
    assert ": 2 (2 calls, caller " in lines[1]
    assert lines[2:] == ["counter refunds: 2 (2 calls)"]
    assert anyio.run(refunds, named, 2) == [False, False]
    assert anyio.run(refunds, named, 2) == [False, True]


def test_the_state_of_a_session_is_printed(tmp_path: Path) -> None:
    shop = Shop(tmp_path.resolve())

    async def work(client: Client, _place: Place) -> None:
        assert not (await client.call_tool("shop__pay", {"amount": 0.1})).is_error
        assert not (await client.call_tool("shop__read_private", {})).is_error
        await until(lambda: shop.ends() == ["ok", "ok"])

    for error in visit_all(shop, {"work": work}, up=["shop"]).values():
        raise error
    lines = shop.printed("audit", "state", "test").splitlines()
    assert lines[0] == "session test"
    assert lines[1].startswith("label private since ")
    assert lines[2].startswith("counter paid in ")
    assert ": 0.1 (1 call, caller " in lines[2]
