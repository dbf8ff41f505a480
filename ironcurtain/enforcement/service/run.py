"""One run of the decision service: policy, engine and socket are opened in order, and closed in the opposite.

await run_service(options, address, say)  # returns when a signal ends it, or nobody has asked for long
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import anyio
from anyio import to_thread

from ironcurtain.enforcement.audit.log_paths import default_key_path, make_key
from ironcurtain.enforcement.calls.active_policy import ActivePolicy, PolicyInstance
from ironcurtain.enforcement.calls.audit_options import AuditOptions
from ironcurtain.enforcement.calls.enforcer_options import EnforcerOptions
from ironcurtain.enforcement.calls.started_engine import StartedEngine
from ironcurtain.enforcement.proxy.configuration import check_configuration, check_sandbox, load_own, mark_of
from ironcurtain.enforcement.proxy.reload import Reloader
from ironcurtain.enforcement.proxy.transport.http_bounds import HttpLimits, bounded
from ironcurtain.enforcement.proxy.transport.http_server import run_server
from ironcurtain.enforcement.proxy.transport.signals import Signals
from ironcurtain.enforcement.service.application import application
from ironcurtain.enforcement.service.sessions import Sessions
from ironcurtain.errors import UsageError
from ironcurtain.system.locks import lock_handle
from ironcurtain.system.ownership import others_have_access
from ironcurtain.system.text import visible

_IDLE = 3_600.0
"""Seconds without a request after which the service ends; the next hook starts it again."""

_LOOK = 10.0


async def run_service(options: EnforcerOptions, socket: Path, say: Callable[[str], None]) -> None:
    """Serve until a signal comes, or nobody has asked for long and no result is awaited.

    Where another service listens already, this one ends.

    Args:
        options: How calls are enforced.
        socket: Where to listen, in a directory that is this user's alone.
        say: Tells the person who started the service.

    Raises:
        IronCurtainError: If something that is needed cannot be had; then nothing was served.
    """
    with _alone(socket) as is_alone:
        if not is_alone:
            say(f"another decision service listens at unix:{visible(str(socket))}")
            return
        check_configuration(options.files)
        _check_private(socket.parent)
        mark = mark_of(options.bundle)
        load = partial(load_own, options.load, options.bundle)
        policy = await to_thread.run_sync(load)
        check_sandbox(policy)
        audit_options = AuditOptions(make_key(default_key_path()), options.audit_values, options.audit_redact)
        audit_options.check(policy)
        engine = await StartedEngine.start(policy)
        live = ActivePolicy(PolicyInstance(policy, engine, audit_options))
        with anyio.CancelScope() as scope, Signals(scope.cancel) as signals:
            try:
                async with anyio.create_task_group() as tasks:
                    sessions = Sessions(options, live, say, tasks)
                    own = _own_session(options, socket)
                    clock = _LastRequest()
                    try:
                        first = await sessions.of(own)
                        reloader = Reloader(
                            live, load, options.bundle, first.enforcer.log, say, _nothing, mark
                        )
                        signals.when_hung_up(reloader.want)
                        tasks.start_soon(reloader.run)
                        tasks.start_soon(clock.end_after, sessions, scope)
                        app = application(sessions, own, clock.touch)
                        config = bounded(app, HttpLimits(), uds=str(socket), lifespan="off")
                        told = f"policy {policy.revision}; asked at unix:{visible(str(socket))}"
                        await run_server(config, None, partial(say, told))
                    finally:
                        with anyio.CancelScope(shield=True):
                            await sessions.close()
            finally:
                await live.current.close()


class _LastRequest:
    def __init__(self) -> None:
        self._at = anyio.current_time()

    def touch(self) -> None:
        self._at = anyio.current_time()

    async def end_after(self, sessions: Sessions, scope: anyio.CancelScope) -> None:
        while sessions.are_busy or anyio.current_time() - self._at < _IDLE:  # noqa: ASYNC110 - told of nowhere
            await anyio.sleep(_LOOK)
        scope.cancel()


@contextmanager
def _alone(socket: Path) -> Iterator[bool]:
    """Yield whether no other service listens at a socket; if so, none begins to."""
    handle = os.open(
        socket.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
    )
    try:
        if not lock_handle(handle):
            yield False
            return
        socket.unlink(missing_ok=True)
        yield True
        socket.unlink(missing_ok=True)
    finally:
        os.close(handle)


def _check_private(directory: Path) -> None:
    """See that nobody else can put a socket in our place.

    Raises:
        UsageError: If somebody can.
    """
    found = directory.stat()
    if found.st_uid != os.geteuid() or others_have_access(found):
        raise UsageError(
            "others can use this directory",
            where=visible(str(directory)),
            hint="Give --unix a path in a directory of mode 0700 of your own.",
        )


def _own_session(options: EnforcerOptions, socket: Path) -> str:
    """Return the name of the session of those who name none."""
    return "pdp-" + hashlib.sha256(repr([str(options.bundle), str(socket)]).encode()).hexdigest()[:12]


async def _nothing(_: PolicyInstance) -> None:
    """Do nothing more with another policy."""
