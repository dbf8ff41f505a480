"""The server of the pages: on the loopback addresses of this machine, and nowhere else."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable

import anyio

from ironcurtain.enforcement.proxy.transport.http_bounds import HttpLimits, bounded
from ironcurtain.enforcement.proxy.transport.http_server import listen, run_server
from ironcurtain.enforcement.proxy.transport.signals import Signals
from ironcurtain.errors import SystemFailedError
from ironcurtain.web.access import Access
from ironcurtain.web.app import PageSources, make_app
from ironcurtain.web.forms import MAX_BYTES
from ironcurtain.web.guard import ENTER
from ironcurtain.web.live import LOOK_SECONDS

# Forms are small, and come from this machine.
_LIMITS = HttpLimits(bytes=MAX_BYTES, body=5.0)
_TRIES = 20


async def serve(shown: PageSources, port: int, said: Callable[[str], None]) -> None:
    """Serve the pages until a signal to end.

    Args:
        shown: What the pages show.
        port: 0 takes a free one.
        said: Told each address that lets a browser in, once it can be opened, and of a registered passkey.

    Raises:
        SystemFailedError: If the port cannot be taken.
    """
    sockets = listen_on_loopback(port)
    # A browser uses a passkey below the one name that it was made for; the name of this start is ours alone.
    above = shown.passkeys.name if shown.passkeys is not None else "localhost"
    host = f"ironcurtain-{secrets.token_hex(6)}.{above}:{sockets[0].getsockname()[1]}"
    access = Access()

    def invite() -> None:
        said(f"http://{host}{ENTER}?code={access.new_code()}")

    app = make_app(host, access, shown, invite, said)
    config = bounded(app, _LIMITS, lifespan="off")
    ending = anyio.Event()
    with Signals(ending.set):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run_server, config, sockets, invite)
            await ending.wait()
            # Browsers that follow a page are told that it is over.
            access.close()
            await anyio.sleep(2 * LOOK_SECONDS)
            tasks.cancel_scope.cancel()


def listen_on_loopback(port: int) -> list[socket.socket]:
    """Take one port on every loopback address that browsers try for `localhost`.

    Whoever else listened on one of them would be sent our code. 0 takes a port that is free on all of them.

    Raises:
        SystemFailedError: If the port cannot be taken.
    """
    for attempt in range(1, _TRIES + 1):
        first = listen("127.0.0.1", port)
        if not _has_ipv6():
            return [first]
        try:
            return [first, listen("::1", first.getsockname()[1])]
        except SystemFailedError:
            first.close()
            if port or attempt == _TRIES:
                raise
    raise AssertionError


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as found:
            found.bind(("::1", 0))
    except OSError:
        return False
    return True
