"""Where audit logs lie, and the key that vouches for their heads.

A log is `DIRECTORY/SESSION.jsonl`, with further segments beside it and heads in `DIRECTORY/heads`. The key
also makes digests that nobody else can guess at.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

from ironcurtain.errors import FileError, UsageError
from ironcurtain.settings import user_directory
from ironcurtain.system.files import read_bytes
from ironcurtain.system.ownership import others_have_access
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted

SUFFIX = ".jsonl"
MAX_BYTES = 64 << 20
"""The size at which a segment ends, unless configured."""
LIMIT = 4 << 30
"""The size of a whole log at which no call is recorded any more, and so none is made, unless configured."""
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class LogPaths(Struct):
    """The files of one log.

    Attributes:
        session: The log's name.
        path: Its first segment.
        head: Its head file, in a directory of its own.
    """

    session: str
    path: Path
    head: Path

    def segment(self, number: int) -> Path:
        """Return the path of a segment, counted from 1."""
        return self.path if number == 1 else self.path.with_name(f"{self.path.stem}.{number}{SUFFIX}")

    def segments(self) -> Iterator[Path]:
        """Yield the segments that are there, in their order."""
        number = 1
        while (path := self.segment(number)).exists():
            yield path
            number += 1


def audit_directory() -> Path:
    """Return the directory of the user's own audit logs."""
    return user_directory() / "audit"


def session_log(directory: Path, session: str) -> LogPaths:
    """Return where the log of a session lies.

    Raises:
        UsageError: If the name could lead out of the directory, or mean another file.
    """
    if not _SESSION.fullmatch(session):
        raise UsageError(
            f"{quoted(session)} is no name of a session",
            hint="Use letters, digits, `_` and `-`, at most 64, beginning with a letter or digit.",
        )
    return LogPaths(session, directory / f"{session}{SUFFIX}", directory / "heads" / f"{session}.json")


def log_at(path: Path, head: Path | None = None) -> LogPaths:
    """Return the place of a log that lies anywhere, such as a copy."""
    name = path.name.removesuffix(SUFFIX)
    return LogPaths(name, path, head or path.parent / "heads" / f"{name}.json")


def logs_in(directory: Path) -> list[Path]:
    """Return the first segment of each log in a directory; files of other names are somebody else's."""
    return [p for p in directory.glob(f"*{SUFFIX}") if _SESSION.fullmatch(p.name.removesuffix(SUFFIX))]


def all_logs(directory: Path) -> list[str]:
    """Return the names of the logs of a directory, also of those of which the head alone is left."""
    places = [*logs_in(directory), *(directory / "heads").glob("*.json")]
    return sorted({place.stem for place in places})


def find_log(named: str | None, directory: Path, head: Path | None = None) -> LogPaths:
    """Return the log that somebody means: a path, the name of a session, or None for the newest.

    Raises:
        FileError: If there is no such log.
    """
    if named is None:
        return log_at(_newest_first(directory)[0], head)
    segment = directory / f"{named}{SUFFIX}"
    path = segment if _SESSION.fullmatch(named) and segment.exists() else Path(named)
    if not path.is_file():
        if (removed := removed_log(named, directory)) is not None:
            raise FileError(
                "the audit log was removed: only its head is left",
                where=str(removed.path),
                hint=f"Run `ironcurtain audit verify {named}`, and restore the log from a backup.",
            )
        raise FileError("there is no such audit log", where=str(path), hint="Check the path or the name.")
    return log_at(path, head)


def removed_log(named: str, directory: Path) -> LogPaths | None:
    """Return the place of a log of which the head alone is left; None if that is not so."""
    if _SESSION.fullmatch(named):
        paths = session_log(directory, named)
    elif named.endswith(SUFFIX):
        paths = log_at(Path(named))
    else:
        return None
    return paths if paths.head.is_file() and not paths.path.exists() else None


def find_logs(named: str | None, directory: Path) -> list[LogPaths]:
    """Return the logs in which a decision may be: the one that is named, or all, the newest first.

    Raises:
        FileError: If there is no such log, or none at all.
    """
    if named is not None:
        return [find_log(named, directory)]
    return [log_at(path) for path in _newest_first(directory)]


def _newest_first(directory: Path) -> list[Path]:
    first = logs_in(directory)
    if not first:
        raise FileError("there is no audit log", where=str(directory), hint="Name the file of a log.")
    return sorted(first, key=lambda p: (p.stat().st_mtime_ns, p.name), reverse=True)


KEY_BYTES = 32
_MOST_KEY_BYTES = 4096


def default_key_path() -> Path:
    """Return where the user's own key lies."""
    return user_directory() / "audit.key"


def key_file(paths: LogPaths) -> Path | None:
    """Return the file of the key that vouches for a log of the proxy's own; None for a log anywhere else."""
    default = default_key_path()
    is_own = paths.path.absolute().parent == audit_directory().absolute()
    return default if is_own and default.exists() else None


def key_id(key: bytes) -> str:
    """Return what tells keys apart, and nothing else of a key: 16 hexadecimal digits."""
    return hmac.digest(key, b"the id of an audit key", "sha256").hex()[:16]


def read_key(path: Path) -> bytes:
    """Read a key: 64 hexadecimal digits, in a file that nobody else can read.

    Raises:
        FileError: If there is no such file, others can read it, or it holds something else.
    """
    text = read_bytes(path, max_bytes=_MOST_KEY_BYTES)
    status = path.stat()
    if status.st_uid != os.geteuid() or others_have_access(status):
        raise FileError("others can read the key of the audit log", where=str(path), hint="chmod 600")
    try:
        key = bytes.fromhex(text.decode("ascii").strip())
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise FileError(f"the key is not {KEY_BYTES * 2} hexadecimal digits", where=str(path))
    return key


def make_key(path: Path) -> bytes:
    """Make a key where there is none; return the one that is there then.

    Raises:
        FileError: As `read_key`.
        OSError: If it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return read_key(path)
    with os.fdopen(handle, "w") as stream:
        stream.write(secrets.token_hex(KEY_BYTES) + "\n")
        stream.flush()
        os.fsync(stream.fileno())
    return read_key(path)
