"""The lock beside a servers' file: `mcp-servers.json` has `mcp-servers.lock.json`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ironcurtain.errors import PublishError
from ironcurtain.servers.fetched.lock_model import FetchedServer, ServerLock
from ironcurtain.system import json_text
from ironcurtain.system.files import atomic_write, has_content, load


def lock_of(servers: Path) -> Path:
    """Return where the lock of a servers' file is, whether it is there or not."""
    return servers.with_suffix(".lock.json")


def read_lock(servers: Path) -> ServerLock:
    """Read the lock of a servers' file; one that is not there names nothing.

    Raises:
        FileError, FormatError, NewerFormatError: If it is not what it should be.
    """
    path = lock_of(servers)
    return load(path, ServerLock) if has_content(path) else ServerLock()


def with_fetched(lock: ServerLock, found: Mapping[str, FetchedServer]) -> ServerLock:
    """Return a lock with servers more, or in the place of what it had of them."""
    return lock.model_copy(update={"servers": dict(sorted({**lock.servers, **found}.items()))})


def lock_text(lock: ServerLock) -> str:
    """Return a lock as it is written: byte for byte the same for the same lock."""
    return json_text.pretty(lock.model_dump(mode="json", exclude_none=True))


def write_lock(servers: Path, lock: ServerLock, *, mode: int = 0o644) -> None:
    """Write the lock of a servers' file, whole or not at all.

    Raises:
        PublishError: If it cannot be written.
    """
    path = lock_of(servers)
    try:
        atomic_write(path, lock_text(lock).encode(), mode=mode)
    except OSError as error:
        raise PublishError(
            f"the lock cannot be written: {error.strerror or error}",
            where=str(path),
            hint="What was fetched stays; the next `ironcurtain servers fetch` takes it.",
        ) from error
