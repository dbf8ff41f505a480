"""The proxies that tell of themselves, and the remote engines that decide for them.

Do the proxies run, record, decide by the bundle, and listen? Do the engines serve the bundle, and can a new
one be published?
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.publishing.to_server import held_by_server
from ironcurtain.enforcement.proxy.status.liveness_lock import is_running
from ironcurtain.enforcement.proxy.status.report import ProxyStatus
from ironcurtain.engine.remote import ask_nodes
from ironcurtain.engine.remote_nodes import Nodes, NodeStatus
from ironcurtain.errors import (
    AuditError,
    EngineFailedError,
    IronCurtainError,
    PublishError,
    ServerFailedError,
    SystemFailedError,
)
from ironcurtain.integrations.doctor.installation import (
    Diagnosis,
    Installation,
    failed,
    is_writable,
    nearest_existing,
)
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.settings import status_directory
from ironcurtain.system.files import load, read_token
from ironcurtain.system.text import counted, visible

_SECONDS = 30.0


def proxies(installation: Installation) -> Iterator[Diagnosis]:
    """Look at each proxy that tells of itself."""
    count = 0
    for path in sorted(status_directory().glob("*.json")):
        count += 1
        name = f"proxy/{visible(path.stem)}"
        if not is_running(path):
            what = "it was killed; its servers and its engine have ended with it"
            fix = f"Let its client start it again, or remove {visible(str(path))}."
            yield Diagnosis.warn(name, what, fix)
            continue
        try:
            status = load(path, ProxyStatus)
        except IronCurtainError as error:
            fix = "It runs: look at it with the version of IronCurtain that its client starts."
            yield from failed(name, error, fix)
            continue
        wrong = list(_wrong(name, status, _revision(installation)))
        yield from wrong
        if not wrong:
            yield Diagnosis.ok(name, _well(status))
    if not count:
        yield Diagnosis.ok("proxy", "no proxy runs")


def _well(status: ProxyStatus) -> str:
    up = sum(server.up for server in status.servers)
    starting = sum(server.starting for server in status.servers)
    servers = counted(len(status.servers), "server is", "servers are")
    what = f"it runs (process {status.pid}), and {up} of {servers} up"
    return f"{what}; {starting} start with the first client" if starting else what


def _wrong(name: str, status: ProxyStatus, revision: str | None) -> Iterator[Diagnosis]:
    if status.trouble:
        yield Diagnosis.fail(
            name,
            f"every call is refused: {visible(status.trouble)}",
            "Mend what the part audit says; the proxy goes on by itself.",
            code=AuditError.code,
        )
    if status.notice:
        fix = "Start it with another --session, or with a higher --audit-limit."
        yield Diagnosis.warn(name, visible(status.notice), fix)
    yield from _servers_and_nodes_down(name, status)
    if status.http is not None and not _listens(status.http):
        yield Diagnosis.fail(
            name,
            f"nobody answers at {visible(status.http)}, where it listens",
            "End it (SIGTERM), look what else uses that address, and start it again.",
            code=SystemFailedError.code,
        )
    if revision is not None and status.revision != revision:
        yield Diagnosis.warn(
            name,
            f"it enforces {visible(status.revision)}, and the bundle is {revision}",
            f"If this is its bundle: `kill -HUP {status.pid}`; its standard error says what keeps it.",
        )
    if status.observe:
        yield Diagnosis.warn(
            name, "it observes only: every call is let through", "Start it without --observe."
        )


def _servers_and_nodes_down(name: str, status: ProxyStatus) -> Iterator[Diagnosis]:
    for server in status.servers:
        if not (server.up or server.starting):
            yield Diagnosis.fail(
                name,
                f"its server {visible(server.name)} is down: {visible(server.reason)}",
                f"See servers/{visible(server.name)} here; the proxy starts it again by itself.",
                code=ServerFailedError.code,
            )
        for sentence in server.refused:
            what = f"the sandbox of its server {visible(server.name)} refused: {visible(sentence)}"
            yield Diagnosis.warn(name, what, "Restart the client once it may.")
    for node in status.nodes:
        if not node.serves:
            told = of_node(node)
            what = f"its node {visible(node.url)}: {told.what}"
            yield Diagnosis.fail(name, what, told.fix, code=EngineFailedError.code)


def _revision(installation: Installation) -> str | None:
    try:
        return Bundle.read(installation.bundle).revision
    except IronCurtainError:
        return None


def _listens(url: str) -> bool:
    try:
        address = urlsplit(url)
        socket.create_connection((address.hostname or "", address.port or 0), timeout=_SECONDS).close()
    except (OSError, ValueError):
        return False
    return True


NODE_FIXES: dict[str, str] = {
    ReservedRule.ENGINE_UNREACHABLE: (
        "Start it, and check its address and --engine-ca (`ironcurtain error remote-engine`)."
    ),
    ReservedRule.ENGINE_TIMEOUT: "It is overloaded or hangs: look at its log, and start it anew.",
    ReservedRule.ENGINE_REVISION: (
        "Publish this bundle (ironcurtain publish), or give the gateways the one it serves."
    ),
    ReservedRule.ENGINE_STATUS: "Check --engine-token-file, and that the bundle's name there is ironcurtain.",
    ReservedRule.ENGINE_MALFORMED: (
        "This is no OPA that serves our bundle: check the address (`ironcurtain error remote-engine`)."
    ),
}
_CHECK = "See `ironcurtain error remote-engine`."
_SCHEMES = ("http://", "https://")


def nodes(installation: Installation) -> Iterator[Diagnosis]:
    """Ask each node that was named whether it serves the bundle."""
    try:
        named = Nodes.of(
            installation.engine, ca=installation.engine_ca, token_file=installation.engine_token_file
        )
    except IronCurtainError as error:
        yield from failed("node", error)
        return
    if named is None:
        return
    try:
        revision = Bundle.read(installation.bundle).revision
    except IronCurtainError:
        yield Diagnosis.skip("node", "the bundle cannot be read")
        return
    for node in asyncio.run(ask_nodes(named, revision)):
        yield of_node(node)


def of_node(node: NodeStatus) -> Diagnosis:
    """Return what a node's answer means."""
    name = f"node/{visible(node.url)}"
    if node.serves:
        return Diagnosis.ok(name, "it serves the bundle")
    fix = NODE_FIXES.get(node.rule, _CHECK)
    return Diagnosis.fail(name, visible(node.reason), fix, code=EngineFailedError.code)


def publishing(installation: Installation) -> Iterator[Diagnosis]:
    """Look whether a bundle could be published to the places that were named; nothing is written."""
    for target in installation.publish_to:
        name = f"publish/{visible(target)}"
        if not target.lower().startswith(_SCHEMES):
            yield _directory(name, Path(target))
            continue
        try:
            token = installation.publish_token_file
            held = held_by_server(target, read_token(Path(token)) if token is not None else None)
        except IronCurtainError as error:
            fix = (
                "Start the server, and check the address and --publish-token-file "
                "(`ironcurtain error publish`)."
            )
            yield from failed(name, error, fix)
            continue
        what = "it answers, and holds a bundle" if held is not None else "it answers, and holds nothing yet"
        yield Diagnosis.ok(name, what)


def _directory(name: str, place: Path) -> Diagnosis:
    """Look whether a bundle could be written into a directory, which is made if it does not exist."""
    nearest = nearest_existing(place)
    shown = visible(str(nearest))
    if not nearest.is_dir():
        what, fix = f"{shown} is no directory", "Move it away, or name another place."
    elif not is_writable(nearest):
        what = f"you may not write in {shown}"
        fix = "Give yourself the permission, or run as whoever has it."
    else:
        made = "" if nearest == place.absolute() else ", in a directory that is made"
        return Diagnosis.ok(name, f"a bundle can be written there{made}")
    return Diagnosis.fail(name, what, fix, code=PublishError.code)
