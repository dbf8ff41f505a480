"""Whether the servers of a client would run behind the proxy, and fetching those whose command fetches them.

Also how a client starts this program (from any directory, with any search path, by absolute paths), and which
of its servers are in the collection of well-known ones, by the package that they run.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from ironcurtain.compiler.annotate.known import shipped_collection
from ironcurtain.errors import FetchError, IronCurtainError, ServerConfigError, UsageError, raise_all
from ironcurtain.integrations.clients.target import ConfigLocation, read_target
from ironcurtain.model.known import KnownServer
from ironcurtain.servers.config import ServerConfig, check_servers
from ironcurtain.servers.config_model import Server, Servers
from ironcurtain.servers.fetched.fetch import is_there
from ironcurtain.servers.fetched.lock import FetchedServer, ServerLock, Wanted
from ironcurtain.servers.fetched.request import PackageRequest, request_of
from ironcurtain.servers.variables import VARIABLE, filled_where_set
from ironcurtain.system.files import parse_document
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.json_text import members
from ironcurtain.system.structs import Struct, replace
from ironcurtain.system.text import quoted, visible

Fetch: TypeAlias = Callable[[str, Wanted, FetchedServer | None], FetchedServer]
"""Fetches the server of a name by what is known of it; raises `FetchError`."""

Start: TypeAlias = Callable[[ServerConfig], Mapping[str, Sequence[IronCurtainError]]]
"""Starts servers as the proxy does; returns by name what is wrong with those that fail."""

_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})


class Ready(Struct):
    """What was fetched of servers that move.

    Attributes:
        lock: What is pinned.
        is_change: Whether that is not written down yet.
        notes: What a person should know, one sentence each.
    """

    lock: ServerLock
    is_change: bool
    notes: tuple[str, ...] = ()


def check_runnable(servers: Mapping[str, dict[str, JsonValue]], place: ConfigLocation) -> None:
    """See that each server could be started in its sandbox, as far as that can be told without starting it.

    Raises:
        ServerConfigError: For each that could not; the hint has the command that helps.
    """
    wrong = {
        name: obstacle for name, entry in servers.items() if (obstacle := _obstacle(_read(entry))) is not None
    }
    rest = [name for name in servers if name not in wrong]
    raise_all([_refusal(name, *obstacle, rest, place) for name, obstacle in wrong.items()])


def to_fetch(servers: Mapping[str, dict[str, JsonValue]], known: ServerLock) -> tuple[str, ...]:
    """Say what would be fetched."""
    return tuple(
        f"{name}: {visible(request.wanted.packages[0])} will be fetched and pinned; none of its code is run"
        for name, request in _requests(servers).items()
        if (there := known.servers.get(name)) is None or not is_there(there, request.wanted)
    )


def fetched(
    servers: Mapping[str, dict[str, JsonValue]], before: ServerLock, written: ServerLock, fetch: Fetch
) -> Ready:
    """Fetch what is not there yet.

    Raises:
        FetchError: For each that cannot be fetched.
    """
    found: dict[str, FetchedServer] = {}
    failed: list[IronCurtainError] = []
    for name, request in _requests(servers).items():
        try:
            found[name] = fetch(name, request.wanted, before.servers.get(name))
        except FetchError as error:
            what = f"{name} would not run behind the proxy: {error.what}"
            failed.append(FetchError(what, where=name, hint=error.hint))
    raise_all(failed)
    lock = ServerLock(servers=found)
    return Ready(lock, is_change=lock != written)


def check_starts(
    servers: Mapping[str, dict[str, JsonValue]],
    file: Path,
    lock: ServerLock,
    place: ConfigLocation,
    start: Start,
) -> None:
    """See that each server starts as the proxy will start it, from a file that is not there yet.

    Raises:
        ServerConfigError: For each that does not; the hint says what mends it.
    """
    document = parse_document(json.dumps({"mcpServers": servers}), str(file), Servers)
    config = check_servers(document, file, lock)
    startable = {name: server for name, server in config.servers.items() if not _unset(server)}
    failed = start(replace(config, servers=startable)) if startable else {}
    rest = [name for name in servers if name not in failed]
    errors = [(name, error) for name, found in failed.items() for error in found]
    raise_all([_refusal(name, error.what, error.hint, rest, place) for name, error in errors])


def _unset(server: Server) -> bool:
    """Tell whether a server that is started waits for what only its client can fill in, or is not started."""
    return not server.command or any(VARIABLE.search(text) for text in _texts(filled_where_set(server)))


def _texts(server: Server) -> tuple[str, ...]:
    return (server.command or "", server.cwd or "", *server.args, *server.env.values())


def _requests(servers: Mapping[str, dict[str, JsonValue]]) -> dict[str, PackageRequest]:
    requests = {
        name: request_of(server.command, server.args)
        for name, server in ((name, _read(entry)) for name, entry in servers.items())
        if server.sandbox is not False
    }
    return {name: request for name, request in requests.items() if request is not None}


def _read(entry: Mapping[str, JsonValue]) -> Server:
    """Read a server that is written for the proxy's file, which takes it."""
    return Server.model_validate_json(json.dumps(entry))


def _obstacle(server: Server) -> tuple[str, str] | None:
    """Return why a server could not be started, and what helps; None if it could."""
    command, contained = server.command, server.sandbox is not False
    if not command:
        return None
    try:
        if contained and request_of(command, server.args) is not None:
            return None
    except ServerConfigError as error:
        return error.what, error.hint
    if contained and Path(command).name in _CONTAINERS:
        what = f"{quoted(Path(command).name)} needs a socket that its sandbox does not have"
        return what, "Install the server's own program, and write that as the command."
    command = filled_where_set(server).command or ""
    if not VARIABLE.search(command) and shutil.which(command, path=server.env.get("PATH")) is None:
        what = f"the command {quoted(command)} was not found"
        return what, "Install it, or correct it in the client's file."
    return None


def _refusal(name: str, what: str, fix: str, rest: list[str], place: ConfigLocation) -> ServerConfigError:
    client = visible(str(place.path)) if place.client == "file" else place.client
    only = " ".join(f"--only {each}" for each in rest)
    leave = f" Or wrap the others: `ironcurtain wrap {client} {only} …`." if rest else ""
    return ServerConfigError(
        f"{name} would not run behind the proxy: {what}", where=str(place.path), hint=fix + leave
    )


def search_path() -> str:
    """Return the absolute directories in which this process finds programs, as PATH names them."""
    return os.pathsep.join(filter(os.path.isabs, os.get_exec_path()))


def program() -> tuple[str, ...]:
    """Return how this program is started from anywhere, with any search path."""
    called = Path(sys.argv[0])
    if called.name == "ironcurtain" and os.access(called, os.X_OK) and called.is_file():
        return (str(called.absolute()),)
    # -I: neither the client's directory nor its environment can put another module in our place.
    return (sys.executable, "-I", "-c", "from ironcurtain.cli.main import main; main()")


def absolute(path: str) -> str:
    """Return a path of the command line without `..` and `~`; symbolic links stay.

    Raises:
        UsageError: If it is not UTF-8, as a client's configuration has to be.
    """
    made = os.path.abspath(Path(path).expanduser())  # noqa: PTH100 - without ..; links stay
    try:
        made.encode()
    except UnicodeEncodeError:
        quoted_path = shlex.quote(visible(made))
        raise UsageError(f"the path {quoted_path} is not UTF-8; no client can be told it") from None
    return made


_VERSION = re.compile(r"(?<=.)(?:@|\[|\s*[<>=!~]).*")
"""What follows a package's name: a version, a range, extras."""


def known_of(place: ConfigLocation) -> dict[str, KnownServer]:
    """Return the well-known ones of a client's servers, by the name that the client has for them."""
    servers = read_target(place).document.entries
    by_package = {(s.package.registry, s.package.name): s for s in shipped_collection().servers}
    packages = {name: _package(server) for name, server in servers.items()}
    return {name: by_package[package] for name, package in packages.items() if package in by_package}


def _package(server: JsonValue) -> tuple[str, str]:
    """Return registry and name of the package that a server's command runs; empty if it names none."""
    entry = members(server)
    command, arguments = entry.get("command"), entry.get("args")
    words = arguments if isinstance(arguments, list) else []
    texts = [text for text in words if isinstance(text, str)]
    try:
        request = request_of(command, texts) if isinstance(command, str) else None
    except ServerConfigError:
        request = None
    if request is None:
        return "", ""
    return request.wanted.manager, _VERSION.sub("", request.wanted.packages[0])
