"""What a proxy tells of itself while it runs: a small private file, for `ironcurtain status`."""

from __future__ import annotations

import os

import anyio
from anyio import to_thread

from ironcurtain.audit.log import now
from ironcurtain.files import atomic_write
from ironcurtain.model import jsontext
from ironcurtain.model.status import ProxyStatus, ServerStatus
from ironcurtain.proxy.hub import Hub
from ironcurtain.proxy.listing import Listing
from ironcurtain.settings import status_directory

_SECONDS = 1.0


class Board:
    """Writes what a proxy is doing.

    Args:
        session: The session's name.
        hub: The servers, and through them who decides.
        listing: What the client sees of their tools.
    """

    def __init__(self, session: str, hub: Hub, listing: Listing) -> None:
        self._path = status_directory() / f"{session}.json"
        self._session, self._hub, self._listing, self._since = session, hub, listing, now()

    async def keep(self) -> None:
        """Write whatever changes, until cancelled; then take the file away."""
        shown: ProxyStatus | None = None
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            while True:
                status = await self.status()
                if status != shown:
                    await to_thread.run_sync(self._write, status)
                    shown = status
                await anyio.sleep(_SECONDS)
        finally:
            self._path.unlink(missing_ok=True)

    async def status(self) -> ProxyStatus:
        """Return what is so now."""
        enforcer = self._hub.enforcer
        return ProxyStatus(
            session=self._session,
            pid=os.getpid(),
            since=self._since,
            revision=enforcer.policy.current.loaded.revision,
            observe=enforcer.observe,
            servers=tuple([await self._server(name) for name in self._hub.upstreams]),
            pending=enforcer.people.waiting,
            decisions=enforcer.pace.of_last_minute,
        )

    async def _server(self, name: str) -> ServerStatus:
        upstream = self._hub.upstreams[name]
        tools, hidden = await self._listing.count(name)
        return ServerStatus(name=name, up=upstream.capabilities is not None, tools=tools, hidden=hidden)

    def _write(self, status: ProxyStatus) -> None:
        try:
            atomic_write(self._path, jsontext.pretty(status.model_dump(mode="json")).encode(), mode=0o600)
        except OSError as error:  # a full disk stops calls by the audit log, not by this
            self._hub.say(f"`ironcurtain status` cannot be told: {error.strerror}")
