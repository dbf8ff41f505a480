"""Waiting until files change, for `--watch`.

The operating system tells when something happens in a directory; what counts is whether a file's content
is another one. So a file may be replaced, come into being or go, and what happened while nobody waited (in
the middle of a compile) is noticed, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from hashlib import sha256
from pathlib import Path

from watchfiles import watch

Files = Callable[[], AbstractSet[Path]]
"""Returns the files that count now, be they there or not."""

_QUIET_MS = 100
_LONGEST_MS = 1000
_LOOK_AGAIN_MS = 1000


def changes(files: Files) -> Iterator[tuple[Path, ...]]:
    """Yield nothing once, and from then on the files that changed, as soon as they did.

    Several changes within a tenth of a second come together. Whoever reads goes on when it is done with
    what it was given; files that change meanwhile come next.

    Raises:
        KeyboardInterrupt: At Ctrl-C.
        OSError: If the system watches no more directories.
    """
    seen = _contents(files())
    yield ()
    while True:
        while not _next_change(files, seen):
            pass
        _wait_until_written(files)
        before, seen = seen, _contents(files())
        if changed := _different(before, seen):
            yield changed


def tree(directory: Path) -> set[Path]:
    """Return the files below a directory, and the directory itself, which need not be there."""
    return {directory, *(path for path in directory.rglob("*") if path.is_file())}


def _next_change(files: Files, seen: Mapping[Path, str]) -> tuple[Path, ...]:
    """Wait until the content of a file is another one, and return which; nothing where others count now."""
    watched = files()
    directories, states = _directories(watched), _states(watched)
    events = watch(
        *sorted(directories),
        watch_filter=None,
        debounce=_LONGEST_MS,
        step=_QUIET_MS,
        rust_timeout=_LOOK_AGAIN_MS,
        yield_on_timeout=True,
        recursive=False,
    )
    changed = _different(seen, _contents(watched))
    while not changed:
        next(events)
        watched = files()
        now = _states(watched)
        if now != states:
            states, changed = now, _different(seen, _contents(watched))
        if _directories(watched) != directories:
            break
    return changed


def _wait_until_written(files: Files) -> None:
    """Wait until nothing changes for a moment: who writes a file may have emptied it first."""
    states: dict[Path, tuple[int, int, int] | None] | None = None
    while states != (states := _states(files())):
        time.sleep(_QUIET_MS / 1000)


def _directories(files: AbstractSet[Path]) -> set[Path]:
    """Return the directories in which files come, go and change: for each file the nearest that is there."""
    return {next(parent for parent in file.absolute().parents if parent.is_dir()) for file in files}


def _states(files: AbstractSet[Path]) -> dict[Path, tuple[int, int, int] | None]:
    """Return what changes when a file does, without reading it."""
    return {file: _state(file) for file in files}


def _state(file: Path) -> tuple[int, int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _contents(files: AbstractSet[Path]) -> dict[Path, str]:
    return {file: digest for file in files if (digest := _content(file))}


def _content(file: Path) -> str:
    try:
        return sha256(file.read_bytes()).hexdigest()
    except OSError:
        return ""


def _different(before: Mapping[Path, str], after: Mapping[Path, str]) -> tuple[Path, ...]:
    return tuple(sorted(file for file in {*before, *after} if before.get(file) != after.get(file)))
