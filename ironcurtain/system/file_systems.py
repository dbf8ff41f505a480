"""What is known of file systems: which lie on this machine, and which tell moved inodes by their times."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

TIMED = frozenset({"ext2", "ext3", "ext4", "xfs", "f2fs", "tmpfs"})
"""Those that change an inode's time when it is moved, and at nothing that we could take for that."""
_NEAR = TIMED | {"btrfs", "overlay"}


def is_near(device: int) -> bool:
    """Tell whether a device is a disk or memory of this machine: a look at it takes no time to speak of."""
    return kind_of(device) in _NEAR


@cache
def kind_of(device: int) -> str | None:
    """Return the kind of file system on a device; None where it is not told."""
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        mounts = Path("/proc/self/mountinfo").read_text(errors="replace").splitlines()
    except OSError:
        return None
    words = (line.split() for line in mounts)
    return next((each[each.index("-") + 1] for each in words if each[2] == number), None)
