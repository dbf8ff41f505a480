"""Approve from a second terminal: docs/transcripts/approve.md."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from anyio import to_thread
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from support.deployments.proxied import text_of, until
from support.documentation.transcript import ROOT
from support.machines.contained import NEEDS_SANDBOX
from support.machines.journey import Journey
from support.services.registry import NEEDS_NPM, Packages, installed_package

MODULES = ROOT / "node_modules"
SERVER = "@modelcontextprotocol/server-filesystem"
SAID = """\
An agent works behind the proxy with the policy of [the first journey](first-policy.md). What that wants a
person to decide waits, and a person decides it in a terminal of their own."""
OPTIONS = "--servers mcp-servers.json --sandbox ~/work --session desk --patience 300"
PROXY = f"proxy --bundle generated/bundle {OPTIONS}"


@NEEDS_NPM
@NEEDS_SANDBOX
@pytest.mark.skipif(not MODULES.is_dir(), reason="the servers are not installed (make demo)")
def test_approving_from_a_second_terminal(
    agent: Callable[..., Journey], packages: Packages, tmp_path: Path
) -> None:
    manifest, files = installed_package(SERVER, MODULES)
    packages.npm.publish(files=files, **manifest)
    you = agent("approve", "Approve from a second terminal", SAID, **packages.environment)
    (you.home / "work").mkdir()
    you.write("../letters/ann.txt", "Dear Ann,\n")
    you.run("ironcurtain servers fetch")
    you.say("The agent's side", "A client starts:")
    you.shows(f"ironcurtain {PROXY}")
    anyio.run(tell, you, tmp_path / "stderr")
    you.say("What was decided")
    you.type("ironcurtain approvals list")
    you.type("ironcurtain audit verify desk")
    you.transcript.check()


async def tell(you: Journey, log: Path) -> None:
    """Let the agent call, and a person answer."""
    letter = {"path": f"{you.home}/letters/ann.txt"}
    command, *arguments = ["ironcurtain", *PROXY.replace("~", str(you.home)).split()]
    started = StdioServerParameters(command=command, args=arguments, env=you.environment, cwd=you.here)
    with log.open("w") as stderr:
        async with Client(stdio_client(started, errlog=stderr), cache=None) as client:
            async with waiting(you, client, "filesystem__read_text_file", letter) as id_:
                await to_thread.run_sync(you.type, "ironcurtain approvals list", 4)
                await to_thread.run_sync(you.run, f"ironcurtain approvals show {id_[:4]}")
                await to_thread.run_sync(you.type, f"ironcurtain approvals approve {id_[:4]}", 0, "approve\n")
            you.say("Denied", "The next call wants to write.")
            changed = {**letter, "content": "Dear Bob,\n"}
            async with waiting(you, client, "filesystem__write_file", changed) as id_:
                deny = f"ironcurtain approvals deny {id_[:4]} --reason 'It is for Ann.'"
                await to_thread.run_sync(you.type, deny)
    assert you.read("../letters/ann.txt") == "Dear Ann,\n"


@asynccontextmanager
async def waiting(you: Journey, client: Client, tool: str, arguments: dict[str, str]) -> AsyncIterator[str]:
    """Call a tool that a person is asked about; yield the request's id while the call waits."""
    place = you.home / ".ironcurtain" / "approvals"
    before = set(place.glob("request-*.json"))
    async with anyio.create_task_group() as tasks:
        you.shows(f"{tool} {arguments}\n(waits)")
        called = tasks.create_task(client.call_tool(tool, arguments))
        (path,) = await until(lambda: set(place.glob("request-*.json")) - before)
        id_ = path.stem.removeprefix("request-")
        for shown in (id_, id_[:4]):
            you.names(shown, "READ-ID" if "read" in tool else "WRITE-ID")
        yield id_
        answer = await called
        you.shows(f"{tool}\n-> {'error' if answer.is_error else 'result'}: {text_of(answer).strip()}")
