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

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from anyio import to_thread

from ironcurtain.enforcement.calls.started_engine import StartedEngine
from ironcurtain.enforcement.proxy.configuration import (
    check_configuration,
    check_sandbox,
    load_own,
    mark_of,
)
from ironcurtain.enforcement.proxy.options import InProcessClient, LoadedFiles, ProxyOptions
from ironcurtain.enforcement.proxy.transport.signals import Signals
from ironcurtain.policy import Policy
from ironcurtain.servers.config import load_servers
from ironcurtain.servers.fetched.lock import lock_of
from ironcurtain.servers.sdk import load_sdk

if TYPE_CHECKING:
    from ironcurtain.enforcement.proxy.serving import Served
    from ironcurtain.enforcement.proxy.started_servers import StartedServers

A = TypeVar("A")
B = TypeVar("B")

_SERVERS = "ironcurtain.enforcement.proxy.started_servers"
_SERVING = "ironcurtain.enforcement.proxy.serving"


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


async def run_in_process(options: ProxyOptions, client: InProcessClient, say: Callable[[str], None]) -> None:
    """Enforce for a client of this process until it returns; no signal handler is set.

    Raises:
        IronCurtainError: If something that is needed cannot be had; then the client was not run.
    """
    await _run(options, await _load(options), client, say)


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
        from ironcurtain.enforcement.proxy.serving import StartedProxy, serve  # noqa: PLC0415 - loaded just now

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
