"""The HTTP server itself: it takes an address of this machine, and serves an application until cancelled."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator

import anyio
import uvicorn

from ironcurtain.errors import SystemFailedError
from ironcurtain.system.text import visible

_POLL = 0.01


def listen(host: str, port: int) -> socket.socket:
    """Take an address; port 0 takes a free one.

    Raises:
        SystemFailedError: If it cannot be taken.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((host, port))
    except OSError as error:
        taken.close()
        raise SystemFailedError(f"{visible(host)}:{port} cannot be listened on: {error.strerror}") from error
    return taken


async def run_server(
    config: uvicorn.Config, sockets: list[socket.socket] | None, listening: Callable[[], None]
) -> None:
    """Serve until cancelled.

    Args:
        config: The application, and how it is served.
        sockets: What was taken with `listen`; None where the configuration names a Unix socket.
        listening: Called once clients can connect.
    """
    running = _Quiet(config)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(running.serve, sockets)
        try:
            while not running.started:  # noqa: ASYNC110 - it is told of in no other way
                await anyio.sleep(_POLL)
            listening()
            await anyio.sleep_forever()
        finally:
            running.should_exit = running.force_exit = True
            with anyio.CancelScope(shield=True), anyio.move_on_after(1.5):
                while running.servers and any(each.is_serving() for each in running.servers):  # noqa: ASYNC110 - it is told of in no other way
                    await anyio.sleep(_POLL)


class _Quiet(uvicorn.Server):
    """Leaves signals to us."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
