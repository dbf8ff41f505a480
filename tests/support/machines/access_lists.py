"""Access lists of files, as `setfacl` writes them."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

OTHER = 12345
"""The id of another user, or group."""
_OWNER, _USER, _GROUP_OWNER, _GROUP, _MASK, _OTHERS = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
_NOBODY = 0xFFFFFFFF


def access(path: Path, *, user: int | None = None, group: int | None = None, mask: int = 0o7) -> None:
    """Give a path an access list that lets a user or group write, as `setfacl` would."""
    entries = [
        (_OWNER, 7, _NOBODY),
        (_GROUP_OWNER, 0, _NOBODY),
        (_MASK, mask, _NOBODY),
        (_OTHERS, 0, _NOBODY),
    ]
    entries += [(_USER, 7, user)] if user is not None else []
    entries += [(_GROUP, 7, group)] if group is not None else []
    packed = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in sorted(entries))
    try:
        os.setxattr(path, "system.posix_acl_access", packed)
    except OSError as error:
        pytest.skip(f"this file system keeps no access lists: {error.strerror}")
