"""An editor: a client of the Language Server Protocol, over the standard input and output of the program.

It is written against the protocol alone, with no library of the server's.
"""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from e2e.program import PROGRAM, environment

WAIT = 60
"""Seconds after which a test gives up; nothing is measured by it."""


class Editor:
    """A running server, and what it said."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._heard: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._last = 0
        self._versions: dict[str, int] = {}
        self.shown: dict[str, list[dict[str, Any]]] = {}
        self.capabilities: dict[str, Any] = {}
        threading.Thread(target=self._listen, daemon=True).start()

    def initialize(self, root: Path, encodings: list[str] | None = None) -> None:
        """Begin a session, as an editor that knows these position encodings."""
        general = {"positionEncodings": encodings} if encodings else {}
        answer = self.ask(
            "initialize",
            processId=None,
            rootUri=root.as_uri(),
            capabilities={"general": general, "textDocument": {"publishDiagnostics": {}}},
        )
        self.capabilities = answer["capabilities"]
        self.tell("initialized")

    def open(self, path: Path, text: str | None = None, uri: str | None = None) -> None:
        """Show a document: what is on disk, or another text that is not saved yet."""
        uri = uri or path.as_uri()
        self._versions[uri] = 1
        content = path.read_bytes().decode() if text is None else text
        document = {"uri": uri, "languageId": "plain", "version": 1, "text": content}
        self.tell("textDocument/didOpen", textDocument=document)

    def type(self, path: Path, text: str) -> None:
        """Change what is shown, without saving."""
        uri = path.as_uri()
        self._versions[uri] += 1
        document = {"uri": uri, "version": self._versions[uri]}
        self.tell("textDocument/didChange", textDocument=document, contentChanges=[{"text": text}])

    def save(self, path: Path, text: str) -> None:
        """Change what is shown, and save it."""
        path.write_bytes(text.encode())
        self.type(path, text)
        self.tell("textDocument/didSave", textDocument={"uri": path.as_uri()})

    def close(self, path: Path) -> None:
        """Show a document no longer."""
        self.tell("textDocument/didClose", textDocument={"uri": path.as_uri()})

    def at(self, method: str, path: Path, line: int, character: int) -> Any:
        """Ask about a place of a document."""
        position = {"line": line, "character": character}
        return self.ask(f"textDocument/{method}", textDocument={"uri": path.as_uri()}, position=position)

    def until(self, path: Path, holds: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
        """Wait until what is shown of a document is so, and return it."""
        uri = path.as_uri()
        while uri not in self.shown or not holds(self.shown[uri]):
            self._hear()
        return self.shown[uri]

    def ask(self, method: str, **parameters: Any) -> Any:
        """Send a request and return its result."""
        self._last += 1
        own = self._last
        self._send({"id": own, "method": method, "params": parameters})
        while True:
            message = self._hear()
            if message.get("id") == own and "method" not in message:
                assert "error" not in message, message["error"]
                return message.get("result")

    def tell(self, method: str, **parameters: Any) -> None:
        """Send a notification."""
        self._send({"method": method, "params": parameters})

    def end(self) -> int:
        """End the session as an editor does; return the server's exit code."""
        self.ask("shutdown")
        self.tell("exit")
        return self._process.wait(WAIT)

    def vanish(self) -> int:
        """Close both ends without a word, as an editor that crashed; return the server's exit code."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._process.wait(WAIT)

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self._process.stdin.flush()

    def _hear(self) -> dict[str, Any]:
        message = self._heard.get(timeout=WAIT)
        assert message is not None, "the server ended"
        if message.get("method") == "textDocument/publishDiagnostics":
            self.shown[message["params"]["uri"]] = message["params"]["diagnostics"]
        return message

    def _listen(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        while header := stream.readline():
            length = 0
            while header.strip():
                name, _, value = header.partition(b":")
                assert value, f"no header of the protocol: {header!r}"
                length = int(value) if name.lower() == b"content-length" else length
                header = stream.readline()
            self._heard.put(json.loads(stream.read(length)))
        self._heard.put(None)


@contextmanager
def editor(directory: Path, *options: str) -> Iterator[Editor]:
    """Start a server in a directory; it is gone when the block ends."""
    command = [*PROGRAM, "lsp", "--stdio", *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=directory, env=environment(), stdin=pipe, stdout=pipe) as process:
        try:
            yield Editor(process)
        finally:
            process.kill()
