"""The lock beside a servers' file: `mcp-servers.json` has `mcp-servers.lock.json`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self, TypeAlias

from pydantic import Field, model_validator

from ironcurtain.errors import PublishError
from ironcurtain.servers.fetched.pins import Version, check_requirements, npm_lock
from ironcurtain.system import json_text
from ironcurtain.system.files import atomic_write, has_content, load
from ironcurtain.system.frozen import Digest, Frozen, ServerName

Manager: TypeAlias = Literal["npm", "pypi"]
"""Whose packages: those that npm installs, or those that uv installs."""


class Wanted(Frozen):
    """What a server's command asks a package runner for.

    Attributes:
        packages: As the command names them, with version or range if it gives one; the first one is the
            server's, the others are installed beside it.
        program: The program to run, if the command names one apart from the package.
        python: The version of Python, if the command names one: `3.12`.
    """

    manager: Manager
    packages: tuple[str, ...] = Field(min_length=1)
    program: str | None = None
    python: str | None = None


class Pinned(Frozen):
    """What was installed on machines of one kind.

    Attributes:
        tree: Digest of all files that run.
        pins: Each package with its version and digest, as lines of the package manager's own lock file, of
            which only the grammar of `pins.py` is taken.
    """

    tree: Digest
    pins: tuple[str, ...] = Field(min_length=1)


class FetchedServer(Frozen):
    """One server.

    Attributes:
        wanted: What its command asked for; another command needs another fetch.
        package: The package that holds the program, with `version`.
        run: The program in the installation, a relative path.
        unrun: Packages with install scripts, which were not run.
        platforms: By kind of machine (and for Python by its version) what was installed there.
    """

    wanted: Wanted
    package: str
    version: Version
    run: str
    unrun: tuple[str, ...] = ()
    platforms: dict[str, Pinned]

    @model_validator(mode="after")
    def _check(self) -> Self:
        for pinned in self.platforms.values():
            if self.wanted.manager == "npm":
                npm_lock("\n".join(pinned.pins))
            else:
                check_requirements(pinned.pins)
        return self


class ServerLock(Frozen):
    """The whole file."""

    format: Literal["ironcurtain/server-lock/v1"] = "ironcurtain/server-lock/v1"
    servers: dict[ServerName, FetchedServer] = Field(default_factory=dict)


def lock_of(servers: Path) -> Path:
    """Return where the lock of a servers' file is, whether it is there or not."""
    return servers.with_suffix(".lock.json")


def read_lock(servers: Path) -> ServerLock:
    """Read the lock of a servers' file; one that is not there names nothing.

    Raises:
        FileError, FormatError, NewerFormatError: If it is not what it should be.
    """
    path = lock_of(servers)
    return load(path, ServerLock) if has_content(path) else ServerLock()


def with_fetched(lock: ServerLock, found: Mapping[str, FetchedServer]) -> ServerLock:
    """Return a lock with servers more, or in the place of what it had of them."""
    return lock.model_copy(update={"servers": dict(sorted({**lock.servers, **found}.items()))})


def lock_text(lock: ServerLock) -> str:
    """Return a lock as it is written: byte for byte the same for the same lock."""
    return json_text.pretty(lock.model_dump(mode="json", exclude_none=True))


def write_lock(servers: Path, lock: ServerLock, *, mode: int = 0o644) -> None:
    """Write the lock of a servers' file, whole or not at all.

    Raises:
        PublishError: If it cannot be written.
    """
    path = lock_of(servers)
    try:
        atomic_write(path, lock_text(lock).encode(), mode=mode)
    except OSError as error:
        raise PublishError(
            f"the lock cannot be written: {error.strerror or error}",
            where=str(path),
            hint="What was fetched stays; the next `ironcurtain servers fetch` takes it.",
        ) from error
