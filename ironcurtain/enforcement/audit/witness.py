"""What is told of a log outside its directory, so that an older log, or none, cannot pass for all there was.

Whoever can write the directory can put back a log as it was, with its head, or remove both. A receipt says
how far a log had come; it is appended to a file that somebody else owns, or that only grows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
from anyio import to_thread
from pydantic import ValidationError

from ironcurtain.enforcement.audit.hash_chain import ChangedLineError, head_mac, is_vouched, open_line
from ironcurtain.enforcement.audit.log_paths import LogPaths
from ironcurtain.enforcement.audit.reader import read_lines
from ironcurtain.enforcement.audit.record_types import GENESIS, AuditVerification, Head, LogProblem
from ironcurtain.errors import AuditError, FileError
from ironcurtain.system import json_text
from ironcurtain.system.files import read_bytes

_SECONDS = 1.0
_MAX_BYTES = 256 << 20
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def append(path: Path, session: str, count: int, seal: str, key: bytes | None) -> None:
    """Append the receipt of a log's state; when this returns, it is on the disk.

    Raises:
        OSError: If that fails.
    """
    head = Head(session=session, count=count, seal=seal)
    told = {**head.model_dump(mode="json"), "mac": head_mac(head, key)}
    handle = os.open(path, _APPEND, 0o600)
    try:
        os.write(handle, json_text.canonical(told) + b"\n")
        os.fsync(handle)
    finally:
        os.close(handle)


def receipts(path: Path, session: str, key: bytes | None) -> list[Head]:
    """Return the receipts of a log that are good; with a key, those that were written with it.

    Raises:
        FileError: If the file cannot be read.
    """
    found = []
    for line in read_bytes(path, max_bytes=_MAX_BYTES).splitlines():
        try:
            head = Head.model_validate_json(line)
        except ValidationError:
            continue
        if head.session == session and (key is None or is_vouched(head, key)):
            found.append(head)
    return found


def disagreements(paths: LogPaths, told: list[Head]) -> Iterator[str]:
    """Yield what receipts know of a log that is not so, in plain words.

    Raises:
        FileError: If the log cannot be read.
    """
    wanted = {head.count: head.seal for head in told}
    last = max(wanted, default=0)
    count, seals = 0, {0: GENESIS}
    for line in read_lines(paths):
        count = line.number
        if count in wanted:
            try:
                seals[count] = open_line(line.data).seal
            except ChangedLineError:
                seals[count] = ""
    if count < last:
        yield f"the log has {count} lines, and its witness knows of {last}: it is an older one, or a new one"
    for at, seal in sorted(wanted.items()):
        if at in seals and seals[at] != seal:
            yield f"line {at} is not the one that the witness knows"
            return


def witnessed(found: AuditVerification, paths: LogPaths, told: list[Head] | None) -> AuditVerification:
    """Return what verifying a log found, with what its witness knows, and what nobody could know."""
    if told is None:
        words = "whether it is an older log that was put back with its head (give --witness FILE)"
        return found.model_copy(update={"unknown": (words,)})
    wrong = [
        LogProblem(kind="witness", file=paths.path.name, message=said) for said in disagreements(paths, told)
    ]
    last = max((head.count for head in told), default=0)
    unknown = []
    if not told:
        unknown = [
            "whether it is an older log that was put back with its head: the witness knows nothing of it"
        ]
    elif last < found.lines:
        unknown = [f"whether lines after {last} were ever others: the witness was told of none of them"]
    return found.model_copy(
        update={
            "intact": found.intact and not wrong,
            "keyed": found.keyed and not wrong,
            "problems": (*found.problems, *wrong),
            "witnessed": last,
            "unknown": tuple(unknown),
        }
    )


def gone(paths: LogPaths, told: list[Head]) -> AuditVerification | None:
    """Return what is found where there is no log, and a witness knows of one; None where it knows of none."""
    last = max((head.count for head in told), default=0)
    if not last or paths.path.exists():
        return None
    message = f"there is no such log, and its witness knows of {last} lines"
    return AuditVerification(
        session=paths.session,
        intact=False,
        lines=0,
        segments=0,
        truncation="checked",
        keyed=False,
        open=False,
        problems=(LogProblem(kind="witness", file=paths.path.name, message=message),),
        witnessed=last,
    )


class AuditWitness:
    """Tells of a log's progress while it is written."""

    def __init__(self, path: Path, paths: LogPaths, key: bytes | None, say: Callable[[str], None]) -> None:
        """Take the file of receipts, the log, the key of its head, and who is told where it fails."""
        self._path, self._paths, self._key, self._say = path, paths, key, say
        self._told: tuple[int, str] = (-1, "")
        self._trouble = ""

    def check(self) -> None:
        """See that the log is the one that was told of.

        Raises:
            AuditError: If it is an older one, or another.
        """
        if not self._path.exists():
            return
        try:
            disagreement = next(
                disagreements(self._paths, receipts(self._path, self._paths.session, self._key)), ""
            )
        except FileError as error:
            raise AuditError(f"the witness cannot be read: {error.what}", where=str(self._path)) from error
        if disagreement:
            raise AuditError(
                f"the audit log is not what was written: {disagreement}",
                where=str(self._paths.path),
                hint="Keep it, run `ironcurtain audit verify --witness`, and name another session.",
            )

    async def keep(self, state: Callable[[], tuple[int, str]]) -> None:
        """Tell of whatever was written, once a second, until cancelled; then of the end."""
        try:
            while True:
                await self.tell(state())
                await anyio.sleep(_SECONDS)
        finally:
            with anyio.CancelScope(shield=True):
                await self.tell(state())

    async def tell(self, state: tuple[int, str]) -> None:
        """Tell of a state, if it is another one than before."""
        if state == self._told:
            return
        try:
            await to_thread.run_sync(append, self._path, self._paths.session, *state, self._key)
        except OSError as error:
            trouble = f"the witness cannot be written: {error.strerror}"
            if trouble != self._trouble:
                self._say(trouble)
            self._trouble = trouble
        else:
            self._told, self._trouble = state, ""
