"""Who can change a file: what others can write says nothing of what its owner wants.

A group that holds nobody but a file's owner is no other: many systems give each user such a group and make
new files writable by it (umask 002), and a clone of a repository then is.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path

from ironcurtain.errors import FileError
from ironcurtain.text import visible


def others_can_write(status: os.stat_result) -> bool:
    """Tell whether the mode of a file or directory lets anybody but its owner (and root) write it."""
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _is_private(status.st_gid, status.st_uid)


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
    real = Path(os.path.realpath(path))
    for place in dict.fromkeys((real, real.parent, path.absolute().parent)):
        status = place.stat()
        named = what if place == real else f"the directory of {what}"
        if status.st_uid not in (0, os.geteuid()):
            raise FileError(
                f"{named} belongs to another user (id {status.st_uid}), who could change it",
                where=str(place),
                hint=f"Run `chown {os.geteuid()} {visible(str(place))}`, or use a copy of your own.",
            )
        # In a sticky directory, such as /tmp, nobody can replace what is another's.
        if others_can_write(status) and not (place != real and status.st_mode & stat.S_ISVTX):
            raise FileError(
                f"others can write {named} (mode {stat.S_IMODE(status.st_mode):04o})",
                where=str(place),
                hint=f"Run `chmod go-w {visible(str(place))}`.",
            )


def _is_private(group: int, owner: int) -> bool:
    """Tell whether a group holds nobody but a user, as far as this system's lists of both tell."""
    try:
        name, members = pwd.getpwuid(owner).pw_name, grp.getgrgid(group).gr_mem
    except KeyError:
        return False
    return {*members} <= {name} and all(
        user.pw_uid == owner for user in pwd.getpwall() if user.pw_gid == group
    )
