"""Who can change a file: what others can write says nothing of what its owner wants.

A group that holds nobody but a file's owner is no other: many systems give each user such a group and make
new files writable by it (umask 002), and a clone of a repository then is.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from ironcurtain.errors import FileError
from ironcurtain.text import visible


def others_can_write(status: os.stat_result) -> bool:
    """Tell whether the mode of a file or directory lets anybody but its owner (and root) write it."""
    return _others_can_write(status, _is_private)


def check_own(path: Path, what: str) -> None:
    """See that nobody but us and root can change a file or directory, or put another one in its place.

    Its own owner and mode count, and those of the directory that it lies in; where it is reached through a
    link, those of the link's directory, too.

    Args:
        path: Of something that exists.
        what: What it is, for the message.

    Raises:
        FileError: If somebody else could.
        OSError: If it cannot be looked at.
    """
    check_all_own([(path, what)])


def check_all_own(named: Iterable[tuple[Path, str]]) -> None:
    """See the same of many files or directories, each with what it is; each place is looked at once.

    Raises:
        FileError, OSError: As `check_own` does.
    """
    check = _Check()
    for path, what in named:
        check.own(path, what)


def check_own_bundle(bundle: Path) -> None:
    """See that nobody but us and root can change a bundle: an archive, or a directory with all that is in it.

    Raises:
        FileError: If somebody else could.
        OSError: If it cannot be looked at.
    """
    inside = sorted(bundle.rglob("*")) if bundle.is_dir() else []
    check_all_own((path, "the bundle") for path in (bundle, *inside))


class _Check:
    """One check of many files: no directory is looked at twice, no list of a group is read twice.

    A directory service may have so many users that reading them takes seconds.
    """

    def __init__(self) -> None:
        self._is_private = cache(_is_private)
        self._fine: set[tuple[Path, bool]] = set()

    def own(self, path: Path, what: str) -> None:
        real = Path(os.path.realpath(path))
        for place in dict.fromkeys((real, real.parent, path.absolute().parent)):
            is_file = place == real
            if (place, is_file) not in self._fine:
                self._look(place, what if is_file else f"the directory of {what}", may_be_sticky=not is_file)
                self._fine.add((place, is_file))

    def _look(self, place: Path, named: str, *, may_be_sticky: bool) -> None:
        status = place.stat()
        if status.st_uid not in (0, os.geteuid()):
            raise FileError(
                f"{named} belongs to another user (id {status.st_uid}), who could change it",
                where=str(place),
                hint=f"Run `chown {os.geteuid()} {visible(str(place))}`, or use a copy of your own.",
            )
        # In a sticky directory, such as /tmp, nobody can replace what is another's.
        sticky = may_be_sticky and status.st_mode & stat.S_ISVTX
        if _others_can_write(status, self._is_private) and not sticky:
            raise FileError(
                f"others can write {named} (mode {stat.S_IMODE(status.st_mode):04o})",
                where=str(place),
                hint=f"Run `chmod go-w {visible(str(place))}`.",
            )


def _others_can_write(status: os.stat_result, is_private: Callable[[int, int], bool]) -> bool:
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not is_private(status.st_gid, status.st_uid)


def _is_private(group: int, owner: int) -> bool:
    """Tell whether a group holds nobody but a user, as far as this system's lists of both tell."""
    try:
        name, members = pwd.getpwuid(owner).pw_name, grp.getgrgid(group).gr_mem
    except KeyError:
        return False
    return {*members} <= {name} and all(
        user.pw_uid == owner for user in pwd.getpwall() if user.pw_gid == group
    )
