"""Writing an audit log: what is decided is on the disk before the call has any effect.

    async with AuditLog(session_log(audit_directory(), "work"), key=key) as log:
        await log.decision(record)  # on the disk when this returns; else AuditError, and no call is sent
        await log.result(ended)

What always holds:

1. A log has one writer, which holds a lock on its head file. It continues a log only if every line is what
   was sealed, and none that the head knows of is missing (`segments.recover`).
2. Records are written in the order in which they were handed over, each sealed with the one before it.
3. Whoever hands over a record that cannot be written gets an AuditError, and so the call is refused. Where
   it cannot be told what the file holds then, nothing more is written to it.

Calls that are decided side by side share one synchronisation of the file: whatever is waiting when one ends
is written together and synchronised by the next. A call waits for the one that holds its record, which begins
at the latest when the running one ends. How a call ended waits for the next decision, so that calls one after
the other cost one synchronisation each; where none comes, it is written a moment later.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Iterable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

import anyio
from anyio import to_thread

from ironcurtain.enforcement.audit.hash_chain import record_bytes
from ironcurtain.enforcement.audit.log_paths import LIMIT, MAX_BYTES, LogPaths
from ironcurtain.enforcement.audit.record_types import (
    GENESIS,
    Approval,
    DecisionRecord,
    EventRecord,
    ResultRecord,
)
from ironcurtain.enforcement.audit.segments import LOCK_PATIENCE, Recovered, Segments
from ironcurtain.errors import AuditError
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue

RECOVERED = "recovered"
"""The event that tells of lines, or of a part of one, that a killed writer left behind."""

FULL = "full"
"""The event that tells that the log has reached its limit: no decision follows it."""

_NEARLY = 0.8
"""The part of the limit from which on it is told that the log nears it."""

_RESULT_PAUSE = 0.1
"""Seconds that the result of a call waits at most for a decision to be written with."""

_MORE_ROOM = "start the proxy with another --session, or with a higher --audit-limit"

_log = logging.getLogger(__name__)

_Group = list[tuple[bytes, asyncio.Future[None]]]
"""Records that are written together, and who waits for each."""


def now() -> str:
    """Return the time as records hold it: RFC 3339, UTC, microseconds."""
    return stamp(datetime.now(UTC))


def stamp(moment: datetime) -> str:
    """Return a moment as records hold it; one without a zone is in UTC."""
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


class AuditLog:
    """The audit log of one session, open for writing; use it as an asynchronous context manager.

    Every method raises AuditError where the record cannot be written: then the call must be refused.

    Args:
        paths: The log's files (`session_log`).
        key: Key of the head; None leaves it unkeyed.
        max_bytes: Size at which a segment is closed and the next one begun.
        limit: Size of all segments at which no decision is recorded any more. How calls ended still is.
        patience: Seconds to wait for the end of whoever wrote it before.
    """

    def __init__(
        self,
        paths: LogPaths,
        *,
        key: bytes | None = None,
        max_bytes: int = MAX_BYTES,
        limit: int = LIMIT,
        patience: float = LOCK_PATIENCE,
    ) -> None:
        self._paths, self._key, self._max_bytes, self._patience = paths, key, max_bytes, patience
        self._limit, self._is_full = limit, False
        self._pending: _Group = []
        self._segments: Segments | None = None
        self._loop: asyncio.AbstractEventLoop
        self._alarm: asyncio.TimerHandle | None = None
        self._is_wanted = False  # whether what waits is to be written as soon as that can be
        self._written: asyncio.Future[None] | None = None  # done once the group in the thread's hands is
        self._closing = False
        self._trouble = ""
        self._began = datetime.now(UTC)
        self._used: set[str] = set()
        self._groups: queue.SimpleQueue[_Group | None] = queue.SimpleQueue()
        self._thread: threading.Thread

    @property
    def trouble(self) -> str:
        """Why no decision can be recorded: the last could not be, or the log is full; empty where it can."""
        return self._trouble or (self._full().what if self._is_full else "")

    @property
    def notice(self) -> str:
        """What there is to say of a log that nears its limit; empty where it does not."""
        if self._is_full or self._size < _NEARLY * self._limit:
            return ""
        used = f"{self._size >> 20:,} of at most {self._limit >> 20:,} MiB"
        return f"the audit log has {used}: when it is full, every call is refused; {_MORE_ROOM}"

    @property
    def _size(self) -> int:
        return self._segments.size if self._segments is not None else 0

    def _full(self) -> AuditError:
        return AuditError(
            f"the audit log is full: it has reached its limit of {self._limit >> 20:,} MiB",
            where=str(self._paths.path),
            hint=f"To go on, {_MORE_ROOM}.",
            busy=True,
        )

    @property
    def state(self) -> tuple[int, str]:
        """How many lines the log has, and the seal of the last."""
        return (self._segments.count, self._segments.seal) if self._segments is not None else (0, GENESIS)

    @property
    def paths(self) -> LogPaths:
        """The log's files."""
        return self._paths

    async def __aenter__(self) -> Self:
        """Become the log's one writer, continuing it if it is there already.

        Raises:
            AuditError: If another process writes it or it is full (`busy`), or it is not what was written.
        """
        self._loop = asyncio.get_running_loop()
        self._segments = segments = await to_thread.run_sync(self._open)
        self._thread = threading.Thread(
            target=self._work, args=(segments,), name="ironcurtain-audit", daemon=True
        )
        self._thread.start()
        if began := segments.recovered.began:
            self._began = datetime.fromisoformat(began)
        try:
            self._check_room()
            await self._tell_of_recovery(segments.recovered)
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Write what is waiting, and give up the log."""
        await self._close()

    async def _tell_of_recovery(self, found: Recovered) -> None:
        if found.torn or found.after_head:
            detail: dict[str, JsonValue] = {
                "after_head": found.after_head,
                "torn_bytes": found.torn,
                "torn_digest": found.torn_digest,
            }
            await self.event(EventRecord(time=now(), event=RECOVERED, detail=detail))

    def _check_room(self) -> None:
        if self._size >= self._limit:
            raise self._full()

    async def _close(self) -> None:
        # Whoever is being cancelled still has records waiting, and a lock to give up.
        with anyio.CancelScope(shield=True):
            await self._finish()

    async def _finish(self) -> None:
        self._closing = True
        self._write_soon()
        while self._written is not None:
            await self._written
        self._groups.put(None)
        await to_thread.run_sync(self._thread.join)

    def is_usable(self, request: str, asked: datetime) -> bool:
        """Tell whether an answer to a request of this session may still be used, as far as this log knows.

        Whoever can write the approvals directory can bring back a request, its answer, and the time before
        it was settled there. What was asked before this log began may be told in one that is gone.
        """
        return request not in self._recovered().used and asked >= self._began

    async def decision(self, record: DecisionRecord) -> None:
        """Record a decision; when this returns, the record is on the disk.

        An approval is recorded once, or under a session's grant as long as the log is open.
        """
        if self._is_full or self._size >= self._limit:
            await self._end_at_limit()
        self._use_up(record.approval)
        await self._durable(record)

    async def _end_at_limit(self) -> None:
        """Refuse a decision, for which there is no room; the log tells that once."""
        is_first, self._is_full = not self._is_full, True
        if is_first:
            await self.event(EventRecord(time=now(), event=FULL, detail={"limit": self._limit}))
        raise self._full()

    def _use_up(self, approval: Approval | None) -> None:
        if approval is None or approval.request is None or approval.verdict is not Verdict.ALLOW:
            return
        requests = {approval.request, *approval.others}
        is_again = bool(requests & self._used) and approval.scope == "once"
        if is_again or requests & self._recovered().used:
            raise AuditError(
                "an approval that this log tells to be used up was to be used again",
                where=str(self._paths.path),
            )
        self._used |= requests

    def _recovered(self) -> Recovered:
        return self._segments.recovered if self._segments is not None else Recovered()

    async def event(self, record: EventRecord) -> None:
        """Record an event; when this returns, the record is on the disk."""
        await self._durable(record)

    async def result(self, record: ResultRecord) -> None:
        """Record how a call ended; it is written with the next group, and the call does not wait for that.

        Where it cannot be written, the log says so by its absence: the effect has happened already.
        """
        self._enqueue(record).add_done_callback(_tell_of_loss)
        if self._alarm is None:
            self._alarm = self._loop.call_later(_RESULT_PAUSE, self._write_soon)

    async def _durable(self, record: DecisionRecord | EventRecord) -> None:
        written = self._enqueue(record)
        self._write_soon()
        await written

    def _enqueue(self, record: DecisionRecord | ResultRecord | EventRecord) -> asyncio.Future[None]:
        if self._closing or self._segments is None:
            raise AuditError("the audit log is closed", where=str(self._paths.path))
        written = self._loop.create_future()
        self._pending.append((record_bytes(record), written))
        return written

    def _open(self) -> Segments:
        return Segments(self._paths, key=self._key, max_bytes=self._max_bytes, patience=self._patience)

    def _write_soon(self) -> None:
        """Have what waits written at once, or after the group that is being written now."""
        self._is_wanted = bool(self._pending)
        if self._is_wanted and self._written is None:
            self._is_wanted = False
            if self._alarm is not None:
                self._alarm.cancel()
                self._alarm = None
            group, self._pending = self._pending, []
            self._written = self._loop.create_future()
            self._groups.put(group)

    def _work(self, segments: Segments) -> None:
        """Write what is handed over, in the thread, until that is nothing."""
        while (group := self._groups.get()) is not None:
            self._commit(segments, group)
        segments.close()

    def _commit(self, segments: Segments, group: _Group) -> None:
        """Write a group; whoever waits for it must be told, whatever becomes of it."""
        error: AuditError | None = None
        try:
            segments.commit([record for record, _ in group])
        except Exception as caught:  # noqa: BLE001 - as said
            error = _as_audit_error(caught, self._paths)
        self._loop.call_soon_threadsafe(self._end, group, error)

    def _end(self, group: _Group, error: AuditError | None) -> None:
        """Tell whoever waits for a group what became of it, and go on with the next."""
        self._trouble = error.what if error is not None else ""
        for _, written in group:
            if written.done():
                continue  # whoever waited for it has gone
            if error is None:
                written.set_result(None)
            else:
                written.set_exception(error)
        ended, self._written = self._written, None
        if self._is_wanted:
            self._write_soon()
        if ended is not None and not ended.done():
            ended.set_result(None)


async def open_first_free(logs: Iterable[AuditLog], stack: AsyncExitStack) -> AuditLog:
    """Open the first of several logs that has room and no other writer, until the stack is closed.

    Raises:
        AuditError: If others write all of them or all are full, or one that would be opened is not what was
            written: then a person has to look at it, and no other log may take its place.
    """
    busy: AuditError | None = None
    for log in logs:
        try:
            return await stack.enter_async_context(log)
        except AuditError as error:
            if not error.busy:
                raise
            busy = error
    assert busy is not None  # noqa: S101 - there is at least one log
    raise busy


def _as_audit_error(error: Exception, paths: LogPaths) -> AuditError:
    if isinstance(error, AuditError):
        return error
    return AuditError(f"the audit log cannot be written ({type(error).__name__})", where=str(paths.path))


def _tell_of_loss(written: asyncio.Future[None]) -> None:
    error = None if written.cancelled() else written.exception()
    if error is not None:
        _log.error("the result of a call is not in the audit log: %s", error)
