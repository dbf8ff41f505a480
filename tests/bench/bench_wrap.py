"""What a person waits for each time they open a wrapped client: its servers' start, up to their tools."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from bench.figures import Figures, Times
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from support.deployments.proxied import LEGACY, Place
from support.documentation.client_story import NODE
from support.documentation.transcript import ROOT
from support.documents import array_at
from support.machines.contained import FOUND

from ironcurtain.engine.locate import find
from ironcurtain.integrations.clients.target import places
from ironcurtain.integrations.clients.wrap import ProxyCommand, wrap
from ironcurtain.policy import Policy
from ironcurtain.system.frozen import JsonValue

pytestmark = [pytest.mark.bench, pytest.mark.timeout(900)]
TARGETS = {"a Python server": 1.6, "a server from npm": 3.2}
REPORTED = float("inf")
REPETITIONS = 5
FILES = str(NODE / "server-filesystem" / "dist" / "index.js")
SERVERS = {
    "a Python server": ("fix", {"command": sys.executable, "args": LEGACY}),
    "a server from npm": ("filesystem", {"command": "node", "args": [FILES, "/tmp"]}),
}
PROGRAM = (sys.executable, "-I", "-c", "from ironcurtain.cli.main import main; main()", "proxy")


class Desktop:
    """A desktop's client with one server, before it is wrapped and after."""

    def __init__(self, root: Path, name: str, server: dict[str, Any], *, contained: bool) -> None:
        place = Place(root)
        self._home, self._quiet = place.home, (root / "stderr").open("w")
        bundle = place.bundle if name == "fix" else ROOT / "generated" / "bundle.tar.gz"
        config = place.home / "client.json"
        config.write_text(json.dumps({"mcpServers": {name: server}}))
        options = ("--bundle", str(bundle), "--opa", str(find().path), "--session", "bench", "--no-approver")
        (file,) = places(str(config), None, root)
        path = os.environ["PATH"]
        report = wrap(file, ProxyCommand(PROGRAM, options, {"PATH": path}), search_path=path)
        assert report.entry is not None
        if not contained:
            _let_out(report.entry)
        self._before, self._after = server, report.entry
        self._policy = Policy.load(bundle)

    async def unwrapped(self) -> float:
        """Start the client's server, then an OPA with the policy; return the seconds of both."""
        seconds = await self._tools(self._before)
        began = time.perf_counter()
        async with self._policy.engine():
            return seconds + time.perf_counter() - began

    async def wrapped(self) -> float:
        """Start what the wrapped client starts; return the seconds until it has listed tools."""
        return await self._tools(self._after)

    async def _tools(self, server: dict[str, Any]) -> float:
        environment = {"HOME": str(self._home), "PATH": os.environ["PATH"]}
        started = StdioServerParameters(
            command=server["command"], args=server["args"], env=environment, cwd=self._home
        )
        began = time.perf_counter()
        async with Client(stdio_client(started, errlog=self._quiet), mode="legacy", cache=None) as client:
            while not (await client.list_tools()).tools:  # noqa: ASYNC110 - the machine is very busy
                await anyio.sleep(0.02)
            return time.perf_counter() - began


def _let_out(entry: dict[str, JsonValue]) -> None:
    """Say in the proxy's own file that no server is contained: a client's file cannot say that."""
    arguments = array_at(entry, "args")
    servers = Path(str(arguments[arguments.index("--servers") + 1]))
    document = json.loads(servers.read_text())
    for each in document["mcpServers"].values():
        each["sandbox"] = False
    servers.write_text(json.dumps(document))


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("contained", [False, True], ids=["uncontained", "contained"])
def test_start(figures: Figures, tmp_path: Path, server: str, contained: bool) -> None:
    if contained and FOUND.programs is None:
        pytest.skip(FOUND.sentence)
    desktop = Desktop(tmp_path.resolve(), *SERVERS[server], contained=contained)

    async def run() -> tuple[Times, Times]:
        taken = [(await desktop.wrapped(), await desktop.unwrapped()) for _ in range(REPETITIONS + 1)]
        mine, theirs = zip(*taken[1:], strict=True)  # the first fills caches
        return Times(mine), Times(theirs)

    mine, theirs = anyio.run(run)
    what = f"start of {server}, wrapped{', contained' if contained else ''} / unwrapped + OPA"
    figures.add(what, mine.per(theirs), REPORTED if contained else TARGETS[server], f"{mine} / {theirs}")
