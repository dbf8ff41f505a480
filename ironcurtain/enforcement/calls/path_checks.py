"""Looks at the evaluated paths, before a call is sent and after its answer: was one swapped meanwhile?

A path that leads elsewhere by now is seen as such. A swap that was undone in time is seen by what it leaves
behind: whoever moves a directory away and back changes the time at which its inode was last changed, which
nobody can set, but not that of its entries.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from ironcurtain.decision.canonical.paths import ancestors
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.enforcement.calls.destination import NoAnswerError
from ironcurtain.enforcement.calls.path_locks import CallPaths
from ironcurtain.enforcement.calls.run_blocking import run_blocking
from ironcurtain.model.decision import Decision

Marks = Mapping[str, os.stat_result | None]
"""What stood at each evaluated path and on the way to it; None where nothing did."""

_TIMED = frozenset({"ext2", "ext3", "ext4", "xfs", "f2fs", "tmpfs"})
"""File systems that change an inode's time when it is moved, and at nothing that we could take for that."""
_NEAR = _TIMED | {"btrfs", "overlay"}
"""File systems of this machine's own disks and memory: a look at one takes no time to speak of."""
_TICK = 0.002
_PATIENCE = 0.05


class ElsewhereError(Exception):
    """An evaluated path leads elsewhere, or did.

    Attributes:
        path: The place that is, or was, another one.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


def prepare_slowly(call: Call, loaded: LoadedPolicy) -> tuple[Prepared | Decision, bool]:
    """Do steps 1 to 5, and tell whether the call's paths lie where a later look takes no time."""
    prepared = prepare(call, loaded)
    return prepared, isinstance(prepared, Prepared) and are_near(CallPaths.of(prepared))


def are_near(paths: CallPaths) -> bool:
    """Tell whether nothing at the paths and on the way to them can keep us waiting. It may wait itself."""
    try:
        marks = [_mark(path) for path in _way(paths)]
    except ElsewhereError:
        return False
    return all(_system(mark.st_dev) in _NEAR for mark in marks if mark is not None)


def look(paths: CallPaths) -> Marks:
    """Return what stands at the paths and on the way to them, settled: a later change of it will show.

    Raises:
        ElsewhereError: If one of them leads through a link, or is moved about without end.
    """
    end = time.monotonic() + _PATIENCE
    while True:
        marks, unsettled = _look_once(paths)
        if unsettled is None:
            return marks
        if time.monotonic() > end:
            raise ElsewhereError(unsettled)
        time.sleep(_TICK)


async def look_aside(paths: CallPaths, *, near: bool) -> Marks:
    """Do what `look` does, in a thread where it could take long; `near` as `are_near` told."""
    if near:
        marks, unsettled = _look_once(paths)
        if unsettled is None:
            return marks
    return await run_blocking(partial(look, paths))


async def look_again_aside(paths: CallPaths, before: Marks, *, near: bool) -> None:
    """Do what `look_again` does, in a thread where it could take long."""
    if near:
        look_again(paths, before)
    else:
        await run_blocking(partial(look_again, paths, before))


def look_again(paths: CallPaths, before: Marks) -> None:
    """See that nothing on the way was swapped since `look`, but for what the call itself may change.

    Raises:
        ElsewhereError: If something was.
    """
    for path, was in before.items():
        now = _mark(path)
        if was is not None and _was_moved(was, now) and not _is_own(path, paths.changed):
            raise ElsewhereError(path)


def _way(paths: CallPaths) -> list[str]:
    return sorted({each for path in paths.all for each in ancestors(path)})


def _look_once(paths: CallPaths) -> tuple[Marks, str | None]:
    """Return what stands there, and a place that was moved so lately that a later move may not show."""
    now = _clock()
    marks = {path: _mark(path) for path in _way(paths)}
    return marks, next((path for path, mark in marks.items() if _is_fresh(mark, now)), None)


def _mark(path: str) -> os.stat_result | None:
    """Return what stands at an evaluated path; a path that cannot be looked at leads elsewhere, too."""
    try:
        mark = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        raise ElsewhereError(path) from None
    if stat.S_ISLNK(mark.st_mode):
        raise ElsewhereError(path)
    return mark


def _is_own(path: str, changed: Iterable[str]) -> bool:
    return any(path == each or path.startswith(f"{each}/") for each in changed)


def _was_moved(was: os.stat_result, now: os.stat_result | None) -> bool:
    """Tell whether what stood there was away for a time.

    A directory that is gone, or another one, was. A file may be: editors and caches replace files.
    """
    if now is None or (was.st_dev, was.st_ino) != (now.st_dev, now.st_ino):
        return stat.S_ISDIR(was.st_mode)
    if was.st_ctime_ns == now.st_ctime_ns or not _keeps_times(was.st_dev):
        return False
    # The two times are the same where entries or content were what changed last.
    return now.st_ctime_ns != now.st_mtime_ns and _told(was) == _told(now)


def _told(mark: os.stat_result) -> tuple[int, ...]:
    """Return what else changes an inode's time: its mode and owner, and further names of a file."""
    names = 0 if stat.S_ISDIR(mark.st_mode) else mark.st_nlink
    return (mark.st_mode, mark.st_uid, mark.st_gid, names)


def _is_fresh(mark: os.stat_result | None, now: int) -> bool:
    """Tell whether something was moved so lately that the next move could leave the same time."""
    if mark is None or mark.st_ctime_ns < now or mark.st_ctime_ns == mark.st_mtime_ns:
        return False
    return _keeps_times(mark.st_dev)


def _clock() -> int:
    """Return the time by the clock that the kernel gives inodes theirs by, in nanoseconds."""
    return time.clock_gettime_ns(getattr(time, "CLOCK_REALTIME_COARSE", time.CLOCK_REALTIME))


def _keeps_times(device: int) -> bool:
    """Tell whether a device's file system is known to tell moved inodes by their times."""
    return _system(device) in _TIMED


@cache
def _system(device: int) -> str | None:
    """Return the kind of file system on a device; None where it is not told."""
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        mounts = Path("/proc/self/mountinfo").read_text(errors="replace").splitlines()
    except OSError:
        return None
    words = (line.split() for line in mounts)
    return next((each[each.index("-") + 1] for each in words if each[2] == number), None)


T = TypeVar("T")

Tell = Callable[..., Coroutine[Any, Any, None]]
"""Records a violation: what, with `path` where one is known."""

_ELSEWHERE = "a path that was judged leads elsewhere, or did meanwhile"
_UNSENT, _UNTOLD = "not sent: ", "its answer is withheld: "


class Watched:
    """What stands at the paths of one call; where that was swapped, a violation is recorded.

    Each look raises `NoAnswerError` then.
    """

    def __init__(self, paths: CallPaths | None, tell: Tell, *, near: bool) -> None:
        """Watch these, if any; `near` where a look at them never takes long."""
        self._paths, self._tell, self._near = paths, tell, near
        self._before: Marks = {}

    async def begin(self) -> None:
        """See that the evaluated paths are what they were, before the call is sent."""
        if self._paths is not None:
            self._before = await self._see(_UNSENT, look_aside(self._paths, near=self._near))

    async def ready(self, wrong: str) -> None:
        """See the same when a process has been started for the call: what it was given is what was evaluated.

        Args:
            wrong: What is wrong with the process; nothing if it is as it should be.

        Raises:
            NoAnswerError: If something is wrong with it, or the paths lead elsewhere now: nothing was sent.
        """
        if wrong:
            await self._tell(f"{_UNSENT}{wrong}")
            raise NoAnswerError(f"{_UNSENT}{wrong}")
        await self._again(_UNSENT)

    async def end(self) -> None:
        """See it after the answer."""
        await self._again(_UNTOLD)

    async def _again(self, so: str) -> None:
        if self._paths is not None:
            await self._see(so, look_again_aside(self._paths, self._before, near=self._near))

    async def _see(self, so: str, looking: Awaitable[T]) -> T:
        try:
            return await looking
        except ElsewhereError as error:
            path = error.path
        await self._tell(f"{so}{_ELSEWHERE}", path=path)
        raise NoAnswerError(f"{so}{_ELSEWHERE}")
