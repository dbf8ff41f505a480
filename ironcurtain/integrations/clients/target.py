"""One configuration file of a client: read with all that has to stay, written in one step or not at all."""

from __future__ import annotations

import difflib
import stat
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Literal, TypeAlias

from ironcurtain.errors import BusyError, FileError, FormatError, UsageError
from ironcurtain.integrations.clients.edit import JsonNode
from ironcurtain.integrations.clients.known_clients import (
    CLIENTS,
    OPENCODE,
    Client,
    Shape,
    is_entry,
    shapes_of,
    user_files,
)
from ironcurtain.integrations.clients.store import without_secrets_of
from ironcurtain.system.files import atomic_write, read_bytes
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted, visible

ConfigScope: TypeAlias = Literal["user", "project"]
"""For whom a configuration is: everything that the user does, or one project."""


class ConfigLocation(Struct):
    """One configuration file.

    Attributes:
        client: Whose it is; `file` if only its path is known.
        shapes: How its servers may stand in it.
        directory: The directory that its servers' relative paths start from.
        project: Whether that is a project's directory.
        variables: Whether it replaces `${…}`; assumed where the client is not known.
        owner: The client, where it is known.
    """

    client: str
    path: Path
    shapes: tuple[Shape, ...]
    directory: Path
    project: bool
    variables: bool
    owner: Client | None = None

    @property
    def starts_in_projects(self) -> bool:
        """Whether the client reads the file in many projects, and starts servers in the one it works in."""
        return self.owner is not None and self.owner.in_project and not self.project


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
        locations += [_place(client, path, Path.home(), project=False) for path in user_files(client)]
    if not locations:
        raise UsageError(f"{name} has no configuration of a project", hint="Leave --scope out.")
    return locations


def _place(client: Client, path: Path, directory: Path, *, project: bool) -> ConfigLocation:
    return ConfigLocation(client.name, path, (client.shape,), directory, project, client.variables, client)


def _file(path: Path) -> ConfigLocation:
    """Say what can be known of a file: whose it looks like, by its name and its directory's."""
    tail = (path.parent.name, path.name)
    for client in CLIENTS.values():
        paths = [*chain.from_iterable(client.user.values()), client.project or ""]
        ends = {tuple(Path(each).parts[-2:]) for each in paths}
        if tail in ends or (path.name,) in ends:
            project = client.project is not None and path.as_posix().endswith("/" + client.project)
            folder = path.parents[len(Path(client.project or "").parts) - 1] if project else Path.home()
            shapes = shapes_of(path, client)
            return ConfigLocation(client.name, path, shapes, folder, project, client.variables, client)
    return ConfigLocation("file", path, shapes_of(path, None), path.parent, project=False, variables=True)


_NO_NEWLINE = "\n\\ No newline at end of file\n"


def unified(target: Target, document: ClientDocument) -> str:
    """Return the unified diff, without secrets, from what a file holds to what it would hold."""
    old, new = (_lines(without_secrets_of(each.text, each.entries)) for each in (target.document, document))
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
        shape: How the servers stand in it.
        servers: The object that holds them, if it is there.
    """

    text: str
    bom: bool
    root: JsonNode
    shape: Shape
    servers: JsonNode | None

    @property
    def entries(self) -> dict[str, JsonValue]:
        """The servers by name, each as we write one."""
        found = self.servers.fields if self.servers is not None else {}
        return {name: self.shape.dialect.read(entry) for name, entry in found.items()}

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return (_BOM if self.bom else b"") + self.text.encode()

    def changed(self, text: str, source: str) -> ClientDocument:
        """Return the document of another text of the same file.

        Raises:
            FormatError: If it is none.
        """
        return _document(text, source, (self.shape,), bom=self.bom)


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
        FormatError: If it is not of its format, or its servers are no object.
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
    document = read_document(read_bytes(path, max_bytes=MAX_BYTES), str(place.path), place.shapes)
    return Target(place, path, stat.S_IMODE(facts.st_mode), (facts.st_uid, facts.st_gid), document)


def read_document(data: bytes, source: str, shapes: tuple[Shape, ...]) -> ClientDocument:
    """Read a file's content.

    Raises:
        FileError: If it is no UTF-8.
        FormatError: If it is not of its format, or its servers are no object.
        UsageError: If its servers could stand in several places, or in none that we know.
    """
    bom = data.startswith(_BOM)
    try:
        text = data.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        raise FileError(f"the file is not UTF-8 (byte {error.start})", where=source) from None
    return _document(text, source, shapes, bom=bom)


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


def _document(text: str, source: str, shapes: tuple[Shape, ...], *, bom: bool) -> ClientDocument:
    first = shapes[0]
    root, servers = first.syntax.read(text, source, first.pointer)
    if not isinstance(root.value, dict):
        raise FormatError("a client's configuration is an object", where=source)
    found = {0: servers} if servers is not None else {}
    for number, shape in enumerate(shapes[1:], 1):
        _, node = shape.syntax.read(text, source, shape.pointer)
        if node is not None and (shape is not OPENCODE or all(map(is_entry, node.fields.values()))):
            found[number] = node
    if len(shapes) > 1 and len(found) != 1:
        what = "in several places" if found else "nowhere"
        names = ", ".join(".".join(shape.pointer) for shape in shapes)
        raise UsageError(f"servers stand {what} in this file: looked for {names}", where=source)
    number, servers = next(iter(found.items()), (0, None))
    shape = shapes[number]
    if servers is not None and not isinstance(servers.value, dict):
        raise FormatError(f"{quoted('.'.join(shape.pointer))} is no object", where=source)
    return ClientDocument(text, bom, root, shape, servers)


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
    return bool(read_target(place).document.entries)
