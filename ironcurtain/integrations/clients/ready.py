"""Whether servers that move would run behind the proxy, and fetching those whose command fetches them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from ironcurtain.errors import FetchError, IronCurtainError, ServerConfigError, raise_all
from ironcurtain.integrations.clients.places import ConfigLocation
from ironcurtain.servers.config_model import Server
from ironcurtain.servers.fetched.fetch import is_there
from ironcurtain.servers.fetched.lock import FetchedServer, ServerLock, Wanted
from ironcurtain.servers.fetched.request import PackageRequest, request_of
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import quoted, visible

Fetch: TypeAlias = Callable[[str, Wanted, FetchedServer | None], FetchedServer]
"""Fetches the server of a name by what is known of it; raises `FetchError`."""

_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})


@dataclass(frozen=True)
class Ready:
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
    wrong = {name: found for name, entry in servers.items() if (found := _obstacle(_read(entry))) is not None}
    rest = [name for name in servers if name not in wrong]
    raise_all([_refusal(name, *found, rest, place) for name, found in wrong.items()])


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

    Args:
        servers: The servers that move, as the proxy's file has them.
        before: What earlier wraps pinned.
        written: What is written down for this one.
        fetch: Fetches one.

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
    if shutil.which(command, path=server.env.get("PATH")) is None:
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
