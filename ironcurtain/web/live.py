"""Server-sent events: a page is told that what it shows has changed, and asks for itself anew."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import anyio
from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ironcurtain.errors import IronCurtainError
from ironcurtain.web.access import Access
from ironcurtain.web.guard import cookie_of

LOOK_SECONDS = 0.4
_QUIET_LOOKS = 40
"""After so many looks without a change a comment is sent: it finds out whether the browser is still there."""


def changes(request: Request, access: Access, version: Callable[[], str]) -> Response:
    """Answer with an event for each change, until the browser or its session goes.

    Args:
        request: What it answers.
        access: Who is let in.
        version: Returns another text whenever the page would show something else; it may block.
    """
    stream = _events(lambda: access.session(cookie_of(request)) is not None, version)
    return StreamingResponse(stream, media_type="text/event-stream")


async def _events(is_in: Callable[[], bool], version: Callable[[], str]) -> AsyncIterator[str]:
    shown, quiet = None, 0
    while is_in():
        try:
            found = await to_thread.run_sync(version, abandon_on_cancel=True)
        except (IronCurtainError, OSError):
            found = "trouble"  # the page says what it is when it is asked for
        quiet += 1
        if found != shown:
            # The first event says where the page stands: it asks anew if it has missed something meanwhile.
            yield f"event: version\ndata: {found}\n\n"
            shown, quiet = found, 0
        elif quiet >= _QUIET_LOOKS:
            yield ": still here\n\n"
            quiet = 0
        await anyio.sleep(LOOK_SECONDS)
    yield "event: over\ndata: over\n\n"
