"""The private directory of one started server, and what stands in for places that must not come into being.

Each directory is locked for as long as its owner lives; the kernel gives the lock up however that ends. So
whoever starts the next server can tell which ones nobody else will remove, and does.

A place that is not there is held by an empty file that stands in for it, mounted read-only. A mount goes with
the file below it, for every server that has it: so the file stays until the last of them has ended.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from pydantic import TypeAdapter

from ironcurtain.settings import user_directory

_TEMPORARY = Path("/tmp")  # noqa: S108 - mkdtemp's names are unguessable; sockets below it need a short path
_PREFIX = "ironcurtain-server-"
_ABSENT = "absent.json"
_PATHS = TypeAdapter(list[str])
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@contextmanager
def private_place(held: Iterable[Path]) -> Iterator[tuple[Path, list[Path]]]:
    """Sweep, then yield a new private directory and what to hold in the stead of some places.

    Args:
        held: Places that must not change, each there or not. What is not there is given a stand-in, or the
            nearest directory above it is that is not there either.

    Raises:
        OSError: If these cannot be made.
    """
    with _turn():
        sweep()
        place, lock = _locked()
        standing = {path: _stand_in(path) for path in held}
        shared = _of_the_living() & {str(path) for path in standing.values()}
        new = {str(path) for path in standing.values() if not os.path.lexists(path)}
        write_private(place / _ABSENT, json.dumps(sorted(shared | new)))
        closed = {path for path in new if not _made(Path(path))}
    try:
        yield place, sorted({path for path in standing.values() if str(path) not in closed})
    finally:
        with _turn():
            _remove(place, lock)


def sweep() -> None:
    """Remove the directories of owners that are gone, and the stand-ins that only they had."""
    for place in _places():
        lock = _lock(place)
        if lock is not None:
            _remove(place, lock)


def write_private(path: Path, text: str) -> None:
    """Write a new file that only we can read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as file:
        file.write(text)


@contextmanager
def _turn() -> Iterator[None]:
    """Wait until no other process of this user makes or removes directories and stand-ins."""
    own = user_directory()
    with ExitStack() as stack:
        with suppress(OSError):
            handle = os.open(own if own.is_dir() else own.parent, _DIRECTORY)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _places() -> list[Path]:
    """Return the private directories of this user."""
    found = []
    for place in sorted(_TEMPORARY.glob(f"{_PREFIX}*")):
        with suppress(OSError):
            status = place.lstat()
            if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
                found.append(place)
    return found


def _locked() -> tuple[Path, int]:
    """Make a directory and lock it; one that somebody swept in between is made again."""
    while True:
        place = Path(os.path.realpath(tempfile.mkdtemp(prefix=_PREFIX, dir=_TEMPORARY)))
        lock = _lock(place)
        if lock is not None and place.is_dir():
            return place, lock


def _lock(place: Path) -> int | None:
    try:
        lock = os.open(place, _DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def _stand_in(path: Path) -> Path:
    """Return the path itself, or what has to be held so that it cannot come into being."""
    below, here = path, path
    while not os.path.lexists(here):
        below, here = here, here.parent
    return below if here.is_dir() or here == path else here


def _made(path: Path) -> bool:
    """Make a stand-in; tell whether something is there now. Where we may make nothing, no server may."""
    with suppress(OSError):
        write_private(path, "")
    return os.path.lexists(path)


def _of_the_living() -> set[str]:
    """Return the stand-ins of all servers that run."""
    return {path for place in _places() for path in _listed(place)}


def _listed(place: Path) -> list[str]:
    try:
        return _PATHS.validate_json((place / _ABSENT).read_bytes())
    except (OSError, ValueError):  # it was killed before that was written
        return []


def _remove(place: Path, lock: int) -> None:
    """Remove a directory, then the stand-ins that no other server has."""
    listed = _listed(place)
    shutil.rmtree(place, ignore_errors=True)
    os.close(lock)
    for path in {*listed} - _of_the_living():
        with suppress(OSError):
            found = os.lstat(path)
            if stat.S_ISREG(found.st_mode) and found.st_size == 0:
                Path(path).unlink()
