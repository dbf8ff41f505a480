"""Fetching servers from the command line: said before, since it takes a while and uses the network."""

from __future__ import annotations

import click

from ironcurtain.errors import ServerConfigError
from ironcurtain.servers.config_model import Server
from ironcurtain.servers.fetched.fetch import fetch, is_there
from ironcurtain.servers.fetched.lock_model import FetchedServer, Wanted
from ironcurtain.servers.fetched.request import request_of
from ironcurtain.system.text import printable, visible


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
    _say(f"fetching: {name}: the {manager} package {package} (none of its code is run) ...")
    found = fetch(wanted, known)
    _say(f"fetched: {name}: {visible(found.package)} {visible(found.version)}")
    if found.unrun:
        scripts = f"note: {name}: install scripts were not run: {', '.join(map(visible, found.unrun))}"
        _say(f"{scripts}; if it does not start, install it yourself")
    return found


def _say(text: str) -> None:
    click.echo(printable(text), err=True)
