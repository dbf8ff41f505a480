"""A proxy spoken to line by line, for tests about its process: what it reads, and how it ends."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from support.deployments.proxied import Place


class Proxy(subprocess.Popen[str]):
    """A proxy's process, whose standard input and output are pipes."""

    stdin: IO[str]
    stdout: IO[str]


INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def call(id_: int, tool: str, arguments: str = "{}") -> str:
    """Return the line that calls a tool of the server `fix`."""
    params = f'{{"name": "fix__{tool}", "arguments": {arguments}}}'
    return f'{{"jsonrpc": "2.0", "id": {id_}, "method": "tools/call", "params": {params}}}'


def hello(capabilities: dict[str, Any]) -> str:
    """Return the line with which a client of the handshake era begins."""
    client = {"name": "test", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})


@contextmanager
def speaking(place: Place, *options: str, **capabilities: Any) -> Iterator[Proxy]:
    """Start a proxy and say hello."""
    with (place.root / "stderr").open("a") as stderr, place.explained():
        process = Proxy(
            place.command(*options),
            env=place.environment(),
            cwd=place.root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
        try:
            send(process, hello(capabilities), json.dumps(INITIALIZED))
            yield process
        finally:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()


@contextmanager
def running(place: Place, *options: str, **capabilities: Any) -> Iterator[Proxy]:
    """Start a proxy, say hello and make it start a server that leaves a process in another session."""
    with speaking(place, *options, **capabilities) as process:
        send(process, call(2, "spawn"))
        spawned = answer(process, 2)
        assert not spawned["result"].get("isError"), spawned
        yield process


def send(process: Proxy, *lines: str) -> None:
    """Write lines to a proxy's standard input."""
    process.stdin.write("".join(f"{line}\n" for line in lines))
    process.stdin.flush()


def received(process: Proxy, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Return the next message that is wanted, whatever is told before it."""
    while line := process.stdout.readline():
        message: dict[str, Any] = json.loads(line)
        if wanted(message):
            return message
    raise AssertionError("the proxy ended")


def answer(process: Proxy, id_: int | None) -> dict[str, Any]:
    """Return the answer to a request."""
    return received(process, lambda message: "method" not in message and message["id"] == id_)


def question(process: Proxy, method: str) -> dict[str, Any]:
    """Return what the client is asked next."""
    return received(process, lambda message: message.get("method") == method)
