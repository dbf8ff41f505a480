"""The proxies that tell of themselves: do they run, record, decide by the bundle, and listen?"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

from ironcurtain.bundle.archive import Bundle
from ironcurtain.enforcement.proxy.status.liveness_lock import is_running
from ironcurtain.enforcement.proxy.status.report import ProxyStatus
from ironcurtain.errors import (
    AuditError,
    EngineFailedError,
    IronCurtainError,
    ServerFailedError,
    SystemFailedError,
)
from ironcurtain.integrations.doctor.remote_engines import of_node
from ironcurtain.integrations.doctor.report import Diagnosis
from ironcurtain.integrations.doctor.subject import Installation, failed
from ironcurtain.settings import status_directory
from ironcurtain.system.files import load
from ironcurtain.system.text import counted, visible

_SECONDS = 30.0


def proxies(subject: Installation) -> Iterator[Diagnosis]:
    """Look at each proxy that tells of itself."""
    found = 0
    for path in sorted(status_directory().glob("*.json")):
        found += 1
        name = f"proxy/{visible(path.stem)}"
        if not is_running(path):
            what = "it was killed; its servers and its engine have ended with it"
            fix = f"Let its client start it again, or remove {visible(str(path))}."
            yield Diagnosis(name=name, status="warn", what=what, fix=fix)
            continue
        try:
            status = load(path, ProxyStatus)
        except IronCurtainError as error:
            fix = "It runs: look at it with the version of IronCurtain that its client starts."
            yield from failed(name, error, fix)
            continue
        wrong = list(_wrong(name, status, _revision(subject)))
        yield from wrong
        if not wrong:
            yield Diagnosis(name=name, status="ok", what=_well(status))
    if not found:
        yield Diagnosis(name="proxy", status="ok", what="no proxy runs")


def _well(status: ProxyStatus) -> str:
    up = sum(server.up for server in status.servers)
    starting = sum(server.starting for server in status.servers)
    servers = counted(len(status.servers), "server is", "servers are")
    what = f"it runs (process {status.pid}), and {up} of {servers} up"
    return f"{what}; {starting} start with the first client" if starting else what


def _wrong(name: str, status: ProxyStatus, revision: str | None) -> Iterator[Diagnosis]:
    if status.trouble:
        yield Diagnosis(
            name=name,
            status="fail",
            what=f"every call is refused: {visible(status.trouble)}",
            fix="Mend what the part audit says; the proxy goes on by itself.",
            code=AuditError.code,
        )
    for server in status.servers:
        if not (server.up or server.starting):
            yield Diagnosis(
                name=name,
                status="fail",
                what=f"its server {visible(server.name)} is down: {visible(server.reason)}",
                fix=f"See servers/{visible(server.name)} here; the proxy starts it again by itself.",
                code=ServerFailedError.code,
            )
    for node in status.nodes:
        if not node.serves:
            told = of_node(node)
            what = f"its node {visible(node.url)}: {told.what}"
            yield Diagnosis(name=name, status="fail", what=what, fix=told.fix, code=EngineFailedError.code)
    if status.http is not None and not _listens(status.http):
        yield Diagnosis(
            name=name,
            status="fail",
            what=f"nobody answers at {visible(status.http)}, where it listens",
            fix="End it (SIGTERM), look what else uses that address, and start it again.",
            code=SystemFailedError.code,
        )
    if revision is not None and status.revision != revision:
        yield Diagnosis(
            name=name,
            status="warn",
            what=f"it enforces {visible(status.revision)}, and the bundle is {revision}",
            fix=f"If this is its bundle: `kill -HUP {status.pid}`; its standard error says what keeps it.",
        )
    if status.observe:
        yield Diagnosis(
            name=name,
            status="warn",
            what="it observes only: every call is let through",
            fix="Start it without --observe.",
        )


def _revision(subject: Installation) -> str | None:
    try:
        return Bundle.read(subject.bundle).revision
    except IronCurtainError:
        return None


def _listens(url: str) -> bool:
    try:
        address = urlsplit(url)
        socket.create_connection((address.hostname or "", address.port or 0), timeout=_SECONDS).close()
    except (OSError, ValueError):
        return False
    return True
