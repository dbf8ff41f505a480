"""A new policy takes over while calls go on; a bad one changes nothing and is told of."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from support.deployments.faulty import engine_of, proxy_of
from support.deployments.proxied import LONG, Place, rules, text_of, until, visit_all
from support.projects.policies import rule

from ironcurtain.bundle.archive import Bundle

NO_ECHO = [rule("no-echo", "deny", tool=["echo"]), *rules()]


def events(place: Place, name: str) -> list[dict[str, Any]]:
    return [record["detail"] for record in place.records() if record.get("event") == name]


async def a_new_bundle_takes_over_while_calls_are_in_flight(client: Client, place: Place) -> None:
    outcomes: list[Any] = []

    async def sleep() -> None:
        outcomes.append(await client.call_tool("fix__slow", {"seconds": 3}))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sleep)
        await until(lambda: any(entry.get("tool") == "slow" for entry in place.sent()))
        place.publish(NO_ECHO, place.names)
        number = 0
        with anyio.fail_after(LONG):
            while not (await client.call_tool("fix__echo", {"data": number})).is_error:
                number += 1
    assert not outcomes[0].is_error
    listed = {tool.name for tool in (await client.list_tools()).tools}
    assert "fix__slow" in listed
    revisions = {record["revision"] for record in place.decisions}
    assert len(revisions) == 2
    (change,) = events(place, "reload")
    assert {change["old"], change["new"]} == revisions
    await engine_of(place)  # the old one has ended


async def a_broken_bundle_keeps_the_old_policy(client: Client, place: Place) -> None:
    place.bundle.write_bytes(place.bundle.read_bytes()[:-200])
    await until(lambda: events(place, "reload-refused"))
    assert "is not enforced" in place.said
    assert (await client.call_tool("fix__echo", {"text": "still denied"})).is_error
    assert not (await client.call_tool("fix__steps", {"count": 1})).is_error


async def a_bundle_with_a_built_in_that_no_policy_may_use_keeps_the_old_policy(
    client: Client, place: Place
) -> None:
    before = len(events(place, "reload-refused"))
    planted = (
        b'package ironcurtain.custom.x\n\nx := http.send({"method": "get", "url": "http://127.0.0.1"})\n'
    )
    place.publish(NO_ECHO, place.names)
    made = Bundle.read(place.bundle).with_files({"ironcurtain/custom/x.rego": planted})
    (place.root / "new").write_bytes(made.archive())
    (place.root / "new").replace(place.bundle)
    said = "ironcurtain/custom/x.rego:3:6: undefined function http.send"
    await until(lambda: any(said in each["reason"] for each in events(place, "reload-refused")[before:]))
    assert not (await client.call_tool("fix__steps", {"count": 1})).is_error


async def a_pipe_in_the_bundles_place_holds_nothing_up(client: Client, place: Place) -> None:
    before = len(events(place, "reload-refused"))
    place.bundle.unlink()
    os.mkfifo(place.bundle)
    await until(lambda: len(events(place, "reload-refused")) > before)
    assert "not a file" in events(place, "reload-refused")[-1]["reason"]
    assert not (await client.call_tool("fix__steps", {"count": 1})).is_error


async def sighup_reloads(client: Client, place: Place) -> None:
    place.publish(rules(), place.names)
    os.kill(await proxy_of(place), signal.SIGHUP)
    await until(lambda: len(events(place, "reload")) == 2)
    with anyio.fail_after(LONG):
        while (await client.call_tool("fix__echo", {"data": len(place.decisions)})).is_error:  # noqa: ASYNC110
            await anyio.sleep(0.05)


VISITS = {
    visit.__name__: visit
    for visit in (
        a_new_bundle_takes_over_while_calls_are_in_flight,
        a_broken_bundle_keeps_the_old_policy,
        a_pipe_in_the_bundles_place_holds_nothing_up,
        sighup_reloads,
    )
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Exception]:
    return visit_all(Place(tmp_path_factory.mktemp("proxy")), VISITS, "--no-approver")


@pytest.mark.parametrize("visit", VISITS)
def test_reloads(outcomes: dict[str, Exception], visit: str) -> None:
    if visit in outcomes:
        raise outcomes[visit]


def test_servers_hear_what_a_new_policy_lets_them_ask(tmp_path: Path) -> None:
    place = Place(tmp_path)

    async def answer(_: Any, __: Any) -> types.CreateMessageResult:
        return types.CreateMessageResult(role="assistant", model="m", content=types.TextContent(text="go on"))

    async def story() -> None:
        async with place.client("--no-approver", sampling_callback=answer) as client:

            async def asked() -> str:
                try:
                    return text_of(await client.call_tool("fix__ask_model", {}))
                except MCPError as error:  # the server's own: it was not told that it can ask
                    return str(error)

            assert "go on" not in await asked()
            place.publish(rules("mcp/sampling"), place.names)
            await until(lambda: events(place, "reload"))
            with anyio.fail_after(LONG):
                while "go on" not in await asked():  # noqa: ASYNC110
                    await anyio.sleep(3.1)  # the breaker counts equal calls

    anyio.run(story)
