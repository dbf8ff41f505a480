"""Where rules permit what a server's sandbox does not let through, and what mends it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.reserved_tools import is_reserved
from ironcurtain.decision.rule_scope import can_apply
from ironcurtain.enforcement.sandbox.limits import names_host
from ironcurtain.enforcement.sandbox.profile import can_be_let_through
from ironcurtain.enforcement.sandbox.reach.reach import Places, Reach, reach_of
from ironcurtain.enforcement.sandbox.reach.sign_ins import sign_ins_below
from ironcurtain.enforcement.sandbox.report import command_for
from ironcurtain.model.verdict import Verdict
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.config_model import SandboxSettings, Server
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
            if _keeps_nothing(content, name, config, reach):
                yield Disagreement(
                    name,
                    f"server {name}: rules permit tools that change something, and neither they nor its "
                    "configuration name a place to keep that in: it writes its temporary directory alone",
                    f"If it keeps files, run {command_for(name, '--allow-write', 'DIR', config.path)}.",
                )


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


def _keeps_nothing(content: PolicyContent, name: str, config: ServerConfig, reach: Reach) -> bool:
    server = config.servers[name]
    settings = server.sandbox if isinstance(server.sandbox, SandboxSettings) else SandboxSettings()
    if (
        settings.filesystem.allow_write
        or config.sandbox.filesystem.allow_write
        or settings.network.allowed_domains
    ):
        return False
    if reach.session or reach.writes.named or reach.writes.anywhere or reach.domains or reach.any_domain:
        return False
    changing = [
        tool
        for (server, _), tool in content.tools.items()
        if server == name and tool.side_effects and not is_reserved(tool)
    ]
    open_ = [rule for rule in content.rules.values() if rule.then is not Verdict.DENY]
    return any(
        rule.if_ is not None and can_apply(rule.if_, rule.then, name, tool)
        for tool in changing
        for rule in open_
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
