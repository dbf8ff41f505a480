"""The clients that can be wrapped: where each keeps its servers, in which format, and how it writes one.

A new client is a row of `CLIENTS`; one that writes servers in a way of its own has a `Dialect`, too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from ironcurtain.integrations.clients import edit, toml_edit, yaml_edit
from ironcurtain.integrations.clients.edit import Syntax
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.json_text import members
from ironcurtain.system.structs import Struct, field


class Dialect(Struct):
    """How a client writes one server.

    Attributes:
        names: By our name of a member (`command`, `args`, `env`, `url`, `headers`) the client's.
        is_list: Whether the command and its arguments are one list.
        fixed: Members of each server that is a program.
        kinds: The values of `type` that mean a program or Streamable HTTP; others are another transport.
        variables: An expression that finds variables in a spelling that is the client's alone.
        handed_on: The member that names variables of the client's environment that a server gets.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    is_list: bool = False
    fixed: Mapping[str, JsonValue] = field(default_factory=dict)
    kinds: frozenset[str] = frozenset()
    variables: str = "(?!)"
    handed_on: str = ""

    def read(self, entry: JsonValue) -> JsonValue:
        """Return a server as we write one; what the client alone has stays under its name."""
        if not isinstance(entry, dict):
            return entry
        ours = {theirs: name for name, theirs in self.names.items()}
        found = {ours.get(name, name): value for name, value in entry.items()}
        if "url" in self.names and "url" in entry and entry.get("type") not in {"http", "streamable-http"}:
            found["type"] = "sse"  # its other member is for Streamable HTTP
        if found.get("type") in self.kinds:
            del found["type"]
        command = found.get("command")
        if isinstance(command, dict):  # as Zed wrote it before
            found |= {"command": command.get("path"), **{k: v for k, v in command.items() if k != "path"}}
        if self.handed_on:
            found = _with_variables(found, self.handed_on)
        if self.is_list and isinstance(command, list) and command:
            found |= {"command": command[0], "args": command[1:]}
        return found

    def write(self, entry: Mapping[str, JsonValue], name: str) -> dict[str, JsonValue]:
        """Return a program of ours as the client writes one."""
        given = dict(entry)
        if self.is_list:
            arguments = given.pop("args")
            given["command"] = [given["command"], *(arguments if isinstance(arguments, list) else [])]
        theirs = {self.names.get(key, key): value for key, value in given.items()}
        return {**self.fixed, **({"name": name} if "name" in self.fixed else {}), **theirs}


def _with_variables(entry: dict[str, JsonValue], handed_on: str) -> dict[str, JsonValue]:
    """Return a server with `${NAME}` for each variable that Codex takes from its own environment for it."""
    env, headers = members(entry.get("env")), members(entry.get("headers"))
    named, token = entry.get(handed_on), entry.get("bearer_token_env_var")
    given = members(entry.get("env_http_headers"))
    found = dict(entry)
    if isinstance(named, list) and all(isinstance(name, str) for name in named):
        del found[handed_on]
        env = {**{str(name): f"${{{name}}}" for name in named}, **env}
    if isinstance(token, str):
        del found["bearer_token_env_var"]
        headers = {"Authorization": f"Bearer ${{{token}}}", **headers}
    if given and all(isinstance(name, str) for name in given.values()):
        del found["env_http_headers"]
        headers = {**{header: f"${{{name}}}" for header, name in given.items()}, **headers}
    return {**found, **({"env": env} if env else {}), **({"headers": headers} if headers else {})}


STANDARD = Dialect()
_TYPED = Dialect(fixed={"type": "stdio"})
_GEMINI = Dialect(names={"url": "httpUrl"}, variables=r"\$[A-Za-z_]")
_ZED = Dialect(fixed={"source": "custom"})
_OPENCODE = Dialect(
    names={"env": "environment"},
    is_list=True,
    fixed={"type": "local", "enabled": True},
    kinds=frozenset({"local", "remote"}),
    variables=r"\{(?:env|file):",
)
_CODEX = Dialect(names={"headers": "http_headers"}, handed_on="env_vars")
_GOOSE = Dialect(
    names={"command": "cmd", "env": "envs", "url": "uri"},
    fixed={"type": "stdio", "name": "", "enabled": True, "timeout": 300},
    kinds=frozenset({"stdio", "streamable_http"}),
)
_CONTINUE = Dialect(fixed={"type": "stdio"}, kinds=frozenset({"stdio"}))


class Shape(Struct):
    """Where in a file servers stand, and how each is written.

    Attributes:
        pointer: The keys that lead to them.
        syntax: The file's format.
        dialect: How one is written.
    """

    pointer: tuple[str, ...]
    syntax: Syntax = edit.JSON
    dialect: Dialect = STANDARD


CODEX = Shape(("mcp_servers",), toml_edit.TOML, _CODEX)
GOOSE = Shape(("extensions",), yaml_edit.YAML, _GOOSE)
CONTINUE = Shape(("mcpServers",), yaml_edit.YAML, _CONTINUE)
OPENCODE = Shape(("mcp",), dialect=_OPENCODE)
_ZEDS = Shape(("context_servers",), dialect=_ZED)
_USUAL = (Shape(("mcpServers",)), Shape(("servers",)), Shape(("mcp", "servers")))
"""Where the servers may stand in a JSON file of any client; the last is an editor's `settings.json`."""


class Client(Struct):
    """A program that starts MCP servers.

    Attributes:
        name: What it is called on the command line.
        shape: Its file.
        user: Its user's files by platform (`darwin`, `linux`, `win32`), from the home directory.
        project: Its file in a project, from the project's directory.
        variables: Whether it replaces `${…}` in a server before it starts it.
        in_project: Whether it starts the servers of its user's file in the project that it works in.
        moved: The variable that names another directory than that of the user's file in the home.
        timeouts: What it waits where a server's entry does not say, by the member's name.
    """

    name: str
    shape: Shape
    user: Mapping[str, tuple[str, ...]]
    project: str | None = None
    variables: bool = True
    in_project: bool = True
    moved: str | None = None
    timeouts: Mapping[str, int] = field(default_factory=dict)


def _everywhere(*paths: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(("darwin", "linux", "win32"), paths)


def _of_application(path: str, *more: str) -> dict[str, tuple[str, ...]]:
    places = {"darwin": "Library/Application Support", "linux": ".config", "win32": "AppData/Roaming"}
    return {platform: (f"{place}/{path}", *more) for platform, place in places.items()}


_CLINE = "settings/cline_mcp_settings.json"
CLIENTS = {
    client.name: client
    for client in (
        Client(
            "claude-desktop",
            Shape(("mcpServers",)),
            _of_application("Claude/claude_desktop_config.json"),
            variables=False,
            in_project=False,
        ),
        Client(
            "claude-code",
            Shape(("mcpServers",), dialect=_TYPED),
            _everywhere(".claude.json"),
            ".mcp.json",
            moved="CLAUDE_CONFIG_DIR",
        ),
        Client(
            "cursor",
            Shape(("mcpServers",)),
            _everywhere(".cursor/mcp.json"),
            ".cursor/mcp.json",
            in_project=False,
        ),
        Client(
            "vscode",
            Shape(("servers",), dialect=_TYPED),
            _of_application("Code/User/mcp.json"),
            ".vscode/mcp.json",
            in_project=False,
        ),
        Client(
            "cline",
            Shape(("mcpServers",)),
            _of_application(
                f"Code/User/globalStorage/saoudrizwan.claude-dev/{_CLINE}", f".cline/data/{_CLINE}"
            ),
            in_project=False,
            timeouts={"timeout": 60},
        ),
        Client(
            "codex",
            CODEX,
            _everywhere(".codex/config.toml"),
            ".codex/config.toml",
            variables=False,
            moved="CODEX_HOME",
            timeouts={"startup_timeout_sec": 10, "tool_timeout_sec": 60},
        ),
        Client("continue", CONTINUE, _everywhere(".continue/config.yaml"), in_project=False),
        Client(
            "gemini",
            Shape(("mcpServers",), dialect=_GEMINI),
            _everywhere(".gemini/settings.json"),
            ".gemini/settings.json",
            timeouts={"timeout": 600_000},
        ),
        Client(
            "goose",
            GOOSE,
            {
                **_everywhere(".config/goose/config.yaml"),
                "win32": ("AppData/Roaming/Block/goose/config/config.yaml",),
            },
            variables=False,
            timeouts={"timeout": 300},
        ),
        Client(
            "opencode",
            OPENCODE,
            _everywhere(".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"),
            "opencode.json",
            variables=False,
            timeouts={"timeout": 5_000},
        ),
        Client(
            "qwen",
            Shape(("mcpServers",), dialect=_GEMINI),
            _everywhere(".qwen/settings.json"),
            ".qwen/settings.json",
            timeouts={"timeout": 600_000},
        ),
        Client("zed", _ZEDS, _everywhere(".config/zed/settings.json"), ".zed/settings.json", variables=False),
    )
}


def user_files(client: Client, platform: str = sys.platform) -> list[Path]:
    """Return a client's files for everything that its user does."""
    paths = client.user.get(platform, client.user["linux"])
    directory = os.environ.get(client.moved) if client.moved else None
    if directory:
        return [Path(directory) / Path(paths[0]).name]
    configuration = os.environ.get("XDG_CONFIG_HOME") if platform == "linux" else None
    return [
        Path(configuration) / path.removeprefix(".config/")
        if configuration and path.startswith(".config/")
        else Path.home() / path
        for path in paths
    ]


def shapes_of(path: Path, client: Client | None) -> tuple[Shape, ...]:
    """Return how servers may stand in a file that somebody named: the client's own way comes first."""
    if path.suffix == ".toml":
        return (CODEX,)
    if path.suffix in {".yaml", ".yml"}:
        return (CONTINUE, GOOSE)
    if client is not None:
        return (client.shape, *(each for each in _USUAL if each.pointer != client.shape.pointer))
    return (*_USUAL, _ZEDS, OPENCODE)


def is_entry(value: JsonValue) -> bool:
    """Tell whether a member of `mcp` looks like a server of opencode: other clients keep lists there."""
    return isinstance(members(value).get("command"), list) or members(value).get("type") in {
        "local",
        "remote",
    }
