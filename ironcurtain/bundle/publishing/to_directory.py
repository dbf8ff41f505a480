"""Publishing a bundle into a directory: one writer at a time, and readers see the old file or the new."""

from __future__ import annotations

from pathlib import Path

from ironcurtain.bundle.members import MAX_BYTES
from ironcurtain.bundle.publishing.rollback_check import replaces
from ironcurtain.errors import BusyError, UsageError
from ironcurtain.system.files import atomic_write, read_bytes, sync_directory, unwritten
from ironcurtain.system.locks import work_lock
from ironcurtain.system.text import quoted

_WAIT = 30.0


def publish_to_directory(archive: bytes, directory: Path, name: str) -> bool:
    """Put a verified archive into a directory; return False if it is there already.

    Args:
        archive: The signed bundle, a `.tar.gz`.
        directory: It is made if it does not exist. The lock file `.NAME.lock` lies in it.
        name: The file's name there.

    Raises:
        UsageError: If the name is none of a visible file in that directory.
        BusyError: If another process publishes there for too long.
        PublishError: If what is there must stay, or the file cannot be written; nothing changed then.
    """
    if not name or Path(name).name != name or name.startswith("."):
        raise UsageError(f"{quoted(name)} is no name of a file", hint="Name it as bundle.tar.gz, say.")
    target = directory / name
    try:
        directory.mkdir(parents=True, exist_ok=True)
        busy = BusyError("another process publishes into this directory", where=str(directory))
        with work_lock(directory / f".{name}.lock", seconds=_WAIT, busy=busy):
            there = read_bytes(target, max_bytes=MAX_BYTES) if target.exists() else None
            if not replaces(archive, there, str(target)):
                return False
            atomic_write(target, archive)
            sync_directory(directory)
    except OSError as error:
        raise unwritten("the bundle", target, error) from error
    return True
