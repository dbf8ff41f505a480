"""The proxies that tell of themselves: do they run, record, decide by the bundle, and listen?"""

from __future__ import annotations

import socket
from collections.abc import Iterator

from ironcurtain.bundle.archive import Bundle
from ironcurtain.doctor.plane import of_node
from ironcurtain.doctor.subject import Subject, failed
from ironcurtain.errors import (
    AuditError,
    EngineFailedError,
    IronCurtainError,
    ServerFailedError,
    SystemFailedError,
)
from ironcurtain.files import load
from ironcurtain.model.doctor import Diagnosis
from ironcurtain.model.status import ProxyStatus
from ironcurtain.proxy.running import is_running
from ironcurtain.settings import status_directory
from ironcurtain.text import visible

_SECONDS = 3.0


def proxies(subject: Subject) -> Iterator[Diagnosis]:
    """Look at each proxy that tells of itself."""
    found = 0
    for path in sorted(status_directory().glob("*.json")):
        found += 1
        name = f"proxy/{visible(path.stem)}"
        try:
            status = load(path, ProxyStatus)
        except IronCurtainError as error:
            yield from failed(name, error, f"Remove {visible(str(path))}; a proxy that runs writes it anew.")
            continue
        if not is_running(path):
            what = "it was killed; its servers and its engine have ended with it"
            fix = f"Let its client start it again, or remove {visible(str(path))}."
            yield Diagnosis(name=name, status="warn", what=what, fix=fix)
            continue
        wrong = list(_wrong(name, status, _revision(subject)))
        yield from wrong
        if not wrong:
            up = sum(server.up for server in status.servers)
            what = f"it runs (process {status.pid}), and {up} of {len(status.servers)} servers are up"
            yield Diagnosis(name=name, status="ok", what=what)
    if not found:
        yield Diagnosis(name="proxy", status="ok", what="no proxy runs")


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
        if not server.up:
            yield Diagnosis(
                name=name,
                status="fail",
                what=f"its server {visible(server.name)} is down: {visible(server.reason)}",
                fix=f"See servers/{visible(server.name)} here; the proxy starts it again when it is called.",
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
            what=f"nobody answers at {visible(status.http)}, where it was told to listen",
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


def _revision(subject: Subject) -> str | None:
    try:
        return Bundle.read(subject.bundle).revision
    except IronCurtainError:
        return None


def _listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    if port == "0":  # it took a free one, and we are not told which
        return True
    try:
        socket.create_connection((host, int(port)), timeout=_SECONDS).close()
    except OSError:
        return False
    return True
