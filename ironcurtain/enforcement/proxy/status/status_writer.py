"""What a proxy tells of itself while it runs: a small private file, for `ironcurtain status`.

Telling is a courtesy: whatever goes wrong with it is said once and costs no call.
"""

from __future__ import annotations

import os

import anyio
from anyio import to_thread

from ironcurtain.enforcement.audit.log import now
from ironcurtain.enforcement.proxy.listing import Listing
from ironcurtain.enforcement.proxy.status.liveness_lock import running
from ironcurtain.enforcement.proxy.status.report import ProxyStatus, ServerStatus
from ironcurtain.enforcement.proxy.upstream.upstream_manager import UpstreamManager
from ironcurtain.engine.engine import Engine
from ironcurtain.settings import status_directory
from ironcurtain.system import json_text
from ironcurtain.system.files import atomic_write
from ironcurtain.system.text import printable

_SECONDS = 1.0


class StatusWriter:
    """Writes what a proxy is doing.

    Args:
        session: The session's name.
        manager: The servers, and through them who decides.
        listing: What the client sees of their tools.
    """

    def __init__(self, session: str, manager: UpstreamManager, listing: Listing) -> None:
        self._path = status_directory() / f"{session}.json"
        self._session, self._manager, self._listing, self._since = session, manager, listing, now()
        self._http: str | None = None
        self._shown: ProxyStatus | None = None
        self._trouble = self._fault = ""

    def listening(self, url: str) -> None:
        """Say, here and on standard error, where clients reach the proxy over HTTP."""
        self._http = url
        self._manager.say(f"listening on {url}")

    async def keep(self) -> None:
        """Write whatever changes, until cancelled; then take the file away."""
        while True:
            try:
                with running(self._path):
                    await self._keep()
            except BlockingIOError:  # somebody is just looking whether we run
                pass
            except OSError as error:
                self._untold(error)
            await anyio.sleep(_SECONDS)

    async def _keep(self) -> None:
        try:
            while True:
                try:
                    await self._tell()
                except Exception as error:  # noqa: BLE001 - it must not end the proxy, which lives beside it
                    self._untold(error)
                await anyio.sleep(_SECONDS)
        finally:
            self._path.unlink(missing_ok=True)

    async def _tell(self) -> None:
        status = await self.status()
        self._say_trouble(status.trouble)
        if status.notice and not (self._shown and self._shown.notice):
            self._manager.say(status.notice)
        if status != self._shown:
            await to_thread.run_sync(self._write, status)
            self._shown = status

    def _say_trouble(self, trouble: str) -> None:
        if trouble and trouble != self._trouble:
            self._manager.say(f"every call is refused: {trouble}")
        elif self._trouble and not trouble:
            self._manager.say("calls are recorded again")
        self._trouble = trouble

    async def status(self) -> ProxyStatus:
        """Return what is so now."""
        enforcer = self._manager.enforcer
        engine = enforcer.policy.current.engine
        return ProxyStatus(
            session=self._session,
            pid=os.getpid(),
            since=self._since,
            revision=enforcer.policy.current.loaded.revision,
            observe=enforcer.observe,
            servers=tuple(map(self._server, self._manager.upstreams)),
            pending=enforcer.broker.waiting,
            decisions=enforcer.rate.of_last_minute,
            trouble=enforcer.log.trouble,
            notice=enforcer.log.notice,
            nodes=() if isinstance(engine, Engine) else await engine.states(),
            http=self._http,
        )

    def _server(self, name: str) -> ServerStatus:
        upstream = self._manager.upstreams[name]
        tools, hidden, withheld = self._listing.count(name)
        starting = upstream.starting
        up = upstream.capabilities is not None and not starting
        reason = "" if starting else upstream.reason
        return ServerStatus(
            name=name,
            up=up,
            tools=tools,
            hidden=hidden,
            withheld=withheld,
            reason=reason,
            refused=tuple(self._manager.refused(name)),
            starting=starting,
        )

    def _write(self, status: ProxyStatus) -> None:
        atomic_write(self._path, json_text.pretty(status.model_dump(mode="json")).encode(), mode=0o600)

    def _untold(self, error: Exception) -> None:
        """Say why `ironcurtain status` does not know how it is; the same reason once."""
        fault = (error.strerror if isinstance(error, OSError) else None) or f"{type(error).__name__}: {error}"
        if fault != self._fault:
            self._fault = fault
            self._manager.say(printable(f"`ironcurtain status` cannot be told: {fault}"))
