"""Reading `mcp-servers.json`: the ecosystem's own shape, with our keys held strictly."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ironcurtain.errors import IronCurtainError, ServerConfigError, raise_all
from ironcurtain.model.known import KnownServer
from ironcurtain.servers.config_model import SandboxDefaults, SandboxSettings, Server, Servers
from ironcurtain.servers.fetched.lock import ServerLock, lock_of, read_lock
from ironcurtain.system.assets import KNOWN_SERVERS
from ironcurtain.system.files import load
from ironcurtain.system.structs import Struct, field
from ironcurtain.system.text import quoted

if TYPE_CHECKING:
    from ironcurtain.servers.fetched.resolve import InstalledPackage

_KEYS = tuple(field.alias or name for name, field in Server.model_fields.items())
_NEAR = 0.8


class ServerConfig(Struct):
    """The servers of one file.

    Attributes:
        path: The file; relative paths in it (`cwd`, `tools`, the programs' own arguments) are relative
            to its directory.
        servers: By name, sorted.
        notes: One line for each key that is not ours: kept, and named once.
        sandbox: How they are contained, beside what each of them says.
        installed: Of servers whose command fetches them, what was fetched, by name: `servers` says how that
            is started, and the command itself is not run.
        modules: The modules of tools that the file names, which run in our own process.
    """

    path: Path
    servers: dict[str, Server]
    notes: tuple[str, ...] = ()
    sandbox: SandboxDefaults = field(default_factory=SandboxDefaults)
    installed: Mapping[str, InstalledPackage] = field(default_factory=dict)
    modules: tuple[Path, ...] = ()

    @property
    def own(self) -> tuple[Path, ...]:
        """What no tool may touch: the files, and what its servers were fetched into."""
        places = [each.directory for each in self.installed.values() if each.directory is not None]
        return (*self.files, *places)

    @property
    def files(self) -> tuple[Path, ...]:
        """The file, its lock, and the modules of tools that it names."""
        return (self.path, lock_of(self.path), *self.modules)

    @property
    def directory(self) -> Path:
        """The directory that relative paths of the file start from."""
        return self.path.absolute().parent

    def writable(self, home: Path) -> tuple[Path, ...]:
        """Return what the file lets any server write, as real paths; `~` is the home."""
        settings = [self.sandbox.filesystem]
        settings += [
            each.sandbox.filesystem
            for each in self.servers.values()
            if isinstance(each.sandbox, SandboxSettings)
        ]
        written = (text for each in settings for text in each.allow_write)
        return tuple(real_paths(written, home=home, directory=self.directory))


def real_paths(written: Iterable[str], *, home: Path, directory: Path) -> list[Path]:
    """Return the real paths of what a configuration names: relative ones start at its directory."""
    problems = []
    for text in written:
        expanded = home / text[2:] if text.startswith("~/") else Path(text)
        path = home if text == "~" else expanded
        problems.append(Path(os.path.realpath(path if path.is_absolute() else directory / path)))
    return problems


def is_module(path: Path) -> bool:
    """Tell whether a servers' file is a module of tools."""
    return path.suffix == ".py"


def unread_module(path: Path) -> ServerConfig:
    """Return a module of tools as a configuration, without running it: its own name is not known."""
    return ServerConfig(path, {path.stem: Server(gateway=path.name)})


def load_servers(path: Path) -> ServerConfig:
    """Read the servers' configuration, and beside it what was fetched; a module of tools is one of itself.

    Raises:
        GatewayError, SeveralErrors: If it is a module of tools, and anything in it is wrong.
        FileError: If a file cannot be read.
        FormatError: If it is not of the shape of `mcp-servers.json`.
        ServerConfigError: If a key is nearly one of ours, or the file names no server.
    """
    if is_module(path):
        from ironcurtain.gateway.gateway import load_gateway  # noqa: PLC0415 - few have one

        gateway = load_gateway(path)
        return ServerConfig(path, {gateway.name: Server(gateway=path.name)})
    return check_servers(load(path, Servers), path, read_lock(path))


def check_servers(document: Servers, path: Path, lock: ServerLock | None = None) -> ServerConfig:
    """Hold a document's keys against ours.

    Raises:
        ServerConfigError: If a key is nearly one of ours, or the document names no server.
    """
    if not document.servers:
        raise ServerConfigError("the file names no server", where=str(path))
    errors: list[IronCurtainError] = []
    notes: list[str] = [_note(key, str(path)) for key in sorted(document.model_extra or {})]
    for name, server in sorted(document.servers.items()):
        for key in server.foreign_keys:
            nearly = _nearly(key)
            if nearly:
                errors.append(
                    ServerConfigError(
                        f"server {name} has the key {quoted(key)}, which is nearly {quoted(nearly)}",
                        where=str(path),
                        hint=f"Write {quoted(nearly)}, or rename the key if it belongs to another program.",
                    )
                )
            else:
                notes.append(_note(key, f"{path}, server {name}"))
        if server.output:
            errors += _output_errors(name, server, path)
    raise_all(errors)
    from ironcurtain.servers.fetched.resolve import resolved  # noqa: PLC0415 - few decisions are about servers

    ready = {
        name: resolved(name, _with_list(server), lock or ServerLock(), path)
        for name, server in sorted(document.servers.items())
    }
    return ServerConfig(
        path,
        {name: server for name, (server, _) in ready.items()},
        tuple(notes),
        document.sandbox,
        {name: found for name, (_, found) in ready.items() if found is not None},
        tuple(path.absolute().parent / each.gateway for each in document.servers.values() if each.gateway),
    )


def _with_list(server: Server) -> Server:
    """Return a client's built-in tools as a server with the saved list that ships with IronCurtain."""
    if server.builtin is None:
        return server
    version = load(KNOWN_SERVERS / f"{server.builtin}.json", KnownServer).versions[-1]
    return server.model_copy(
        update={"tools": str(KNOWN_SERVERS / "lists" / f"{server.builtin}-{version}.json")}
    )


def _output_errors(name: str, server: Server, path: Path) -> list[IronCurtainError]:
    """Return what is wrong with the output policies of a server's tools."""
    from ironcurtain.gateway.output.policy import OutputPolicy  # noqa: PLC0415 - few have one
    from ironcurtain.gateway.output.rules import OutputPolicyError  # noqa: PLC0415 - as above

    errors: list[IronCurtainError] = []
    for tool, rules in server.output.items():
        try:
            OutputPolicy.parse(rules)
        except OutputPolicyError as error:
            errors += [
                ServerConfigError(
                    f"server {name}, the output policy of {quoted(tool)}, {quoted(each.path)}: {each.what}",
                    where=str(path),
                    hint=each.hint,
                )
                for each in error.problems
            ]
    return errors


def _note(key: str, where: str) -> str:
    return f"{where}: the key {quoted(key)} is not ours; it is left alone"


def _nearly(key: str) -> str | None:
    """Return the key of ours that this one was probably meant to be."""
    from difflib import get_close_matches  # noqa: PLC0415 - for mistakes only

    plain = {ours.lower(): ours for ours in _KEYS}
    close = get_close_matches(key.lower().replace("_", "").replace("-", ""), plain, n=1, cutoff=_NEAR)
    return plain[close[0]] if close else None
