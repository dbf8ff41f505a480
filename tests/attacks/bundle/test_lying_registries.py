"""A registry, or who can write to it, answers with an older release or with something else than was meant.

Held by: digests of all that comes, the releaser's signature, and the serial or revision that is demanded,
each before anything is written; and a look at the tag after a push.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from e2e.program import Ended, in_process
from support.records.signing import Scene, scene, shipped, with_serial

from ironcurtain.bundle.oci.access import RegistryAccess
from ironcurtain.bundle.oci.client import push
from ironcurtain.bundle.oci.layout import Artifact, Reference
from ironcurtain.bundle.publishing.to_directory import publish_to_directory
from ironcurtain.bundle.signing.signature import sign
from ironcurtain.errors import PublishError, RegistryError


class Lying:
    """A registry whose tag names an artifact, whatever is pushed, and whose answers can be changed."""

    def __init__(self, held: bytes) -> None:
        artifact = Artifact.of(held)
        self.host, self.digest, self.manifest, self.layer = "", artifact.digest, artifact.manifest, held
        self.headers: dict[str, str] = {}
        self.status, self.writes = 200, 0

    @property
    def tag(self) -> str:
        return f"oci://{self.host}/policies/agents:stable"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        is_manifest, method = "/manifests/" in request.path, request.command
        request.rfile.read(int(request.headers.get("Content-Length", 0)))
        self.writes += method in {"POST", "PUT"}
        status = {"GET": self.status, "HEAD": 404, "POST": 202, "PUT": 201}[method]
        content = (self.manifest if is_manifest else self.layer) if method == "GET" else b""
        headers = {"Content-Length": str(len(content)), "Location": "/upload", **self.headers}
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value.format(path=request.path))
        request.end_headers()
        request.wfile.write(content)


@contextmanager
def serving(registry: Lying) -> Iterator[Lying]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registry.answer(self)

        do_HEAD = do_POST = do_PUT = do_GET  # noqa: N815 - names of the server

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    registry.host = f"127.0.0.1:{server.server_address[1]}"
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return scene(tmp_path_factory.mktemp("release"), "ES256")


@pytest.fixture
def older(released: Scene) -> Iterator[Lying]:
    with serving(Lying(released.older.archive())) as registry:
        yield registry


def pulled(registry: Lying, target: Path, released: Scene, *demands: str, where: str = "") -> Ended:
    """Pull over the release that is there already."""
    target.write_bytes(released.bundle.archive())
    ended = in_process(
        "pull",
        where or registry.tag,
        "--verify-key",
        str(released.public),
        "-o",
        str(target),
        *demands,
        cwd=target.parent,
    )
    assert (ended.code == 0) == (target.read_bytes() != released.bundle.archive())
    return ended


def test_a_pull_that_is_answered_with_an_older_release(released: Scene, older: Lying, tmp_path: Path) -> None:
    target = tmp_path / "release.tar.gz"
    other = sign(with_serial(shipped(), 8, other=b"{}"), released.key)
    assert pulled(older, target, released, "--min-serial", "8").code == 3
    assert pulled(older, target, released, "--expect-revision", other.revision).code == 3
    pinned = f"oci://{older.host}/policies/agents@{Artifact.of(released.bundle.archive()).digest}"
    assert "has the digest" in pulled(older, target, released, where=pinned).err
    # Nothing was demanded but a good signature, which it has.
    assert pulled(older, target, released).code == 0


def test_digests_sizes_and_redirects_that_are_lies(released: Scene, older: Lying, tmp_path: Path) -> None:
    target, honest = tmp_path / "release.tar.gz", older.manifest
    size = str(len(older.layer)).encode()
    for lie in (b"0", b"-1", b"1e3", size + b"0", b"9" * 30):
        older.manifest = honest.replace(b'"size":' + size, b'"size":' + lie)
        assert older.manifest != honest
        assert pulled(older, target, released).code == 3
    older.manifest, older.layer = honest, released.bundle.archive()
    assert "not the one that the manifest names" in pulled(older, target, released).err
    older.status = 307
    for location in ("http://127.0.0.2:1/x", "//evil.example/x", "file:///etc/passwd", "{path}", "http://["):
        older.headers = {"Location": location}
        assert pulled(older, target, released).code == 3


def test_a_push_that_the_registry_does_not_keep(released: Scene, older: Lying) -> None:
    newer, reference = released.bundle.archive(), Reference.parse(older.tag)
    with pytest.raises(RegistryError, match="does not hold what was pushed"):
        push(newer, reference, RegistryAccess())
    older.headers = {"Location": "http://127.0.0.2:1/upload"}
    with pytest.raises(RegistryError, match="sends the upload elsewhere"):
        push(newer, reference, RegistryAccess())


def test_an_older_release_is_published_over_a_newer_one(released: Scene, tmp_path: Path) -> None:
    newer, same = released.bundle.archive(), sign(with_serial(shipped(), 8, other=b"{}"), released.key)
    assert publish_to_directory(newer, tmp_path, "bundle.tar.gz")
    with serving(Lying(newer)) as registry:
        for archive in (released.older.archive(), same.archive()):
            with pytest.raises(PublishError):
                push(archive, Reference.parse(registry.tag), RegistryAccess())
            with pytest.raises(PublishError):
                publish_to_directory(archive, tmp_path, "bundle.tar.gz")
        assert not registry.writes
    assert (tmp_path / "bundle.tar.gz").read_bytes() == newer
