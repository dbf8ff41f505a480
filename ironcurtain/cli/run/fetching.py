"""Fetching servers from the command line: said before, since it takes a while and uses the network.

How commands start servers to read them: contained, and with a note on stderr where they are not.
"""

from __future__ import annotations

import stat
from pathlib import Path

import click

from ironcurtain.cli.options.project import read_project
from ironcurtain.cli.review.policy_argument import project_of
from ironcurtain.enforcement.sandbox.tool_discovery import contained_launcher
from ironcurtain.errors import Exit, IronCurtainError, ServerConfigError, UsageError, raise_all
from ironcurtain.integrations.clients import servers_file
from ironcurtain.integrations.clients.ready import Fetch
from ironcurtain.servers.config_model import Server, Servers
from ironcurtain.servers.fetched.fetch import fetch, is_there
from ironcurtain.servers.fetched.lock import (
    FetchedServer,
    ServerLock,
    Wanted,
    lock_of,
    lock_text,
    read_lock,
    with_fetched,
    write_lock,
)
from ironcurtain.servers.fetched.request import request_of
from ironcurtain.servers.launching import ServerLauncher
from ironcurtain.system.files import load
from ironcurtain.system.text import printable, quoted, visible


def wanted_of(server: Server) -> Wanted | None:
    """Return what a server's command fetches, None where it fetches nothing, or does so by itself.

    Raises:
        ServerConfigError: If it fetches something that cannot be pinned.
    """
    try:
        request = request_of(server.command, server.args)
    except ServerConfigError:
        if server.sandbox is False:
            return None
        raise
    return request.wanted if request is not None else None


def fetch_aloud(name: str, wanted: Wanted, known: FetchedServer | None) -> FetchedServer:
    """Fetch a server, and say so on stderr unless it is there.

    Raises:
        FetchError: If it cannot be fetched.
    """
    if known is not None and is_there(known, wanted):
        return known
    manager = "npm" if wanted.manager == "npm" else "Python"
    package = visible(wanted.packages[0])
    print_note(f"fetching: {name}: the {manager} package {package} (none of its code is run) ...")
    fetched = fetch(wanted, known)
    print_note(f"fetched: {name}: {visible(fetched.package)} {visible(fetched.version)}")
    if fetched.unrun:
        scripts = f"note: {name}: install scripts were not run: {', '.join(map(visible, fetched.unrun))}"
        print_note(f"{scripts}; if it does not start, install it yourself")
    return fetched


def fetching_as_pinned(bundle: Path) -> Fetch:
    """Return what fetches a client's servers: those that the policy's project has pinned, as pinned there.

    Raises:
        IronCurtainError: If the project's settings or its lock cannot be read.
    """
    pinned = read_lock(project_of(bundle).path("servers")).servers.values()

    def fetch_server(name: str, wanted: Wanted, known: FetchedServer | None) -> FetchedServer:
        same = next((each for each in pinned if each.wanted == wanted), None)
        return fetch_aloud(name, wanted, known or same)

    return fetch_server


def fetch_servers(
    *, names: tuple[str, ...], servers: str | None, update: bool, config: str | None, format_: str
) -> Exit:
    """Fetch servers and write down what was fetched; one that fails does not keep the others from it."""
    file = Path(servers) if servers is not None else read_project(config).path("servers")
    configured = load(file, Servers).servers
    for name in names:
        if name not in configured:
            raise UsageError(f"there is no server {quoted(name)}", where=str(file))
    before = read_lock(file)
    fetched: dict[str, FetchedServer] = {}
    failed: list[IronCurtainError] = []
    for name, wanted in _all_wanted(configured, names, file, failed).items():
        try:
            fetched[name] = fetch_aloud(name, wanted, None if update else before.servers.get(name))
        except IronCurtainError as error:
            failed.append(error)
    if fetched:
        _write(file, fetched)
    lock = ServerLock(servers=fetched)
    if format_ == "json":
        click.echo(lock_text(lock), nl=False)
    else:
        for name, each in fetched.items():
            click.echo(f"{name}: {visible(each.package)} {visible(each.version)}")
        if fetched:
            click.echo(f"pinned in {visible(str(lock_of(file)))}")
        elif not failed:
            click.echo("no server fetches itself: there is nothing to fetch")
    raise_all(failed)
    return Exit.YES


def _all_wanted(
    configured: dict[str, Server], names: tuple[str, ...], file: Path, failed: list[IronCurtainError]
) -> dict[str, Wanted]:
    """Return what is to be fetched: of the servers named, or of all that are contained."""
    fetched = {}
    for name in names or configured:
        try:
            wanted = wanted_of(configured[name])
        except IronCurtainError as error:
            failed.append(error)
            continue
        if wanted is None and names:
            raise UsageError(
                f"the command of {quoted(name)} fetches nothing",
                where=str(file),
                hint="It is started as it is written.",
            )
        if wanted is not None and (names or configured[name].sandbox is not False):
            fetched[name] = wanted
    return fetched


def _write(file: Path, found: dict[str, FetchedServer]) -> None:
    with servers_file.alone(file):
        lock = read_lock(file)
        made = with_fetched(lock, found)
        if made != lock:
            write_lock(file, made, mode=stat.S_IMODE(file.stat().st_mode) & 0o644)


def print_note(text: str) -> None:
    """Print a line to stderr, with what is not printable in it escaped."""
    click.echo(printable(text), err=True)


def say(text: str) -> None:
    """Say on stderr what has to be known of how servers are started, or are not."""
    click.echo(printable(f"note: {text}"), err=True)


def server_launcher() -> ServerLauncher:
    """Return what starts servers, and says on stderr what has to be known of their sandbox."""
    return contained_launcher(say)
