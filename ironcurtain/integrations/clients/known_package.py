"""Which of a client's servers are in the collection of well-known ones, by the package that they run."""

from __future__ import annotations

import re

from ironcurtain.compiler.annotate.known import shipped_collection
from ironcurtain.errors import ServerConfigError
from ironcurtain.integrations.clients.places import ConfigLocation
from ironcurtain.integrations.clients.target import read_target
from ironcurtain.model.known import KnownServer
from ironcurtain.servers.fetched.request import request_of
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.json_text import members

_VERSION = re.compile(r"(?<=.)(?:@|\[|\s*[<>=!~]).*")
"""What follows a package's name: a version, a range, extras."""


def known_of(place: ConfigLocation) -> dict[str, KnownServer]:
    """Return the well-known ones of a client's servers, by the name that the client has for them."""
    servers = read_target(place).document.servers
    by_package = {(s.package.registry, s.package.name): s for s in shipped_collection().servers}
    found = {name: _package(server) for name, server in (servers.fields if servers else {}).items()}
    return {name: by_package[package] for name, package in found.items() if package in by_package}


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
