"""The asking program's side of the approvals directory: ask, wait, and use an answer exactly once.

One event loop uses one `ApprovalDirectory`; many programs can share the directory itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

import anyio
from anyio import to_thread

from ironcurtain.enforcement.approvals.approvers import Approvers
from ironcurtain.enforcement.approvals.key import ApprovalKey
from ironcurtain.enforcement.approvals.messages import ApprovalOutcome, ApprovalRequest, ApprovalState
from ironcurtain.enforcement.approvals.private_directory import (
    Closing,
    PrivateDirectory,
    UntrustedFileError,
    check_outside,
)
from ironcurtain.enforcement.approvals.request import Clock, ask_again, shown_digest
from ironcurtain.enforcement.approvals.store import USE_SECONDS, Asked, Store
from ironcurtain.errors import ApprovalsError
from ironcurtain.system.text import visible

POLL_SECONDS = 0.15
MAX_WAITING = 20_000
"""Most requests that wait at once; one more is refused, so that agents cannot fill the disk."""
MAX_OF_SESSION = 1_000
"""Most requests of one session: more than a person can see through, and others have to be asked, too."""

_SWEEP_SECONDS = 60.0
_SWEPT_AT_ONCE = 200
# File systems stamp changes in steps; a change soon after a look could bear the stamp of before.
_STAMP_SECONDS = 2.0

T = TypeVar("T")

Usable = Callable[[ApprovalRequest], bool]


RequestListener = Callable[[ApprovalRequest], None]
Granted = Callable[[], ApprovalOutcome | None]
"""Returns the approval for the session that covers a call; None where there is none (yet)."""


def _always(_: ApprovalRequest) -> bool:
    return True


def _nothing() -> ApprovalOutcome | None:
    return None


def nobody(_: ApprovalRequest) -> None:
    """Tell nobody of a request."""


class ApprovalDirectory(Closing):
    """Requests of one program that wait for a person. Close it, or use it as a context manager."""

    def __init__(self, store: Store, told: RequestListener = nobody) -> None:
        """Take a store that is ready; `open` is the way to get one."""
        self._store, self._told = store, told
        self._asked: dict[str, Asked] = {}
        self._by_binding: dict[str, str] = {}
        self._answered: frozenset[str] = frozenset()
        self._stamp: tuple[int, float] | None = None
        self._turn: anyio.Event | None = None
        self._swept = store.clock.monotonic()
        self._running: dict[str, int] = {}

    @classmethod
    def open(
        cls,
        path: Path,
        key: Path,
        *,
        reachable: Iterable[Path] = (),
        is_usable: Usable = _always,
        told: RequestListener = nobody,
        clock: Clock | None = None,
        approvers: Approvers | None = None,
    ) -> ApprovalDirectory:
        """Open the directory, making it and the key where they are missing; pick up what still waits there.

        Args:
            path: The directory.
            key: The key's file.
            reachable: The sandbox and the servers' working roots, which must lie apart.
            is_usable: Tells of a request that waits there whether its answer may still be used. The
                directory cannot know: whoever can write it can bring back what was settled.
            told: Called with each request that is new and lies where a person finds it; neither waits nor
                fails.
            clock: Where time comes from (default: the machine).
            approvers: The people behind the names that rules use.

        Raises:
            ApprovalsError: If directory or key are not private, or within reach.
            OSError: If they cannot be made.
        """
        roots = tuple(reachable)
        check_outside(path, roots)
        check_outside(key, roots)
        sealing = ApprovalKey.read_or_make(key)
        place = PrivateDirectory.open(path, create=True)
        opened = cls(Store(place, sealing, clock or Clock(), approvers), told)
        opened._pick_up(is_usable)
        return opened

    def close(self) -> None:
        """Close the directory; what waits there stays, for the next program of this session."""
        for handle in self._running.values():
            os.close(handle)
        self._running.clear()
        self._store.place.close()

    @property
    def waiting(self) -> int:
        """How many requests of all sessions are not settled yet."""
        return len(self._asked)

    def waiting_of(self, session: str) -> int:
        """Return how many requests of one session are not settled yet."""
        return sum(asked.session == session for asked in self._asked.values())

    async def obtain(
        self,
        request: ApprovalRequest,
        timeout: float,  # noqa: ASYNC109
        granted: Granted = _nothing,
    ) -> ApprovalOutcome:
        """Ask, wait at most `timeout` seconds, and use the answer, or what was granted meanwhile.

        The whole of what a call has to do: an answer that came before the call was repeated is used at
        once; `pending` means that the same call, repeated, will find it. An outcome other than pending
        is settled: it is given out once. Whatever goes wrong with the directory is `no-approver`.
        """
        end = anyio.current_time() + timeout
        try:
            while True:
                outcome = await self.take(request.binding) or granted()
                if outcome is not None:
                    return outcome
                id_ = await self.ask(request)
                outcome = await self.wait(id_, end - anyio.current_time())
                is_waiting = outcome.state is ApprovalState.PENDING and id_ in self._asked
                if is_waiting or outcome.state is ApprovalState.NO_APPROVER:
                    return outcome
                used = await self.take(request.binding)
                if used is not None:
                    return used
                # An equal call was quicker and has used the answer: this one needs its own.
                request = ask_again(request, self._store.clock)
        except (ApprovalsError, OSError) as error:
            return no_approver(error)

    async def answered(self, request: ApprovalRequest, timeout: float) -> ApprovalOutcome:  # noqa: ASYNC109
        """Ask, and wait at most `timeout` seconds; an approval stays where it is, for `take` to use.

        So what one of several approvers has said waits for the others, whatever becomes of this program.
        Any other answer is used up. Whatever goes wrong with the directory is `no-approver`.
        """
        try:
            asked = self._asked.get(self._by_binding.get(request.binding, ""))
            outcome = await _thread(self._store.outcome, asked) if asked is not None else None
            if outcome is None or outcome.state is ApprovalState.PENDING:
                outcome = await self.wait(await self.ask(request), timeout)
            if outcome.approved or outcome.state in (ApprovalState.PENDING, ApprovalState.NO_APPROVER):
                return outcome
            return await self.take(request.binding) or outcome
        except (ApprovalsError, OSError) as error:
            return no_approver(error)

    async def ask(self, request: ApprovalRequest) -> str:
        """Put a request where a person finds it; return the id under which it waits.

        A call that waits already is not asked about twice: the id is then that of the first request.

        Raises:
            ApprovalsError: If the directory cannot be trusted any more, or too many requests wait.
            OSError: If the request cannot be written.
        """
        await self._sweep_sometimes()
        if request.session not in self._running:
            self._running[request.session] = self._store.run_as(request.session)
        known = self._asked.get(self._by_binding.get(request.binding, ""))
        if known is not None:
            return known.id
        self._check_room(request.session)
        asked = self._store.remember(request, shown_digest(request))
        self._keep(asked)
        try:
            await _thread(self._write, request)
        except BaseException:
            self._forget(asked)
            raise
        self._told(request)
        return asked.id

    def _check_room(self, session: str) -> None:
        bounds = (
            (self.waiting_of(session), MAX_OF_SESSION, " of this session"),
            (self.waiting, MAX_WAITING, ""),
        )
        for count, most, whose in bounds:
            if count >= most:
                raise ApprovalsError(
                    f"{most:,} requests{whose} wait already", where=str(self._store.place.path)
                )

    async def wait(self, id_: str, timeout: float) -> ApprovalOutcome:  # noqa: ASYNC109 - a person's time is no error
        """Wait until a request is answered or over, at most `timeout` seconds; settle nothing.

        `pending` is the outcome when the time is up, or when another call has used the answer.
        """
        outcome = ApprovalOutcome(
            state=ApprovalState.PENDING, request=id_, reason="It waits for a person's answer."
        )
        with anyio.move_on_after(max(0.0, timeout)):
            while (asked := self._asked.get(id_)) is not None:
                if asked.id in self._answered or self._store.is_over(asked):
                    found = await _thread(self._store.outcome, asked)
                    if found.state is not ApprovalState.PENDING:
                        return found
                try:
                    await self._next_look()
                except (ApprovalsError, OSError) as error:
                    return no_approver(error)
        return outcome

    async def take(self, binding: str) -> ApprovalOutcome | None:
        """Use what has become of the request for a call: exactly once, whoever else tries at the same time.

        Returns:
            None if nothing was asked about such a call, it still waits, or another call was quicker.

        Raises:
            OSError: If it cannot be recorded that the answer is used; then it is not used.
        """
        asked = self._asked.get(self._by_binding.get(binding, ""))
        if asked is None:
            return None
        outcome = await _thread(self._store.outcome, asked)
        if outcome.state is ApprovalState.PENDING:
            return None
        return outcome if await self._claim(asked, outcome) else None

    async def settle(self, id_: str, outcome: ApprovalOutcome) -> bool:
        """Settle a request with an answer that came another way; False if it was settled before.

        Only if this is True may an approval have its effect.

        Raises:
            OSError: If it cannot be recorded; then nothing is settled.
        """
        asked = self._asked.get(id_)
        return asked is not None and await self._claim(asked, outcome.model_copy(update={"request": id_}))

    async def settle_call(self, binding: str, outcome: ApprovalOutcome) -> None:
        """Settle what waits for an answer about a call, where nobody has said anything about it.

        Raises:
            OSError: As `settle`.
        """
        asked = self._asked.get(self._by_binding.get(binding, ""))
        if asked is not None and (await _thread(self._store.outcome, asked)).state is ApprovalState.PENDING:
            await self.settle(asked.id, outcome)

    async def sweep(self) -> None:
        """Settle what is long over and was not asked for again, and remove what nobody needs any more.

        Only so many requests are settled at once, since a call may wait for this; the next call goes on.
        """
        over = (each for each in self._asked.values() if self._store.is_over(each, grace=USE_SECONDS))
        for asked in list(islice(over, _SWEPT_AT_ONCE)):
            await self._claim(asked, await _thread(self._store.outcome, asked))
        await _thread(self._store.sweep)

    async def _sweep_sometimes(self) -> None:
        now = self._store.clock.monotonic()
        if now - self._swept >= _SWEEP_SECONDS:
            self._swept = now
            await self.sweep()

    async def _claim(self, asked: Asked, outcome: ApprovalOutcome) -> bool:
        with anyio.CancelScope(shield=True):  # a mark without anybody who knows of it would lose an answer
            claimed = await _thread(self._store.claim, outcome)
        self._forget(asked)
        return claimed

    async def _next_look(self) -> None:
        """Wait for the next look at the directory: whoever waits first looks for all."""
        if self._turn is not None:
            await self._turn.wait()
            return
        turn = self._turn = anyio.Event()
        try:
            await anyio.sleep(POLL_SECONDS)
            await _thread(self._look)
        finally:
            self._turn = None
            turn.set()

    def _look(self) -> None:
        changed = self._store.place.check()
        now = self._store.clock.monotonic()
        if self._stamp is not None and self._stamp[0] == changed and now - self._stamp[1] > _STAMP_SECONDS:
            return
        if self._stamp is None or self._stamp[0] != changed:
            self._stamp = (changed, now)
        self._answered = self._store.names().response

    def _write(self, request: ApprovalRequest) -> None:
        self._store.place.check()
        self._store.write_request(request)

    def _pick_up(self, is_usable: Usable) -> None:
        names = self._store.names()
        for id_ in sorted(names.request - names.done):
            try:
                found = self._store.read_request(id_)
            except UntrustedFileError:
                continue
            if found is None:
                continue
            if is_usable(found[0]):
                self._keep(self._store.remember(*found))
            else:
                self._store.claim(ApprovalOutcome(state=ApprovalState.EXPIRED, request=id_))
        self._answered = names.response

    def _keep(self, asked: Asked) -> None:
        self._asked[asked.id] = asked
        self._by_binding[asked.binding] = asked.id

    def _forget(self, asked: Asked) -> None:
        self._asked.pop(asked.id, None)
        if self._by_binding.get(asked.binding) == asked.id:
            del self._by_binding[asked.binding]


def no_approver(error: ApprovalsError | OSError) -> ApprovalOutcome:
    """Return what a call is told where the directory cannot be used."""
    what = error.what if isinstance(error, ApprovalsError) else error.strerror or type(error).__name__
    reason = f"Nobody can be asked: {visible(what)}."
    return ApprovalOutcome(state=ApprovalState.NO_APPROVER, reason=reason, fault="directory")


async def _thread(function: Callable[..., T], *args: object) -> T:
    return await to_thread.run_sync(partial(function, *args))
