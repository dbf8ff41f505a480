"""Access lists of files: who can write by one, where Linux keeps it with the file (POSIX lists)."""

from __future__ import annotations

import errno
import os
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

_NAME = "system.posix_acl_access"
_HEAD, _ENTRY = struct.Struct("<I"), struct.Struct("<HHI")
_USER, _GROUP_OWNER, _GROUP, _MASK = 0x02, 0x04, 0x08, 0x10
_WRITE = 0o2
_NONE = frozenset({errno.ENODATA, errno.EOPNOTSUPP})


@dataclass(frozen=True)
class AccessList:
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
