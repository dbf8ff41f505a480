"""Serving, once policy, log, engine and sandbox are there: `serve` returns when the client goes.

It is loaded while engine and servers start: all that is imported for it, they do not wait for.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
from anyio import to_thread
from mcp.shared.exceptions import MCPDeprecationWarning

from ironcurtain.enforcement.approvals.broker_directory import nobody
from ironcurtain.enforcement.audit.log import AuditLog
from ironcurtain.enforcement.audit.record_types import RecordListener
from ironcurtain.enforcement.audit.witness import AuditWitness
from ironcurtain.enforcement.calls.active_policy import ActivePolicy, PolicyInstance
from ironcurtain.enforcement.calls.assembly import Surroundings, assemble, record_start
from ironcurtain.enforcement.calls.enforce import Enforcer, unlimited
from ironcurtain.enforcement.calls.started_engine import StartedEngine
from ironcurtain.enforcement.proxy.configuration import Mark, load_own
from ironcurtain.enforcement.proxy.listing import Listing, NarrowedTools
from ironcurtain.enforcement.proxy.mcp_endpoint import McpEndpoint
from ironcurtain.enforcement.proxy.options import InProcessClient, LoadedFiles, ProxyOptions
from ironcurtain.enforcement.proxy.reload import Reloader
from ironcurtain.enforcement.proxy.started_servers import StartedServers
from ironcurtain.enforcement.proxy.status.status_writer import StatusWriter
from ironcurtain.enforcement.proxy.status.telemetry import telemetry_of_environment
from ironcurtain.enforcement.proxy.transport.client_requests import PendingRequests
from ironcurtain.enforcement.proxy.transport.clients import Clients
from ironcurtain.enforcement.proxy.transport.signals import Signals
from ironcurtain.enforcement.proxy.transport.stdio import serve_stdio
from ironcurtain.enforcement.proxy.upstream.local import gateways_of, outputs_of
from ironcurtain.enforcement.proxy.upstream.upstream_manager import UpstreamManager
from ironcurtain.enforcement.proxy.withheld import Withheld
from ironcurtain.enforcement.sandbox.launcher import SandboxLauncher
from ironcurtain.gateway.admission import Admission
from ironcurtain.policy import Policy
from ironcurtain.system.secret_forms.hiding import suspicious
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import visible

if TYPE_CHECKING:
    from mcp.server import Server

    from ironcurtain.enforcement.proxy.transport.http import Address

_LATER = "ironcurtain.decision.canonical.schema_validator"
"""What a call needs whose arguments are not seen at a glance to fit."""
_REST_BEFORE = 1.0
"""Seconds until then, in which a client gets its tools: loading holds up all else."""
_COLLECTING = (700, 10, 10)
"""Python's own thresholds of garbage collection."""

Served: TypeAlias = Signals | InProcessClient
"""Who is served: whoever is at the other end of a transport until a signal comes, or code of this process."""


class StartedProxy(Struct):
    """What is there when the rest of the proxy has been loaded; whoever gets it closes none of it.

    Attributes:
        loaded: What it is configured by.
        engine: The policy's engine.
        servers: Its servers, and the log.
    """

    loaded: LoadedFiles
    engine: StartedEngine
    servers: StartedServers


async def serve(
    ready: StartedProxy, options: ProxyOptions, served: Served, say: Callable[[str], None]
) -> None:
    """Open in order what is needed beside what is started, serve, and close it in the opposite order."""
    if isinstance(served, Signals):
        _settle()
    policy, servers = ready.loaded.policy, ready.servers
    log, launcher, audit_options = servers.log, servers.launcher, servers.audit_options
    async with AsyncExitStack() as stack:
        telemetry = await stack.enter_async_context(telemetry_of_environment()) if options.telemetry else None
        witness = None
        if options.witness is not None:
            witness = AuditWitness(options.witness, log.paths, audit_options.key, say)
            await to_thread.run_sync(witness.check)
        first = PolicyInstance(policy, ready.engine, audit_options)
        live = ActivePolicy(first)
        stack.push_async_callback(_close_current, live)
        client = served if isinstance(served, InProcessClient) else None
        listeners: list[RecordListener] = [telemetry] if telemetry is not None else []
        listeners += [client.records] if client is not None else []
        _announce(options, policy, log, launcher, say)
        gateways, limited = gateways_of(ready.loaded.config), unlimited
        if options.domain is not None:
            gateways = options.domain.of(gateways, str(ready.loaded.config.path))
            limited = options.domain.limited
        manager = UpstreamManager(
            ready.loaded.config,
            Withheld(live, options.bundle.absolute().parent, say, observe=options.observe),
            launcher,
            Clients(),
            say,
            gateways,
        )
        surroundings = Surroundings(
            reach=manager.reach,
            find_tool=manager.find_tool,
            confined=launcher.state,
            admission=Admission(gateways),
            outputs=outputs_of(ready.loaded.config, gateways),
            limited=limited,
            listeners=tuple(listeners),
            asked=(client.asked if client is not None else None) or nobody,
            words=client.words if client is not None else None,
        )
        enforcer = await assemble(options, live, log, surroundings, say, stack)
        manager.enforce_with(enforcer)
        await record_start(enforcer, begins=options.session is None)
        try:
            await _serve(options, manager, served, witness, ready.loaded.mark)
        finally:
            with anyio.CancelScope(shield=True):
                await launcher.end_early(tell=manager.seen)
                await log.event(live.current.recorder.event("stop"))
                if witness is not None:
                    await witness.tell(log.state)


async def _serve(
    options: ProxyOptions,
    manager: UpstreamManager,
    served: Signals | InProcessClient,
    witness: AuditWitness | None,
    mark: Mark | None,
) -> None:
    """Serve until the client goes; then servers, engine and the last answers end side by side."""
    enforcer = manager.enforcer

    async def replaced(enforced: PolicyInstance) -> None:
        narrowed.follow(enforced)
        await manager.follow()

    load = partial(load_own, options.load, options.bundle)
    reloader = Reloader(enforcer.policy, load, options.bundle, enforcer.log, manager.say, replaced, mark)
    if isinstance(served, Signals):
        served.when_hung_up(reloader.want)
    async with anyio.create_task_group() as tasks:
        narrowed = NarrowedTools(manager, tasks)
        listing = Listing(manager, narrowed)
        handlers = McpEndpoint(manager, listing, enforcer, manager.clients, PendingRequests(tasks))
        endpoint = handlers.server()
        manager.live_in(tasks)
        narrowed.follow(enforcer.policy.current)
        tasks.start_soon(reloader.run)
        tasks.start_soon(_load_later)
        status = StatusWriter(enforcer.log.paths.session, manager, listing)
        tasks.start_soon(status.keep)
        if witness is not None:
            tasks.start_soon(witness.keep, lambda: enforcer.log.state)
        if isinstance(served, InProcessClient):
            await served.run(endpoint)
            tasks.cancel_scope.cancel()
        elif options.http is not None:
            await _serve_http(endpoint, options, options.http, status.listening, enforcer)
        else:
            async with serve_stdio(handlers.direct) as (received, sent):
                await endpoint.run(received, sent, endpoint.create_initialization_options())
                tasks.cancel_scope.cancel()


async def _load_later() -> None:
    """Load what calls need and the start does not, so that neither the start nor the first of them waits."""
    await anyio.sleep(_REST_BEFORE)
    for load in (suspicious, partial(import_module, _LATER)):
        await to_thread.run_sync(load, abandon_on_cancel=True)


def _announce(
    options: ProxyOptions,
    policy: Policy,
    log: AuditLog,
    launcher: SandboxLauncher,
    say: Callable[[str], None],
) -> None:
    say(f"policy {policy.revision}" + ("" if policy.trusted else f", {policy.signature}: give --verify-key"))
    if policy.nodes:
        say(f"decided by {', '.join(policy.nodes)}")
    say(f"audit log {log.paths.path}")
    count, seal = log.state
    if count:
        say(f"it goes on after {count} records, the last of which has the seal {seal}")
    if options.observe:
        say("OBSERVING ONLY: every call that can be sent is sent; nothing is enforced or protected")
    if not options.approver:
        say("nobody is asked: what the policy escalates is refused")
    for name in options.approvers.missing(sorted(policy.loaded.content.approvers)):
        say(f"nobody is the approver {visible(name)}: calls that ask for their approval are refused")
    for note in launcher.notes():
        say(note)


async def _serve_http(
    endpoint: Server[Any],
    options: ProxyOptions,
    address: Address,
    listening: Callable[[str], None],
    enforcer: Enforcer,
) -> None:
    from ironcurtain.enforcement.proxy.transport.http import serve_http  # noqa: PLC0415 - few listen
    from ironcurtain.enforcement.proxy.transport.http_clients import Unauthenticated  # noqa: PLC0415

    refused = Unauthenticated(enforcer.log, enforcer.policy)
    await serve_http(endpoint, address, listening, options.clients, tokens=options.tokens, refused=refused)


def _settle() -> None:
    """Set up a process that does nothing but serve, now that all is loaded."""
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    gc.set_threshold(*_COLLECTING)  # short pauses, whatever the start of the program preferred
    gc.freeze()  # a collection in the middle of a call would look through all that was imported


async def _close_current(live: ActivePolicy) -> None:
    await live.current.close()
