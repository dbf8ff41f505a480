"""One run of the proxy: everything it needs is opened in order, served, and closed in the opposite order.

    await run_proxy(options, say)  # returns when the client goes, or a signal ends it
    await run_in_process(options, client, say)  # returns when the client, code of this process, does

What always holds:

1. The audit log is open before the first server is started and closed after the last one has ended.
2. No server is started before the policy is loaded and it is known what this machine can contain: a server's
   process exists in the sandbox that this policy gives it, or where its configuration wants none.
3. Nothing is said to a server before the engine answers.

The engine starts as soon as the bundle is read. Meanwhile what servers need is loaded and they are started
(`started_servers.py`), and while they start the rest of the proxy is loaded (`serving.py`), which takes as
long as they do: what is imported here, all of them wait for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from datetime import datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import anyio
from anyio import to_thread

from ironcurtain.enforcement.approvals.approvers import Approvers
from ironcurtain.enforcement.approvals.places import default_paths
from ironcurtain.enforcement.audit.log_paths import MAX_BYTES, audit_directory, default_key_path
from ironcurtain.enforcement.facts import clock
from ironcurtain.enforcement.proxy.configuration import (
    Mark,
    check_configuration,
    check_sandbox,
    load_own,
    mark_of,
)
from ironcurtain.enforcement.proxy.started_engine import StartedEngine
from ironcurtain.enforcement.proxy.transport.signals import Signals
from ironcurtain.policy import Policy
from ironcurtain.servers.config import ServerConfig, load_servers
from ironcurtain.servers.fetched.lock import lock_of
from ironcurtain.servers.sdk import load_sdk
from ironcurtain.settings import user_directory
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.private_runtime import runtime_directory
from ironcurtain.system.structs import Struct, field

if TYPE_CHECKING:
    from mcp.server import Server

    from ironcurtain.bundle.domain import Domain
    from ironcurtain.enforcement.approvals.broker_directory import RequestListener
    from ironcurtain.enforcement.approvals.hook import HookCommand
    from ironcurtain.enforcement.audit.record_types import RecordListener
    from ironcurtain.enforcement.facts.totals.store_place import StorePlace
    from ironcurtain.enforcement.facts.user.words import UserWords
    from ironcurtain.enforcement.proxy.audit_options import LoggedValues
    from ironcurtain.enforcement.proxy.started_servers import StartedServers
    from ironcurtain.enforcement.proxy.transport.http import Address
    from ironcurtain.enforcement.proxy.transport.http_clients import HttpClients
    from ironcurtain.enforcement.proxy.transport.tokens import Tokens
    from ironcurtain.gateway.principal import Principal

A = TypeVar("A")
B = TypeVar("B")

_SERVERS = "ironcurtain.enforcement.proxy.started_servers"
_SERVING = "ironcurtain.enforcement.proxy.serving"


class ProxyOptions(Struct):
    """What the command line says.

    Attributes:
        load: Reads and checks the bundle: `Policy.load` with all but `late` given. Called for the start
            (late) and for every reload.
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

    load: Callable[..., Policy]
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
    loaded = await _load(options)
    with anyio.CancelScope() as scope, Signals(scope.cancel) as signals:
        await _run(options, loaded, signals, say)


class InProcessClient(Struct):
    """A client that is code of this process: it gets the endpoint instead of a transport.

    Attributes:
        run: Uses the endpoint; when it returns, servers and engine end.
        records: Is told what is recorded.
        asked: Is told of each call that waits for a person; None tells nobody.
        words: What its user wrote; None if it does not know.
    """

    run: Callable[[Server[Any]], Awaitable[None]]
    records: RecordListener
    asked: RequestListener | None = None
    words: UserWords | None = None


async def run_in_process(options: ProxyOptions, client: InProcessClient, say: Callable[[str], None]) -> None:
    """Enforce for a client of this process until it returns; no signal handler is set.

    Raises:
        IronCurtainError: If something that is needed cannot be had; then the client was not run.
    """
    await _run(options, await _load(options), client, say)


class LoadedFiles(Struct):
    """What a proxy was configured by when it started.

    Attributes:
        config: The servers.
        policy: What is enforced first.
        mark: The state of the bundle that it is of, or of an older one.
    """

    config: ServerConfig
    policy: Policy
    mark: Mark | None


async def _load(options: ProxyOptions) -> LoadedFiles:
    """Check what we are configured by, and read it."""
    lock = lock_of(options.servers)
    fetched = {"what pins the servers": lock} if lock.exists() else {}
    check_configuration({"the servers' file": options.servers, **fetched, **options.files})
    await to_thread.run_sync(lambda: options.approvers.identities)
    config = await to_thread.run_sync(load_servers, options.servers)
    mark = mark_of(options.bundle)  # before it is read: one that comes meanwhile is seen as another
    policy = await to_thread.run_sync(load_own, partial(options.load, late=True), options.bundle)
    return LoadedFiles(config, policy, mark)


def _check(options: ProxyOptions, policy: Policy) -> None:
    """Load the rest of the policy, and see that we are not where its tools can write."""
    check_sandbox(policy)
    if options.on_approval is not None:
        options.on_approval.check(policy.reachable)


Served: TypeAlias = "Signals | InProcessClient"
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


async def _run(
    options: ProxyOptions, loaded: LoadedFiles, served: Served, say: Callable[[str], None]
) -> None:
    """Start what takes its time while the rest is loaded, then serve."""
    policy = loaded.policy
    async with AsyncExitStack() as stack:

        async def start_engine() -> StartedEngine:
            engine = await StartedEngine.start(policy)
            stack.push_async_callback(engine.close)
            return engine

        async def start_servers() -> StartedServers:
            await to_thread.run_sync(_check, options, policy)
            await to_thread.run_sync(import_module, _SERVERS)
            from ironcurtain.enforcement.proxy import started_servers  # noqa: PLC0415 - loaded just now

            servers = await started_servers.start(options, loaded, stack)
            # Only now: what is loaded in one thread holds up all that others do.
            await to_thread.run_sync(_load_the_rest)
            return servers

        engine, servers = await _side_by_side(start_engine, start_servers)
        from ironcurtain.enforcement.proxy.serving import serve  # noqa: PLC0415 - loaded just now

        await serve(StartedProxy(loaded, engine, servers), options, served, say)


def _load_the_rest() -> None:
    load_sdk()
    import_module(_SERVING)


async def _side_by_side(first: Callable[[], Awaitable[A]], second: Callable[[], Awaitable[B]]) -> tuple[A, B]:
    """Return what two pieces of work return; the first failure cancels the other one and is raised itself."""
    done: dict[int, Any] = {}
    failed: list[Exception] = []
    async with anyio.create_task_group() as tasks:

        async def do(place: int, work: Callable[[], Awaitable[object]]) -> None:
            try:
                done[place] = await work()
            except Exception as error:  # noqa: BLE001 - raised outside, where no group wraps it
                failed.append(error)
                tasks.cancel_scope.cancel()

        for place, work in enumerate((first, second)):
            tasks.start_soon(do, place, work)
    if failed:
        raise failed[0]
    return done[0], done[1]
