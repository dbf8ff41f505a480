"""The private directories of what runs: of engines and of contained servers, below one place of this user.

The place has one name, whatever TMPDIR says: who keeps it from tools and servers keeps what other processes
have in it, too, and what is made there later. Sockets below it need a short path. TMPDIR counts only for a
process that may not write where the place belongs, in a container of its own.

Each directory is locked for as long as its owner lives; the kernel gives the lock up however that ends. So
whoever makes the next one can tell which ones nobody else will remove, and does.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ironcurtain.errors import FileError
from ironcurtain.system.locks import lock_handle
from ironcurtain.system.text import visible

PARENT = Path("/tmp")  # noqa: S108 - what lies in a directory of our own there is nobody else's
_MODE = 0o700
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PATIENCE = 60.0
_POLL = 0.01


def runtime_directory() -> Path:
    """Return where all private directories of this user are, whether it is there or not."""
    parent = PARENT if os.access(PARENT, os.W_OK | os.X_OK) else tempfile.gettempdir()
    return Path(os.path.realpath(parent)) / f"ironcurtain-{os.geteuid()}"


@contextmanager
def private_directory(kind: str) -> Iterator[Path]:
    """Remove what dead owners left, then yield a new directory of mode 0700 that is removed at the end.

    Args:
        kind: A short word; only directories of the same kind are swept.

    Raises:
        FileError: If the place is not ours alone.
        OSError: If there can be no directory.
    """
    for left, lock in abandoned(kind):
        remove(left, lock)
    place, lock = claim(kind)
    try:
        yield place
    finally:
        remove(place, lock)


def claim(kind: str) -> tuple[Path, int]:
    """Make a directory and lock it; `remove` takes both.

    Raises:
        FileError, OSError: As `private_directory`.
    """
    root = _root()
    while True:  # one that somebody sweeps before it is locked is made again
        place = Path(tempfile.mkdtemp(prefix=f"{kind}-", dir=root))
        with suppress(FileNotFoundError):
            lock = os.open(place, _DIRECTORY)
            if lock_handle(lock) and place.is_dir():
                return place, lock
            os.close(lock)


def present(kind: str) -> list[Path]:
    """Return all directories of a kind, of the living and of the dead."""
    return sorted(_root().glob(f"{kind}-*"))


def abandoned(kind: str) -> Iterator[tuple[Path, int]]:
    """Yield the directories of a kind whose owners are gone, each locked for us: `remove` them."""
    for place in present(kind):
        with suppress(OSError):
            lock = os.open(place, _DIRECTORY)
            if lock_handle(lock):
                yield place, lock
            else:
                os.close(lock)


def remove(place: Path, lock: int) -> None:
    """Remove a directory, whatever was left in it, and give up its lock."""
    try:
        with suppress(RecursionError):
            shutil.rmtree(place, ignore_errors=True)
        if place.is_dir():  # what a server nests deeper than we can follow, this can
            subprocess.run(["/bin/rm", "-rf", "--", str(place)], stderr=subprocess.DEVNULL, check=False)  # noqa: S603 - a path of our own
    finally:
        os.close(lock)


def shared_file(name: str) -> Path:
    """Return a file that all processes of this user share; it is made where it is not there yet.

    Raises:
        FileError: If the place is not ours alone.
        OSError: If the file cannot be made.
    """
    path = _root() / name
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    return path


@contextmanager
def turn() -> Iterator[None]:
    """Wait until no other process of this user has its turn.

    Raises:
        FileError: If the place is not ours alone.
        TimeoutError: If another process does not end its turn.
        OSError: If the place cannot be opened.
    """
    handle = os.open(_root(), _DIRECTORY)
    try:
        _wait_for(handle)
        yield
    finally:
        os.close(handle)


def _wait_for(handle: int) -> None:
    end = time.monotonic() + _PATIENCE
    while not lock_handle(handle):
        if time.monotonic() > end:
            raise TimeoutError(f"another process has held {runtime_directory()} for {_PATIENCE:g} s")
        time.sleep(_POLL)


def _root() -> Path:
    """Make the place where it is not there yet, and see that it is ours alone."""
    root = runtime_directory()
    with suppress(FileExistsError):
        root.mkdir(mode=_MODE)
    status = root.lstat()
    if stat.S_ISDIR(status.st_mode):
        owner, mode = status.st_uid, stat.S_IMODE(status.st_mode)
        wrong = "belongs to another user" if owner != os.geteuid() else ""
        if not wrong and mode != _MODE:
            wrong = f"has mode {mode:04o}, not {_MODE:04o}"
    else:
        wrong = "is no directory"
    if wrong:
        raise FileError(
            f"the directory of what runs {wrong}: somebody else could be in it",
            where=str(root),
            hint=f"End every `ironcurtain`, then remove it (root can): `rm -r {visible(str(root))}`.",
        )
    return root
