"""What a server, the engine or a signal does to the proxy, and what is left of it afterwards."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from support.policies import rule
from support.proxied import (
    LEGACY,
    MODERN,
    SERVER,
    Place,
    descendants,
    is_alive,
    rules,
    text_of,
    until,
    visit_all,
    wait_for,
)
from support.wire import call, running, send

from ironcurtain.approvals.answering import Answer, Desk


async def others_work(client: Client) -> None:
    assert not (await client.call_tool("two__echo", {"text": "still here"})).is_error


async def comes_back(client: Client, place: Place) -> None:
    """See that the broken server's tools work again after a while."""
    with anyio.fail_after(40):
        while (await client.call_tool("fix__steps", {"count": len(place.sent())})).is_error:  # noqa: ASYNC110
            await anyio.sleep(0.1)


async def a_server_that_dies_in_mid_call(client: Client, place: Place) -> None:
    async with anyio.create_task_group() as tasks:
        slow: list[Any] = []

        async def sleep() -> None:
            slow.append(await client.call_tool("fix__slow", {"seconds": 30}))

        tasks.start_soon(sleep)
        await until(lambda: any(entry.get("tool") == "slow" for entry in place.sent()))
        died = await client.call_tool("fix__die", {})
        assert died.is_error
        assert "gave no answer" in text_of(died)
    assert slow[0].is_error
    await others_work(client)
    await until(lambda: place.ends().count("failed") >= 2)
    await comes_back(client, place)


async def a_server_that_hangs(client: Client, _place: Place) -> None:
    with anyio.move_on_after(0.3):
        await client.call_tool("fix__hang", {})
    await others_work(client)
    assert not (await client.call_tool("fix__echo", {"text": "also here"})).is_error


async def a_server_that_writes_garbage(client: Client, place: Place) -> None:
    assert (await client.call_tool("fix__garbage", {})).is_error
    await until(lambda: "no MCP message" in place.said)
    await others_work(client)
    await comes_back(client, place)


async def a_server_that_floods(client: Client, place: Place) -> None:
    assert (await client.call_tool("fix__flood", {})).is_error
    await until(lambda: "messages without end" in place.said)
    await others_work(client)
    await comes_back(client, place)


async def an_engine_that_is_killed(client: Client, place: Place) -> None:
    (engine,) = [pid for pid in descendants(os.getpid()) if _is(pid, b"opa\x00run") and _of(pid, place)]
    os.kill(engine, signal.SIGKILL)
    refused = await client.call_tool("two__echo", {"text": "during"})
    if refused.is_error:
        assert place.decisions[-1]["rule"] in {"engine-dead", "engine-unreachable"}
        assert "No decision could be made" in text_of(refused)
    assert (await client.list_tools()).tools
    await until(lambda: "has been started anew" in place.said)
    await others_work(client)


def _is(pid: int, words: bytes) -> bool:
    try:
        return words in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _of(pid: int, place: Place) -> bool:
    parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return _is(parent, str(place.bundle).encode())


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
    never = [str(SERVER), "--never-starts"]
    place = Place(tmp_path_factory.mktemp("proxy"), {"fix": LEGACY, "two": MODERN, "mute": never})
    return visit_all(place, VISITS, "--no-approver")


@pytest.mark.parametrize("visit", VISITS)
def test_survives(outcomes: dict[str, Exception], visit: str) -> None:
    if visit in outcomes:
        raise outcomes[visit]


@pytest.mark.parametrize("end", ["input closed", "SIGTERM", "SIGINT", "SIGKILL"])
def test_leaves_no_process_however_it_ends(tmp_path: Path, end: str) -> None:
    place = Place(tmp_path)
    with running(place) as process:
        below = descendants(process.pid)
        assert len(below) >= 4  # engine, launcher, server and what the server started
        if end == "input closed":
            process.stdin.close()
        else:
            process.send_signal(getattr(signal, end))
        status = process.wait(60)
        wait_for(lambda: not any(map(is_alive, below)))
    assert status == {"SIGKILL": -signal.SIGKILL}.get(end, 0)
    if end != "SIGKILL":
        assert place.records()[-1]["event"] == "stop"


def test_killed_while_a_person_decides_nothing_is_lost_or_approved_twice(tmp_path: Path) -> None:
    place = Place(tmp_path)
    given = {"path": f"{place.home}/x"}
    own = place.home / ".ironcurtain"
    with running(place) as process:
        send(process, call(3, "remove", json.dumps(given)))
        wait_for(lambda: list((own / "approvals").glob("request-*.json")))
        process.kill()
    with Desk.open(own / "approvals", own / "approvals.key") as desk:
        (waiting,) = desk.statuses()
        assert desk.answer(waiting.request, Answer("approved")) == "recorded"

    async def again() -> list[bool | None]:
        async with place.client("--patience", "0.5") as client:
            return [(await client.call_tool("fix__remove", given)).is_error for _ in range(2)]

    assert anyio.run(again) == [False, True]
    assert [entry["tool"] for entry in place.sent()].count("remove") == 1


def test_duplicate_keys_are_denied_though_the_sdk_reads_over_them(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.publish([rule("all", "allow", tool=["read"]), *rules()], place.names)
    with running(place) as process:
        twice = '{"path": "/etc/hostname", "path": "' + f'{place.home}/notes/a"}}'
        send(process, "this is no JSON", call(3, "read", twice), call(4, "echo", '{"text": "\\ud800"}'))
        answers = [json.loads(process.stdout.readline()) for _ in range(3)]
    assert answers[0]["error"]["code"] == -32700
    refused = next(answer for answer in answers if answer.get("id") == 3)
    assert refused["result"]["isError"] is True
    assert [record["rule"] for record in place.decisions[1:]] == ["structural-malformed-call"]
    assert not any(entry.get("tool") == "read" for entry in place.sent())
