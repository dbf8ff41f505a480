"""A loopback model: a real HTTP server that speaks three providers' streaming APIs, well and badly.

`Dialect` writes what each API sends; `ModelServer` plays a script of responses and records requests.
Any test can point a compile at it with `environment()`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

Body: TypeAlias = str | Iterator[bytes]
Play: TypeAlias = Callable[[], Response]
"""Makes a response anew each time it is played: a stream can be sent once only."""

TOKENS_IN, TOKENS_OUT = 1000, 200


def _stream(body: Body, **headers: str) -> Response:
    return Response(body, content_type="text/event-stream", headers=headers)


def _event(data: Any, name: str = "") -> str:
    return (f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n"


@dataclass(frozen=True)
class Dialect:
    """One provider's API.

    Attributes:
        provider: The provider's name in model ids.
        path: Where the API listens, as a regular expression.
        variables: Its key's and its address's environment variables.
        suffix: What its address ends with.
        alive: A sign of life that is no part of an answer.
    """

    provider: str
    path: str
    variables: tuple[str, str]
    suffix: str = ""
    alive: bytes = b": still here\n\n"

    def answer(self, text: str, stop: str = "end") -> Play:
        """Answer in two pieces; `stop` is `end`, `limit` or `refusal`."""
        events = "".join(self.events(text, stop))
        return lambda: _stream(events)

    def calls(self, *calls: tuple[str, Any], text: str = "") -> Play:
        """Call tools, each by its name and arguments (text is sent as it is, JSON or not)."""
        events = "".join(self.call_events(text, calls))
        return lambda: _stream(events)

    def call_events(self, text: str, calls: Sequence[tuple[str, Any]], before: int = 0) -> list[str]:
        """Return the events of calls; `before` is how many the conversation had, for their ids."""
        raise NotImplementedError

    def cut(self, text: str, *, cleanly: bool) -> Play:
        """Break off before the end: with a closed connection, or with fewer bytes than were announced."""
        begun = "".join(list(self.events(text, "end"))[:2])
        headers = {} if cleanly else {"Content-Length": str(len(begun) + 100)}
        return lambda: _stream(begun, **headers)

    def failure(self, status: int, kind: str = "", message: str = "no", **headers: str) -> Play:
        """Fail with a status and the API's own body."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        body = json.dumps(self.error(status, kind, message))
        return lambda: Response(body, status=status, headers=headers, content_type="application/json")

    def events(self, text: str, stop: str) -> list[str]:
        raise NotImplementedError

    def error(self, status: int, kind: str, message: str) -> Any:
        raise NotImplementedError

    def endless(self) -> Iterator[bytes]:
        """Yield an answer that never ends."""
        head, piece, *_ = self.events("x" * 200_000, "end")
        yield head.encode()
        while True:
            yield piece.encode()

    def user_text(self, request: Any, turn: int) -> str:
        """Return the text of a turn of a recorded request, counted without the system's."""
        raise NotImplementedError


@dataclass(frozen=True)
class Messages(Dialect):
    def events(self, text: str, stop: str) -> list[str]:
        reason = {"end": "end_turn", "limit": "max_tokens", "refusal": "refusal"}[stop]
        half = len(text) // 2
        start = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        pieces = [
            _event(
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}},
                "content_block_delta",
            )
            for piece in (text[:half], text[half:])
        ]
        return [self._start() + _event(start, "content_block_start"), *pieces, *self._end(reason)]

    def call_events(self, text: str, calls: Sequence[tuple[str, Any]], before: int = 0) -> list[str]:
        blocks: list[tuple[Any, Any]] = []
        if text:
            blocks.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": text}))
        for number, (name, arguments) in enumerate(calls, before):
            block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}
            blocks.append((block, {"type": "input_json_delta", "partial_json": _arguments(arguments)}))
        events = [self._start()]
        for index, (block, delta) in enumerate(blocks):
            for kind, content in (
                ("start", {"content_block": block}),
                ("delta", {"delta": delta}),
                ("stop", {}),
            ):
                name = f"content_block_{kind}"
                events.append(_event({"type": name, "index": index, **content}, name))
        return [*events, *self._end("tool_use")]

    def _start(self) -> str:
        message: dict[str, Any] = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": TOKENS_IN, "output_tokens": 1},
        }
        return _event({"type": "message_start", "message": message}, "message_start")

    def _end(self, reason: str) -> list[str]:
        end = {
            "type": "message_delta",
            "delta": {"stop_reason": reason},
            "usage": {"output_tokens": TOKENS_OUT},
        }
        return [
            _event({"type": "ping"}, "ping") + _event(end, "message_delta"),
            _event({"type": "message_stop"}, "message_stop"),
        ]

    def error(self, status: int, kind: str, message: str) -> Any:  # noqa: ARG002 - the status is a header here
        return {"type": "error", "error": {"type": kind, "message": message}}

    def user_text(self, request: Any, turn: int) -> str:
        text: str = request["messages"][turn]["content"]
        return text


def _arguments(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


_HEAD = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}


def _chunk(delta: Any, reason: str | None = None) -> str:
    return _event({**_HEAD, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})


@dataclass(frozen=True)
class Chat(Dialect):
    def events(self, text: str, stop: str) -> list[str]:
        half = len(text) // 2
        last = [_chunk({"refusal": "I will not."}), _chunk({}, "stop")]
        return [
            _chunk({"role": "assistant", "content": text[:half]}),
            _chunk({"content": text[half:]}),
            *(last if stop == "refusal" else [_chunk({}, {"end": "stop", "limit": "length"}[stop])]),
            self._counted(),
        ]

    def call_events(self, text: str, calls: Sequence[tuple[str, Any]], before: int = 0) -> list[str]:
        asked = [
            {
                "index": number - before,
                "id": f"call_{number}",
                "type": "function",
                "function": {"name": name, "arguments": _arguments(arguments)},
            }
            for number, (name, arguments) in enumerate(calls, before)
        ]
        return [
            _chunk({"role": "assistant", "content": text or None}),
            *(_chunk({"tool_calls": [call]}) for call in asked),
            _chunk({}, "tool_calls"),
            self._counted(),
        ]

    def _counted(self) -> str:
        usage = {
            "prompt_tokens": TOKENS_IN,
            "completion_tokens": TOKENS_OUT,
            "total_tokens": TOKENS_IN + TOKENS_OUT,
        }
        return _event({**_HEAD, "choices": [], "usage": usage}) + "data: [DONE]\n\n"

    def error(self, status: int, kind: str, message: str) -> Any:  # noqa: ARG002 - as above
        return {"error": {"message": message, "type": kind, "param": None, "code": kind or None}}

    def user_text(self, request: Any, turn: int) -> str:
        text: str = request["messages"][turn + 1]["content"]
        return text


def _candidate(piece: str, reason: str | None = None) -> str:
    return _candidates([{"text": piece}], reason)


def _candidates(parts: list[Any], reason: str | None) -> str:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if reason:
        candidate["finishReason"] = reason
    usage = {"promptTokenCount": TOKENS_IN, "candidatesTokenCount": TOKENS_OUT}
    return _event({"candidates": [candidate], **({"usageMetadata": usage} if reason else {})})


@dataclass(frozen=True)
class Generate(Dialect):
    def events(self, text: str, stop: str) -> list[str]:
        half = len(text) // 2
        reason = {"end": "STOP", "limit": "MAX_TOKENS", "refusal": "SAFETY"}[stop]
        return [_candidate(text[:half]), _candidate(text[half:]), _candidate("", reason)]

    def call_events(self, text: str, calls: Sequence[tuple[str, Any]], before: int = 0) -> list[str]:
        parts: list[Any] = [{"text": text}] if text else []
        parts += [
            {"functionCall": {"name": name, "args": arguments, "id": f"call_{number}"}}
            for number, (name, arguments) in enumerate(calls, before)
        ]
        return [_candidates(parts, "STOP")]

    def error(self, status: int, kind: str, message: str) -> Any:
        return {"error": {"code": status, "message": message, "status": kind}}

    def user_text(self, request: Any, turn: int) -> str:
        text: str = request["contents"][turn]["parts"][0]["text"]
        return text


ANTHROPIC = Messages("anthropic", "/v1/messages", ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"))
OPENAI = Chat("openai", "/v1/chat/completions", ("OPENAI_API_KEY", "OPENAI_BASE_URL"), "v1")
GOOGLE = Generate(
    "google",
    "/v1/models/test-model:streamGenerateContent",
    ("GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
    alive=b'data: {"candidates": []}\n\n',
)
DIALECTS = (ANTHROPIC, OPENAI, GOOGLE)


@dataclass
class ModelServer:
    """Plays a script of responses (the last one for ever) and records the requests."""

    server: HTTPServer
    dialect: Dialect
    script: list[Play] = field(default_factory=list)
    requests: list[Any] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.server.expect_request(self.dialect.path, method="POST").respond_with_handler(self._handle)

    def environment(self, key: str) -> dict[str, str]:
        """Return the variables that point the provider here."""
        name, address = self.dialect.variables
        return {name: key, address: self.server.url_for("/") + self.dialect.suffix}

    def _handle(self, request: Request) -> Response:
        self.requests.append(request.get_json())
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        return self.script[min(len(self.requests), len(self.script)) - 1]()


def slow(seconds: float) -> Play:
    """Say nothing for a while."""

    def play() -> Response:
        time.sleep(seconds)
        return Response("late")

    return play


def dripping(dialect: Dialect, seconds: float) -> Play:
    """Send signs of life and no answer."""

    def drip() -> Iterator[bytes]:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            yield dialect.alive
            time.sleep(0.05)

    return lambda: _stream(drip())


def endless(dialect: Dialect) -> Play:
    """Send an answer that never ends."""
    return lambda: _stream(dialect.endless())


def raw(body: bytes | Iterator[bytes], status: int = 200, **headers: str) -> Play:
    """Send anything at all."""
    return lambda: Response(body, status=status, headers={k.replace("_", "-"): v for k, v in headers.items()})
