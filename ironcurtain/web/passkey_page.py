"""The page that registers the passkey which approvals are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ironcurtain.errors import IronCurtainError
from ironcurtain.web.guard import form_of, session_of
from ironcurtain.web.rendering import page, refused, said

if TYPE_CHECKING:
    from ironcurtain.web.passkeys import Passkeys

HERE = "/passkey"


class PasskeyPages:
    """The form that registers a passkey.

    Args:
        passkeys: The passkey; None where approvals ask for none.
        told: Told of a registration: whoever is at the terminal sees one that was not theirs.
        then: Where a browser goes afterwards.
    """

    def __init__(self, passkeys: Passkeys | None, told: Callable[[str], None], then: str) -> None:
        self._passkeys, self._told, self._then = passkeys, told, then

    async def form(self, request: Request) -> Response:
        """Show the form."""
        return await run_in_threadpool(self._form, request)

    async def register(self, request: Request) -> Response:
        """Register a passkey."""
        return await run_in_threadpool(self._register, request)

    def _form(self, request: Request) -> Response:
        if self._passkeys is None:
            return refused(
                request, 404, "Approvals ask for no passkey: ironcurtain web --confirm makes them."
            )
        try:
            is_registered = self._passkeys.is_registered
            asked = self._passkeys.to_register(session_of(request).form_token)
        except (IronCurtainError, OSError) as error:
            return refused(request, 500, said(error))
        return page("passkey.html", request, asked=asked, is_registered=is_registered)

    def _register(self, request: Request) -> Response:
        if self._passkeys is None:
            return refused(request, 404, "Approvals ask for no passkey.")
        from ironcurtain.web.passkeys import PasskeyRefusedError  # noqa: PLC0415 - few runs ask for passkeys

        session = session_of(request)
        try:
            made = self._passkeys.register(
                form_of(request).get("passkey", ""), session.form_token, request.headers["origin"]
            )
        except (PasskeyRefusedError, IronCurtainError, OSError) as error:
            return refused(request, 400, f"{error}.")
        session.notes.appendleft(f"a passkey was registered for {made.user}")
        self._told(f"A passkey was registered for {made.user}. If that was not you, end this command.")
        return RedirectResponse(self._then, 303)
