"""What one server may touch: restrictive defaults, then what the configuration adds."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ironcurtain.errors import ServerConfigError
from ironcurtain.model.base import Json
from ironcurtain.model.servers import FilesystemSettings, SandboxSettings, Server
from ironcurtain.runtime import runtime_directory
from ironcurtain.sandbox.repositories import code_of_repositories
from ironcurtain.sandbox.sign_ins import sign_ins
from ironcurtain.servers.config import real_paths
from ironcurtain.text import quoted

_SHARED = (".claude/debug", ".npm/_logs")
"""Directories of the home that the runtime lets everybody write; here they are no exception."""
_SHARED_TEMPORARY = "/tmp/claude"  # noqa: S108 - the runtime's own, likewise


@dataclass(frozen=True)
class Grounds:
    """What holds for all servers of a session.

    Attributes:
        home: The home directory.
        sandbox: The session's directory, which every server may write; None for none.
        own: The system's own files and directories: approvals, audit logs, keys. No server can read them.
        protected: What no server can write.
        configuration: What the policy and the servers are configured by, with secrets of other servers in
            it. No server can read it.
        directory: What relative paths of the configuration start from.
        settings: What the configuration says for every server.
    """

    home: Path
    sandbox: Path | None
    own: tuple[Path, ...]
    protected: tuple[Path, ...]
    directory: Path
    settings: FilesystemSettings = field(default_factory=FilesystemSettings)
    configuration: tuple[Path, ...] = ()


def rules_for(name: str, server: Server, grounds: Grounds) -> dict[str, Json]:
    """Return the runtime's settings for a server: `network` and `filesystem`.

    Args:
        name: The server's name, for errors.
        server: Its configuration.
        grounds: What holds for all.

    Raises:
        ServerConfigError: If the configuration opens one of the system's own places.
    """
    own = server.sandbox if isinstance(server.sandbox, SandboxSettings) else SandboxSettings()
    both = (grounds.settings, own.filesystem)
    running = runtime_directory()
    # A server has its part of what runs; `contained` hides the rest, also of what is made later.
    kept = [*grounds.own, *grounds.configuration]
    ours = [real for path in kept if (real := _real(path)) != running]
    readable = _paths(grounds, (path for each in both for path in each.allow_read))
    named = _paths(grounds, (path for each in both for path in each.allow_write))
    session = [_real(grounds.sandbox)] if grounds.sandbox else []
    for path in [*readable, *named]:
        if any(path == place or place in path.parents for place in [*ours, running]):
            raise ServerConfigError(
                f"the sandbox of server {name} opens {quoted(str(path))}, which is kept from every server",
                where=name,
                hint="Take it out of allowRead and allowWrite.",
            )
    writable = [*session, *named]
    if sys.platform == "darwin":
        _check_running(name, running, writable)
    secrets = [_real(path) for path in sign_ins(grounds.home)]
    hidden = [*ours, *secrets, *_paths(grounds, (path for each in both for path in each.deny_read))]
    held = [
        *[real for path in grounds.protected if (real := _real(path)) != running],
        *ours,
        *_paths(grounds, (path for each in both for path in each.deny_write)),
        *[path for path in code_of_repositories(writable, home=grounds.home) if path not in named],
    ]
    shared = [*(_real(grounds.home / path) for path in _SHARED), Path(_SHARED_TEMPORARY)]
    network = own.network
    return {
        "network": {
            "allowedDomains": list(network.allowed_domains or ()),
            "deniedDomains": list(network.denied_domains),
        },
        "filesystem": {
            "denyRead": [_literal(path) for path in _existing(hidden)],
            "allowRead": [_literal(path) for path in _existing([*readable, *session])],
            "allowWrite": [_literal(path) for path in _existing(writable)],
            "denyWrite": [_literal(path) for path in [*_inside(held, writable, session), *_existing(shared)]],
        },
    }


def shown_sign_ins(server: Server, grounds: Grounds) -> list[Path]:
    """Return the keys and sign-ins that are there and that a server's configuration shows it."""
    own = server.sandbox.filesystem if isinstance(server.sandbox, SandboxSettings) else FilesystemSettings()
    both = (grounds.settings, own)
    shown = _paths(grounds, (path for each in both for path in (*each.allow_read, *each.allow_write)))
    there = _existing(_real(path) for path in sign_ins(grounds.home))
    inside = [path for path in there if any(path.is_relative_to(each) for each in shown)]
    return [*inside, *(each for each in shown if any(path in each.parents for path in there))]


def _check_running(name: str, running: Path, writable: list[Path]) -> None:
    """Refuse to open what holds the files of what runs: there no part of a denied whole can be given back."""
    opened = next((path for path in writable if running.is_relative_to(path)), None)
    if opened is not None:
        raise ServerConfigError(
            f"the sandbox of server {name} opens {quoted(str(opened))}, which holds {running.name}",
            where=name,
            hint="Name directories below it.",
        )


def _inside(held: list[Path], writable: list[Path], session: list[Path]) -> list[Path]:
    """Return what is held in writable directories, but not what holds the session's: the deeper decides."""
    kept = [path for path in held if not any(path == root or path in root.parents for root in session)]
    return sorted({path for path in kept if any(root in (path, *path.parents) for root in writable)})


def _existing(paths: Iterable[Path]) -> list[Path]:
    return sorted({path for path in paths if path.exists()})


def _paths(grounds: Grounds, written: Iterable[str]) -> list[Path]:
    return real_paths(written, home=grounds.home, directory=grounds.directory)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _literal(path: Path) -> dict[str, Json]:
    """Return a path as one that is no pattern, whatever its name is."""
    return {"path": str(path), "literal": True}
