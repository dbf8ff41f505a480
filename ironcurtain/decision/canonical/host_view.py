"""The host as canonicalisation sees it: the few questions that it asks of a machine.

Path and remote resolution are written once, over this protocol. `this_host.ThisHost` answers from the
running kernel and real git; `simulated_host.SimulatedHost` answers from the `world` of a scenario file, so
that verification gives the same result on every machine. A property test holds the two equal.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import NamedTuple, Protocol

from ironcurtain.system.structs import Struct

_BY_NAME = re.compile(
    r"/dev/(?:fd|stdin|stdout|stderr)(?:/.*)?"
    r"|/proc/(?:self|thread-self)(?:/.*)?"
    r"|/proc/[0-9]+/(?:task/[0-9]+/)?(?:cwd|root|exe|fd|ns|map_files)(?:/.*)?",
    re.DOTALL,
)
_PROCESS = re.compile(r"/proc/([0-9]+)(?:/.*)?", re.DOTALL)

PROCESS_PLACES = ("/proc/", "/dev/")
"""Where every path lies that another process may read otherwise, or that is of one process."""


def is_process_relative(path: str) -> bool:
    """Tell by the absolute path alone whether it is one of the system's process-relative or magic links.

    These are `/proc/self`, `/proc/thread-self`, `/dev/fd`, `/dev/stdin` and its like, the magic links of
    any process (their text is not where they lead), and everything below them.
    """
    return path.startswith(PROCESS_PLACES) and _BY_NAME.fullmatch(path) is not None


def is_own_process(path: str) -> bool:
    """Tell whether the absolute path is, or lies in, `/proc/<pid>` of this process or a descendant of it.

    A process whose parents cannot be told counts as ours.
    """
    if not path.startswith("/proc/"):
        return False
    match = _PROCESS.fullmatch(path)
    return match is not None and _descends_from_us(int(match[1]))


def _descends_from_us(pid: int) -> bool:
    while pid > 0:
        status = Path(f"/proc/{pid}/status")
        try:
            lines = status.read_text(encoding="utf-8", errors="surrogateescape").split("\n")
        except FileNotFoundError:
            return False
        except OSError:
            return True
        facts = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        # A thread has a directory of its own that no listing shows; its group is the process.
        if int(facts["Tgid"]) == os.getpid():
            return True
        pid = int(facts["PPid"])
    return False


class FileKind(Enum):
    """What stands at a path, links not followed."""

    DIRECTORY = "directory"
    FILE = "file"
    SYMLINK = "symlink"
    OTHER = "other"


class FileEntry(NamedTuple):
    """One directory entry, links not followed.

    Attributes:
        identity: Device and inode: equal for two names of one file.
        links: Number of hard links.
        name: The entry's spelling as the file system stores it (differs from the asked-for spelling on
            case-insensitive and Unicode-normalising file systems).
    """

    kind: FileKind
    identity: tuple[int, int]
    links: int
    name: str


class UnreadableError(Exception):
    """The world cannot say what stands at a path (permission denied, I/O error)."""


class RemoteUrls(Struct):
    """What git would contact for one remote argument in one repository.

    Attributes:
        urls: Every URL, after insteadOf and pushInsteadOf, fetch and push alike, in git's spelling.
        unresolved: Why the set cannot be known, or None if it is complete.
    """

    urls: tuple[str, ...]
    unresolved: str | None = None


class RepositoryPlaces(Struct):
    """The directories of a git repository that a tool working in it also touches.

    Attributes:
        top: Top of the work tree; None for a bare repository.
        common: The common git directory.
        stores: Other places that git reads objects and its own files from, outside of these.
        submodules: Work trees and git directories of submodules that lie outside.
        worktrees: Other work trees of the repository that lie outside.
    """

    top: str | None
    common: str
    stores: tuple[str, ...] = ()
    submodules: tuple[str, ...] = ()
    worktrees: tuple[str, ...] = ()


class HostView(Protocol):
    """What canonicalisation may ask. Paths are absolute; no method follows a final symlink."""

    @property
    def never_changes(self) -> bool:
        """Whether its answers stay what they are, so that they can be kept from one call to the next."""

    def for_one_call(self) -> HostView:
        """Return the view of one call, which may remember what git said until the call is decided."""

    def entry(self, path: str) -> FileEntry | None:
        """Return what stands at the path, or None if nothing does.

        Raises:
            UnreadableError: If that cannot be told.
        """

    def readlink(self, path: str) -> str:
        """Return the target of the symlink at the path.

        Raises:
            UnreadableError: If it cannot be read.
        """

    def children(self, path: str) -> Sequence[str]:
        """Return the names in the directory at the path, sorted.

        Raises:
            UnreadableError: If it cannot be listed.
        """

    def is_process_link(self, path: str) -> bool:
        """Tell whether the real path means another thing to another process (`/proc/self`, `/dev/fd`, …)."""

    def repository(self, path: str, *, server: str) -> RepositoryPlaces | None:
        """Return the places of the repository that the server's git would use there, or None.

        Raises:
            UnreadableError: If git cannot say.
        """

    def remote(self, repository: str | None, remote: str | None, *, server: str) -> RemoteUrls:
        """Return what git would contact for `remote` (a URL, a name, or None when absent).

        Args:
            repository: Real path of the call's repository, or None if the call has none.
            remote: The argument's text, or None when the argument is absent.
            server: The server whose environment git is to be asked in.
        """
