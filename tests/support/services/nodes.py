"""Nodes that a remote engine is given: real OPAs at an address, and servers that only pretend."""

from __future__ import annotations

import datetime as dt
import ipaddress
import itertools
import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from support.services.bundle_server import Held
from support.services.plain_opa import PlainOpa, plain_opa

# Below the ports that systems give to whoever asks for any, and a range for each worker of a run: a port that
# a test gives up for a while is still free when it wants it back.
_LOWEST, _RANGE = 12_000, 1_000
_NEXT = itertools.count(os.getpid())


def free_port(count: int = 1) -> int:
    """Return a port of this machine that nobody listens on, with the next ones free as well."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    while True:
        port = _LOWEST + worker * _RANGE + next(_NEXT) % (_RANGE - count)
        try:
            for number in range(port, port + count):
                with socket.socket() as each:
                    each.bind(("127.0.0.1", number))
        except OSError:
            continue
        return port


@contextmanager
def opa_node(
    bundle: Path | Held, *arguments: str, scheme: str = "http", port: int | None = None
) -> Iterator[tuple[str, PlainOpa]]:
    """Run an OPA that serves the bundle in a file, or of a server; yield its address, too."""
    url = f"{scheme}://127.0.0.1:{port or free_port()}"
    polling = {"min_delay_seconds": 1, "max_delay_seconds": 1}
    config: dict[str, Any] = {"bundles": {"ironcurtain": {"polling": polling}}}
    if isinstance(bundle, Path):
        config["bundles"]["ironcurtain"]["resource"] = bundle.as_uri()
    else:
        config["services"] = {"releases": {"url": bundle.url.rpartition("/")[0]}}
        config["bundles"]["ironcurtain"] |= {"service": "releases", "resource": "bundle.tar.gz"}
    with plain_opa(config, "--addr", url, *arguments) as opa:
        opa.until(opa.serves)
        yield url, opa


@dataclass
class Pretender:
    """A server that answers every request alike.

    Attributes:
        status: The HTTP status; None hangs until the end.
        body: The answer's body.
        headers: Its headers.
        asked: The bodies and headers of the requests.
    """

    status: int | None
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[bytes, dict[str, str]]] = field(default_factory=list)
    url: str = ""


def answer(revision: Any, result: Any, bundle: str = "ironcurtain") -> bytes:
    """Return an answer as OPA writes it."""
    return json.dumps(
        {"result": result, "provenance": {"bundles": {bundle: {"revision": revision}}}}
    ).encode()


@contextmanager
def pretender(status: int | None, body: bytes = b"", **headers: str) -> Iterator[Pretender]:
    """Run a server that is no OPA."""
    held, end = Pretender(status, body, headers), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            held.asked.append((content, dict(self.headers.items())))
            if held.status is None:
                end.wait()
                self.close_connection = True
                return
            self.send_response(held.status)
            for name, value in held.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(held.body)))
            self.end_headers()
            self.wfile.write(held.body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    held.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield held
    finally:
        end.set()
        server.shutdown()
        thread.join()
        server.server_close()


def certificate(directory: Path, host: str = "127.0.0.1") -> tuple[Path, Path]:
    """Write a certificate that vouches for itself, for an address, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "node")])
    start = dt.datetime.now(dt.UTC) - dt.timedelta(days=1)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + dt.timedelta(days=9))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public, private = directory / "node.pem", directory / "node.key"
    public.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return public, private
