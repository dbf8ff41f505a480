"""A loopback model for clients of all kinds: it plays a script of tool calls, whatever the client's API is.

It speaks Anthropic's Messages, OpenAI's Responses and Chat Completions, and Gemini's generateContent, each
streamed or whole, and remembers which tools were offered and what their results were.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Call = tuple[str, dict[str, Any]]
Events = Iterator[tuple[str, Any]]
WAITING: dict[str, dict[str, Any]] = {"WaitForMcpServers": {}, "exec_command": {"cmd": "sleep 5"}}
"""Tools of clients that offer their servers' tools only when they have started: calls that let time pass."""

_PATIENCE = 12

_numbers = itertools.count(1)


@dataclass
class Turn:
    """One request of a client.

    Attributes:
        at: When it came, of `time.monotonic`.
        offered: The names of the tools that the model could call.
        called: Those that it has called in this conversation.
        results: What the calls gave, each as a text.
    """

    offered: list[str]
    called: list[str]
    results: list[str]
    at: float = field(default_factory=time.monotonic)


@dataclass
class Model:
    """A running model.

    Attributes:
        script: Tools to call one after the other, each by the end of its name.
        turns: The requests that offered tools.
    """

    address: str
    script: Sequence[Call]
    turns: list[Turn] = field(default_factory=list)

    @classmethod
    def start(cls, script: Sequence[Call]) -> Model:
        """Serve a model on a port of this machine's loopback, as long as this process lives."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        _Handler.model = cls(f"http://127.0.0.1:{server.server_port}", script)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return _Handler.model

    def next_call(self, turn: Turn) -> Call | None:
        """Return the next call of the script, if its tool is offered."""
        if not turn.offered:
            return None
        self.turns.append(turn)
        done = sum(name not in WAITING for name in turn.called)
        if done >= len(self.script):
            return None
        wanted, arguments = self.script[done]
        if name := find(turn.offered, wanted):
            return name, arguments
        waiting = next((name for name in WAITING if name in turn.offered), None)
        if waiting is None or len(turn.called) - done >= _PATIENCE:
            return None
        return waiting, WAITING[waiting]


def find(names: Sequence[str], wanted: str) -> str | None:
    """Return the name that is a tool's, or ends with it, however the client spells it."""
    plain = _plain(wanted)
    return next((name for name in names if _plain(name).endswith(plain)), None)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: Model

    def log_message(self, *_: Any) -> None:
        """Write nothing."""

    def do_HEAD(self) -> None:
        self._whole({})

    def do_GET(self) -> None:
        listed = [{"id": "mock", "object": "model", "created": 1, "owned_by": "loopback"}]
        self._whole({"object": "list", "data": listed, "has_more": False, "models": []})

    def do_POST(self) -> None:
        request, path = json.loads(self._body() or b"{}"), self.path.partition("?")[0]
        if path.endswith(("/count_tokens", ":countTokens")):
            self._whole({"input_tokens": 100, "totalTokens": 100})
        elif path.endswith("/messages"):
            self._answer(request.get("stream"), messages, request)
        elif path.endswith("/responses"):
            self._answer(request.get("stream"), responses, request)
        elif path.endswith("/chat/completions"):
            self._answer(request.get("stream"), chat, request)
        elif "enerateContent" in path:
            self._answer("stream" in path, gemini, request)
        else:
            self._whole({})

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _answer(self, stream: object, protocol: Any, request: Any) -> None:
        whole, events = protocol(self.model, request)
        if not stream:
            self._whole(whole)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for name, data in events:
            text = data if isinstance(data, str) else json.dumps(data)
            self.wfile.write((f"event: {name}\n" * bool(name) + f"data: {text}\n\n").encode())
        self.close_connection = True

    def _whole(self, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _id(kind: str) -> str:
    return f"{kind}_{next(_numbers):06}"


def messages(model: Model, request: Any) -> tuple[Any, Events]:
    """Answer as Anthropic's Messages."""
    blocks = [
        block
        for message in request["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
    ]
    called = [block["name"] for block in blocks if block["type"] == "tool_use"]
    results = [json.dumps(block.get("content")) for block in blocks if block["type"] == "tool_result"]
    call = model.next_call(Turn([tool["name"] for tool in request.get("tools", [])], called, results))
    block: dict[str, Any] = {"type": "text", "text": "done"}
    if call:
        block = {"type": "tool_use", "id": _id("toolu"), "name": call[0], "input": call[1]}
    whole = {
        "id": _id("msg"),
        "type": "message",
        "role": "assistant",
        "model": request.get("model"),
        "content": [block],
        "stop_reason": "tool_use" if call else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }

    def events() -> Events:
        begun = {**whole, "content": [], "stop_reason": None}
        yield "message_start", {"type": "message_start", "message": begun}
        empty: dict[str, Any] = {**block, "input": {}} if call else {**block, "text": ""}
        yield "content_block_start", {"type": "content_block_start", "index": 0, "content_block": empty}
        delta: dict[str, Any] = {"type": "text_delta", "text": "done"}
        if call:
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
        yield "content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": 0}
        end = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        yield "message_delta", {"type": "message_delta", "delta": end, "usage": {"output_tokens": 5}}
        yield "message_stop", {"type": "message_stop"}

    return whole, events()


def responses(model: Model, request: Any) -> tuple[Any, Events]:
    """Answer as OpenAI's Responses; tools may be grouped in namespaces."""
    tools = {
        name + inner["name"]: (name, inner["name"])
        for tool in request.get("tools", [])
        for name, group in [
            (tool["name"], tool["tools"]) if tool.get("type") == "namespace" else ("", [tool])
        ]
        for inner in group
        if "name" in inner
    }
    items = request["input"] if isinstance(request.get("input"), list) else []
    called = [item["name"] for item in items if item.get("type") == "function_call"]
    outputs = [json.dumps(item["output"]) for item in items if item.get("type") == "function_call_output"]
    call = model.next_call(Turn(list(tools), called, outputs))
    text = {"type": "output_text", "text": "done", "annotations": []}
    item: dict[str, Any] = {"type": "message", "id": _id("msg"), "role": "assistant", "content": [text]}
    if call:
        namespace, name = tools[call[0]]
        item = {"type": "function_call", "id": _id("fc"), "call_id": _id("call"), "name": name}
        item |= {"arguments": json.dumps(call[1]), **({"namespace": namespace} if namespace else {})}
    item["status"] = "completed"
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    whole = {
        "id": _id("resp"),
        "object": "response",
        "created_at": int(time.time()),
        "model": "mock",
        "output": [item],
        "status": "completed",
        "error": None,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {**usage, **details},
    }

    def events() -> Events:
        numbers = itertools.count()

        def event(kind: str, **more: Any) -> tuple[str, Any]:
            return f"response.{kind}", {"type": f"response.{kind}", "sequence_number": next(numbers), **more}

        yield event("created", response={**whole, "output": [], "status": "in_progress"})
        yield event("output_item.added", output_index=0, item={**item, "status": "in_progress"})
        at = {"item_id": item["id"], "output_index": 0}
        if call:
            yield event("function_call_arguments.delta", **at, delta=item["arguments"])
            yield event("function_call_arguments.done", **at, arguments=item["arguments"])
        else:
            yield event("content_part.added", **at, content_index=0, part={**text, "text": ""})
            yield event("output_text.delta", **at, content_index=0, delta="done", logprobs=[])
            yield event("output_text.done", **at, content_index=0, text="done", logprobs=[])
            yield event("content_part.done", **at, content_index=0, part=text)
        yield event("output_item.done", output_index=0, item=item)
        yield event("completed", response=whole)

    return whole, events()


def chat(model: Model, request: Any) -> tuple[Any, Events]:
    """Answer as Chat Completions."""
    said = request["messages"]
    asked = [call["function"]["name"] for each in said for call in each.get("tool_calls") or []]
    results = [json.dumps(each["content"]) for each in said if each["role"] == "tool"]
    offered = [tool["function"]["name"] for tool in request.get("tools") or [] if "function" in tool]
    call = model.next_call(Turn(offered, asked, results))
    message: dict[str, Any] = {"role": "assistant", "content": None if call else "done"}
    if call:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        message["tool_calls"] = [{"id": _id("call"), "type": "function", "function": function}]
    reason = "tool_calls" if call else "stop"
    head = {"id": _id("chatcmpl"), "created": int(time.time()), "model": "mock"}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    choice = {"index": 0, "message": message, "finish_reason": reason}

    def events() -> Events:
        chunk = {**head, "object": "chat.completion.chunk"}
        calls = [{**each, "index": 0} for each in message.get("tool_calls", [])]
        delta = {**message, "content": message["content"] or "", **({"tool_calls": calls} if calls else {})}
        yield "", {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        yield "", {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
        yield "", {**chunk, "choices": [], "usage": usage}
        yield "", "[DONE]"

    return {**head, "object": "chat.completion", "choices": [choice], "usage": usage}, events()


def gemini(model: Model, request: Any) -> tuple[Any, Events]:
    """Answer as Gemini; a question without tools is one of the client about what comes next."""
    parts = [part for content in request.get("contents", []) for part in content.get("parts", [])]
    offered = [
        each["name"] for tool in request.get("tools", []) for each in tool.get("functionDeclarations", [])
    ]
    called = [part["functionCall"]["name"] for part in parts if "functionCall" in part]
    answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
    call = model.next_call(Turn(offered, called, [json.dumps(each["response"]) for each in answers]))
    own = {"next_speaker": "user", "reasoning": "x", "model_choice": "flash", "complexity_score": 1}
    part: dict[str, Any] = {"text": "done" if offered else json.dumps({**own, "complexity_reasoning": "x"})}
    if call:
        part = {"functionCall": {"name": call[0], "args": call[1], "id": _id("call")}}
    whole = {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
        "modelVersion": "mock",
        "responseId": _id("response"),
    }
    return whole, iter([("", whole)])
