"""A loopback server that holds one bundle, as object stores do: GET and PUT with ETags and conditions."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Held:
    """What the server holds and how it behaves.

    Attributes:
        content: The bundle; None for nothing.
        token: The bearer token that PUT needs, if any.
        etag: How the ETag is written; the empty string for no ETag at all.
        meanwhile: What somebody else puts there between our GET and our PUT.
        forgets: Whether a PUT is confirmed but not kept.
        status: A status that every request gets instead of an answer.
        requests: Method and headers of every request, as they came.
    """

    content: bytes | None = None
    token: str | None = None
    etag: str = '"{}"'
    meanwhile: bytes | None = None
    forgets: bool = False
    status: int | None = None
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    url: str = ""

    @property
    def tag(self) -> str:
        """The ETag of what is there."""
        return self.etag.format(hashlib.sha256(self.content or b"").hexdigest())

    def may_put(self, headers: dict[str, str]) -> bool:
        """Tell whether the conditions of a PUT hold."""
        if headers.get("if-none-match") == "*":
            return self.content is None
        return "if-match" not in headers or headers["if-match"] == self.tag


@contextmanager
def bundle_server() -> Iterator[Held]:
    """Run a server; what it holds can be read and changed while it runs."""
    held, lock = Held(), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def handle_one(self) -> tuple[int, bytes, dict[str, str]]:
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers.get("content-length", 0)))
            held.requests.append((self.command, headers))
            if held.status is not None:
                return held.status, b"", {"Location": "/elsewhere"}
            if self.command == "GET":
                if held.content is None:
                    return 404, b"", {}
                tag = {"ETag": held.tag} if held.etag else {}
                return (
                    (304, b"", tag) if headers.get("if-none-match") == held.tag else (200, held.content, tag)
                )
            if held.token is not None and headers.get("authorization") != f"Bearer {held.token}":
                return 401, b"", {}
            with lock:
                if held.meanwhile is not None:
                    held.content = held.meanwhile
                if not held.may_put(headers):
                    return 412, b"", {}
                held.content = held.content if held.forgets else body
            return 204, b"", {}

        def respond(self) -> None:
            status, content, headers = self.handle_one()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = respond  # noqa: N815 - the library's names

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    held.url = f"http://127.0.0.1:{server.server_port}/bundle.tar.gz"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield held
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
