"""What a registry answers, piece by piece or amiss, by a server that answers whatever a test says."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ironcurtain.bundle.oci.access import RegistryAccess
from ironcurtain.bundle.oci.client import pull
from ironcurtain.bundle.oci.layout import Reference
from ironcurtain.errors import RegistryError

Answer = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def answering(answer: Answer) -> Iterator[str]:
    """Run a server on loopback that answers each GET so; yield its host with the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def answered(request: BaseHTTPRequestHandler, status: int, **headers: str) -> None:
    request.send_response(status)
    for name, value in headers.items():
        request.send_header(name.replace("_", "-"), value)
    request.end_headers()


def pulled(host: str) -> None:
    pull(Reference.parse(f"oci://{host}/policies/agents:stable"), RegistryAccess())


def test_a_token_that_arrives_in_pieces_is_read_whole() -> None:
    shown: list[str | None] = []

    def answer(request: BaseHTTPRequestHandler) -> None:
        if request.path.startswith("/token"):
            answered(request, 200)
            for piece in (b'{"token": "first', b'-second"}'):
                request.wfile.write(piece)
                request.wfile.flush()
                time.sleep(0.3)
            return
        shown.append(request.headers["Authorization"])
        realm = f'Bearer realm="http://{request.headers["Host"]}/token"'
        answered(request, 401 if shown[-1] is None else 404, WWW_Authenticate=realm)

    with answering(answer) as host, pytest.raises(RegistryError, match="nothing is there"):
        pulled(host)
    assert shown == [None, "Bearer first-second"]


@pytest.mark.parametrize("address", ["https://127.0.0.1:99999/blob", "https://[bundle/blob"])
def test_a_redirect_to_an_address_that_is_none_is_an_error_of_the_registry(address: str) -> None:
    with (
        answering(lambda request: answered(request, 307, Location=address)) as host,
        pytest.raises(RegistryError, match="an address that is none"),
    ):
        pulled(host)


def test_a_manifest_is_fetched_from_the_registry_alone() -> None:
    """A tag names no digest, so whoever answered elsewhere would choose the bundle."""
    asked: list[str] = []

    def elsewhere(request: BaseHTTPRequestHandler) -> None:
        asked.append(request.path)
        answered(request, 404)

    with answering(elsewhere) as other:
        there = f"http://{other}/v2/policy/manifests/1"
        with (
            answering(lambda request: answered(request, 307, Location=there)) as host,
            pytest.raises(RegistryError, match="elsewhere"),
        ):
            pulled(host)
    assert asked == []


def test_a_registry_may_have_its_manifests_under_another_path() -> None:
    asked: list[str] = []

    def answer(request: BaseHTTPRequestHandler) -> None:
        asked.append(request.path)
        answered(request, 404) if request.path == "/other" else answered(request, 307, Location="/other")

    with answering(answer) as host, pytest.raises(RegistryError, match="nothing is there"):
        pulled(host)
    assert asked[-1] == "/other"


def test_a_token_server_whose_address_is_none_is_an_error_of_the_registry() -> None:
    realm = 'Bearer realm="https://[token"'
    with (
        answering(lambda request: answered(request, 401, WWW_Authenticate=realm)) as host,
        pytest.raises(RegistryError, match="no token server over https"),
    ):
        pulled(host)
