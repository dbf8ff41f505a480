"""The files of a log as its writer holds them: locked, checked, appended to and synchronised.

`recover` says of a log that is there already what its writer must know to continue it, or why nobody may.
Everything here blocks; `AuditLog` runs it in a thread. An object is used by one thread at a time.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ironcurtain.enforcement.audit.hash_chain import (
    HEAD_BYTES,
    ChangedLineError,
    SealedLine,
    follow_chain,
    head_text,
    is_vouched,
    read_head,
    seal_line,
    split_lines,
)
from ironcurtain.enforcement.audit.log_paths import LogPaths
from ironcurtain.enforcement.audit.record_types import GENESIS, Head
from ironcurtain.errors import AuditError
from ironcurtain.system import json_text
from ironcurtain.system.files import sync_directory
from ironcurtain.system.locks import lock_handle, unlock_handle
from ironcurtain.system.ownership import others_can_write
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import visible

_FILE_MODE = 0o600
_DIRECTORY_MODE = 0o700
_LOCK_PAUSE = 0.02
_GLANCE = 10.0
_OPEN = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW

LOCK_PATIENCE = 1.0
"""Seconds that a log's writer of before has to end, unless somebody knows better."""


@dataclass
class _Segment:
    """The segment that is written: its number, its file and how long it must be."""

    number: int
    path: Path
    handle: int
    size: int


class Segments:
    """The one writer of a log.

    Args:
        paths: The log's files; what is missing is made, private to the user.
        key: Key of the head.
        max_bytes: Size at which a segment is closed and the next one begun.
        patience: Seconds to wait for another writer's end.

    Raises:
        AuditError: If another process writes this log (`busy`), or what is there is not what was written.
    """

    def __init__(
        self, paths: LogPaths, *, key: bytes | None, max_bytes: int, patience: float = LOCK_PATIENCE
    ) -> None:
        self._paths, self._key, self._max_bytes = paths, key, max_bytes
        self._broken = ""
        with contextlib.ExitStack() as stack, _told(paths):
            for directory in (paths.path.parent, paths.head.parent):
                directory.mkdir(parents=True, exist_ok=True, mode=_DIRECTORY_MODE)
                _check_private(directory)
            self._head = os.open(
                paths.head, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, _FILE_MODE
            )
            stack.callback(os.close, self._head)
            _lock(self._head, paths, patience)
            self.recovered: Recovered = recover(paths, os.pread(self._head, HEAD_BYTES + 1, 0), key)
            self._count, self._seal = self.recovered.count, self.recovered.seal
            self._size = self.recovered.total
            self._segment = self._open_segment(max(self.recovered.segments, 1), self.recovered.size)
            self._write_head()
            os.fsync(self._head)
            stack.pop_all()

    @property
    def count(self) -> int:
        """How many lines the log has."""
        return self._count

    @property
    def size(self) -> int:
        """How many bytes all segments have."""
        return self._size

    @property
    def seal(self) -> str:
        """The seal of the last line."""
        return self._seal

    def commit(self, records: Sequence[bytes]) -> None:
        """Append records, as `hash_chain.record_bytes` makes them, and return when they are on the disk.

        Raises:
            AuditError: If that failed; then none of them is in the log.
        """
        if self._broken:
            raise AuditError(self._broken, where=str(self._paths.path))
        with _told(self._paths):
            self._check_files()
            if self._segment.size >= self._max_bytes:
                self._rotate()
            lines, seal = [], self._seal
            for record in records:
                line, seal = seal_line(record, seal)
                lines.append(line)
            self._append(b"".join(lines))
            self._count, self._seal = self._count + len(lines), seal
            self._write_head()

    def close(self) -> None:
        """Close the files and give up the log."""
        with contextlib.suppress(OSError):
            os.fsync(self._head)
        os.close(self._segment.handle)
        os.close(self._head)

    def _append(self, data: bytes) -> None:
        segment = self._segment
        try:
            _write_all(segment.handle, data)
        except OSError:
            self._take_back()
            raise
        try:
            os.fdatasync(segment.handle)
        except OSError as error:
            # What the disk holds after a failed synchronisation is not known, and will not get better.
            self._broken = f"the disk failed: {error.strerror}"
            raise
        segment.size += len(data)
        self._size += len(data)

    def _take_back(self) -> None:
        """Remove what was written of records that nobody was told are written."""
        try:
            os.ftruncate(self._segment.handle, self._segment.size)
        except OSError as error:
            self._broken = f"an incomplete record could not be removed: {error.strerror}"

    def _check_files(self) -> None:
        """Refuse to go on in files that are no longer the ones in place."""
        segment = self._segment
        size = self._in_place(segment.path, segment.handle).st_size
        self._in_place(self._paths.head, self._head)
        if size != segment.size:
            self._broken = f"{visible(segment.path.name)} was changed by somebody else"
            raise AuditError(self._broken, where=str(segment.path))

    def _in_place(self, path: Path, handle: int) -> os.stat_result:
        """Return what is known of a file that is the one in place."""
        try:
            there = os.lstat(path)
        except FileNotFoundError:
            self._broken = f"{visible(path.name)} was removed"
            raise AuditError(self._broken, where=str(path)) from None
        status = os.fstat(handle)
        if (there.st_dev, there.st_ino) != (status.st_dev, status.st_ino):
            self._broken = f"{visible(path.name)} was replaced by another file"
            raise AuditError(self._broken, where=str(path))
        return status

    def _rotate(self) -> None:
        following = self._open_segment(self._segment.number + 1, 0)
        os.close(self._segment.handle)
        self._segment = following

    def _open_segment(self, number: int, size: int) -> _Segment:
        path = self._paths.segment(number)
        is_new = size == 0 and number != self.recovered.segments
        handle = os.open(path, _OPEN | (os.O_CREAT | os.O_EXCL if is_new else 0), _FILE_MODE)
        try:
            os.ftruncate(handle, size)
            os.fsync(handle)
            sync_directory(path.parent)
        except BaseException:
            os.close(handle)
            raise
        return _Segment(number, path, handle, size)

    def _write_head(self) -> None:
        os.pwrite(self._head, head_text(self._paths.session, self._count, self._seal, self._key), 0)


@contextlib.contextmanager
def _told(paths: LogPaths) -> Iterator[None]:
    """Turn what the operating system refuses into our own error."""
    try:
        yield
    except OSError as error:
        raise AuditError(
            f"the audit log cannot be written: {error.strerror}",
            where=str(error.filename or paths.path),
            hint="No call is forwarded until it can be.",
        ) from error


def _lock(handle: int, paths: LogPaths, patience: float) -> None:
    """Become the log's one writer; whoever only looks whether there is one holds the lock very briefly."""
    end = time.monotonic() + patience
    while not lock_handle(handle):
        now = time.monotonic()
        # Those who only look can share the lock, for a moment; nobody shares it with a writer.
        if now >= end + _GLANCE or (now >= end and not lock_handle(handle, shared=True)):
            raise AuditError(
                "another process is writing this audit log",
                where=str(paths.path),
                hint="Give this session another name.",
                busy=True,
            )
        unlock_handle(handle)
        time.sleep(_LOCK_PAUSE)


def _check_private(directory: Path) -> None:
    status = directory.stat()
    if status.st_uid != os.geteuid():
        raise AuditError(
            f"the directory of audit logs belongs to another user (id {status.st_uid})", where=str(directory)
        )
    if others_can_write(status):
        raise AuditError(
            f"others can write the directory of audit logs (mode {stat.S_IMODE(status.st_mode):04o})",
            where=str(directory),
            hint=f"Run `chmod 700 {visible(str(directory))}`.",
        )


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


# -- continuing a log --------------------------------------------------------------------------

_ASKED = b'"approval":{'
_UNSETTLED = frozenset({"pending", "withdrawn"})


class Recovered(Struct):
    """The state of a log that is opened.

    Attributes:
        segments: How many segments there are.
        size: The size of the last one's complete lines in bytes; `total` that of all segments.
        count: How many lines there are.
        seal: The last line's seal.
        after_head: How many of them the writer before could not vouch for any more.
        torn: How many bytes of an incomplete line it left; `torn_digest` is their digest.
        began: The time of the first record; empty for a new log.
        used: The approval requests whose answers it tells to be used up.
    """

    segments: int = 0
    size: int = 0
    total: int = 0
    count: int = 0
    seal: str = GENESIS
    after_head: int = 0
    torn: int = 0
    torn_digest: str = ""
    began: str = ""
    used: frozenset[str] = frozenset()


def recover(paths: LogPaths, head_text: bytes, key: bytes | None) -> Recovered:
    """Read a log up to its end.

    A writer that was killed in the middle of a line leaves it incomplete; nobody was told that it is
    written, so it is dropped, and the log tells so in a record. Anything else is not continued.

    Args:
        paths: The log's files.
        head_text: What the head file holds; empty for a new log.
        key: The head's key.

    Raises:
        AuditError: If the log is not what was written.
    """
    segments = list(paths.segments())
    head = _head(paths, head_text, key)
    if head is None:
        if segments:
            raise _refused(paths, "its head file is missing, so it cannot be told whether lines were removed")
        return Recovered()
    count, seal, at_head, size, total, torn = 0, GENESIS, GENESIS, 0, 0, b""
    began, used = "", set[str]()
    for path in segments:
        if torn:
            raise _refused(paths, "a segment that others follow ends in the middle of a line")
        data = path.read_bytes()
        lines, torn = split_lines(data)
        for line in follow_chain(lines, seal):
            if not isinstance(line, SealedLine):
                raise _refused(paths, f"line {count + 1}: {line}")
            count, seal = count + 1, line.seal
            at_head = seal if count == head.count else at_head
            began = began or json.loads(line.record)["time"]
            used.update(_used(line.record))
        size = len(data) - len(torn)
        total += size
    if count < head.count:
        raise _refused(paths, f"it has {count} lines, and its head knows of {head.count}")
    if at_head != head.seal:
        raise _refused(paths, f"line {head.count} is not the one that its head knows")
    return Recovered(
        segments=len(segments),
        size=size,
        total=total,
        count=count,
        seal=seal,
        after_head=count - head.count,
        torn=len(torn),
        torn_digest=json_text.digest_bytes(torn) if torn else "",
        began=began,
        used=frozenset(used),
    )


def _used(record: bytes) -> Iterator[str]:
    """Yield the request whose answer a record tells to be used up."""
    if _ASKED not in record:
        return
    approval = json.loads(record).get("approval")
    if approval and approval.get("request") and approval.get("state") not in _UNSETTLED:
        yield approval["request"]
        yield from approval.get("others", ())


def _head(paths: LogPaths, text: bytes, key: bytes | None) -> Head | None:
    if not text:
        return None
    try:
        head = read_head(text)
    except ChangedLineError as error:
        raise _refused(paths, f"its head file was changed: {error}") from None
    if head.session != paths.session or (key is not None and not is_vouched(head, key)):
        raise _refused(paths, "its head file is not the one that was written for it with this key")
    return head


def _refused(paths: LogPaths, why: str) -> AuditError:
    return AuditError(
        f"the audit log is not what was written: {why}",
        where=str(paths.path),
        hint="Keep it, run `ironcurtain audit verify`, and start a session of another name.",
    )
