"""Do the modules of gateways load, and do the files of `ironcurtain serve` fit them?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ironcurtain.bundle.domain import open_domain
from ironcurtain.bundle.signing.keys import read_public_key
from ironcurtain.enforcement.proxy.transport.tokens import Tokens
from ironcurtain.errors import IronCurtainError
from ironcurtain.gateway.gateway import Gateway, load_gateway
from ironcurtain.gateway.option_positions import option_positions
from ironcurtain.gateway.principal import read_permissions
from ironcurtain.integrations.doctor.installation import Diagnosis, Installation, failed
from ironcurtain.servers.permitted import project_servers, unpermitted
from ironcurtain.system.ownership import check_own
from ironcurtain.system.text import counted, visible


def gateways(installation: Installation) -> Iterator[Diagnosis]:
    """Read each gateway's module, and hold against it the files that `ironcurtain serve` is given."""
    try:
        config = project_servers(installation.servers)
    except IronCurtainError:  # the part servers says why
        return
    found: dict[str, Gateway] = {}
    refused = unpermitted(config, config.servers)  # as the part servers says
    for name, server in config.servers.items():
        if server.gateway is None or name in refused:
            continue
        try:
            found[name] = load_gateway(config.directory / server.gateway)
        except IronCurtainError as error:
            yield from failed(f"gateway/{visible(name)}", error)
            continue
        yield from _declared(name, found[name])
    if not found:
        return
    files = installation.gateway_files
    known = frozenset().union(*(gateway.permissions for gateway in found.values()))
    if files.permissions is not None:
        yield from _permissions(files.permissions, known)
    if files.tokens is not None:
        yield from _tokens(files.tokens)
    if files.domain is not None:
        yield from _domain(files.domain, files.domain_key, found)


def _declared(name: str, gateway: Gateway) -> Iterator[Diagnosis]:
    named = f"gateway/{visible(name)}"
    what = f"its module is read, and {counted(len(gateway.tools), 'tool is', 'tools are')} declared well"
    yield Diagnosis.ok(named, what)
    for tool in gateway.tools.values():
        for argument in option_positions(tool):
            told = f"{visible(tool.name)}: the value of {visible(argument)} can be taken for an option"
            yield Diagnosis.warn(named, told, 'Put "--" before it.')


def _permissions(path: Path, known: frozenset[str]) -> Iterator[Diagnosis]:
    try:
        principal = read_permissions(path, known)
    except IronCurtainError as error:
        yield from failed("permissions", error)
        return
    held = counted(len(principal.permissions), "permission")
    yield Diagnosis.ok("permissions", f"{visible(principal.sub)} has {held}")


def _tokens(path: Path) -> Iterator[Diagnosis]:
    tokens = Tokens(path)
    try:
        tokens.read()
    except IronCurtainError as error:
        yield from failed("tokens", error)
        return
    yield Diagnosis.ok("tokens", f"tokens of {counted(tokens.keys, 'key')} count")
    for note in tokens.notes():
        yield Diagnosis.warn("tokens", note, "Name it in the settings of tokens.")


def _domain(path: Path, key: Path | None, found: dict[str, Gateway]) -> Iterator[Diagnosis]:
    if key is None:
        what = "without its key (--domain-key) the signature is not looked at"
        yield Diagnosis.skip("domain", what, "Give --domain-key.")
        return
    try:
        check_own(path, "the domain's configuration")
        check_own(key, "the key of the domain's configuration")
        domain = open_domain(path, read_public_key(key))
        domain.of(found, str(path))
    except IronCurtainError as error:
        yield from failed("domain", error)
        return
    held = counted(len(domain.tools), "tool")
    what = f"{visible(domain.domain)} is signed by the key, and has {held} of {visible(domain.gateway)}"
    yield Diagnosis.ok("domain", what)
