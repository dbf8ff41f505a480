"""Where clients keep their configuration, and how they write a server in it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from ironcurtain.errors import UsageError

ConfigScope: TypeAlias = Literal["user", "project"]
"""For whom a configuration is: everything that the user does, or one project."""

POINTERS = (("mcpServers",), ("servers",), ("mcp", "servers"))
"""Where the servers may stand in a file of any client; the last is an editor's `settings.json`."""


@dataclass(frozen=True)
class Client:
    """A program that starts MCP servers.

    Attributes:
        name: What it is called on the command line.
        pointer: The keys that lead to its servers.
        user: Its user's file by platform (`darwin`, `linux`, `win32`), from the home directory.
        project: Its file in a project, from the project's directory.
        typed: Whether it writes `"type": "stdio"` in each server.
        variables: Whether it replaces `${…}` in a server before it starts it.
    """

    name: str
    pointer: tuple[str, ...]
    user: Mapping[str, str]
    project: str | None = None
    typed: bool = False
    variables: bool = True


@dataclass(frozen=True)
class ConfigLocation:
    """One configuration file.

    Attributes:
        client: Whose it is; `file` if only its path is known.
        pointers: Where its servers may stand.
        directory: The directory that its servers' relative paths start from.
        project: Whether that is a project's directory.
        typed: Whether the client writes `"type": "stdio"` in each server.
        variables: Whether it replaces `${…}`; assumed where the client is not known.
    """

    client: str
    path: Path
    pointers: tuple[tuple[str, ...], ...]
    directory: Path
    project: bool
    typed: bool
    variables: bool


_EVERYWHERE = ("darwin", "linux", "win32")
CLIENTS = {
    client.name: client
    for client in (
        Client(
            "claude-desktop",
            ("mcpServers",),
            {
                "darwin": "Library/Application Support/Claude/claude_desktop_config.json",
                "linux": ".config/Claude/claude_desktop_config.json",
                "win32": "AppData/Roaming/Claude/claude_desktop_config.json",
            },
            variables=False,
        ),
        Client(
            "claude-code",
            ("mcpServers",),
            dict.fromkeys(_EVERYWHERE, ".claude.json"),
            ".mcp.json",
            typed=True,
        ),
        Client("cursor", ("mcpServers",), dict.fromkeys(_EVERYWHERE, ".cursor/mcp.json"), ".cursor/mcp.json"),
        Client(
            "vscode",
            ("servers",),
            {
                "darwin": "Library/Application Support/Code/User/mcp.json",
                "linux": ".config/Code/User/mcp.json",
                "win32": "AppData/Roaming/Code/User/mcp.json",
            },
            ".vscode/mcp.json",
            typed=True,
        ),
    )
}


def places(name: str, scope: ConfigScope | None, cwd: Path) -> list[ConfigLocation]:
    """Return the files that a client's name, or the path of a file, can mean; the project's comes first.

    Args:
        name: A client's name, or a path.
        scope: Only the user's or the project's; for names.
        cwd: The project's directory.

    Raises:
        UsageError: If a scope is given where there is none.
    """
    client = CLIENTS.get(name)
    if client is None:
        if scope is not None:
            raise UsageError("--scope is for a client's name; this is a file", where=name)
        return [_file(cwd / Path(name).expanduser())]
    found: list[ConfigLocation] = []
    if client.project is not None and scope != "user":
        found.append(_place(client, cwd / client.project, cwd, project=True))
    if scope != "project":
        found.append(_place(client, user_file(client), Path.home(), project=False))
    if not found:
        raise UsageError(f"{name} has no configuration of a project", hint="Leave --scope out.")
    return found


def user_file(client: Client, platform: str = sys.platform) -> Path:
    """Return a client's file for everything that its user does."""
    if client.name == "claude-code" and os.environ.get("CLAUDE_CONFIG_DIR"):
        return Path(os.environ["CLAUDE_CONFIG_DIR"]) / ".claude.json"
    path = client.user.get(platform, client.user["linux"])
    if platform == "linux" and path.startswith(".config/") and os.environ.get("XDG_CONFIG_HOME"):
        return Path(os.environ["XDG_CONFIG_HOME"]) / path.removeprefix(".config/")
    return Path.home() / path


def _place(client: Client, path: Path, directory: Path, *, project: bool) -> ConfigLocation:
    return ConfigLocation(
        client.name, path, (client.pointer,), directory, project, client.typed, client.variables
    )


def _file(path: Path) -> ConfigLocation:
    """Say what can be known of a file: whose it looks like, by its name and its directory's."""
    tail = (path.parent.name, path.name)
    for client in CLIENTS.values():
        ends = {tuple(Path(each).parts[-2:]) for each in [*client.user.values(), client.project or ""]}
        if tail in ends or (path.name,) in ends:
            project = client.project is not None and path.as_posix().endswith("/" + client.project)
            folder = path.parents[len(Path(client.project or "").parts) - 1] if project else Path.home()
            return ConfigLocation(
                client.name, path, POINTERS, folder, project, client.typed, client.variables
            )
    return ConfigLocation("file", path, POINTERS, path.parent, project=False, typed=False, variables=True)
