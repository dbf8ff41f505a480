"""One configuration file of a client: read with all that has to stay, written in one step or not at all.

Where clients keep their configuration, and how they write a server in it.
"""

from __future__ import annotations

import difflib
import os
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from ironcurtain.errors import BusyError, FileError, FormatError, UsageError
from ironcurtain.integrations.clients.edit import JsonNode, parse
from ironcurtain.integrations.clients.store import without_secrets_of
from ironcurtain.system.files import atomic_write, read_bytes
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted, visible

ConfigScope: TypeAlias = Literal["user", "project"]
"""For whom a configuration is: everything that the user does, or one project."""

POINTERS = (("mcpServers",), ("servers",), ("mcp", "servers"))
"""Where the servers may stand in a file of any client; the last is an editor's `settings.json`."""


class Client(Struct):
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


class ConfigLocation(Struct):
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
    locations: list[ConfigLocation] = []
    if client.project is not None and scope != "user":
        locations.append(_place(client, cwd / client.project, cwd, project=True))
    if scope != "project":
        locations.append(_place(client, user_file(client), Path.home(), project=False))
    if not locations:
        raise UsageError(f"{name} has no configuration of a project", hint="Leave --scope out.")
    return locations


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


_NO_NEWLINE = "\n\\ No newline at end of file\n"


def unified(target: Target, document: ClientDocument) -> str:
    """Return the unified diff, without secrets, from what a file holds to what it would hold."""
    old, new = (
        _lines(without_secrets_of(each.text, each.servers.fields if each.servers is not None else {}))
        for each in (target.document, document)
    )
    lines = difflib.unified_diff(old, new, target.source, target.source)
    return "".join(line if line.endswith("\n") else line + _NO_NEWLINE for line in lines)


def _lines(text: str) -> list[str]:
    # Not splitlines: it also splits at characters that may stand in a string.
    return [line for line in text.replace("\n", "\n\0").split("\0") if line]


MAX_BYTES = 32 << 20
_BOM = b"\xef\xbb\xbf"


class ClientDocument(Struct):
    """What a file holds.

    Attributes:
        text: Its text, without the byte order mark.
        bom: Whether there is one.
        root: The text as values with places.
        pointer: The keys that lead to the servers.
        servers: The object that holds them, if it is there.
    """

    text: str
    bom: bool
    root: JsonNode
    pointer: tuple[str, ...]
    servers: JsonNode | None

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return (_BOM if self.bom else b"") + self.text.encode()

    def changed(self, text: str, source: str) -> ClientDocument:
        """Return the document of another text of the same file.

        Raises:
            FormatError: If it is none.
        """
        return _document(text, source, (self.pointer,), bom=self.bom)


class Target(Struct):
    """A file that can be changed.

    Attributes:
        place: What it is, by the name that the user and the client have for it.
        path: The file itself, behind all links.
        mode: Its permissions.
        owner: Its user and group.
    """

    place: ConfigLocation
    path: Path
    mode: int
    owner: tuple[int, int]
    document: ClientDocument

    @property
    def source(self) -> str:
        """Its name in errors."""
        return str(self.place.path)


def file_of(place: ConfigLocation) -> Path:
    """Return the file itself, behind all links.

    Raises:
        FileError: If these lead in a circle.
    """
    try:
        return place.path.resolve()
    except (OSError, RuntimeError):  # the second up to Python 3.12
        raise FileError("the links of this file lead nowhere", where=str(place.path)) from None


def read_target(place: ConfigLocation) -> Target:
    """Read a client's configuration and see whether it may be changed.

    Raises:
        FileError: If it is missing, no regular file, read-only, too large or no UTF-8.
        FormatError: If it is no JSON with comments, or its servers are no object.
        UsageError: If it is of no known shape.
    """
    if not place.path.exists():
        hint = "Start the client once, or name the file that it reads."
        raise FileError("there is no such configuration", where=str(place.path), hint=hint)
    path = file_of(place)
    facts = path.stat()
    if not stat.S_ISREG(facts.st_mode):
        raise FileError("this is no regular file", where=str(place.path))
    if not facts.st_mode & stat.S_IWUSR:
        hint = "Whoever made it so has a reason; allow writing (chmod u+w) to wrap it all the same."
        raise FileError("the file is read-only", where=str(place.path), hint=hint)
    if facts.st_nlink > 1:
        hint = "Make it a file of its own, or a symbolic link."
        raise FileError("the file has several names (hard links)", where=str(place.path), hint=hint)
    document = read_document(read_bytes(path, max_bytes=MAX_BYTES), str(place.path), place.pointers)
    return Target(place, path, stat.S_IMODE(facts.st_mode), (facts.st_uid, facts.st_gid), document)


def read_document(data: bytes, source: str, pointers: tuple[tuple[str, ...], ...]) -> ClientDocument:
    """Read a file's content.

    Raises:
        FileError: If it is no UTF-8.
        FormatError: If it is no JSON with comments, or its servers are no object.
        UsageError: If its servers could stand in several places, or in none that we know.
    """
    bom = data.startswith(_BOM)
    try:
        text = data.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        raise FileError(f"the file is not UTF-8 (byte {error.start})", where=source) from None
    return _document(text, source, pointers, bom=bom)


def write_target(target: Target, document: ClientDocument) -> None:
    """Put a new content into the file, with its permissions and its owner.

    Raises:
        BusyError: If somebody else changed the file since it was read; it is left as it is.
        OSError: If it cannot be written; it is then as it was.
    """
    if read_bytes(target.path, max_bytes=MAX_BYTES) != target.document.data:
        hint = "Quit the client, and try again."
        raise BusyError("the file is being changed by another program", where=target.source, hint=hint)
    atomic_write(target.path, document.data, mode=target.mode, owner=target.owner)


def _document(text: str, source: str, pointers: tuple[tuple[str, ...], ...], *, bom: bool) -> ClientDocument:
    root = parse(text, source)
    if not isinstance(root.value, dict):
        raise FormatError("a client's configuration is an object", where=source)
    nodes = {pointer: node for pointer in pointers if (node := _at(root, pointer)) is not None}
    if len(pointers) > 1 and len(nodes) != 1:
        what = "in several places" if nodes else "nowhere"
        names = ", ".join(".".join(pointer) for pointer in pointers)
        raise UsageError(f"servers stand {what} in this file: looked for {names}", where=source)
    pointer, servers = next(iter(nodes.items()), (pointers[0], None))
    if servers is not None and not isinstance(servers.value, dict):
        raise FormatError(f"{quoted('.'.join(pointer))} is no object", where=source)
    return ClientDocument(text, bom, root, pointer, servers)


def _at(root: JsonNode, pointer: tuple[str, ...]) -> JsonNode | None:
    node: JsonNode | None = root
    for key in pointer:
        member = node.member(key) if node is not None else None
        node = member.node if member is not None else None
    return node


def chosen_location(
    client: str, scope: ConfigScope | None, fits: Callable[[ConfigLocation], bool], wanted: str
) -> ConfigLocation:
    """Return the one file that a client's name means: of several, the one that fits.

    `wanted` says in an error what fits, as in "no configuration of cursor is wrapped".

    Raises:
        UsageError: If two fit.
        FileError: If there is none.
    """
    locations = places(client, scope, Path.cwd())
    if len(locations) == 1:
        return locations[0]
    # In the home directory the project's file can be the user's own.
    fitting = list({file_of(place): place for place in locations if fits(place)}.values())
    if len(fitting) > 1:
        names = " and ".join(str(place.path) for place in fitting)
        raise UsageError(
            f"{client} has two configurations: {visible(names)}", hint="Choose with --scope user or project."
        )
    if not fitting:
        names = " and ".join(str(place.path) for place in locations)
        raise FileError(
            f"no configuration of {client} {wanted}: looked at {visible(names)}",
            hint="Name the file, or choose with --scope.",
        )
    return fitting[0]


def has_servers(place: ConfigLocation) -> bool:
    """Tell whether a configuration is there and has servers."""
    if not place.path.exists():
        return False
    servers = read_target(place).document.servers
    return servers is not None and bool(servers.members)
