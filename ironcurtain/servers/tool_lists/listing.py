"""Reading tool lists from the servers of a configuration: live over stdio, or from saved files.

Live ones are read by `live`; how one is started, and what is said when it fails, stands in `connect`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from ironcurtain.errors import IronCurtainError, ServerConfigError, SeveralErrors
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.config_model import Server
from ironcurtain.servers.endpoint_names import endpoint_name
from ironcurtain.servers.launching import ServerLauncher
from ironcurtain.servers.permitted import check_permitted, unpermitted
from ironcurtain.servers.tool_lists.live import Outcomes, RootsOf, all_listed, list_each, no_roots
from ironcurtain.servers.tools import ListedServer, Tools, read_saved_tools
from ironcurtain.system.structs import replace
from ironcurtain.system.text import quoted

DEFAULT_TIMEOUT = 60.0
"""Seconds that a server has to start and to list its tools."""

LiveReader = Callable[[ServerConfig, ServerLauncher, float], Outcomes]
"""Reads the tools of servers that each have a command, or what is wrong with them: `list_each`, or ahead."""


def list_tools(
    config: ServerConfig,
    launcher: ServerLauncher,
    *,
    only: Iterable[str] | None = None,
    saved: bool = False,
    timeout: float = DEFAULT_TIMEOUT,
    read: LiveReader = list_each,
) -> Tools:
    """Read the tool lists of all servers (or of those named), live ones side by side.

    Args:
        config: The servers.
        launcher: Starts the live ones.
        only: Names of the servers to read; all by default.
        saved: Prefer a server's saved `tools` file where it has one.
        timeout: Seconds for each live server.
        read: Reads the lists of the live ones.

    Raises:
        ServerConfigError: For a server that is not configured, or has a `url` and no saved tools.
        ServerFailedError: For each server that does not start, dies, is too slow or lists nonsense.
        SandboxMissingError: If live ones have to be contained and cannot be.
    """
    names = sorted(config.servers if only is None else only)
    check_permitted(config, [name for name in names if _is_run(_configured(config, name), saved=saved)])
    found: Tools = {}
    live: dict[str, Server] = {}
    for name in names:
        server = _configured(config, name)
        if server.gateway:
            found[name] = _declared(config.directory / server.gateway)
        elif is_started(server, saved=saved):
            live[name] = server
        elif server.tools:
            found[name] = read_saved_tools(name, config.directory / server.tools)
        else:
            raise ServerConfigError(
                f"server {name} has a url; tool lists are read over stdio only",
                where=str(config.path),
                hint='Save its tools/list result to a file and name that file as "tools".',
            )
    if live:
        chosen = replace(config, servers=live)
        found.update(all_listed(chosen, read(chosen, launcher, timeout)))
    _check_endpoint_names(found, config)
    return dict(sorted(found.items()))


def _is_run(server: Server, *, saved: bool) -> bool:
    return bool(server.gateway) or is_started(server, saved=saved)


def is_started(server: Server, *, saved: bool = False) -> bool:
    """Tell whether a server is started to read its tools; `saved` as in `list_tools`."""
    return bool(server.command) and not server.gateway and not (saved and server.tools)


def _declared(module: Path) -> ListedServer:
    from ironcurtain.gateway.gateway import load_gateway  # noqa: PLC0415 - few have one
    from ironcurtain.servers.declared import declared_listing  # noqa: PLC0415 - as above

    tools = load_gateway(module).tools.values()
    return ListedServer(tuple(sorted(map(declared_listing, tools), key=lambda tool: tool.name)))


def list_reachable(
    config: ServerConfig,
    launcher: ServerLauncher,
    *,
    only: Iterable[str] | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    roots_of: RootsOf = no_roots,
) -> tuple[Tools, dict[str, list[IronCurtainError]]]:
    """Read the tool lists of all servers (or of those named); one that fails does not hide the others.

    Args:
        config: The servers.
        launcher: Starts the live ones.
        only: Names of the servers to read; all by default.
        timeout: Seconds for each live server.
        roots_of: Returns the roots that each live one is told of.

    Returns:
        The tools of those that could be read, and by name what is wrong with the others.

    Raises:
        ServerConfigError: For a name that is not configured.
        SandboxMissingError: If live ones have to be contained and cannot be.
    """
    wanted = sorted(config.servers if only is None else only)
    for name in wanted:
        _configured(config, name)
    refused = unpermitted(config, wanted)
    names = [name for name in wanted if name not in refused]
    live = {name: _configured(config, name) for name in names if _configured(config, name).command}
    found: Tools = {}
    failed: dict[str, list[IronCurtainError]] = {name: [error] for name, error in refused.items()}
    for name in (name for name in names if name not in live):
        try:
            found.update(list_tools(config, launcher, only=[name]))
        except SeveralErrors as several:
            failed[name] = several.errors
        except IronCurtainError as error:
            failed[name] = [error]
    if live:
        chosen = replace(config, servers=live)
        for name, (errors, tools) in list_each(chosen, launcher, timeout, roots_of).items():
            if errors:
                failed[name] = errors
            else:
                found[name] = tools
    return dict(sorted(found.items())), failed


def _configured(config: ServerConfig, name: str) -> Server:
    if name not in config.servers:
        raise ServerConfigError(
            f"there is no server {quoted(name)}",
            where=str(config.path),
            hint=f"The file names: {', '.join(config.servers)}.",
        )
    return config.servers[name]


def _check_endpoint_names(tools: Tools, config: ServerConfig) -> None:
    """Refuse two tools that would both be `server__tool` at one endpoint (`a_` `b`, `a` `_b`)."""
    seen: dict[str, str] = {}
    for server, listed in tools.items():
        for tool in listed:
            called = endpoint_name(server, tool.name)
            if called in seen:
                raise ServerConfigError(
                    f"servers {seen[called]} and {server} both have a tool called {quoted(called)}",
                    where=str(config.path),
                    hint="Rename one of the servers.",
                )
            seen[called] = server
