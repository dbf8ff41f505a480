"""A real OCI registry on loopback: the program of the package `docker-registry`, with its files on disk."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from support.services.nodes import free_port

PROGRAM = shutil.which("docker-registry") or shutil.which("registry")
NEEDS_REGISTRY = pytest.mark.skipif(
    PROGRAM is None, reason="needs an OCI registry: the package docker-registry is not installed"
)
USER, PASSWORD = "releaser", "correct horse"
BCRYPT = "$2y$05$abcdefghijklmnopqrstuuHNbAKRhpaujgo33bRWs.NLUTJO3lOy2"
_LIMIT = 60.0


@dataclass(frozen=True)
class Registry:
    """A running registry.

    Attributes:
        host: With its port.
        root: Its files.
    """

    host: str
    root: Path

    def reference(self, name: str = "policies/agents", tag: str = "stable") -> str:
        """Return an artifact's reference."""
        return f"oci://{self.host}/{name}:{tag}"

    def blob(self, digest: str) -> Path:
        """Return the file of a blob."""
        hexadecimal = digest.removeprefix("sha256:")
        blobs = self.root / "docker" / "registry" / "v2" / "blobs" / "sha256"
        return blobs / hexadecimal[:2] / hexadecimal / "data"


@contextmanager
def oci_registry(directory: Path, auth: dict[str, Any] | None = None) -> Iterator[Registry]:
    """Run a registry whose files lie in a directory; it is stopped at the end."""
    assert PROGRAM is not None
    port = free_port()
    root = directory / "registry"
    config = {
        "version": "0.1",
        "log": {"level": "error", "accesslog": {"disabled": True}},
        "storage": {"filesystem": {"rootdirectory": str(root)}, "delete": {"enabled": True}},
        "http": {"addr": f"127.0.0.1:{port}", "secret": "test"},
        **({"auth": auth} if auth else {}),
    }
    file = directory / "registry.json"
    file.write_text(json.dumps(config))  # JSON is YAML
    environment = {"PATH": os.environ["PATH"], "HOME": str(directory), "OTEL_TRACES_EXPORTER": "none"}
    with (directory / "registry.log").open("wb") as log:
        process = subprocess.Popen([PROGRAM, "serve", str(file)], env=environment, stdout=log, stderr=log)
    with process:
        try:
            _until_it_listens(process, port, directory / "registry.log")
            yield Registry(f"127.0.0.1:{port}", root)
        finally:
            process.kill()


def with_password(directory: Path) -> dict[str, Any]:
    """Return the configuration of a registry that USER signs in to with PASSWORD."""
    file = directory / "htpasswd"
    file.write_text(f"{USER}:{BCRYPT}\n")
    return {"htpasswd": {"realm": "releases", "path": str(file)}}


@contextmanager
def token_server(directory: Path) -> Iterator[dict[str, Any]]:
    """Run a server that gives USER tokens, and nobody one to read; yield the registry's configuration."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _certificate(key)
    file = directory / "tokens.pem"
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    chain = [base64.b64encode(certificate.public_bytes(serialization.Encoding.DER)).decode()]
    shown = f"Basic {base64.b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = parse_qs(urlsplit(self.path).query)
            given = self.headers.get("Authorization")
            if given is not None and given != shown:
                self.send_response(401)
                self.end_headers()
                return
            access = []
            for scope in asked.get("scope", []):
                kind, name, actions = scope.split(":")
                allowed = [a for a in actions.split(",") if given or a == "pull"]
                access.append({"type": kind, "name": name, "actions": allowed})
            now = datetime.now(UTC)
            claims = {
                "iss": "tokens",
                "sub": USER if given else "",
                "aud": "releases",
                "exp": now + timedelta(minutes=5),
                "nbf": now - timedelta(minutes=1),
                "iat": now,
                "jti": "1",
                "access": access,
            }
            token = jwt.encode(claims, key, algorithm="ES256", headers={"x5c": chain})
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"token": token}).encode())

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        realm = f"http://127.0.0.1:{server.server_address[1]}/token"
        token = {"realm": realm, "service": "releases", "issuer": "tokens", "rootcertbundle": str(file)}
        yield {"token": token}
    finally:
        server.shutdown()
        server.server_close()


def digest(content: bytes) -> str:
    """Return a digest as registries write it."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _certificate(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tokens")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now - timedelta(days=1))
    builder = builder.not_valid_after(now + timedelta(days=1))
    return builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True).sign(
        key, hashes.SHA256()
    )


def _until_it_listens(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + _LIMIT
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.05)
        else:
            return
