"""All servers behind the proxy, and what goes between them and the client beside calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp.shared.exceptions import MCPError

from ironcurtain.decision.decide import Call
from ironcurtain.decision.reserved_tools import ELICITATION, SAMPLING
from ironcurtain.enforcement.calls.destination import Destination, OwnProcess
from ironcurtain.enforcement.calls.enforce import Enforcer
from ironcurtain.enforcement.calls.refusal import RefusedError
from ironcurtain.enforcement.facts.records.answers import LookUp
from ironcurtain.enforcement.proxy.forwarding import server_requests
from ironcurtain.enforcement.proxy.forwarding.look_ups import found_tool
from ironcurtain.enforcement.proxy.forwarding.receiver import ToReceiver
from ironcurtain.enforcement.proxy.surroundings import could_ask, roots_of
from ironcurtain.enforcement.proxy.transport.client_requests import ClientRequest, can, deliver
from ironcurtain.enforcement.proxy.transport.clients import Clients
from ironcurtain.enforcement.proxy.upstream.events import UpstreamLimits
from ironcurtain.enforcement.proxy.upstream.local import LocalServer
from ironcurtain.enforcement.proxy.upstream.roots import root_of
from ironcurtain.enforcement.proxy.upstream.separate_process import OwnProcesses
from ironcurtain.enforcement.proxy.upstream.servers_reach import ServersReach
from ironcurtain.enforcement.proxy.upstream.tool_inventory import ToolInventory
from ironcurtain.enforcement.proxy.upstream.upstream import Upstream
from ironcurtain.enforcement.proxy.withheld import Withheld
from ironcurtain.enforcement.sandbox.launcher import SandboxLauncher
from ironcurtain.enforcement.sandbox.reach.reach import reaches
from ironcurtain.enforcement.sandbox.report import TOLD, Observation
from ironcurtain.errors import AuditError, ServerConfigError
from ironcurtain.gateway.gateway import Gateway
from ironcurtain.model.varying import Varying
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.endpoint_names import split_endpoint_name, split_full_name
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import AbstractStruct
from ironcurtain.system.text import quoted

_GREETING_PATIENCE = 1.0
"""Seconds that a greeting waits for servers that start slowly: some clients give up after three in all."""
_LIST_PATIENCE = 4.0
"""The same of a list of tools, where what the others list is known from the bundle: some wait for five."""
_MOST_SHOWN = 3


class UpstreamManager:
    """The servers of one proxy; they are spoken to when the first client says what it can do."""

    def __init__(
        self,
        config: ServerConfig,
        withheld: Withheld,
        launcher: SandboxLauncher,
        clients: Clients,
        say: Callable[[str], None],
        gateways: Mapping[str, Gateway] | None = None,
    ) -> None:
        self.clients = clients
        self.withheld = withheld
        self.enforcer: Enforcer
        self.say = say
        self._listed: set[str] = set()
        self._limits = UpstreamLimits()
        self._started = False
        self._client: types.ClientCapabilities | None = None
        self._tasks: TaskGroup | None = None
        self.processes = {
            name: Upstream(name, config, self, launcher, self._limits)
            for name, server in config.servers.items()
            if server.command or server.url
        }
        self.upstreams: dict[str, Upstream | LocalServer] = {
            **self.processes,
            **{name: LocalServer(name, each, self) for name, each in (gateways or {}).items()},
        }
        self._launcher = launcher
        self.reach = ServersReach(launcher, self.upstreams, say)
        self.own_processes = OwnProcesses(self.processes, self, launcher)
        self.passes = {name: server.pass_meta for name, server in config.servers.items()}
        if not self.upstreams:
            raise ServerConfigError("the file names no server that can be reached", where=str(config.path))

        for name in self.upstreams:
            # With names as they may be, nothing else could give two tools one name at the endpoint.
            if f"{name}_" in self.upstreams:
                raise ServerConfigError(
                    f"tools of {quoted(name)} and {quoted(name + '_')} could have one name",
                    where=str(config.path),
                    hint="Rename one of the two servers.",
                )

    def enforce_with(self, enforcer: Enforcer) -> None:
        """Take what decides on whatever the servers ask of the client."""
        self.enforcer = enforcer

    def live_in(self, tasks: TaskGroup) -> None:
        """Take the task group that the servers live in."""
        self._tasks = tasks

    def start(self, capabilities: types.ClientCapabilities | None) -> None:
        """Start the servers, once."""
        assert self._tasks is not None  # noqa: S101 - `live_in` comes first
        if not self._started:
            self._started, self._client = True, capabilities
            for upstream in self.upstreams.values():
                upstream.want(self._wanted(upstream.name, capabilities))
                self._tasks.start_soon(upstream.run)

    async def greet(self) -> None:
        """Wait a moment for slow servers, before a client is told what they can do."""
        await self.tried(patience=_GREETING_PATIENCE)
        for name in self._late():
            await self.withheld.recall(name)

    async def tools_known(self) -> None:
        """Wait for servers until what each lists, or listed when it was annotated, is known; bounded."""
        await self.tried(patience=_LIST_PATIENCE)
        for name in self._late():
            if not await self.withheld.recall(name):
                await self.tried(name)

    def recalled(self, server: str) -> ToolInventory:
        """Return the tools that a server whose first start goes on listed when it was annotated."""
        return self.withheld.recalled_tools(server) if server in self._late() else ToolInventory()

    def _late(self) -> list[str]:
        """Return the servers whose first start goes on."""
        return [name for name, upstream in self.processes.items() if upstream.starting]

    async def follow(self) -> None:
        """Let another policy decide what servers may know of the client; tell the clients of other tools."""
        content = self.enforcer.policy.current.content
        changed = self._launcher.follow(*reaches(content, self.upstreams, observe=self.enforcer.observe))
        if self._started:
            for upstream in self.upstreams.values():
                wanted = self._wanted(upstream.name, self._client)
                upstream.want(wanted, other_reach=upstream.name in changed)
        await self._launcher.end_early(changed, self.seen)
        for name in self.processes:
            await self._look(name)
        await self.changed("", "tools")

    def note_listed(self, what: str) -> None:
        """Note that a client has seen such a list: from now on, clients are told of its changes."""
        self._listed.add(what)

    async def tried(self, *names: str, patience: float | None = None) -> None:
        """Wait until these servers, or all, have been up or have failed once.

        Args:
            names: The servers.
            patience: Seconds that it may take; None for those that a call waits (`UpstreamLimits`).
        """
        with anyio.move_on_after(self._limits.patience if patience is None else patience):
            for name in names or self.upstreams:
                await self.upstreams[name].tried()

    def tool_of(self, name: str) -> tuple[str, str]:
        """Return the server and the tool that a client calls; an empty server where there is none."""
        return split_endpoint_name(name, self.upstreams, self._tools())

    def prompt_of(self, name: str) -> tuple[str, str]:
        """Return the server of a prompt that a client names, and the name there; likewise."""
        return split_full_name(name, self.upstreams)

    def _tools(self) -> Iterator[tuple[str, str]]:
        """Yield the tools that are annotated or listed now, of the servers that are here."""
        yield from (key for key in self.enforcer.policy.current.content.tools if key[0] in self.upstreams)
        for server, upstream in self.upstreams.items():
            if upstream.inventory is not None:
                yield from ((server, tool) for tool in upstream.inventory.tools)

    def _wanted(self, server: str, client: types.ClientCapabilities | None) -> types.ClientCapabilities:
        """Return what a server may know of the client: not what the policy could never let it use."""
        has = client or types.ClientCapabilities()
        sampling = self._could_ask(server, SAMPLING) and has.sampling is not None
        elicitation = self._could_ask(server, ELICITATION) and has.elicitation is not None
        return types.ClientCapabilities(
            sampling=has.sampling if sampling else None,
            elicitation=has.elicitation if elicitation else None,
            roots=types.RootsCapability(list_changed=True),
        )

    def _could_ask(self, server: str, tool: str) -> bool:
        return self.enforcer.observe or could_ask(self.enforcer.policy.current.content, server, tool)

    # -- what servers cause ---------------------------------------------------------------------

    async def ask(
        self, server: str, request: types.InputRequest, client_request: ClientRequest | None = None
    ) -> Any:  # noqa: ANN401 - a result or its error
        """Answer what a server asks of the client, if policy and client let it.

        Args:
            server: Who asks.
            request: What it asks.
            client_request: The client's request that it asks about; None where the server does not say.
        """
        if client_request is None:
            if self.clients.is_ambiguous(server):
                return _error("The server works for several clients, so none of them can be asked.")
            client_request = self.clients.exchange_of(server)
        if isinstance(request, types.ListRootsRequest):
            return await self._roots(server, request, client_request)
        call = server_requests.asked_of_client(server, request)

        try:
            answer = await self.enforcer.enforce(call, _ToClient(self, call, client_request), client_request)
        except RefusedError as refused:
            return _error(refused.view.text)
        except MCPError as error:
            return error.error
        if isinstance(request, types.ElicitRequest):
            return types.ElicitResult.model_validate(answer)
        with_tools = request.params.tools
        result = types.CreateMessageResultWithTools if with_tools else types.CreateMessageResult
        return result.model_validate(answer)

    async def _roots(
        self, server: str, request: types.ListRootsRequest, client_request: ClientRequest | None
    ) -> Any:  # noqa: ANN401
        """Return the client's roots where it has some; else the directories that the policy allows."""
        said = await self.deliver(request, client_request)
        if not isinstance(said, types.ListRootsResult):
            enforced = self.enforcer.policy.current
            paths = roots_of(enforced.content, enforced.loaded, server)
            said = types.ListRootsResult(roots=[*map(root_of, paths)])
        return said

    async def find_tool(self, asked: LookUp) -> tuple[Call, Destination]:
        """Return a look-up as the call that it is decided as, and where it goes."""
        return await found_tool(asked, self.upstreams)

    async def deliver(self, request: types.InputRequest, client_request: ClientRequest | None) -> Any:  # noqa: ANN401
        """Ask the client, whatever the policy says of it; return its result or an error."""
        if client_request is not None:
            return await client_request.ask(request)
        client = await self.clients.only_one()
        if client is None or not can(client.session.client_capabilities, request):
            return _error("No client can be asked.")
        return await deliver(client.session, request)

    async def seen(self, server: str, seen: Observation, decision: str | None = None) -> None:
        """Record what was seen of a server's sandbox; say what the person at the proxy must know.

        A log that cannot be written refuses calls; it is no reason to end a server.

        Args:
            server: The server.
            seen: What was seen.
            decision: The decision's id, where it was seen of a process that runs for one call.
        """
        if seen.kind in TOLD:
            told = self._mended(server, seen.text) if seen.kind == "violation" else seen.text
            self.say(f"server {server}, sandbox: {seen.kind}: {told}")
        recorder = self.enforcer.policy.current.recorder
        of = {"decision": decision} if decision else {}
        event = recorder.event("sandbox", server=server, seen=seen.kind, what=seen.text, **of)
        try:
            await self.enforcer.log.event(event)
        except AuditError as error:
            self.say(f"server {server}, sandbox: {seen.kind}: {seen.text} (not recorded: {error.what})")

    def refused(self, server: str) -> list[str]:
        """Return the last of what a server that runs was refused by its sandbox, and what mends that."""
        return [self._mended(server, seen) for seen in self._launcher.violations(server)[-_MOST_SHOWN:]]

    def _mended(self, server: str, violation: str) -> str:
        mends = self._launcher.mends(server, violation)
        return f"{violation}; if it should: {mends}" if mends else violation

    def varying(self, server: str) -> tuple[Varying, ...]:
        """Return the texts of a server that depend on where it runs."""
        annotated = self.withheld.annotated(server)
        return annotated.varying if annotated is not None else ()

    async def _look(self, server: str) -> None:
        """Hold what a server lists against what was annotated."""
        upstream = self.processes[server]
        if upstream.inventory is not None:
            await self.withheld.look(server, upstream.inventory, upstream.instructions or "")

    async def changed(self, server: str, what: str) -> None:
        """Say what of a server's tools is withheld; tell the clients, if they have seen the list before."""
        is_news = what in self._listed
        if what == "tools" and server in self.processes:
            await self._look(server)
        if is_news:
            await self.clients.tell_changed(what)

    async def updated(self, server: str, uri: str) -> None:  # noqa: ARG002 - clients see the same URIs
        """Tell the clients that subscribed to a resource."""
        await self.clients.tell_updated(uri)

    async def logged(
        self,
        server: str,
        params: types.LoggingMessageNotificationParams,
        client_request: ClientRequest | None = None,
    ) -> None:
        """Hand a log message on, under its server's name: with the request that it belongs to, or to all.

        What belongs to no request is handed on once a client has asked for log messages: many list and close
        at once, and those of the SDK fail where a message comes meanwhile.
        One of a server with output policies is handed on to nobody: it may hold what these take out.
        """
        if self.enforcer.outputs.silences(server):
            return
        name = f"{server}/{params.logger}" if params.logger else server
        client_request = client_request or self.clients.exchange_of(server)
        if client_request is not None:
            context = client_request.context
            await context.session.send_log_message(params.level, params.data, name, context.request_id)
            return
        if self.processes[server].log_level is None:
            return
        for client in self.clients.standing():
            await client.session.send_log_message(params.level, params.data, name)


class _ToClient(ToReceiver, AbstractStruct):
    """The client, for what a server asks of it; `call` is what this is decided as."""

    manager: UpstreamManager
    call: Call
    client_request: ClientRequest | None

    async def send(
        self,
        arguments: Mapping[str, JsonValue],
        own_process: OwnProcess | None = None,  # noqa: ARG002 - no server gets it
    ) -> dict[str, JsonValue]:
        said = await self.manager.deliver(
            server_requests.question_of(self.call, arguments), self.client_request
        )
        if isinstance(said, types.ErrorData):
            raise MCPError.from_error_data(said)
        answer: dict[str, JsonValue] = said.model_dump(by_alias=True, mode="json", exclude_none=True)
        return answer


def _error(text: str) -> types.ErrorData:
    return types.ErrorData(code=types.INVALID_REQUEST, message=text)
