"""Replacing policy or engine while calls go on: on SIGHUP, on a new bundle, on the loss of the engine."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from ironcurtain.enforcement.audit.log import AuditLog
from ironcurtain.enforcement.calls.active_policy import ActivePolicy, PolicyInstance
from ironcurtain.enforcement.calls.run_blocking import run_blocking
from ironcurtain.enforcement.proxy.configuration import Mark, mark_of
from ironcurtain.errors import (
    AuditError,
    BundleSignatureError,
    EngineFailedError,
    IronCurtainError,
    SeveralErrors,
)
from ironcurtain.policy import Policy
from ironcurtain.system.text import visible

POLL_SECONDS = 1.0
_DRAIN_SECONDS = 10.0
_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 30.0
_CONVERGENCE = 5.0  # longer than that, a newer bundle must not wait

Load = Callable[[], Policy]
"""Reads the bundle again, with all the checks of the start."""


class Reloader:
    """Keeps the newest good policy enforced; a bad bundle leaves the old one, and says so."""

    def __init__(
        self,
        policy: ActivePolicy,
        load: Load,
        bundle: Path,
        log: AuditLog,
        say: Callable[[str], None],
        replaced: Callable[[PolicyInstance], Coroutine[Any, Any, None]],
        mark: Mark | None,
    ) -> None:
        """Take what is kept; `replaced` is told of another policy, not of another engine of the same.

        `mark` tells the state of the bundle that was loaded: one that came since then is another.
        """
        self._policy, self._load, self._bundle, self._log = policy, load, bundle, log
        self._say, self._replaced = say, replaced
        self._tasks = anyio.create_task_group()
        self._wanted = anyio.Event()
        self._turn = anyio.Lock()
        self._mark = mark
        self._retry = _Retry()

    def want(self) -> None:
        """Ask for a reload, as SIGHUP does."""
        self._wanted.set()

    async def run(self) -> None:
        """Keep it, until cancelled; then stop its engine.

        Whoever decides a call when another engine takes over still does so with the one before.
        """
        try:
            async with self._tasks:
                self._tasks.start_soon(self._watch)
                self._tasks.start_soon(self._revive)
        finally:
            await self._policy.current.close()

    async def _watch(self) -> None:
        """Reload when it is asked for, and when the bundle has changed and come to rest.

        A bundle that no engine serves yet is tried again, for as long as it is the newest.
        """
        while True:
            with anyio.move_on_after(POLL_SECONDS):
                await self._wanted.wait()
            asked, self._wanted = self._wanted.is_set(), anyio.Event()
            mark = await run_blocking(partial(mark_of, self._bundle))
            changed = mark != self._mark
            if asked or (changed and mark is not None and await self._rests(mark)):
                self._mark, self._retry = mark, _Retry()
                await self._reload()
            elif self._retry.is_due():
                await self._reload()

    async def _rests(self, mark: Mark) -> bool:
        """Tell whether a change is over: a half-written bundle is bad for a moment only."""
        await anyio.sleep(POLL_SECONDS / 4)
        return await run_blocking(partial(mark_of, self._bundle)) == mark

    async def _reload(self) -> None:
        """Enforce what the bundle holds now, if it may be."""
        async with self._turn:
            old = self._policy.current.loaded.revision
            try:
                policy = await run_blocking(self._load)
                if policy.revision == old:
                    self._retry = _Retry()
                    self._say(f"the bundle is as before: {old}")
                    return
                _check_serial(policy, self._policy.current.policy, self._bundle)
                new = await PolicyInstance.start(
                    policy, self._policy.current.audit_options, wait=_CONVERGENCE
                )
            except (IronCurtainError, OSError) as error:
                await self._refused(old, error)
                return
            self._retry = _Retry()
            try:
                await self._tell("reload", old=old, new=policy.revision)
            except BaseException:
                await new.close()
                raise
            self._replace(new)
            self._tasks.start_soon(self._replaced, new)
            self._say(f"now enforced: {policy.revision}")

    async def _refused(self, old: str, error: Exception) -> None:
        """Say and record why the old policy stays; repeated tries that fail alike are said, not recorded."""
        known = self._retry.fails
        again = self._retry.failed() if isinstance(error, EngineFailedError) else ""
        if not again:
            self._retry = _Retry()
        why = _why(error)
        self._say(f"the new bundle is not enforced, {old} stays: {why}{again}")
        if not (known and again):
            await self._tell("reload-refused", old=old, reason=why)

    async def _revive(self) -> None:
        """Start a new engine with the same policy whenever the running one is lost."""
        pause = _FIRST_PAUSE
        while True:
            current = self._policy.current
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_first, current.lost, tasks.cancel_scope)
                tasks.start_soon(_first, self._policy.replaced, tasks.cancel_scope)
            if not current.lost.is_set():
                continue
            async with self._turn:
                if self._policy.current is not current:
                    continue
                try:
                    self._replace(await PolicyInstance.start(current.policy, current.audit_options))
                except (IronCurtainError, OSError) as error:
                    self._say(f"the engine does not start: {_why(error)}; tried again in {pause:g} s")
                    await anyio.sleep(pause)
                    pause = min(pause * 2, _LONGEST_PAUSE)
                else:
                    pause = _FIRST_PAUSE
                    self._say("the engine was lost and has been started anew")
                    await self._tell("engine-restarted", revision=current.loaded.revision)

    def _replace(self, new: PolicyInstance) -> None:
        self._tasks.start_soon(self._policy.replace(new).close, _DRAIN_SECONDS)

    async def _tell(self, event: str, **detail: str) -> None:
        try:
            await self._log.event(self._policy.current.recorder.event(event, **detail))
        except AuditError as error:
            self._say(f"the audit log cannot be written: {error.what}")


def _check_serial(new: Policy, running: Policy, where: Path) -> None:
    """Refuse an older release than the one that runs: a signature does not grow old.

    Raises:
        BundleSignatureError: If the bundle is vouched for, and is older.
    """
    least = running.bundle.serial
    if new.trusted and new.bundle.serial < least:
        raise BundleSignatureError(
            f"the bundle has serial {new.bundle.serial}, and one of serial {least} runs",
            where=str(where),
            hint="Release what shall run under a higher serial; or start the proxy again.",
        )


class _Retry:
    """When a reload that failed for want of an engine is tried again: ever more rarely, and without end."""

    def __init__(self) -> None:
        self._pause = _FIRST_PAUSE
        self._at: float | None = None

    @property
    def fails(self) -> bool:
        """Whether the last try failed."""
        return self._at is not None

    def is_due(self) -> bool:
        """Tell whether it is time."""
        return self._at is not None and anyio.current_time() >= self._at

    def failed(self) -> str:
        """Set the next time, and say when that is."""
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)
        self._at = anyio.current_time() + self._pause
        return f"; tried again in {self._pause:g} s"


async def _first(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()


def _why(error: Exception) -> str:
    first = error.errors[0] if isinstance(error, SeveralErrors) else error
    return first.what if isinstance(first, IronCurtainError) else visible(str(first))
