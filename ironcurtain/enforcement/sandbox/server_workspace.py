"""The private directory of one started server, and what stands in for places that must not come into being.

A place that is not there is held by something empty that stands in for it, mounted read-only. A mount goes
with what is below it, for every server that has it: so that stays until the last of them has ended.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import TypeAdapter

from ironcurtain.errors import FileError
from ironcurtain.system import private_runtime

_KIND = "server"
_ABSENT = "absent.json"
_FILES = {"config": "", "commondir": ".\n"}
"""Names without a suffix that are files, and what stands in for them: an empty `commondir` would stop git."""
_PATHS = TypeAdapter(list[str])


@contextmanager
def private_workspace(held: Iterable[Path]) -> Iterator[tuple[Path, list[Path]]]:
    """Sweep, then yield a new private directory and what to hold in the stead of some places.

    This waits for other processes and removes whatever the server leaves: do it in a thread.

    Args:
        held: Places that must not change, each there or not. What is not there is given a stand-in, or the
            nearest directory above it is that is not there either.

    Raises:
        FileError: If the place of all such directories is not ours alone.
        OSError: If these cannot be made.
    """
    for left, lock in private_runtime.abandoned(_KIND):
        _end(left, lock)
    workspace, lock = private_runtime.claim(_KIND)
    try:
        yield workspace, _stand_in_for(held, workspace)
    finally:
        _end(workspace, lock)


def write_private(path: Path, text: str) -> None:
    """Write a new file that only we can read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as file:
        file.write(text)


def _stand_in_for(held: Iterable[Path], workspace: Path) -> list[Path]:
    """Make stand-ins and note them in the server's directory; return what is there to be held."""
    wanted = sorted({*held}, reverse=True)  # of two with one stand-in the upper counts
    if not wanted:
        return []
    with private_runtime.turn():
        standing = {_standing(path): path for path in wanted}
        shared = _of_the_living() & {str(path) for path in standing}
        new = {path for path in standing if not os.path.lexists(path)}
        write_private(workspace / _ABSENT, json.dumps(sorted(shared | {str(path) for path in new})))
        closed = {path for path in new if not _made(path, directory=_is_directory(standing[path], path))}
    return sorted(standing.keys() - closed)


def _standing(path: Path) -> Path:
    """Return the path itself, or what has to be held so that it cannot come into being."""
    below, here = path, path
    while not os.path.lexists(here):
        below, here = here, here.parent
    return below if here.is_dir() or here == path else here


def _is_directory(path: Path, standing: Path) -> bool:
    """Tell whether a directory stands in: for questions and hooks, so that people can write there."""
    is_file = path.name in _FILES or "config" in path.name  # as git's configuration may include
    return path == standing and not path.suffix and not is_file


def _made(path: Path, *, directory: bool) -> bool:
    """Make a stand-in; tell whether something is there now. Where we may make nothing, no server may."""
    with suppress(OSError):
        if directory:
            path.mkdir(mode=0o755)
        else:
            write_private(path, _FILES.get(path.name, ""))
    return os.path.lexists(path)


def _of_the_living() -> set[str]:
    """Return the stand-ins of all servers that run."""
    return {path for workspace in private_runtime.present(_KIND) for path in _listed(workspace)}


def _listed(workspace: Path) -> list[str]:
    try:
        return _PATHS.validate_json((workspace / _ABSENT).read_bytes())
    except (OSError, ValueError):  # it was killed before that was written
        return []


def _end(workspace: Path, lock: int) -> None:
    """Remove the stand-ins that no other server has, then the directory, which may take long."""
    try:
        _remove_stand_ins(workspace)
    except (OSError, FileError):  # whoever starts the next server tries again
        os.close(lock)
        return
    private_runtime.remove(workspace, lock)


def _remove_stand_ins(workspace: Path) -> None:
    listed = _listed(workspace)
    if not listed:
        return
    with private_runtime.turn():
        (workspace / _ABSENT).unlink()
        for path in sorted({*listed} - _of_the_living(), reverse=True):
            with suppress(OSError):
                _remove_stand_in(Path(path))


def _is_ours(path: Path, size: int) -> bool:
    """Tell whether nobody has written to a stand-in."""
    made = _FILES.get(path.name, "").encode()
    return size == len(made) and path.read_bytes() == made


def _remove_stand_in(path: Path) -> None:
    found = path.lstat()
    if stat.S_ISREG(found.st_mode) and _is_ours(path, found.st_size):
        path.unlink()
    elif stat.S_ISDIR(found.st_mode):
        path.rmdir()  # it stays where somebody has put something there
