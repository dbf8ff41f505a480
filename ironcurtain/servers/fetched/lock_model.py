"""`mcp-servers.lock.json`: what servers that fetch themselves were pinned to, beside their configuration."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from ironcurtain.system.frozen import Digest, Frozen, ServerName

Manager: TypeAlias = Literal["npm", "pypi"]
"""Whose packages: those that npm installs, or those that uv and pip install."""


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
        pins: Each package with its version and digest, as lines of the package manager's own lock file.
    """

    tree: Digest
    pins: tuple[str, ...]


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
    version: str
    run: str
    unrun: tuple[str, ...] = ()
    platforms: dict[str, Pinned]


class ServerLock(Frozen):
    """The whole file."""

    format: Literal["ironcurtain/server-lock/v1"] = "ironcurtain/server-lock/v1"
    servers: dict[ServerName, FetchedServer] = Field(default_factory=dict)
