"""Asking our own OPA from the thread that wants the answer, without an event loop and its hand-overs.

Its bounds: one time for the whole request, however slowly its answer trickles in, one size of an answer, one
number of connections, no retries. Only a connection on which a whole answer, and nothing more, has come is
used again.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ironcurtain.engine.answer import HTTP_OK, EngineAnswerError
from ironcurtain.engine.http_answer import AnswerReader
from ironcurtain.engine.rest_api import (
    CONNECTIONS,
    IDLE,
    LENIENT_DECISION,
    STRICT_DECISION,
    as_body,
    head_of,
    too_slow,
    unreachable,
)

_CHUNK = 1 << 16


class BlockingClient:
    """A client on a Unix socket, for any number of threads.

    Args:
        path: The path of the socket.
        token: The bearer token of this start.
        timeout: Seconds for one request, waiting for a free connection included.
    """

    def __init__(self, path: Path, token: str, timeout: float) -> None:
        self._path = str(path)
        self._timeout = timeout
        self._token = token
        self._head = self._head_of(f"POST /v1/{STRICT_DECISION}")
        self._free = threading.BoundedSemaphore(CONNECTIONS)
        self._lock = threading.Lock()
        self._idle: list[_Connection] = []
        self._used: set[_Connection] = set()
        self._closed = False

    def decide(self, policy_input: bytes, *, strict: bool = True) -> tuple[int, bytes]:
        """Ask for the decision on a policy input (the JSON text of an object); return HTTP status and body.

        Without `strict` an error of a built-in leaves a rule undefined.

        Raises:
            EngineAnswerError: `engine-timeout`, `engine-unreachable`, or `engine-malformed` for an answer
                that is too long.
        """
        head = self._head if strict else self._head_of(f"POST /v1/{LENIENT_DECISION}")
        return self._request(head, as_body(policy_input))

    def check_health(self) -> bool:
        """Tell whether the server answers that it is well."""
        try:
            status, _ = self._request(self._head_of("GET /health"), b"")
        except EngineAnswerError:
            return False
        return status == HTTP_OK

    def _head_of(self, what: str) -> bytes:
        return head_of(what, self._token)

    def _request(self, head: bytes, body: bytes) -> tuple[int, bytes]:
        request = b"%b%d\r\n\r\n%b" % (head, len(body), body)
        deadline = time.monotonic() + self._timeout
        try:
            with self._connection(deadline) as connection:
                return connection.exchange(request, deadline)
        except TimeoutError:
            raise too_slow(self._timeout) from None
        except (OSError, ValueError) as error:
            raise unreachable(error) from error

    def close(self) -> None:
        """Close all connections; what is asked over one is not answered any more."""
        with self._lock:
            self._closed = True
            for connection in self._used:
                with suppress(OSError):  # it has ended by itself
                    connection.socket.shutdown(socket.SHUT_RDWR)  # whoever reads from it closes it
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.socket.close()

    @contextmanager
    def _connection(self, deadline: float) -> Iterator[_Connection]:
        """Lend a connection; whatever happens but a whole answer ends it."""
        if not self._free.acquire(timeout=self._timeout):
            raise TimeoutError
        try:
            connection = self._kept() or self._connect(deadline)
            try:
                self._use(connection)
                yield connection
            except BaseException:
                self._end(connection)
                raise
            self._keep(connection)
        finally:
            self._free.release()

    def _kept(self) -> _Connection | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if connection.is_usable():
                return connection
            connection.socket.close()

    def _connect(self, deadline: float) -> _Connection:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            made.settimeout(_left(deadline))
            made.connect(self._path)
        except BaseException:
            made.close()
            raise
        return _Connection(made)

    def _use(self, connection: _Connection) -> None:
        with self._lock:
            if self._closed:
                raise ConnectionAbortedError
            self._used.add(connection)

    def _keep(self, connection: _Connection) -> None:
        with self._lock:
            if connection.reusable and not self._closed:
                self._used.discard(connection)
                self._idle.append(connection)
                return
        self._end(connection)

    def _end(self, connection: _Connection) -> None:
        with self._lock:
            self._used.discard(connection)
        connection.socket.close()


@dataclass(slots=True, eq=False)
class _Connection:
    """A connection; `used` is when an answer was last complete, `reusable` whether OPA keeps it open."""

    socket: socket.socket
    used: float = 0.0
    reusable: bool = False

    def is_usable(self) -> bool:
        """Tell whether it is fresh and silent: bytes that wait belong to no question, or tell of its end."""
        if time.monotonic() - self.used > IDLE:
            return False
        self.socket.settimeout(0)
        try:
            self.socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def exchange(self, request: bytes, deadline: float) -> tuple[int, bytes]:
        """Send a request and read its answer, both before the deadline."""
        self.reusable = False
        self.socket.settimeout(_left(deadline))
        self.socket.sendall(request)
        answer, content = AnswerReader(), None
        while content is None:
            self.socket.settimeout(_left(deadline))
            received = self.socket.recv(_CHUNK)
            content = answer.take(received)
        self.used = time.monotonic()
        self.reusable = bool(received) and answer.is_last
        return answer.status, content


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
