"""What a server, the engine or a signal does to the proxy, and what is left of it afterwards."""

from __future__ import annotations

import itertools
import json
import os
import signal
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from support.deployments.faulty import engine_of
from support.deployments.proxied import (
    LONG,
    PLAIN,
    Living,
    Place,
    text_of,
    until,
    visit_all,
    wait_for,
)
from support.deployments.wire import call, running, send
from support.records.approvals import inbox_of

from ironcurtain.enforcement.approvals.inbox import PersonAnswer

pytestmark = pytest.mark.timeout(900)
NUMBERS = itertools.count()


async def others_work(client: Client) -> None:
    result = await client.call_tool("two__echo", {"data": next(NUMBERS)})
    assert not result.is_error, text_of(result)


async def works(client: Client) -> None:
    """See a call go through, perhaps after some for which a busy machine's engine was too slow."""
    with anyio.fail_after(LONG):
        while (await client.call_tool("two__echo", {"data": next(NUMBERS)})).is_error:  # noqa: ASYNC110
            await anyio.sleep(0.3)


async def comes_back(client: Client) -> None:
    """See that the broken server's tools work again after a while."""
    with anyio.fail_after(LONG):
        while (await client.call_tool("fix__steps", {"count": next(NUMBERS)})).is_error:  # noqa: ASYNC110
            await anyio.sleep(0.3)


async def a_server_that_dies_in_mid_call(client: Client, place: Place) -> None:
    async with anyio.create_task_group() as tasks:
        slow: list[Any] = []

        async def sleep() -> None:
            slow.append(await client.call_tool("fix__slow", {"seconds": 3000}))

        tasks.start_soon(sleep)
        await until(lambda: any(entry.get("tool") == "slow" for entry in place.sent()))
        died = await client.call_tool("fix__die", {})
        assert died.is_error
        assert "gave no answer" in text_of(died)
    assert slow[0].is_error
    await others_work(client)
    await until(lambda: place.ends().count("failed") >= 2)
    await comes_back(client)


async def a_server_that_hangs(client: Client, place: Place) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, "fix__hang", {})
        await until(lambda: any(entry.get("tool") == "hang" for entry in place.sent()))
        await others_work(client)
        tasks.cancel_scope.cancel()
    await others_work(client)
    assert not (await client.call_tool("fix__echo", {"text": "also here"})).is_error


async def a_server_that_writes_garbage(client: Client, place: Place) -> None:
    assert (await client.call_tool("fix__garbage", {})).is_error
    await until(lambda: "no MCP message without end" in place.said)
    await others_work(client)
    await comes_back(client)


async def a_server_that_floods(client: Client, place: Place) -> None:
    assert (await client.call_tool("fix__flood", {})).is_error
    await until(lambda: "messages without end" in place.said)
    await others_work(client)
    await comes_back(client)


async def an_engine_that_is_killed(client: Client, place: Place) -> None:
    os.kill(await engine_of(place), signal.SIGKILL)
    refused = await client.call_tool("two__echo", {"text": "during"})
    if refused.is_error:
        assert place.decisions[-1]["rule"] in {"engine-dead", "engine-unreachable"}
        assert "No decision could be made" in text_of(refused)
    assert (await client.list_tools()).tools
    await until(lambda: "has been started anew" in place.said)
    await works(client)


VISITS = {
    visit.__name__: visit
    for visit in (
        a_server_that_hangs,
        an_engine_that_is_killed,
        a_server_that_dies_in_mid_call,
        a_server_that_writes_garbage,
        a_server_that_floods,
    )
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Exception]:
    never = [*PLAIN, "--never-starts"]
    place = Place(tmp_path_factory.mktemp("proxy"), {"fix": PLAIN, "two": PLAIN, "mute": never})
    return visit_all(place, VISITS, "--no-approver")


@pytest.mark.parametrize("visit", VISITS)
def test_survives(outcomes: dict[str, Exception], visit: str) -> None:
    if visit in outcomes:
        raise outcomes[visit]


def ended(place: Place, end: signal.Signals) -> int:
    """End a proxy while a person decides and a server hangs; see that nothing of it is left."""
    requests = place.home / ".ironcurtain" / "approvals"
    with running(place) as process:
        send(process, call(3, "remove", json.dumps({"path": f"{place.home}/x"})), call(4, "hang"))
        wait_for(lambda: any(entry.get("tool") == "hang" for entry in place.sent()))
        wait_for(lambda: list(requests.glob("request-*.json")))
        below = Living(process.pid)
        assert len(below.began) >= 4  # engine, launcher, server and what the server started
        process.send_signal(end)
        status = process.wait(LONG)
        below.wait_until_gone()
    return status


# What a client leaves that closes its side is in test_proxy_faults_people.py.
@pytest.mark.parametrize("end", ["SIGTERM", "SIGINT"])
def test_leaves_no_process_however_it_ends(tmp_path: Path, end: str) -> None:
    place = Place(tmp_path)
    assert ended(place, signal.Signals[end]) == 0
    assert place.records()[-1].get("event") == "stop"


def test_killed_while_a_person_decides_nothing_is_left_lost_or_approved_twice(tmp_path: Path) -> None:
    place = Place(tmp_path)
    own = place.home / ".ironcurtain"
    assert ended(place, signal.SIGKILL) == -signal.SIGKILL
    with inbox_of(own) as desk:
        (status,) = desk.statuses()
        assert status.request is not None
        assert desk.answer(status.request, PersonAnswer("approved")) == "recorded"

    async def again() -> list[bool | None]:
        given = {"path": f"{place.home}/x"}
        async with place.client("--patience", "0.5") as client:
            return [(await client.call_tool("fix__remove", given)).is_error for _ in range(2)]

    assert anyio.run(again) == [False, True]
    assert [entry["tool"] for entry in place.sent()].count("remove") == 1
