"""What of a project runs outside strict containment only where a person permitted it, entry by entry.

A directory that was cloned says of itself what it may do: a server without a sandbox, a program that makes
the sandboxes, what servers may read and write beside the project, a module of tools that is imported.
Commands that only read tools do none of that unasked. `ironcurtain servers permit` records what a person
read: the digest of the entry, for that file, among the user's own files. Another entry needs another
permission. What a command line names (`proxy`, `serve`) is not asked about.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from ironcurtain.errors import UnpermittedError, raise_all
from ironcurtain.servers.config import ServerConfig, is_module, load_servers, real_paths, unread_module
from ironcurtain.servers.config_model import SandboxSettings, Server
from ironcurtain.servers.connect import HANDED_ON
from ironcurtain.servers.variables import variables_of
from ironcurtain.settings import user_directory
from ironcurtain.system import json_text
from ironcurtain.system.files import atomic_write, has_content, load
from ironcurtain.system.frozen import Frozen
from ironcurtain.system.text import quoted, visible

VARIABLE = "IRONCURTAIN_PERMIT_SERVERS"
"""Set to `all`, it permits everything: for a machine that runs nothing but this project."""
_ALL = "all"


class PermittedServers(Frozen):
    """The file of permissions: by real path of a servers' file, the digests of entries."""

    format: Literal["ironcurtain/permitted-servers/v1"] = "ironcurtain/permitted-servers/v1"
    files: dict[str, tuple[str, ...]] = Field(default_factory=dict)


def needs(config: ServerConfig, server: Server) -> tuple[str, ...]:
    """Return what of a server needs a permission, each a few words; empty where it is strictly contained."""
    if server.gateway:
        return (f"its module {visible(server.gateway)} is imported, and runs as you",)
    if not server.command:
        return ()
    if server.sandbox is False:
        return ('it runs as you, without a sandbox ("sandbox": false)',)
    found = [
        f"it is given the variable {name} of your environment"
        for name in variables_of(server)
        if name not in HANDED_ON
    ]
    if config.sandbox.policy != "enforce":
        found.append(f'where there is no sandbox it runs as you ("policy": "{config.sandbox.policy}")')
    if config.sandbox.program is not None:
        found.append(f"{visible(config.sandbox.program)} makes its sandbox, and runs as you")
    own = server.sandbox.filesystem if isinstance(server.sandbox, SandboxSettings) else None
    for each in (config.sandbox.filesystem, own):
        for verb, written in (("write", each.allow_write), ("read", each.allow_read)) if each else ():
            found += [f"its sandbox lets it {verb} {visible(path)}" for path in _beside(config, written)]
    return tuple(dict.fromkeys(found))


def _ignored() -> str:
    value = os.environ.get(VARIABLE)
    return f" {VARIABLE} is {quoted(value)}: only {quoted(_ALL)} permits." if value else ""


def _beside(config: ServerConfig, written: Iterable[str]) -> list[str]:
    """Return which of the paths of a configuration do not lie in its directory."""
    inside = Path(os.path.realpath(config.directory))
    home = Path.home()
    real = {path: real_paths([path], home=home, directory=config.directory)[0] for path in written}
    return [path for path, place in real.items() if not place.is_relative_to(inside)]


def unpermitted(config: ServerConfig, names: Iterable[str]) -> dict[str, UnpermittedError]:
    """Return, by name, why servers are not started and modules not imported."""
    wanted = {name: found for name in names if (found := needs(config, config.servers[name]))}
    if not wanted or os.environ.get(VARIABLE) == _ALL:
        return {}
    given = _read().files.get(_file(config), ())
    return {
        name: UnpermittedError(
            f"server {name} is not permitted: {'; '.join(found)}",
            where=str(config.path),
            hint=f"Read its entry, then run `ironcurtain servers permit {name} "
            f"--servers {visible(str(config.path))}`." + _ignored(),
        )
        for name, found in wanted.items()
        if _digest(config, name) not in given
    }


def check_permitted(config: ServerConfig, names: Iterable[str]) -> None:
    """See that a person permitted what servers need beyond strict containment.

    Raises:
        UnpermittedError, SeveralErrors: For each of which that is not so.
    """
    raise_all([*unpermitted(config, names).values()])


def permit(config: ServerConfig, names: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """Record that a person permits servers as they are written now; return what each needed that for.

    Raises:
        OSError, FileError: If the record cannot be written, or is not ours.
    """
    wanted = {name: found for name in names if (found := needs(config, config.servers[name]))}
    if wanted:
        before = _read()
        digests = {*before.files.get(_file(config), ()), *(_digest(config, name) for name in wanted)}
        files = {**before.files, _file(config): tuple(sorted(digests))}
        text = json_text.pretty(PermittedServers(files=files).model_dump(mode="json"))
        user_directory().mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic_write(_record(), text.encode(), mode=0o600)
    return wanted


def project_servers(path: Path) -> ServerConfig:
    """Read the servers' file of a project; a module of tools is imported if that is permitted.

    Raises:
        UnpermittedError: If it is not.
        IronCurtainError: As `load_servers`.
    """
    if is_module(path):
        module = unread_module(path)
        check_permitted(module, module.servers)
    return load_servers(path)


def _record() -> Path:
    return user_directory() / "permitted-servers.json"


def _read() -> PermittedServers:
    return load(_record(), PermittedServers) if has_content(_record()) else PermittedServers()


def _file(config: ServerConfig) -> str:
    return os.path.realpath(config.path)


def _digest(config: ServerConfig, name: str) -> str:
    """Return the digest of what a permission is about: the entry, and what holds for every one."""
    written = config.servers[name].model_dump(mode="json", by_alias=True)
    return json_text.digest([written, config.sandbox.model_dump(mode="json", by_alias=True)])
