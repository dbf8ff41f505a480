"""A client calls its call off, or goes; the handler and the programs that it started go on without it.

Held by: what the client calls off is cancelled, and recorded so; a handler's thread is sent an exception, its
task is cancelled, and the programs that they started are killed.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from support.deployments.proxied import is_alive, until
from support.deployments.support_desk import Desk
from support.deployments.support_desk_http import FIRST, listening, settle, token

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform != "linux", reason="children of a thread are known on Linux only"),
]

TOOLS = """
import asyncio, os, subprocess, sys
from pathlib import Path
from pydantic import BaseModel
from ironcurtain.gateway import Gateway, cli_command, define_tool

WAIT = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)"
HERE = Path(__file__).parent

class Nothing(BaseModel):
    pass

class Text(BaseModel):
    text: str

def command(name):
    return [sys.executable, "-c", WAIT, str(HERE / f"{name}.pid")]

def plain(_: Nothing) -> Text:
    try:
        subprocess.Popen(command("plain"), start_new_session=True).wait()
        while True:
            pass
    finally:
        (HERE / "plain.ended").write_text("ended")

async def later(_: Nothing) -> Text:
    try:
        child = await asyncio.create_subprocess_exec(*command("later"), start_new_session=True)
        await child.wait()
        await asyncio.Event().wait()
    finally:
        (HERE / "later.ended").write_text("ended")

def quick(_: Nothing) -> Text:
    return Text(text="done")

def declared(name, handler):
    return define_tool(
        name=name, description="Wait.", classification="read", permissions=["public"], input=Nothing,
        output=Text, output_policy={".text": "allow"}, timeout=600, handler=handler,
    )

program = cli_command(sys.executable, lambda _: command("program")[1:], timeout=600)
gateway = Gateway("desk", [
    declared("plain", plain), declared("later", later),
    declared("program", program), declared("quick", quick),
])
"""
WAITING = ["plain", "later", "program"]


def is_written(file: Path) -> bool:
    return file.exists() and bool(file.read_text())


def is_gone(process: int) -> bool:
    return not is_alive(process)


def has_results(desk: Desk, number: int) -> bool:
    return len(desk.results()) == number


async def called_off(client: Client, desk: Desk) -> None:
    """Call each tool and call it off once its program runs; see that this and the handler end."""
    for number, name in enumerate(WAITING, start=1):
        file = desk.root / f"{name}.pid"
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, f"desk__{name}", {})
            await until(partial(is_written, file))
            tasks.cancel_scope.cancel()
        process = int(file.read_text())
        await until(partial(is_gone, process))
        if name != "program":
            await until((desk.root / f"{name}.ended").exists)
        file.unlink()
        await until(partial(has_results, desk, number))
    assert not (await client.call_tool("desk__quick", {})).is_error


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    desk.tools(TOOLS)
    desk.permit()
    return desk


def statuses(desk: Desk) -> list[str]:
    return [record["status"] for record in desk.results()]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_call_that_is_called_off_over_stdio_ends_its_handler_and_its_program(desk: Desk, mode: str) -> None:
    async def story() -> None:
        async with Client(desk.parameters(), mode=mode) as client:
            await called_off(client, desk)

    anyio.run(story)
    assert statuses(desk) == ["cancelled", "cancelled", "cancelled", "ok"]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_call_that_is_called_off_over_http_ends_its_handler_and_its_program(desk: Desk, mode: str) -> None:
    settle(desk, first=FIRST)
    shown = token(FIRST, "first", "agent")

    async def story(url: str) -> None:
        headers = {"authorization": f"Bearer {shown}"}
        http = httpx2.AsyncClient(headers=headers, trust_env=False, timeout=600)
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            await called_off(client, desk)

    with listening(desk) as url:
        anyio.run(story, url)
    assert statuses(desk) == ["cancelled", "cancelled", "cancelled", "ok"]


def test_a_client_over_stdio_that_goes_ends_the_handlers_of_its_calls(desk: Desk) -> None:
    async def story() -> None:
        async with Client(desk.parameters(), mode="legacy") as client, anyio.create_task_group() as tasks:
            for name in WAITING:
                tasks.start_soon(client.call_tool, f"desk__{name}", {})
            files = [desk.root / f"{name}.pid" for name in WAITING]
            await until(lambda: all(file.exists() and file.read_text() for file in files))
            tasks.cancel_scope.cancel()
        for file in files:
            process = int(file.read_text())
            await until(partial(is_gone, process))

    anyio.run(story)
    assert statuses(desk) == ["cancelled"] * 3
