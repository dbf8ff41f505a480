"""What every request has to pass before a page sees it, and what every answer tells the browser.

The host name is drawn anew at each start, below `localhost`: browsers take such names for this machine, and
send our cookie to no other service here (cookies know no ports). A request for any other name, as after DNS
rebinding, is refused. A change needs POST from a page of ours: its origin, and the token of its session.
"""

from __future__ import annotations

import hmac

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ironcurtain.system.structs import Struct
from ironcurtain.web.access import Access, WebSession
from ironcurtain.web.forms import BadFormError, read_form
from ironcurtain.web.rendering import CONTENT_SECURITY_POLICY, refused

COOKIE = "ironcurtain"
ENTER = "/enter"
TOKEN_FIELD = "form-token"  # noqa: S105 - the name of a field
_OPEN_PREFIX = "/static/"
_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Browsers give `null` as the origin of a form where no referrer at all is wanted.
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class RefusedRequest(Struct):
    """Why a request is refused: an HTTP status, and words for whoever reads the page."""

    status: int
    why: str


_OTHER_HOST = RefusedRequest(421, "This address is not the one that `ironcurtain web` printed.")
_OTHER_METHOD = RefusedRequest(405, "This is not a way to use a page.")
_OTHER_ORIGIN = RefusedRequest(
    403, "This did not come from a page of `ironcurtain web`, so nothing was done."
)
_BAD_FORM = RefusedRequest(
    400, "This is no form of a page of `ironcurtain web`, or it is too large, so nothing was done."
)
_STRANGER = RefusedRequest(
    403, "This browser was not let in, or its eight hours are over, or the command ended."
)


class Guard:
    """Lets through what a page of ours sends from a browser that was let in.

    Args:
        app: The pages.
        access: Who is let in.
        host: The one name and port that we are asked for by.
    """

    def __init__(self, app: ASGIApp, access: Access, host: str) -> None:
        self._app, self._access, self._host = app, access, host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        request = Request(scope, receive)
        refusal = self._refusal(request) or await self._admit(request)
        answer = self._app if refusal is None else refused(request, refusal.status, refusal.why)
        await answer(scope, receive, send_safely)

    def _refusal(self, request: Request) -> RefusedRequest | None:
        """Judge what needs no knowledge of who it is."""
        if request.headers.getlist("host") != [self._host]:
            return _OTHER_HOST
        if request.method not in {"GET", "HEAD", "POST"}:
            return _OTHER_METHOD
        if request.method == "POST" and request.headers.getlist("origin") != [f"http://{self._host}"]:
            return _OTHER_ORIGIN
        return None

    async def _admit(self, request: Request) -> RefusedRequest | None:
        """Judge who it is, and read the form of a change."""
        path, is_change = request.url.path, request.method == "POST"
        is_open = path == ENTER or (path.startswith(_OPEN_PREFIX) and not is_change)
        session = self._access.session(cookie_of(request))
        if session is None and not is_open:
            return _STRANGER  # whatever else it sends is not read
        if is_change:
            try:
                request.scope["ironcurtain.form"] = await read_form(request)
            except BadFormError:
                return _BAD_FORM
        if session is None or is_open:
            return None
        if is_change and not _has_token(request, session):
            return _OTHER_ORIGIN
        request.scope["ironcurtain.session"] = session
        return None


def form_of(request: Request) -> dict[str, str]:
    """Return the fields of the form that a change came with."""
    fields: dict[str, str] = request.scope["ironcurtain.form"]
    return fields


def session_of(request: Request) -> WebSession:
    """Return the session that a request belongs to."""
    session: WebSession = request.scope["ironcurtain.session"]
    return session


def cookie_of(request: Request) -> str:
    """Return our cookie; nothing where it was sent twice, which no browser does that was given one."""
    pairs = (
        pair.strip().partition("=") for each in request.headers.getlist("cookie") for pair in each.split(";")
    )
    found = [value for name, _, value in pairs if name == COOKIE]
    return found[0] if len(found) == 1 else ""


def _has_token(request: Request, session: WebSession) -> bool:
    given = form_of(request).get(TOKEN_FIELD, "")
    return hmac.compare_digest(given.encode(), session.form_token.encode())
