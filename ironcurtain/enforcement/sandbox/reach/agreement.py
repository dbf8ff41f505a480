"""Where rules permit what a server's sandbox does not let through, and what mends it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.enforcement.sandbox.limits import names_host
from ironcurtain.enforcement.sandbox.profile import can_be_let_through
from ironcurtain.enforcement.sandbox.reach.opened import is_in, personal_places
from ironcurtain.enforcement.sandbox.reach.reach import Places, Reach, reach_of
from ironcurtain.enforcement.sandbox.reach.sign_ins import sign_ins_below
from ironcurtain.enforcement.sandbox.report import command_for
from ironcurtain.enforcement.sandbox.server_program import named_directories
from ironcurtain.servers.config import ServerConfig, real_paths
from ironcurtain.servers.config_model import FilesystemSettings, SandboxSettings, Server
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import visible


class Disagreement(Struct):
    """One thing that the policy permits and a sandbox does not.

    Attributes:
        server: The server.
        what: What it is, as a sentence without its full stop.
        fix: What mends it, as a sentence.
    """

    server: str
    what: str
    fix: str

    @property
    def line(self) -> str:
        """All of it, as one line."""
        return f"{self.what}. {self.fix}"


def disagreements(content: PolicyContent, config: ServerConfig) -> Iterator[Disagreement]:
    """Yield where a policy and the sandboxes of its contained servers do not agree, on any machine."""
    for name, server in config.servers.items():
        if server.command and server.sandbox is not False:
            reach = reach_of(content, name)
            yield from _of_network(name, server, reach, config.path)
            yield from _of_places(name, server, reach)
            yield from _of_entry(name, server, reach, config)


def _of_network(name: str, server: Server, reach: Reach, file: Path) -> Iterator[Disagreement]:
    settings = server.sandbox if isinstance(server.sandbox, SandboxSettings) else SandboxSettings()
    listed = settings.network.allowed_domains
    if listed is None:
        lacking = [domain for domain in reach.domains if not can_be_let_through(domain)]
        if reach.any_domain:
            lacking.append("any host")
    else:
        lacking = [
            domain
            for domain in reach.domains
            if domain not in listed and not any(names_host(each, domain, None) for each in listed)
        ]
    if lacking:
        shown = ", ".join(map(visible, lacking))
        yield Disagreement(
            name,
            f"server {name}: rules permit it to contact {shown}, and its sandbox does not: it needs names",
            f"Run {command_for(name, '--allow-domain', 'NAME', file)} for those that it should.",
        )


def _of_places(name: str, server: Server, reach: Reach) -> Iterator[Disagreement]:
    settings = server.sandbox if isinstance(server.sandbox, SandboxSettings) else SandboxSettings()
    shown = (*settings.filesystem.allow_read, *settings.filesystem.allow_write)
    named = dict.fromkeys((*reach.reads.named, *reach.writes.named))
    if closed := [place for place in named if sign_ins_below(place) and place not in shown]:
        yield Disagreement(
            name,
            f"server {name}: rules speak of {', '.join(map(visible, closed))}, where keys and sign-ins lie, "
            "and every sandbox hides these",
            "Name single files in allowRead, if it needs them (`ironcurtain error sandbox`).",
        )


def _of_entry(name: str, server: Server, reach: Reach, config: ServerConfig) -> Iterator[Disagreement]:
    """Tell which directories an entry names that its server would find empty: not what any rule opens."""
    if reach.reads.anywhere or reach.session:  # the session's sandbox could be what it names
        return
    home, settings = Path.home(), server.sandbox
    own = settings.filesystem if isinstance(settings, SandboxSettings) else FilesystemSettings()
    both = (own, config.sandbox.filesystem)
    shown = [path for each in both for path in (*each.allow_read, *each.allow_write)]
    opened = (*reach.reads.named, *reach.writes.named, *shown)
    places = real_paths(opened, home=home, directory=config.directory)
    named = named_directories(server, config.directory, home)
    hidden = personal_places(Path(os.path.realpath(home)))
    if closed := [str(path) for path in named if is_in(path, hidden) and not is_in(path, places)]:
        yield Disagreement(
            name,
            f"server {name}: its entry names {', '.join(map(visible, closed))}, which no rule lets it read: "
            "it finds an empty directory there",
            f"Say in the constitution what it may do in {visible(closed[0])}, or give that as --sandbox.",
        )


def reach_words(reach: Reach, asked: Reach) -> str:
    """Say what a server reaches, in a few words, and what single calls reach that a person approves."""
    with_approval = "" if asked == reach else f"; a call that a person approves may {_reach_words(asked)}"
    return f"rules let it {_reach_words(reach)}{with_approval}"


def _reach_words(reach: Reach) -> str:
    reads = _words(reach.reads, "everything but what is hidden")
    writes = _words(reach.writes, "the visible directories of the home")
    hosts = ["any host that its configuration names"] if reach.any_domain else []
    contacts = ", ".join([*map(visible, reach.domains), *hosts]) or "no host"
    session = "and the session's sandbox" if reach.session else "and nothing of the session's sandbox"
    return f"read {reads}, write {writes}, contact {contacts}, {session}"


def _words(places: Places, anywhere: str) -> str:
    if not places.anywhere:
        return ", ".join(map(visible, places.named)) or "nothing of the home"
    but = f" but {', '.join(map(visible, places.never))}" if places.never else ""
    return f"{anywhere}{but}"
