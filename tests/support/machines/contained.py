"""A home, a sandbox and a server that tries to get out, started contained or not."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from ironcurtain.enforcement.sandbox.launcher import SandboxLauncher
from ironcurtain.enforcement.sandbox.profile import SandboxInputs
from ironcurtain.enforcement.sandbox.programs import survey
from ironcurtain.enforcement.sandbox.report import Observation
from ironcurtain.enforcement.sandbox.watch import Confinement
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.config_model import SandboxDefaults, Server
from ironcurtain.servers.connect import parameters
from ironcurtain.servers.stdio_transport import connect_pipes
from support.deployments.proxied import text_of, until

FOUND = survey()
NEEDS_SANDBOX = pytest.mark.skipif(FOUND.programs is None, reason=FOUND.sentence)
"""Marks what needs the sandbox; where it cannot be, the reason says in one sentence what is missing."""
SERVER = str(Path(__file__).parents[2] / "fixtures" / "escaping_server.py")
KEY = "the key of the approvals"


@dataclass
class Told:
    """What a visit found.

    Attributes:
        answers: By way, what the server says came of it.
        seen: What was told of the server.
        state: What had been observed when the calls were made.
        starts: Seconds that the start took.
    """

    answers: dict[str, str] = field(default_factory=dict)
    seen: list[Observation] = field(default_factory=list)
    state: Confinement | None = None
    starts: float = 0.0

    @property
    def violations(self) -> str:
        """The violations that were told, a line each."""
        return "\n".join(seen.text for seen in self.seen if seen.kind == "violation")


class Scene:
    """The directories of a session. `outside` and `secret` are where no server may write and read."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home, self.inside, self.outside = (root / name for name in ("home", "work", "outside"))
        for place in (self.home / ".ssh", self.home / ".ironcurtain", self.inside, self.outside):
            place.mkdir(parents=True)
        self.secret = self.home / ".ssh" / "id_ed25519"
        self.secret.write_text(KEY)
        (self.home / ".ironcurtain" / "approvals.key").write_text(KEY)
        self.repository = self.inside / "deep" / "repo"
        self.without_hooks = self.inside / "no-hooks"
        self.bare = self.inside / "bare.git"
        for place, more in (
            (self.repository, ()),
            (self.without_hooks, ("--template=",)),
            (self.bare, ("--bare",)),
        ):
            subprocess.run(["git", "init", "--quiet", *more, str(place)], check=True)
        self.said: list[str] = []
        self.heartbeat = self.inside / "heartbeat"
        self.child_marker = f"child-of-{root.name}"

    def config(self, **server: Any) -> ServerConfig:
        """Return a configuration with the escaping server as `escaping`."""
        defaults = SandboxDefaults.model_validate_json(json.dumps(server.pop("defaults", {})))
        made = {"command": sys.executable, **server}
        return ServerConfig(
            self.root / "mcp-servers.json",
            {"escaping": Server.model_validate_json(json.dumps(made))},
            sandbox=defaults,
        )

    def grounds(self, config: ServerConfig) -> SandboxInputs:
        """Return what holds for every server here."""
        return SandboxInputs(
            home=self.home,
            workspace=self.inside,
            own=(self.home / ".ironcurtain",),
            protected=(self.root / "mcp-servers.json",),
            directory=self.root,
            settings=config.sandbox.filesystem,
            configuration=(config.path,),
        )

    def aim(self, port: int, pid: int, marker: str) -> str:
        """Return what the server aims at."""
        hooks = self.repository / ".git" / "hooks"
        targets = {
            "outside": str(self.outside / "written"),
            "outside_directory": str(self.outside),
            "secret": str(self.secret),
            "inside": str(self.inside),
            "port": port,
            "host": "127.1",  # a spelling of this machine that goes through the sandbox's proxy
            "git": [
                str(hooks / "post-checkout"),
                str(hooks.with_name("config")),
                str(self.without_hooks / ".git" / "hooks" / "post-checkout"),
                str(self.bare / "hooks" / "post-receive"),
                str(self.bare / "config"),
            ],
            "hooks": str(hooks),
            "pid": pid,
            "marker": marker,
            "heartbeat": str(self.heartbeat),
            "child_marker": self.child_marker,
        }
        return json.dumps(targets)

    def visit(self, *ways: str, port: int | None = None, **server: Any) -> Told:
        """Start the server, go each way, end it; what it tries to reach on this machine is at `port`."""
        marker = f"sleeper-{self.root.name}"
        with _sleeper(marker) as sleeper, _listener() as listening:
            aim = self.aim(listening if port is None else port, sleeper.pid, marker[::-1])
            config = self.config(args=[SERVER, aim], **server)
            told = asyncio.run(self._visit(config, ways))
            told.answers["sleeper"] = "alive" if sleeper.poll() is None else "dead"
        return told

    def run(self, script: str, **server: Any) -> list[str]:
        """Start a shell script as the server; return what it wrote to its standard error."""
        config = self.config(**{"command": "/bin/sh", "args": ["-c", script], **server})
        return asyncio.run(self._run(config))

    async def _run(self, config: ServerConfig) -> list[str]:
        words: list[str] = []
        ended = asyncio.Event()

        async def tell(_name: str, seen: Observation) -> None:
            self.said.append(seen.text)

        launcher = SandboxLauncher.open(config, self.grounds(config))
        start = parameters("escaping", config)
        async with launcher.connect(
            "escaping",
            start,
            on_words=words.append,
            on_end=lambda _: ended.set(),
            tell=tell,
            opened=connect_pipes,
        ):
            await asyncio.wait_for(ended.wait(), 60)
        return words

    async def _visit(self, config: ServerConfig, ways: tuple[str, ...]) -> Told:
        told = Told()

        async def tell(_name: str, seen: Observation) -> None:
            told.seen.append(seen)

        launcher = SandboxLauncher.open(config, self.grounds(config))
        start = parameters("escaping", config)
        began = time.perf_counter()
        streams = launcher.connect(
            "escaping",
            start,
            on_words=self.said.append,
            on_end=self.said.append,
            tell=tell,
            opened=connect_pipes,
        )
        async with Client(streams, mode="legacy", cache=None) as client:
            told.starts = time.perf_counter() - began
            for way in ways:
                result = await client.call_tool(way, {})
                told.answers[way] = text_of(result)
            told.state = launcher.state("escaping")
            if "outliving_child" in ways:
                await until(self.heartbeat.exists)
        return told


@contextmanager
def _sleeper(marker: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)", marker], start_new_session=True
    ) as run:
        try:
            yield run
        finally:
            run.kill()


@contextmanager
def _listener() -> Iterator[int]:
    """Answer every connection on this machine as a web server would."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_answer, args=(server,), daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def _answer(server: socket.socket) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection:
            connection.settimeout(5)
            try:
                connection.recv(4096)
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nreached"
                )
            except OSError:
                continue
