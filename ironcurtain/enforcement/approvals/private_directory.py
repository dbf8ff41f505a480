"""A directory that nobody but us can write: opened once without following links, used through its descriptor.

Everything is done relative to that descriptor, so a directory that is swapped for another one is
noticed (`check`) and never used.
"""

from __future__ import annotations

import os
import secrets
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from ironcurtain.decision.canonical.paths import is_within
from ironcurtain.enforcement.approvals.messages import Fault
from ironcurtain.errors import ApprovalsError
from ironcurtain.system.locks import lock_handle
from ironcurtain.system.ownership import others_have_access, weakness_above
from ironcurtain.system.text import visible

TEMPORARY = ".new-"
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a FIFO would wait for somebody to write into it.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_HOLD = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class UntrustedFileError(Exception):
    """A file is none that we read.

    Attributes:
        fault: What kind of problem it is.
        reason: In plain words.
    """

    def __init__(self, fault: Fault, reason: str) -> None:
        super().__init__(reason)
        self.fault: Fault = fault
        self.reason = reason


class Closing(ABC):
    """What `close` ends, at the end of a `with` block at the latest."""

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Close it."""


class PrivateDirectory(Closing):
    """An open private directory; use it as a context manager, or `close` it.

    Attributes:
        path: Where it was opened, for messages.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        """Take a descriptor that is ready; `open` is the way to get one."""
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def open(cls, path: Path, *, create: bool) -> Self:
        """Open a directory that only we can write; with `create`, make it (mode 0700) if it is missing.

        Raises:
            ApprovalsError: If it is missing, no directory, a symlink, or others could write or swap it.
        """
        absolute = path.absolute()
        if create:
            with _explained(path):
                absolute.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with suppress(FileExistsError):
                    absolute.mkdir(mode=0o700)
        check_ancestors(absolute)
        with _explained(path):
            descriptor = os.open(Path(os.path.realpath(absolute.parent)) / absolute.name, _DIRECTORY)
        opened = cls(absolute, descriptor)
        try:
            opened.check()
        except ApprovalsError:
            opened.close()
            raise
        return opened

    def close(self) -> None:
        """Close the descriptor; nothing can be done with the directory afterwards."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def check(self) -> int:
        """Tell that the directory still stands at its path and is still private.

        Returns:
            The time of its last change, in nanoseconds.

        Raises:
            ApprovalsError: If it was replaced or removed, or others can write it.
        """
        with _explained(self.path):
            status = os.fstat(self._descriptor)
            standing = os.lstat(self.path)
        if (status.st_dev, status.st_ino) != (standing.st_dev, standing.st_ino):
            raise ApprovalsError(
                "the approvals directory was replaced by another one",
                where=str(self.path),
                hint="Start again.",
            )
        _check_private(status, self.path, "the approvals directory", 0o700)
        return status.st_mtime_ns

    def names(self) -> list[str]:
        """Return the names of everything in it, in no order."""
        return os.listdir(self._descriptor)  # noqa: PTH208 - a Path knows no descriptors

    def changed_at(self, name: str) -> float | None:
        """Return when an entry was last changed, in seconds since 1970; None if it is gone."""
        try:
            return os.stat(name, dir_fd=self._descriptor, follow_symlinks=False).st_mtime
        except FileNotFoundError:
            return None

    def read(self, name: str, *, max_bytes: int) -> bytes | None:
        """Return the content of a regular file; None if there is none of that name.

        Raises:
            UntrustedFileError: If it is a link, no regular file, unreadable or too large.
        """
        try:
            descriptor = os.open(name, _READ, dir_fd=self._descriptor)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UntrustedFileError("no-file", f"it cannot be opened as a file: {error.strerror}") from None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UntrustedFileError("no-file", "it is no regular file")
            data = _read_up_to(descriptor, max_bytes + 1)
        finally:
            os.close(descriptor)
        if len(data) > max_bytes:
            raise UntrustedFileError("too-large", f"it is larger than {max_bytes:,} bytes")
        return data

    def create(self, name: str, data: bytes) -> bool:
        """Write a new file (mode 0600), whole and durable before it is seen; False if the name is taken.

        Raises:
            OSError: If it cannot be written; nothing of it is then left.
        """
        temporary = f"{TEMPORARY}{secrets.token_hex(8)}"
        descriptor = os.open(temporary, _CREATE, 0o600, dir_fd=self._descriptor)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            # A link, unlike a renaming, never replaces what is there.
            os.link(
                temporary,
                name,
                src_dir_fd=self._descriptor,
                dst_dir_fd=self._descriptor,
                follow_symlinks=False,
            )
        except FileExistsError:
            return False
        finally:
            self.remove(temporary)
        os.fsync(self._descriptor)
        return True

    def hold(self, name: str) -> int:
        """Lock an entry, making it where it is missing, until the handle that is returned is closed.

        Raises:
            OSError: If it cannot be opened as a file.
        """
        handle = os.open(name, _HOLD, 0o600, dir_fd=self._descriptor)
        os.utime(handle)
        lock_handle(handle, shared=True, wait=True)  # whoever looks holds it for a moment
        return handle

    def is_held(self, name: str) -> bool:
        """Tell whether some process holds an entry."""
        try:
            handle = os.open(name, _READ, dir_fd=self._descriptor)
        except OSError:
            return False
        try:
            return not lock_handle(handle)
        finally:
            os.close(handle)

    def remove(self, *names: str) -> None:
        """Remove entries of whatever kind; what is gone, or cannot be removed, is left as it is."""
        for name in names:
            with suppress(OSError):
                os.unlink(name, dir_fd=self._descriptor)


def check_ancestors(path: Path) -> None:
    """Tell that nobody but us and root could put another directory in the place of a path.

    Raises:
        ApprovalsError: If somebody can rename something above it.
    """
    with _explained(path):
        found = weakness_above(path)
    if found is not None:
        raise ApprovalsError(
            found.told.format("a directory above the approvals directory or its key"),
            where=str(found.place),
            hint=found.hint,
        )


def check_outside(path: Path, roots: Iterable[Path]) -> None:
    """Tell that a directory or key lies outside everything that an agent or a server can write.

    Args:
        path: The approvals directory, or its key.
        roots: The sandbox and the working roots of the servers.

    Raises:
        ApprovalsError: If it lies in one of them, or one of them in it.
    """
    real = os.path.realpath(path)
    for root in roots:
        reached = os.path.realpath(root)
        if is_within(real, reached) or is_within(reached, real):
            raise ApprovalsError(
                f"approvals must lie apart from {visible(str(root))}, where agent or servers can write",
                where=str(path),
                hint="Name a directory of your own outside the sandbox and the working roots.",
            )


def read_private(path: Path, *, max_bytes: int, what: str = "the key") -> bytes | None:
    """Return the content of a file that only we can read and that has no second name; None if it is missing.

    Args:
        path: The file.
        max_bytes: How much of it is read.
        what: What it is, for messages.

    Raises:
        ApprovalsError: If it is anything else.
    """
    check_ancestors(path)
    try:
        descriptor = os.open(Path(os.path.realpath(path.absolute().parent)) / path.name, _READ)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ApprovalsError(f"{what} cannot be opened: {error.strerror}", where=str(path)) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ApprovalsError(f"{what} is no regular file", where=str(path))
        if status.st_nlink != 1:
            raise ApprovalsError(
                f"{what} has a second name somewhere (a hard link)", where=str(path), hint="Make it anew."
            )
        _check_private(status, path, what, 0o600)
        return _read_up_to(descriptor, max_bytes)
    finally:
        os.close(descriptor)


def _read_up_to(descriptor: int, count: int) -> bytes:
    with os.fdopen(descriptor, "rb", closefd=False) as stream:
        return stream.read(count)


def _check_private(status: os.stat_result, path: Path, what: str, mode: int) -> None:
    if status.st_uid != os.geteuid():
        raise ApprovalsError(f"{what} belongs to another user (id {status.st_uid})", where=str(path))
    found = stat.S_IMODE(status.st_mode)
    if others_have_access(status):
        can = "written" if found & _OTHERS_WRITE else "read"
        raise ApprovalsError(
            f"{what} can be {can} by others (mode {found:04o})",
            where=str(path),
            hint=f"Run `chmod {mode:o} {visible(str(path))}`.",
        )


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ApprovalsError(
            f"the approvals directory cannot be used: {error.strerror}",
            where=str(path),
            hint="Name a directory of your own, which is no link.",
        ) from error
