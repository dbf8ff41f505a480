"""One MCP server behind the proxy: connected, watched, and started again when it ends.

Whatever a server does, it does to its own tools: it has its own connection, its own task and its own bounds.
While it is down its calls fail at once with a plain sentence; it is started again after a growing pause.

`run` is its life: start, list the tools, serve until the connection ends, pause, again. `request` sends one
request and returns its result as the server wrote it, or raises `NoAnswerError`; it never sends one twice.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

import anyio
import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.session import ClientSession
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from ironcurtain.enforcement.calls.destination import NoAnswerError
from ironcurtain.enforcement.proxy.upstream.events import UpstreamEvents, UpstreamLimits
from ironcurtain.enforcement.proxy.upstream.restarts import Restarts
from ironcurtain.enforcement.proxy.upstream.roots import RootsTold
from ironcurtain.enforcement.proxy.upstream.server_messages import ServerMessages
from ironcurtain.enforcement.proxy.upstream.session import (
    call_directly,
    client_over,
    envelope,
    over_http,
    request_over,
)
from ironcurtain.enforcement.proxy.upstream.tool_inventory import LiveToolInventory, ToolInventory
from ironcurtain.enforcement.sandbox.launcher import SandboxLauncher
from ironcurtain.errors import FetchError, IronCurtainError
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.connect import cause
from ironcurtain.servers.direct_requests import DirectRequests, is_end
from ironcurtain.servers.session_lists import read_list
from ironcurtain.servers.stdio_transport import connect_pipes
from ironcurtain.servers.tool_lists.listed_tool import ListKind
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import counted, quoted

_TIMER = 0.01
"""Seconds by which a timer may end early."""
_LAST_WORDS = 3
_MAX_WORDS = 300
_ASKED_MORE = "the policy lets it ask the client for something else"
_OTHER_REACH = "the policy lets it reach something else"
_OURS = frozenset({_ASKED_MORE, _OTHER_REACH})

T = TypeVar("T")


class Upstream:
    """One server. `run` keeps it up for as long as it is not cancelled."""

    def __init__(
        self,
        name: str,
        config: ServerConfig,
        events: UpstreamEvents,
        launcher: SandboxLauncher,
        limits: UpstreamLimits,
        more_roots: Iterable[str] = (),
    ) -> None:
        self.name = name
        self._config, self._server = config, config.servers[name]
        self._events, self._limits = events, limits
        self._launcher = launcher
        self._session: ClientSession | None = None
        self._up, self._tried, self._ended = anyio.Event(), anyio.Event(), anyio.Event()
        self._subscriptions_changed = anyio.Event()
        self._tools = LiveToolInventory(name, events, limits)
        self._reason = "it has not been started"
        self._ended_for = ""
        self.restarts = Restarts(limits)
        self._wanted: types.ClientCapabilities = types.ClientCapabilities()
        self._words: deque[str] = deque(maxlen=_LAST_WORDS)
        self._subscribed: set[str] = set()
        self.log_level: types.LoggingLevel | None = None
        self._starting, self.roots = False, RootsTold(more_roots)
        self._start = anyio.CancelScope()
        self._direct, self._envelope = DirectRequests(), dict[str, Any]()
        self._heard = ServerMessages(name, events, self._tools, self.roots)

    # -- what others see ------------------------------------------------------------------------

    @property
    def inventory(self) -> ToolInventory | None:
        """What it listed last, as it is compared with what was annotated; None if it was never up."""
        found = self._tools.current
        return found.settled(self._events.varying(self.name)) if found is not None else None

    @property
    def capabilities(self) -> types.ServerCapabilities | None:
        """What the server can do; None while it is down."""
        return self._session.server_capabilities if self._session else None

    @property
    def reason(self) -> str:
        """Why it is down, with the last of what it said; empty while it is up."""
        return "" if self._session else ": ".join([self._reason, *self._words])

    @property
    def starting(self) -> bool:
        """Whether it has not been up yet, and has not failed: its first start is to come, or goes on."""
        return not self._tried.is_set()

    @property
    def instructions(self) -> str | None:
        """The server's own instructions for a model."""
        return self._session.instructions if self._session else None

    @property
    def modern(self) -> bool:
        """Whether it speaks the stateless protocol: then it asks by answering."""
        return self._session is not None and self._session.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def tried(self) -> None:
        """Wait until the first start has succeeded or failed."""
        if not self._tried.is_set():
            await self._tried.wait()

    async def settled(self) -> None:
        """Wait until a change of the tools that the server announced has been read; bounded."""
        await self._tools.settled(self._limits.pulse)

    async def digest_of(self, tool: str) -> str | None:
        """Return the digest of a tool as the server lists it now, waiting for a server that is just starting.

        Returns:
            Empty where it lists no such tool; None where it was never up, so that nothing is known of it.
        """
        soon = self._starting or not self._tried.is_set() or self._ended_for in _OURS
        if self._session is None and soon:
            with anyio.move_on_after(self._limits.patience):
                await self._up.wait()
        await self._tools.settled(self._limits.start)
        return self.inventory.digests.get(tool, "") if self.inventory is not None else None

    async def request(
        self, request: types.ClientRequest, *, on_progress: ProgressFnT | None = None
    ) -> dict[str, JsonValue]:
        """Send a request and return its result as the server wrote it.

        Raises:
            MCPError: The server's own error.
            NoAnswerError: If it is down, dies meanwhile, is too slow or answers nonsense.
        """
        session = await self._connected()
        sent = request_over(session, request, seconds=self._limits.call, on_progress=on_progress)
        return await self._answer(session, sent)

    async def read_list(self, kind: ListKind) -> tuple[list[JsonValue], tuple[str, ...]]:
        """Return the entries of a list as the server wrote them, and why not all were read, if so.

        Raises:
            MCPError, NoAnswerError: As `request` does.
        """
        session = await self._connected()
        return await self._answer(session, read_list(session, kind, seconds=self._limits.start))

    async def call_tool(
        self, params: Mapping[str, Any], *, on_progress: ProgressFnT | None = None
    ) -> dict[str, JsonValue]:
        """Call a tool and return its result, likewise; beside the session where the connection can do that.

        Raises:
            MCPError, NoAnswerError: As `request` does.
        """
        session = await self._connected()
        if not self._direct.is_open:
            request = types.CallToolRequest(params=types.CallToolRequestParams.model_validate(params))
            return await self.request(request, on_progress=on_progress)
        if self._envelope:
            params = {**params, "_meta": {**(params.get("_meta") or {}), **self._envelope}}
        version, seconds = session.protocol_version or LATEST_HANDSHAKE_VERSION, self._limits.call
        sent = call_directly(self._direct, version, params, seconds=seconds, on_progress=on_progress)
        return await self._answer(session, sent)

    async def _answer(self, session: ClientSession, sent: Awaitable[T]) -> T:
        """Return a request's result, or say in words of ours why there is none."""
        latest = anyio.current_time() + self._limits.call - _TIMER
        try:
            return await sent
        except MCPError as error:
            if is_end(error) and self._session is not session:
                raise NoAnswerError(f"the server ended before it answered ({self._reason})") from None
            if is_end(error):
                self._lost("it closed the connection")
                raise NoAnswerError("the server ended before it answered") from None
            # Before that, the error is the server's own, whatever its code says.
            if error.error.code == types.REQUEST_TIMEOUT and anyio.current_time() >= latest:
                await self._check_pulse(session)
                why = f"the server gave no answer within {self._limits.call:g} seconds"
                raise NoAnswerError(why) from None
            raise
        except (ValidationError, ValueError, TypeError):
            raise NoAnswerError("the server's answer is not of the protocol") from None
        except (httpx2.HTTPError, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            self._lost(f"it cannot be reached: {cause(error)}")
            raise NoAnswerError(f"the server cannot be reached: {cause(error)}") from None

    async def notify_roots_changed(self) -> None:
        """Tell a server of the handshake era that its roots changed."""
        if self._session is not None and not self.modern and self._wanted.roots is not None:
            self.roots.told()
            await self._session.send_notification(types.RootsListChangedNotification())

    async def set_log_level(self, level: types.LoggingLevel) -> None:
        """Ask for log messages from this level on, now and after every start."""
        if level == self.log_level:
            return
        self.log_level = level
        if self._session is not None and not self.modern and self._logs:
            await self.request(types.SetLevelRequest(params=types.SetLevelRequestParams(level=level)))

    async def subscribe(self, uri: str, *, wanted: bool) -> None:
        """Begin or end being told of a resource's changes."""
        (self._subscribed.add if wanted else self._subscribed.discard)(uri)
        if self.modern:
            self._subscriptions_changed.set()
        elif wanted:
            await self.request(types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri)))
        else:
            await self.request(types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri=uri)))

    # -- its life -------------------------------------------------------------------------------

    def want(self, wanted: types.ClientCapabilities, *, other_reach: bool = False) -> None:
        """Say what the client can do, as far as the policy lets it be used; anew if its reach changed."""
        changed = wanted != self._wanted
        self._wanted = wanted
        if other_reach:
            self.restarts.opened()
        if (changed or other_reach) and (self._session is not None or self._starting):
            self._end(_ASKED_MORE if changed else _OTHER_REACH)

    async def run(self) -> None:
        """Start the server, serve until it ends, pause, and again."""
        self._reason = "it is starting"
        while True:
            began = anyio.current_time()
            was_up = await self._one_life()
            if self._ended_for in _OURS:
                self._events.say(f"server {self.name} is started again: {self._ended_for}")
                self._words.clear()
                continue
            failure = None if was_up else self._launcher.why_ended(self.name)
            self._reason = f"{self._reason}; {failure.sentence}" if failure else self._reason
            self.restarts.ended(failure, anyio.current_time() - began)
            self._events.say(f"server {self.name}: {self._reason}; {self.restarts.words}")
            for words in self._words:
                self._events.say(f"[{self.name}] {words}")
            await self.restarts.wait()
            self._words.clear()

    def for_one_call(
        self, events: UpstreamEvents, launcher: SandboxLauncher, more_roots: Iterable[str]
    ) -> Upstream:
        """Return the same server, to be started once, contained otherwise and with more roots."""
        made = Upstream(self.name, self._config, events, launcher, self._limits, more_roots)
        made.log_level, made._wanted = self.log_level, self._wanted
        return made

    async def once(self, work: Callable[[], Awaitable[T]]) -> T:
        """Start the server, do some work with it, and end it, whatever comes of that.

        Raises:
            NoAnswerError: If it does not start.
        """
        failed: Exception | None = None
        self._reason = "it is starting"
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._one_life)
            await self._tried.wait()
            try:
                await self._connected()
                done = await work()
            except Exception as error:  # noqa: BLE001 - raised outside, where no group wraps it
                failed = error
            tasks.cancel_scope.cancel()
        if failed is not None:
            raise failed
        return done

    async def _one_life(self) -> bool:
        """Start the server and serve until it ends; whatever it causes, the others are not down then.

        Return whether it was up.
        """
        self._starting = True
        try:
            await self._live()
        except TimeoutError:
            self._reason = f"it did not start within {self._limits.start:g} seconds"
        except IronCurtainError as error:
            self._reason = error.what
            self._words.extend([error.hint] if isinstance(error, FetchError) else [])
        except Exception as error:  # noqa: BLE001 - as said above
            self._reason = cause(error)
        finally:
            self._starting = False
        was_up = self._up.is_set()
        self._session, self._up = None, anyio.Event()
        self._tried.set()
        self._tools.abandon()
        return was_up

    async def _live(self) -> None:
        self._ended, self._ended_for = anyio.Event(), ""
        self._direct = DirectRequests()
        self._start = start = anyio.CancelScope(deadline=anyio.current_time() + self._limits.start)
        with start:
            async with client_over(await self._transport(), self._wanted, self._heard) as client:
                self._session = client.session
                self._envelope = envelope(client.session, self._wanted)
                self._tools.changed()  # by what was there before, no call may be evaluated
                if self._logs and self.log_level is not None and not self.modern:
                    level = types.SetLevelRequestParams(level=self.log_level)
                    await client.session.send_request(types.SetLevelRequest(params=level), types.EmptyResult)
                await self._tools.read(client.session)
                start.deadline = math.inf
                await self._serve(client)
        if start.cancelled_caught and not self._ended_for:
            raise TimeoutError

    async def _serve(self, client: Client) -> None:
        """Be up until the connection ends."""
        self._starting = False
        self._up.set()
        self._tried.set()
        inventory = self.inventory or ToolInventory()
        protocol, count = client.session.protocol_version, len(inventory.tools)
        self._events.say(f"server {self.name}: {counted(count, 'tool')}, protocol {protocol}")
        # The tool that was meant may be another one, whose answers then leave whole.
        for tool in sorted(self._server.output.keys() - inventory.digests.keys()):
            what = f"an output policy is for {quoted(tool)}, which it does not have"
            self._events.say(f"server {self.name}: {what}")
        for what in ("tools", "prompts", "resources"):
            await self._events.changed(self.name, what)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._tools.keep, client.session)
            if self.modern:
                tasks.start_soon(self._listen, client)
            await self._ended.wait()
            self._session = None
            tasks.cancel_scope.cancel()

    def _lost(self, reason: str) -> None:
        """Take the connection for lost; the end of its process may yet tell more of why."""
        if not self._ended.is_set():
            self._reason = reason
        self._ended.set()

    def _end(self, reason: str) -> None:
        """End the connection for a reason of ours, whatever its process says at its end."""
        self._reason = self._ended_for = reason
        self._ended.set()

    async def _transport(self) -> Any:  # noqa: ANN401 - the SDK's transports have no common public type
        if self._server.url is not None:
            return await over_http(self.name, self._server)
        ended = self._ended

        def on_end(reason: str) -> None:
            self._reason = self._ended_for or reason
            ended.set()

        return self._launcher.connect(
            self.name,
            on_words=lambda words: self._words.append(words[:_MAX_WORDS]),
            on_end=on_end,
            tell=self._events.seen,
            opened=partial(connect_pipes, direct=self._direct, on_noise=self._heard.noise),
        )

    async def _connected(self) -> ClientSession:
        if self._session is None or self._ended.is_set():
            raise NoAnswerError(f"the server is not running ({self._reason})")
        return self._session

    async def _check_pulse(self, session: ClientSession) -> None:
        """See whether a server that did not answer lives; if not, it is started again."""
        ping: types.ClientRequest = types.DiscoverRequest() if self.modern else types.PingRequest()
        try:
            await request_over(session, ping, seconds=self._limits.pulse)
        except MCPError as error:
            if error.error.code == types.REQUEST_TIMEOUT or is_end(error):
                self._end("it hangs")
                if self._starting:  # its tools have not been listed, and will not be
                    self._start.cancel()

    @property
    def _logs(self) -> bool:
        return self.capabilities is not None and self.capabilities.logging is not None

    async def _listen(self, client: Client) -> None:
        """Hear of changes from a server of the stateless protocol, which tells only those who listen."""
        while True:
            self._subscriptions_changed = anyio.Event()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._heard.listen, client, self._subscribed)
                await self._subscriptions_changed.wait()
                tasks.cancel_scope.cancel()
