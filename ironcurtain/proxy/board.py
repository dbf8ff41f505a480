"""What a proxy tells of itself while it runs: a small private file, for `ironcurtain status`."""

from __future__ import annotations

import os

import anyio
from anyio import to_thread

from ironcurtain.audit.log import now
from ironcurtain.files import atomic_write
from ironcurtain.model import jsontext
from ironcurtain.model.status import ProxyStatus, ServerStatus
from ironcurtain.opa.remote import RemoteEngine
from ironcurtain.proxy.hub import Hub
from ironcurtain.proxy.listing import Listing
from ironcurtain.proxy.running import running
from ironcurtain.settings import status_directory

_SECONDS = 1.0


class Board:
    """Writes what a proxy is doing.

    Args:
        session: The session's name.
        hub: The servers, and through them who decides.
        listing: What the client sees of their tools.
        http: Where the proxy was told to listen, if it serves over HTTP.
    """

    def __init__(self, session: str, hub: Hub, listing: Listing, http: str | None = None) -> None:
        self._path = status_directory() / f"{session}.json"
        self._session, self._hub, self._listing, self._since = session, hub, listing, now()
        self._http = http

    async def keep(self) -> None:
        """Write whatever changes, until cancelled; then take the file away."""
        try:
            with running(self._path):
                await self._keep()
        except OSError as error:
            self._untold(error)

    async def _keep(self) -> None:
        shown: ProxyStatus | None = None
        try:
            while True:
                status = await self.status()
                if status != shown:
                    self._say_trouble(shown.trouble if shown else "", status.trouble)
                    await to_thread.run_sync(self._write, status)
                    shown = status
                await anyio.sleep(_SECONDS)
        finally:
            self._path.unlink(missing_ok=True)

    def _say_trouble(self, before: str, now_: str) -> None:
        if now_ and now_ != before:
            self._hub.say(f"every call is refused: {now_}")
        elif before and not now_:
            self._hub.say("calls are recorded again")

    async def status(self) -> ProxyStatus:
        """Return what is so now."""
        enforcer = self._hub.enforcer
        engine = enforcer.policy.current.engine
        return ProxyStatus(
            session=self._session,
            pid=os.getpid(),
            since=self._since,
            revision=enforcer.policy.current.loaded.revision,
            observe=enforcer.observe,
            servers=tuple(map(self._server, self._hub.upstreams)),
            pending=enforcer.people.waiting,
            decisions=enforcer.pace.of_last_minute,
            trouble=enforcer.log.trouble,
            nodes=await engine.states() if isinstance(engine, RemoteEngine) else (),
            http=self._http,
        )

    def _server(self, name: str) -> ServerStatus:
        upstream = self._hub.upstreams[name]
        tools, hidden = self._listing.count(name)
        up = upstream.capabilities is not None
        return ServerStatus(name=name, up=up, tools=tools, hidden=hidden, reason=upstream.reason)

    def _write(self, status: ProxyStatus) -> None:
        try:
            atomic_write(self._path, jsontext.pretty(status.model_dump(mode="json")).encode(), mode=0o600)
        except OSError as error:  # a full disk stops calls by the audit log, not by this
            self._untold(error)

    def _untold(self, error: OSError) -> None:
        self._hub.say(f"`ironcurtain status` cannot be told: {error.strerror}")
