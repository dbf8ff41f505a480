"""One run of the proxy: everything it needs is opened in order, served, and closed in the opposite order.

    await run_proxy(options, say)  # returns when the client goes, or a signal ends it
    await run_in_process(options, client, say)  # returns when the client, code of this process, does

What always holds: the audit log is open before the first call is decided and closed after the last server
has ended, and no server is started before the policy is loaded, its engine answers, and it is known what
this machine can contain.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from mcp.server import Server

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.bundle.domain import Domain
from ironcurtain.bundle.origin import origin
from ironcurtain.enforcement.approvals.approvers import Approvers
from ironcurtain.enforcement.approvals.broker_directory import ApprovalDirectory, RequestListener, nobody
from ironcurtain.enforcement.approvals.hook import Hook, HookCommand
from ironcurtain.enforcement.approvals.inbox import default_paths
from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from ironcurtain.enforcement.audit.log import MAX_BYTES, AuditLog, open_first_free
from ironcurtain.enforcement.audit.log_paths import (
    audit_directory,
    default_key_path,
    key_id,
    make_key,
    session_log,
)
from ironcurtain.enforcement.audit.record_types import RecordListener
from ironcurtain.enforcement.audit.witness import AuditWitness
from ironcurtain.enforcement.facts import clock
from ironcurtain.enforcement.facts.gather import Sources
from ironcurtain.enforcement.facts.memory import SessionMemory
from ironcurtain.enforcement.facts.totals.store import StoreError
from ironcurtain.enforcement.facts.totals.store_place import StorePlace
from ironcurtain.enforcement.facts.user.words import UserWords
from ironcurtain.enforcement.proxy.active_policy import (
    ActivePolicy,
    AuditOptions,
    LoggedValues,
    PolicyInstance,
)
from ironcurtain.enforcement.proxy.calls.approval_broker import ApprovalBroker, OpenRequest
from ironcurtain.enforcement.proxy.calls.declared_facts import DeclaredFacts
from ironcurtain.enforcement.proxy.calls.enforce import Enforcer
from ironcurtain.enforcement.proxy.calls.repeated_calls import RepeatedCallLimiter
from ironcurtain.enforcement.proxy.calls.turns import OtherProxies
from ironcurtain.enforcement.proxy.configuration import check_configuration, check_sandbox, load_own
from ironcurtain.enforcement.proxy.listing import Listing, NarrowedTools
from ironcurtain.enforcement.proxy.mcp_endpoint import McpEndpoint
from ironcurtain.enforcement.proxy.reload import Reloader
from ironcurtain.enforcement.proxy.status.status_writer import StatusWriter
from ironcurtain.enforcement.proxy.status.telemetry import telemetry_of_environment
from ironcurtain.enforcement.proxy.transport.client_requests import PendingRequests
from ironcurtain.enforcement.proxy.transport.clients import Clients
from ironcurtain.enforcement.proxy.transport.http import Address, serve_http
from ironcurtain.enforcement.proxy.transport.http_clients import HttpClients, Unauthenticated
from ironcurtain.enforcement.proxy.transport.signals import Signals
from ironcurtain.enforcement.proxy.transport.stdio import serve_stdio
from ironcurtain.enforcement.proxy.transport.tokens import Tokens
from ironcurtain.enforcement.proxy.upstream.local import gateways_of, outputs_of
from ironcurtain.enforcement.proxy.upstream.out_of_reach import Reaching
from ironcurtain.enforcement.proxy.upstream.upstream_manager import UpstreamManager
from ironcurtain.enforcement.sandbox.launcher import SandboxLauncher
from ironcurtain.enforcement.sandbox.profile import SandboxInputs
from ironcurtain.enforcement.sandbox.reach.reach import reaches
from ironcurtain.gateway.admission import Admission
from ironcurtain.gateway.principal import Principal
from ironcurtain.policy import Policy
from ironcurtain.servers.config import ServerConfig, load_servers, real_paths
from ironcurtain.servers.fetched.lock import lock_of
from ironcurtain.settings import user_directory
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.private_runtime import runtime_directory, shared_file
from ironcurtain.system.text import visible

_MOST_SESSIONS = 9


@dataclass(frozen=True)
class ProxyOptions:
    """What the command line says.

    Attributes:
        load: Reads and checks the bundle; called at the start and for every reload.
        bundle: Where it reads it from.
        servers: `mcp-servers.json`.
        files: What else it is configured by and nobody else may write, by what it is.
        session: Name of the session; None makes one from bundle, servers and sandbox.
        http: Where to listen; None serves standard input and output.
        clients: Who may connect there, by their tokens; None asks nobody.
        patience: Seconds that a call is held while a person decides.
        seconds: Seconds that a person has to answer.
        approver: Whether anybody can be asked.
        on_approval: What is run when a call waits for a person; None tells nobody.
        client_person: Whether whoever sits at the client may approve.
        approvers: The people behind the names that rules use.
        caller: Facts about whom the agent acts for.
        observe: Decide and record, enforce nothing.
        audit_values: Whether the log keeps the values of calls.
        audit_redact: Roles whose values the log redacts whole.
        audit_max_bytes: Size at which a segment of the log ends.
        telemetry: Whether decisions are told to OpenTelemetry, too.
        witness: Where the log's progress is told of, outside its directory; None for nowhere.
        tokens: Which signed tokens say whom a client over HTTP acts for; None where they show none.
        domain: Which tools and permissions this deployment has; None for all.
        principal: Whom the agent acts for, where the start configuration says it.
        state: Where totals of callers are kept; None for a file of the user's own.
        now: The clock of declared facts, in UTC; records of the log have the machine's own time.
    """

    load: Callable[[], Policy]
    bundle: Path
    servers: Path
    files: Mapping[str, Path] = field(default_factory=dict)
    session: str | None = None
    http: Address | None = None
    clients: HttpClients | None = None
    patience: float = 45.0
    seconds: float = 600.0
    approver: bool = True
    on_approval: HookCommand | None = None
    client_person: bool = False
    approvers: Approvers = field(default_factory=Approvers)
    caller: Mapping[str, JsonValue] = field(default_factory=dict)
    observe: bool = False
    audit_values: LoggedValues = "redacted"
    audit_redact: frozenset[str] = frozenset()
    audit_max_bytes: int = MAX_BYTES
    telemetry: bool = False
    witness: Path | None = None
    tokens: Tokens | None = None
    domain: Domain | None = None
    principal: Principal | None = None
    state: StorePlace | None = None
    now: Callable[[], datetime] = clock.now


def own_places() -> list[Path]:
    """Return what no tool may touch beside bundle and configuration: the system's own files."""
    return [user_directory(), audit_directory(), default_key_path(), *default_paths(), runtime_directory()]


async def run_proxy(options: ProxyOptions, say: Callable[[str], None]) -> None:
    """Serve until the client goes or a signal comes.

    Args:
        options: What the command line says.
        say: Tells the person who started the proxy; never standard output.

    Raises:
        IronCurtainError: If something that is needed cannot be had; then nothing was served.
    """
    config, policy = await _load(options)
    with anyio.CancelScope() as scope, Signals(scope.cancel) as signals:
        await _run(options, config, policy, signals, say)


@dataclass(frozen=True)
class InProcessClient:
    """A client that is code of this process: it gets the endpoint instead of a transport.

    Attributes:
        run: Uses the endpoint; when it returns, servers and engine end.
        records: Is told what is recorded.
        asked: Is told of each call that waits for a person.
        words: What its user wrote; None if it does not know.
    """

    run: Callable[[Server[Any]], Awaitable[None]]
    records: RecordListener
    asked: RequestListener = nobody
    words: UserWords | None = None


async def run_in_process(options: ProxyOptions, client: InProcessClient, say: Callable[[str], None]) -> None:
    """Enforce for a client of this process until it returns; no signal handler is set.

    Raises:
        IronCurtainError: If something that is needed cannot be had; then the client was not run.
    """
    config, policy = await _load(options)
    await _run(options, config, policy, client, say)


async def _load(options: ProxyOptions) -> tuple[ServerConfig, Policy]:
    """Check what we are configured by, and load it."""
    lock = lock_of(options.servers)
    fetched = {"what pins the servers": lock} if lock.exists() else {}
    check_configuration({"the servers' file": options.servers, **fetched, **options.files})
    await to_thread.run_sync(lambda: options.approvers.identities)
    config = await to_thread.run_sync(load_servers, options.servers)
    policy = await to_thread.run_sync(load_own, options.load, options.bundle)
    check_sandbox(policy)
    if options.on_approval is not None:
        options.on_approval.check(policy.reachable)
    return config, policy


async def _run(
    options: ProxyOptions,
    config: ServerConfig,
    policy: Policy,
    served: Signals | InProcessClient,
    say: Callable[[str], None],
) -> None:
    """Open in order what is needed, serve, and close it in the opposite order."""
    async with AsyncExitStack() as stack:
        audit_options = AuditOptions(make_key(default_key_path()), options.audit_values, options.audit_redact)
        audit_options.check(policy)
        telemetry = await stack.enter_async_context(telemetry_of_environment()) if options.telemetry else None
        log = await _open_log(options, policy, audit_options.key, stack)
        witness = None
        if options.witness is not None:
            witness = AuditWitness(options.witness, log.paths, audit_options.key, say)
            await to_thread.run_sync(witness.check)
        first = await PolicyInstance.start(policy, audit_options)
        live = ActivePolicy(first)
        stack.push_async_callback(_close_current, live)
        launcher = await to_thread.run_sync(
            SandboxLauncher.open, config, _sandbox_inputs(config, policy, options)
        )
        client = served if isinstance(served, InProcessClient) else None
        asked = client.asked if client is not None else nobody
        directory = _approvals(options, live, log, say, stack, asked) if options.approver else None
        listeners: list[RecordListener] = [telemetry] if telemetry is not None else []
        listeners += [client.records] if client is not None else []
        words = client.words if client is not None else None
        facts = await _facts(options, log, audit_options.key, words, say)
        enforcer = replace(_enforcer(options, live, facts, launcher, directory), listeners=tuple(listeners))
        _announce(options, policy, log, launcher, say)
        gateways = gateways_of(config)
        domain = options.domain
        if domain is not None:
            gateways = domain.of(gateways, str(config.path))
            enforcer = replace(enforcer, limited=domain.limited)
        enforcer = replace(
            enforcer,
            principal=options.principal,
            admission=Admission(gateways),
            outputs=outputs_of(config, gateways),
        )
        manager = UpstreamManager(config, enforcer, launcher, Clients(), say, gateways=gateways)
        with anyio.CancelScope(shield=True):
            started = first.recorder.event("start", revision=policy.revision, observe=options.observe)
            # Our own word, not a value of a call: it says which key the digests that follow are made with.
            detail = {**started.detail, "digests_by": key_id(audit_options.key)}
            await log.event(started.model_copy(update={"detail": detail}))
        try:
            await _serve(options, manager, served, witness)
        finally:
            with anyio.CancelScope(shield=True):
                await log.event(live.current.recorder.event("stop"))
                if witness is not None:
                    await witness.tell(log.state)


async def _serve(
    options: ProxyOptions,
    manager: UpstreamManager,
    served: Signals | InProcessClient,
    witness: AuditWitness | None,
) -> None:
    """Serve until the client goes; then servers, engine and the last answers end side by side."""
    enforcer = manager.enforcer

    async def replaced(enforced: PolicyInstance) -> None:
        narrowed.follow(enforced)
        await manager.follow()

    load = partial(load_own, options.load, options.bundle)
    reloader = Reloader(enforcer.policy, load, options.bundle, enforcer.log, manager.say, replaced)
    if isinstance(served, Signals):
        served.when_hung_up(reloader.want)
    async with anyio.create_task_group() as tasks:
        narrowed = NarrowedTools(manager, tasks)
        listing = Listing(manager, narrowed)
        endpoint = McpEndpoint(manager, listing, enforcer, manager.clients, PendingRequests(tasks)).server()
        manager.live_in(tasks)
        narrowed.follow(enforcer.policy.current)
        tasks.start_soon(reloader.run)
        status = StatusWriter(enforcer.log.paths.session, manager, listing)
        tasks.start_soon(status.keep)
        if witness is not None:
            tasks.start_soon(witness.keep, lambda: enforcer.log.state)
        if isinstance(served, InProcessClient):
            await served.run(endpoint)
            tasks.cancel_scope.cancel()
        elif options.http is not None:
            refused = Unauthenticated(enforcer.log, enforcer.policy)
            await serve_http(
                endpoint,
                options.http,
                status.listening,
                options.clients,
                tokens=options.tokens,
                refused=refused,
            )
        else:
            async with serve_stdio(manager.gone) as (received, sent):
                await endpoint.run(received, sent, endpoint.create_initialization_options())
                tasks.cancel_scope.cancel()


def _sandbox_inputs(config: ServerConfig, policy: Policy, options: ProxyOptions) -> SandboxInputs:
    deployment, home = policy.loaded.deployment, Path(policy.loaded.deployment.home)
    # `~` is what the policy takes it for; as it is written, the operating system would look for that name.
    reached, asked = reaches(PolicyContent.of(policy.bundle), config.servers, observe=options.observe)
    sandbox = (
        real_paths([deployment.sandbox], home=home, directory=Path.cwd())
        if deployment.sandbox is not None
        else []
    )
    return SandboxInputs(
        home=home,
        workspace=next(iter(sandbox), None),
        own=tuple(own_places()),
        protected=tuple(map(Path, deployment.protected)),
        directory=config.directory,
        settings=config.sandbox.filesystem,
        configuration=(*config.files, *options.files.values(), *origin(options.bundle, ())),
        reaches=reached,
        asked=asked,
    )


def _approvals(
    options: ProxyOptions,
    live: ActivePolicy,
    log: AuditLog,
    say: Callable[[str], None],
    stack: AsyncExitStack,
    told: RequestListener,
) -> ApprovalDirectory:
    """Open the approvals directory, and tell of what waits there if there is a command for that."""
    deployment = live.current.loaded.deployment
    reachable = [
        Path(path) for path in (deployment.sandbox, *deployment.working_roots.values()) if path is not None
    ]
    directory_path, key = default_paths()

    def is_usable(request: ApprovalRequest) -> bool:
        return request.session != log.paths.session or log.is_usable(request.id, request.asked)

    def redacted(request: ApprovalRequest) -> ApprovalRequest:
        return live.current.recorder.redacted(request)

    if options.on_approval is not None:
        hook = Hook(options.on_approval, redacted, say)
        stack.callback(hook.close)
        told = hook.tell
    directory = ApprovalDirectory.open(
        directory_path,
        key,
        reachable=reachable,
        is_usable=is_usable,
        told=told,
        approvers=options.approvers,
    )
    return stack.enter_context(directory)


def _enforcer(
    options: ProxyOptions,
    live: ActivePolicy,
    facts: DeclaredFacts,
    launcher: SandboxLauncher,
    directory: ApprovalDirectory | None,
) -> Enforcer:
    asking = OpenRequest(
        facts.log.paths.session, options.patience, options.seconds, options.client_person, options.approvers
    )
    return Enforcer(
        policy=live,
        broker=ApprovalBroker(directory, asking),
        log=facts.log,
        facts=facts,
        breaker=RepeatedCallLimiter(),
        confined=launcher.state,
        neighbours=OtherProxies(shared_file("turns")),
        reaching=Reaching(launcher.beyond, launcher.is_apart),
        caller=options.caller,
        observe=options.observe,
    )


async def _facts(
    options: ProxyOptions,
    log: AuditLog,
    key: bytes,
    words: UserWords | None,
    say: Callable[[str], None],
) -> DeclaredFacts:
    """Return where declared facts come from: the memory in the log, the totals where they are kept."""
    memory = await to_thread.run_sync(SessionMemory.of_log, log.paths, log.state)
    place = options.state or StorePlace.parse(None)
    server = place.server()
    if server is not None:
        try:
            await to_thread.run_sync(server.check)
            say(f"totals are kept in {place.name}")
        except StoreError as error:
            say(f"{error}: until it can, calls that need a total are refused")
    return DeclaredFacts(Sources(memory, server or place.open(key), options.now, words), log)


async def _open_log(options: ProxyOptions, policy: Policy, key: bytes, stack: AsyncExitStack) -> AuditLog:
    """Open the session's log until the stack is closed; a name of our own that is taken gets a number."""
    opened = partial(AuditLog, key=key, max_bytes=options.audit_max_bytes)
    if options.session is not None:
        return await stack.enter_async_context(opened(session_log(audit_directory(), options.session)))
    deployment = policy.loaded.deployment
    meant = [options.bundle.absolute(), options.servers.absolute(), deployment.home, deployment.sandbox]
    name = "s-" + hashlib.sha256(repr([str(each) for each in meant]).encode()).hexdigest()[:12]
    numbered = [f"{name}-{number}" for number in (*range(2, _MOST_SESSIONS), os.getpid())]
    places = [session_log(audit_directory(), each) for each in (name, *numbered)]
    return await open_first_free((opened(place, patience=0.0) for place in places), stack)


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


async def _close_current(live: ActivePolicy) -> None:
    await live.current.close()
