"""Where audit logs lie: `DIRECTORY/SESSION.jsonl`, further segments beside it, heads in `DIRECTORY/heads`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ironcurtain.errors import FileError, UsageError
from ironcurtain.settings import user_directory
from ironcurtain.system.text import quoted

SUFFIX = ".jsonl"
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True)
class LogPaths:
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
    """Return the place of a log that lies anywhere, such as a copy.

    Args:
        path: Its first segment.
        head: Its head file, if it is not where the writer puts it.
    """
    name = path.name.removesuffix(SUFFIX)
    return LogPaths(name, path, head or path.parent / "heads" / f"{name}.json")


def logs_in(directory: Path) -> list[Path]:
    """Return the first segment of each log in a directory; files of other names are somebody else's."""
    return [p for p in directory.glob(f"*{SUFFIX}") if _SESSION.fullmatch(p.name.removesuffix(SUFFIX))]


def find_log(named: str | None, directory: Path, head: Path | None = None) -> LogPaths:
    """Return the log that somebody means: a path, the name of a session, or None for the newest.

    Raises:
        FileError: If there is no such log.
    """
    if named is None:
        first = logs_in(directory)
        if not first:
            raise FileError("there is no audit log", where=str(directory), hint="Name the file of a log.")
        return log_at(max(first, key=lambda p: (p.stat().st_mtime_ns, p.name)), head)
    own = directory / f"{named}{SUFFIX}"
    path = own if _SESSION.fullmatch(named) and own.exists() else Path(named)
    if not path.is_file():
        raise FileError("there is no such audit log", where=str(path), hint="Check the path or the name.")
    return log_at(path, head)
