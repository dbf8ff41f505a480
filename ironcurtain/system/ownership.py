"""Who can change a file: what others can write says nothing of what its owner wants.

A group that holds nobody but a file's owner is no other: many systems give each user such a group and make
new files writable by it (umask 002), and a clone of a repository then is.
"""

from __future__ import annotations

import errno
import grp
import os
import pwd
import stat
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

from ironcurtain.errors import FileError
from ironcurtain.system.structs import Struct, replace
from ironcurtain.system.text import visible

_NAME = "system.posix_acl_access"
_HEAD, _ENTRY = struct.Struct("<I"), struct.Struct("<HHI")
_USER, _GROUP_OWNER, _GROUP, _MASK = 0x02, 0x04, 0x08, 0x10
_WRITE = 0o2
_NONE = frozenset({errno.ENODATA, errno.EOPNOTSUPP})


class AccessList(Struct):
    """Who can write a file by its list, beside its owner and everybody.

    Attributes:
        users: Ids of the users that the list names.
        groups: Ids of the groups that it names.
        owning_group: Whether the file's own group can.
    """

    users: tuple[int, ...]
    groups: tuple[int, ...]
    owning_group: bool


def access_list(place: Path) -> AccessList | None:
    """Return a file's access list; None if it has none, or the system keeps none with files.

    Raises:
        OSError: If it cannot be read.
    """
    if sys.platform != "linux":
        return None
    try:
        data = os.getxattr(place, _NAME)
    except OSError as error:
        if error.errno in _NONE:
            return None
        raise
    entries = [*_ENTRY.iter_unpack(data[_HEAD.size :])]
    mask = next((permissions for tag, permissions, _ in entries if tag == _MASK), _WRITE)
    writers = [(tag, who) for tag, permissions, who in entries if permissions & mask & _WRITE]
    return AccessList(
        users=tuple(who for tag, who in writers if tag == _USER),
        groups=tuple(who for tag, who in writers if tag == _GROUP),
        owning_group=any(tag == _GROUP_OWNER for tag, _ in writers),
    )


_MOST_LINKS = 40
_MACOS_ADMINISTRATORS = 80


def check_own(path: Path, what: str) -> None:
    """See that nobody but us and root can change a file or directory, or put another one in its place.

    Owner, mode and access list count: its own, and those of every directory and link that the kernel passes
    on the way to it. Where all of them are ours, nobody else can change what is opened afterwards.

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
        found = check.weakness(path)
        if found is not None:
            raise FileError(
                found.told.format(f"{found.relation}{what}"),
                where=str(found.place),
                hint=found.hint,
            )


def check_own_bundle(bundle: Path) -> None:
    """See that nobody but us and root can change a bundle: an archive, or a directory with all that is in it.

    Raises:
        FileError: If somebody else could.
        OSError: If it cannot be looked at.
    """
    inside = sorted(bundle.rglob("*")) if bundle.is_dir() else []
    check_all_own((path, "the bundle") for path in (bundle, *inside))


def weakness(path: Path) -> str | None:
    """Return how somebody else could change what stands at a path, or put another there; None if nobody can.

    Raises:
        OSError: If it cannot be looked at.
    """
    found = _Check().weakness(path)
    return found.told.format(visible(str(found.place))) if found else None


def weakness_above(path: Path) -> Weakness | None:
    """Return how somebody else could put another thing in the place of a path; None if nobody can.

    What stands there itself, if anything does, is not looked at.

    Raises:
        OSError: If what is above it cannot be looked at.
    """
    return _Check().above(path)


def places_on_the_way(path: Path) -> Iterator[Path]:
    """Yield every directory and link that the kernel passes to a path, from the root on, then where it ends.

    Raises:
        OSError: If a link cannot be read, or there are too many.
    """
    here, links = Path("/"), 0
    waiting = [*reversed(path.absolute().parts[1:])]
    yield here
    while waiting:
        name = waiting.pop()
        if name == "..":
            here = here.parent
            continue
        place = here / name
        yield place
        if not place.is_symlink():
            here = place
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        target = place.readlink()
        here = Path("/") if target.is_absolute() else here
        waiting += reversed([part for part in target.parts if part != "/"])


class Weakness(Struct):
    """How somebody else could change a place.

    Attributes:
        told: That, as a sentence without its full stop and with a gap (`{}`) for what the place is.
        hint: What mends it.
        relation: What the place is to what was asked about; empty for that itself.
    """

    place: Path
    told: str
    hint: str
    relation: str = ""


class _Check:
    """One check of many files: no directory is looked at twice, no list of a group is read twice.

    A directory service may have so many users that reading them takes seconds.
    """

    def __init__(self) -> None:
        self._is_private = cache(_is_private)
        self._fine: set[tuple[Path, bool]] = set()

    def weakness(self, path: Path) -> Weakness | None:
        *above, end = dict.fromkeys(places_on_the_way(path))
        for place in (end, *reversed(above)):
            is_end = place == end
            if (place, is_end) not in self._fine:
                found = self._look(place, may_be_sticky=not is_end)
                if found is not None:
                    return replace(found, relation="" if is_end else _relation(place, path.absolute(), end))
                self._fine.add((place, is_end))
        return None

    def above(self, path: Path) -> Weakness | None:
        """Look at the directories and links on the way to a path alone."""
        places = dict.fromkeys(places_on_the_way(path.absolute().parent))
        looks = (self._look(place, may_be_sticky=True) for place in places)
        return next((weakness for weakness in looks if weakness is not None), None)

    def _look(self, place: Path, *, may_be_sticky: bool) -> Weakness | None:
        status = place.lstat()
        if status.st_uid not in (0, os.geteuid()):
            return Weakness(
                place,
                f"{{}} belongs to another user (id {status.st_uid}), who could change it",
                f"Run `chown {os.geteuid()} {visible(str(place))}`, or use a copy of your own.",
            )
        # In a sticky directory, such as /tmp, nobody can replace what is another's; a link has no mode.
        if stat.S_ISLNK(status.st_mode) or (may_be_sticky and status.st_mode & stat.S_ISVTX):
            return None
        listed = access_list(place)
        if listed is not None and not status.st_mode & stat.S_IWOTH:
            return self._by_list(place, status.st_uid, status.st_gid, listed)
        if others_can_write(status, self._is_private):
            return Weakness(
                place,
                f"others can write {{}} (mode {stat.S_IMODE(status.st_mode):04o})",
                f"Run `chmod go-w {visible(str(place))}`.",
            )
        return None

    def _by_list(self, place: Path, owner: int, group: int, listed: AccessList) -> Weakness | None:
        """Look who can write by an access list: there the mode's group bits tell of no group."""
        users = [f"user {user}" for user in listed.users if user not in (0, os.geteuid())]
        named = [group_id for group_id in listed.groups if not self._is_private(group_id, owner)]
        if listed.owning_group and not self._is_private(group, owner):
            named.append(group)
        others = [*users, *(f"group {group_id}" for group_id in named)]
        if not others:
            return None
        return Weakness(
            place,
            f"others can write {{}} by its access list ({', '.join(others)})",
            f"Run `setfacl -b {visible(str(place))}`.",
        )


def _relation(place: Path, path: Path, end: Path) -> str:
    if place in (path.parent, end.parent):
        return "the directory of "
    return "a link on the way to " if place.is_symlink() else "a directory on the way to "


def _is_private(group: int, owner: int) -> bool:
    """Tell whether a group holds nobody but a user, as far as this system's lists of both tell."""
    if sys.platform == "darwin" and group == _MACOS_ADMINISTRATORS:
        return True  # they can become root
    try:
        name, members = pwd.getpwuid(owner).pw_name, grp.getgrgid(group).gr_mem
    except KeyError:
        return False
    return {*members} <= {name} and all(
        user.pw_uid == owner for user in pwd.getpwall() if user.pw_gid == group
    )


def others_have_access(status: os.stat_result) -> bool:
    """Tell whether the mode of a file that holds a secret lets anybody but its owner use it."""
    return bool(status.st_mode & (stat.S_IRWXG | stat.S_IRWXO))


def others_can_write(status: os.stat_result, is_private: Callable[[int, int], bool] = _is_private) -> bool:
    """Tell whether the mode of a file or directory lets anybody but its owner (and root) write it.

    Args:
        status: Of the file or directory.
        is_private: Tells whether a group holds nobody but a user.
    """
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not is_private(status.st_gid, status.st_uid)
