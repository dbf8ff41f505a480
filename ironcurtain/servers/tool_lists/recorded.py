"""Tool lists from files, saved or published: what authoring goes on from where servers cannot be started."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from ironcurtain.errors import SandboxMissingError, ServerConfigError, raise_all
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.config_model import Server
from ironcurtain.servers.launching import ServerLauncher
from ironcurtain.servers.tool_lists.listing import LiveReader, is_started, list_tools
from ironcurtain.servers.tool_lists.live import list_each
from ironcurtain.servers.tool_lists.published import DIRECTORY
from ironcurtain.servers.tools import Tools, left_out
from ironcurtain.system.structs import replace


def list_without_starting(config: ServerConfig, launcher: ServerLauncher, *recorded: Path) -> Tools:
    """Read the tool lists of all servers from files: saved by hand, or else recorded by a compile.

    Args:
        config: The servers.
        launcher: Starts none of them here.
        recorded: Where compiles record lists, the newest first.

    Raises:
        ServerConfigError: For each server of which there is neither.
        FileError, FormatError, ServerFailedError: If a file is no usable tool list.
    """
    files = _files(config, config.servers, recorded)
    raise_all(
        [
            ServerConfigError(
                f"server {name} has no saved tool list and no compile recorded one; offline none is started",
                where=str(config.path),
                hint=f'Save it: ironcurtain tools {name} > FILE, and name the file as "tools".',
            )
            for name in sorted(config.servers.keys() - files.keys())
            if not config.servers[name].gateway
        ]
    )
    return list_tools(_from_files(config, files), launcher)


def list_or_recorded(
    config: ServerConfig,
    launcher: ServerLauncher,
    output: Path,
    say: Callable[[str], None],
    *,
    only: Iterable[str] | None = None,
    saved: bool = False,
    read: LiveReader = list_each,
) -> Tools:
    """Read the tool lists of servers; where live ones have to be contained and cannot be, from files.

    No server is started uncontained that its configuration wants contained. A list from a file can be older
    than its server, and that is said.

    Args:
        config: The servers.
        launcher: Starts the live ones.
        output: The published directory.
        say: Told what was read from files, and what was not checked therefore; and each entry of a list
            that is left out.
        only: Names of the servers to read; all by default.
        saved: Prefer a server's saved `tools` file where it has one.
        read: Reads the lists of the live ones.

    Raises:
        SandboxMissingError: If they cannot be contained and of one there is neither file.
        IronCurtainError: As `list_tools`.
    """
    names = sorted(config.servers if only is None else only)
    try:
        tools = list_tools(config, launcher, only=names, saved=saved, read=read)
    except SandboxMissingError as missing:
        held = [name for name in names if _is_held(config.servers[name], saved=saved)]
        files = _files(config, held, [output])
        lacking = [name for name in held if name not in files]
        if lacking:
            raise _nothing_recorded(missing, lacking[0]) from missing
        tools = list_tools(_from_files(config, files), launcher, only=names, saved=saved)
        say(
            f"{missing.what}; so the tools of {', '.join(held)} were read from saved lists, or those that "
            "the last compile recorded, and not compared with the servers"
        )
    for sentence in left_out(tools):
        say(sentence)
    return tools


def _is_held(server: Server, *, saved: bool) -> bool:
    """Tell whether the tools of a server are to be read from it live, and contained."""
    return is_started(server, saved=saved) and server.sandbox is not False


def _files(config: ServerConfig, names: Iterable[str], recorded: Sequence[Path]) -> dict[str, Path]:
    """Return the file with the tools of each server that has one."""
    tools = {}
    for name in names:
        saved = config.servers[name].tools
        files = [place / DIRECTORY / f"{name}.json" for place in recorded]
        if saved:
            tools[name] = config.directory / saved
        elif found := next((file for file in files if file.is_file()), None):
            tools[name] = found.absolute()
    return tools


def _from_files(config: ServerConfig, files: Mapping[str, Path]) -> ServerConfig:
    """Return the configuration with servers that are known by a file alone."""
    known = {
        name: config.servers[name].model_copy(update={"command": None, "url": None, "tools": str(file)})
        for name, file in files.items()
    }
    return replace(config, servers={**config.servers, **known})


def _nothing_recorded(missing: SandboxMissingError, name: str) -> SandboxMissingError:
    return SandboxMissingError(
        missing.what,
        where=missing.where,
        hint=f"Install what is missing; or run `ironcurtain tools {name} > FILE` on a machine that has it, "
        f'and name the file as "tools" of {name} here.',
    )
