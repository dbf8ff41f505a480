"""What takes long (a server's end, a policy's tool list) holds up neither the proxy's end nor its clients."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp import Client
from support.deployments.faulty import engine_of
from support.deployments.proxied import LONG, PLAIN, Place, descendants, is_alive, rules, until, wait_for
from support.deployments.wire import answer, call, running, send
from support.machines.frozen import freeze
from support.projects.policies import rule

from ironcurtain.engine.locate import find

NO_ECHO = [rule("no-echo", "deny", tool=["echo"]), *rules()]


def command(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


class Gate:
    """An OPA that works out what is left of tools only while its gate is open."""

    def __init__(self, root: Path) -> None:
        self.opa, self.open, self.runs = root / "opa", root / "open", root / "runs"
        self.opa.write_text(
            f"#!/bin/sh\nif [ $1 = eval ]; then echo >> {self.runs}\n"
            f"while ! [ -e {self.open} ] && kill -0 $PPID; do sleep 0.1; done; fi\n"
            f'exec {find().path} "$@"\n'
        )
        self.opa.chmod(0o755)

    def passed(self) -> int:
        """Return how often it was asked."""
        return len(self.runs.read_text().splitlines()) if self.runs.exists() else 0


def test_signals_while_it_ends_change_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path)
    gate = Gate(tmp_path)
    with running(place, "--opa", str(gate.opa)) as process:
        wait_for(gate.passed)
        below = descendants(process.pid)
        (server,) = [pid for pid in below if command(pid)[1:2] == [PLAIN[0].encode()]]
        engine = anyio.run(engine_of, place)
        freeze(server)  # it notices nothing, so it has to be killed
        process.stdin.close()
        wait_for(lambda: not is_alive(engine))
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            process.send_signal(number)
        assert process.wait(LONG) == 0
        wait_for(lambda: not any(map(is_alive, below)))
    assert place.records()[-1]["event"] == "stop"


async def lists_echo(client: Client) -> bool:
    return "fix__echo" in {tool.name for tool in (await client.list_tools()).tools}


def test_the_tool_list_follows_the_policy_however_long_that_takes(tmp_path: Path) -> None:
    place, gate, told = Place(tmp_path), Gate(tmp_path), list[types.ToolListChangedNotification]()
    place.publish(NO_ECHO, place.names)

    async def hear(message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            told.append(message)

    async def story() -> None:
        async with place.client("--no-approver", "--opa", str(gate.opa), message_handler=hear) as client:
            assert await lists_echo(client)  # nobody waits for ever
            gate.open.touch()
            await until(lambda: told)
            assert not await lists_echo(client)
            # Another engine for the same policy is no news.
            os.kill(await engine_of(place), signal.SIGKILL)
            await client.call_tool("fix__steps", {"count": 1})
            await until(lambda: any(r.get("event") == "engine-restarted" for r in place.records()))
            assert not await lists_echo(client)
            assert (gate.passed(), len(told)) == (1, 1)
            gate.open.unlink()
            place.publish(rules(), place.names)
            await until(lambda: len(told) > 1)
            assert await lists_echo(client)

    try:
        anyio.run(story)
    finally:
        gate.open.touch()


def test_a_call_that_goes_on_when_the_client_closes_its_side_is_answered(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with running(place) as process:
        send(process, call(7, "slow", '{"seconds": 600}'))
        wait_for(lambda: [each for each in place.sent() if each.get("tool") == "slow"])
        process.stdin.close()
        answered = answer(process, 7)
        assert answered["error"]["message"] == "Connection closed"
        assert process.wait(LONG) == 0
