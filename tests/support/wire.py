"""A proxy spoken to line by line, for tests about its process: what it reads, and how it ends."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from support.proxied import Place

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
def running(place: Place, *options: str, **capabilities: Any) -> Iterator[subprocess.Popen[str]]:
    """Start a proxy, say hello and make it start a server that leaves a process in another session."""
    with (place.root / "stderr").open("a") as stderr:
        process = subprocess.Popen(
            place.command(*options),
            env=place.environment(),
            cwd=place.root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
        try:
            send(process, hello(capabilities), json.dumps(INITIALIZED), call(2, "spawn"))
            answers = [json.loads(process.stdout.readline()) for _ in range(2)]
            assert not answers[1]["result"].get("isError"), answers
            yield process
        finally:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()


def send(process: subprocess.Popen[str], *lines: str) -> None:
    """Write lines to a proxy's standard input."""
    process.stdin.write("".join(f"{line}\n" for line in lines))
    process.stdin.flush()
