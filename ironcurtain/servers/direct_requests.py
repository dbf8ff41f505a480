"""Requests that share a connection with a session of the SDK, without what the session does for each.

The SDK's session is made for requests of every kind: each passes five models, four streams and a span, which
takes longer than all that is decided about a call. What is sent all day long, calls of tools and what servers
ask meanwhile, goes this way instead; everything else is the session's.

    requests.open(write)                        # the transport, once it can write
    result = await requests.send_raw_request("tools/call", params, {"timeout": 600.0})
    requests.answered(answer) or requests.heard(message)   # the transport, with what it reads
    requests.close()                            # the transport, when nothing more comes

`send_raw_request` keeps the contract of the SDK's dispatcher: time-outs, cancellation, progress and errors
are what the same request through the session would cause, but that its time begins before it is written:
whoever reads nothing takes no request, either. What goes out is written at once; what comes in,
the transport shows here first, and hands on to the session what is not for here. Numbers of requests tell
the two apart: the session counts from 1.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import math
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from anyio.lowlevel import checkpoint_if_cancelled
from mcp.shared.dispatcher import CallOptions, Outbound, ProgressFnT, coerce_request_id
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    REQUEST_TIMEOUT,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCResponse,
)
from pydantic_core import to_json

from ironcurtain.system.frozen import is_number
from ironcurtain.system.structs import Struct, field

Write = Callable[[bytes], Awaitable[None]]
"""Writes whole lines; may raise `ClosedResourceError` or `BrokenResourceError` if nothing more is taken."""

_FIRST = 1_000_000_000
"""The number of the first request: no session comes so far, and every language's integers do."""
_LAST_WORD = 1.0
"""Seconds that the other side has to take the cancellation of a request: one that hangs takes none."""
CLOSED = ErrorData(code=CONNECTION_CLOSED, message="Connection closed")
"""What a request ends with that gets no answer, as in the SDK; servers have errors of that code, too."""
_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError)
_ANSWER = frozenset({"jsonrpc", "id", "result"})
_OUTCOMES = frozenset({"result", "error"})
_LATE = 1_000
"""The latest requests that were given up whose answers are still expected."""
_LONGEST = 20
"""Digits of the longest integer that is looked at where an answer cannot be read."""

_log = logging.getLogger(__name__)


def is_end(error: MCPError) -> bool:
    """Tell whether the connection ended, and the server gave no answer."""
    return (error.error.code, error.error.message) == (CLOSED.code, CLOSED.message)


def line_of(message: Mapping[str, Any]) -> bytes:
    """Return a message as its line, with its end, as the SDK would write it.

    Raises:
        ValueError: If it cannot be written, as a text with half a character cannot.
    """
    return to_json(message, inf_nan_mode="null") + b"\n"


class UnreadableAnswerError(ValueError):
    """The other side answered with what no parser of the protocol takes."""


class RawResult(Struct):
    """A request's result, as the other side wrote it; None if it cannot be read."""

    id: int
    result: dict[str, Any] | None


class _Step(Struct):
    progress: float
    total: float | None
    message: str | None


class _Waiting(Struct):
    on_progress: ProgressFnT | None
    came: asyncio.Queue[dict[str, Any] | ErrorData | _Step | None] = field(default_factory=asyncio.Queue)

    async def outcome(self) -> dict[str, Any] | ErrorData | None:
        """Return what the request ended with, None for what cannot be read; tell its progress until then."""
        while isinstance(came := await self.came.get(), _Step):
            if self.on_progress is not None:
                try:
                    await self.on_progress(came.progress, came.total, came.message)
                except Exception as error:  # noqa: BLE001 - that it cannot be told ends no request
                    _log.debug("progress could not be told: %s", error)
        return came


def _double(number: object) -> float | None:
    """Return a number as JSON can write it; None for all else, as an integer beyond every double."""
    if not is_number(number):
        return None
    try:
        double = float(number)
    except OverflowError:
        return None
    return double if math.isfinite(double) else None


def _number_of(id_: object) -> int | None:
    """Return the number that an id is, which may come back as a text."""
    if isinstance(id_, bool) or not isinstance(id_, int | str):
        return None
    number = coerce_request_id(id_)
    return number if isinstance(number, int) else None


def _read_integer(text: str) -> int | None:
    """Read an integer that could be the number of a request; Python refuses to read the longest ones."""
    return int(text) if len(text) <= _LONGEST else None


class DirectRequests(Outbound):
    """The requests of ours that one connection carries beside those of its session."""

    def __init__(self) -> None:
        self._write: Write | None = None
        self._numbers = itertools.count(_FIRST)
        self._waiting: dict[int, _Waiting] = {}
        self._given_up: deque[int] = deque(maxlen=_LATE)

    # -- the transport --------------------------------------------------------------------------

    def open(self, write: Write) -> None:
        """Send requests from now on."""
        self._write = write

    def close(self) -> None:
        """Send none any more; whoever waits for an answer gets none."""
        self._write = None
        for waiting in self._waiting.values():
            waiting.came.put_nowait(CLOSED)
        self._waiting.clear()

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent."""
        return self._write is not None

    @property
    def is_waiting(self) -> bool:
        """Whether any answer is waited for."""
        return bool(self._waiting)

    def answer_in(self, parsed: object) -> RawResult | None:
        """Return the plain answer to a request of ours that parsed JSON is; None for everything else."""
        if not isinstance(parsed, dict) or parsed.keys() != _ANSWER or parsed["jsonrpc"] != "2.0":
            return None
        id_, result = parsed["id"], parsed["result"]
        ours = type(id_) is int and id_ in self._waiting and isinstance(result, dict)
        return RawResult(id_, result) if ours else None

    def unreadable_answer_in(self, line: bytes) -> RawResult | None:
        """Return the answer to a request of ours that a line is which no parser of the protocol takes.

        Python reads more than that: half a character, as whoever cuts a text may leave it.
        """
        try:
            parsed = json.loads(line.decode("utf-8", "replace"), parse_int=_read_integer)
        except (ValueError, RecursionError):
            return None
        if not isinstance(parsed, dict) or "method" in parsed or _OUTCOMES.isdisjoint(parsed):
            return None
        id_ = parsed.get("id")
        # Languages whose numbers are all doubles may write them so; the protocol has integers.
        number = _number_of(int(id_) if isinstance(id_, float) and id_.is_integer() else id_)
        return RawResult(number, None) if number is not None and number in self._waiting else None

    def expects(self, id_: object) -> bool:
        """Tell whether an answer with this id is one to a request of ours, be it that nobody waits any more.

        Such a late one is expected once.
        """
        number = _number_of(id_)
        if number is None:
            return False
        if number in self._given_up:
            self._given_up.remove(number)
            return True
        return number in self._waiting

    def answered(self, answer: RawResult) -> None:
        """Hand an answer to whoever waits for it."""
        if (waiting := self._waiting.get(answer.id)) is not None:
            waiting.came.put_nowait(answer.result)

    def heard(self, message: JSONRPCMessage) -> bool:
        """Take a message that concerns a request of ours; tell whether it did."""
        match message:
            case JSONRPCResponse(id=id_, result=result):
                return self._ended(id_, result)
            case JSONRPCError(id=id_, error=error):
                return self._ended(id_, error)
            case JSONRPCNotification(method="notifications/progress", params={"progressToken": token}):
                return self._went_on(token, message.params or {})
            case _:
                return False

    def _ended(self, id_: object, outcome: dict[str, Any] | ErrorData) -> bool:
        if (waiting := self._of(id_)) is None:
            return False
        waiting.came.put_nowait(outcome)
        return True

    def _went_on(self, token: object, params: Mapping[str, Any]) -> bool:
        if (waiting := self._of(token)) is None:
            return False
        progress, total = _double(params.get("progress")), _double(params.get("total"))
        message = params.get("message")
        if progress is not None:
            waiting.came.put_nowait(_Step(progress, total, message if isinstance(message, str) else None))
        return True

    def _of(self, id_: object) -> _Waiting | None:
        number = _number_of(id_)
        return self._waiting.get(number) if number is not None else None

    # -- who sends ------------------------------------------------------------------------------

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Send a request and return its result as it came.

        Args:
            method: Its method.
            params: Its params.
            opts: `timeout` and `on_progress`; nothing else is known here.

        Raises:
            MCPError: The other side's error; that it has gone; that it gave no answer in time.
            UnreadableAnswerError: If its answer cannot be read.
        """
        if self._write is None:
            raise MCPError.from_error_data(CLOSED)
        await checkpoint_if_cancelled()
        number, options = next(self._numbers), opts or {}
        on_progress, timeout = options.get("on_progress"), options.get("timeout")
        if on_progress is not None:
            given = params or {}
            params = {**given, "_meta": {**(given.get("_meta") or {}), "progressToken": number}}
        message = {"jsonrpc": "2.0", "id": number, "method": method}
        line = line_of({**message, "params": params} if params else message)
        waiting, is_answered = _Waiting(on_progress), False
        self._waiting[number] = waiting
        try:
            async with asyncio.timeout(timeout):  # whoever reads nothing takes no line either
                await self._write(line)
                outcome = await waiting.outcome()
            is_answered = True
        except _GONE:
            raise MCPError.from_error_data(CLOSED) from None
        except TimeoutError:
            with anyio.move_on_after(_LAST_WORD):
                await self._call_off(number, f"timed out after {timeout}s")
            raise MCPError(REQUEST_TIMEOUT, f"Request {method!r} timed out") from None
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(_LAST_WORD, shield=True):
                await self._call_off(number, "caller cancelled")
            raise
        finally:
            self._waiting.pop(number, None)
            if not is_answered:
                self._given_up.append(number)
        if outcome is None:
            raise UnreadableAnswerError
        if isinstance(outcome, ErrorData):
            raise MCPError.from_error_data(outcome)
        return outcome

    async def notify(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,  # noqa: ARG002 - none of them is for a notification
    ) -> None:
        """Send a notification, unless the other side has gone."""
        message = {"jsonrpc": "2.0", "method": method}
        line = line_of({**message, "params": params} if params is not None else message)
        if self._write is not None:
            try:
                await self._write(line)
            except _GONE:
                _log.debug("nobody takes %s any more", method)

    async def _call_off(self, number: int, reason: str) -> None:
        await self.notify("notifications/cancelled", {"requestId": number, "reason": reason})
