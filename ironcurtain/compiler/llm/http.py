"""The HTTP client that all SDKs are given: bounded in size and time, no redirects, no compression.

A key travels in a header that is not always dropped on a redirect, and a compressed answer can be a
thousand times larger than what was received; so neither is taken.
"""

from __future__ import annotations

import email.utils
import time
from collections.abc import Iterator, Mapping

import httpx2

from ironcurtain.compiler.llm.call import CallError

MAX_BYTES = 16 << 20
"""The most that is read of one answer, with all that surrounds its text."""

_CONNECT_TIMEOUT = 15.0

_MILLISECONDS = 1000


class _LimitError(Exception):
    """An answer exceeds a limit; SDKs may wrap it, so that it is looked for among causes."""

    def __init__(self, error: CallError) -> None:
        super().__init__(error.kind)
        self.error = error


class _Bounded(httpx2.SyncByteStream):
    """A response's bytes, up to a size and a point in time."""

    def __init__(self, stream: httpx2.SyncByteStream, seconds: float) -> None:
        self._stream = stream
        self._end = time.monotonic() + seconds

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes; raise when there are too many of them, or when they take too long."""
        size = 0
        for piece in self._stream:
            size += len(piece)
            if size > MAX_BYTES:
                raise _LimitError(CallError("huge"))
            if time.monotonic() > self._end:
                raise _LimitError(CallError("time-out"))
            yield piece

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()


FAILURES = (
    httpx2.HTTPError,
    httpx2.StreamError,
    httpx2.InvalidURL,
    _LimitError,
    # What SDKs raise when a server answers something that is not its API.
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
)
"""What the network, and SDKs reading from it, may raise beside their own errors; see `call_error`."""


def bounded_client(timeout: float) -> httpx2.Client:
    """Return a client; `timeout` seconds are what a server may be silent for, and what an answer may take."""

    def bound(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise _LimitError(
                CallError("unintelligible", detail="a compressed answer, which was not asked for")
            )
        stream = response.stream
        if isinstance(stream, httpx2.SyncByteStream):
            response.stream = _Bounded(stream, timeout)

    def uncompressed(request: httpx2.Request) -> None:
        request.headers["accept-encoding"] = "identity"

    return httpx2.Client(
        timeout=httpx2.Timeout(timeout, connect=min(timeout, _CONNECT_TIMEOUT)),
        follow_redirects=False,
        event_hooks={"request": [uncompressed], "response": [bound]},
    )


def call_error(error: BaseException) -> CallError:
    """Return what an exception of the network, or of an SDK around it, means."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, CallError):
            return cause
        if isinstance(cause, _LimitError):
            return cause.error
        if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.UnsupportedProtocol):
            return CallError("unreachable", detail=str(cause))
        if isinstance(cause, httpx2.TimeoutException):
            return CallError("time-out")
        if isinstance(cause, httpx2.TransportError | httpx2.StreamError):
            return CallError("cut", detail=str(cause))
        cause = cause.__cause__ or cause.__context__
    return CallError("unintelligible", detail=type(error).__name__)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait (`retry-after-ms`, `retry-after`), or None."""
    exact = _number(headers.get("retry-after-ms"))
    if exact is not None:
        return exact / _MILLISECONDS
    text = headers.get("retry-after")
    seconds = _number(text)
    if seconds is not None or text is None:
        return seconds
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else -1.0
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None
