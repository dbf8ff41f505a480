"""A loopback model for clients of all kinds: it plays a script of tool calls, whatever the client's API is.

It speaks Anthropic's Messages, OpenAI's Responses and Chat Completions, and Gemini's generateContent, and
remembers which tools were offered and what their results were.
"""

from __future__ import annotations

import itertools
import json
import logging
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_httpserver import HTTPServer
from support.services.model_server import ANTHROPIC, GOOGLE, OPENAI, Dialect
from werkzeug import Request, Response

Call = tuple[str, dict[str, Any]]
TEXT = "done"
WAITING: dict[str, dict[str, Any]] = {"WaitForMcpServers": {}, "exec_command": {"cmd": "sleep 5"}}
"""Tools of clients that offer their servers' tools only when they have started: calls that let time pass."""

_PATIENCE = 120
_USAGE = {
    "input_tokens": 9,
    "input_tokens_details": {"cached_tokens": 0},
    "total_tokens": 18,
    "output_tokens": 9,
    "output_tokens_details": {"reasoning_tokens": 0},
}


@dataclass
class Turn:
    """One request of a client.

    Attributes:
        offered: The names of the tools that the model could call.
        called: Those that it has called in this conversation.
        results: What the calls gave, each as a text.
        at: When it came, of `time.monotonic`.
    """

    offered: list[str]
    called: list[str]
    results: list[str]
    at: float = field(default_factory=time.monotonic)


class Model:
    """A running model.

    Attributes:
        turns: The requests that offered tools.
    """

    def __init__(self, script: Sequence[Call]) -> None:
        """Listen on a port of this machine's loopback, as long as this process lives.

        Args:
            script: Tools to call one after the other, each by the end of its name.
        """
        self.script, self.turns = script, list[Turn]()
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        server = HTTPServer("127.0.0.1", threaded=True)
        server.start()
        self.address = server.url_for("/").rstrip("/")
        server.expect_request(re.compile(".*")).respond_with_handler(self._handle)

    def next_call(self, turn: Turn) -> list[Call]:
        """Return the next call of the script, if its tool is offered; none ends the conversation."""
        if not turn.offered:
            return []
        self.turns.append(turn)
        done = sum(name not in WAITING for name in turn.called)
        if done >= len(self.script):
            return []
        wanted, arguments = self.script[done]
        if name := find(turn.offered, wanted):
            return [(name, arguments)]
        waiting = next((name for name in WAITING if name in turn.offered), None)
        if waiting is None or turn.at - self.turns[0].at > _PATIENCE:
            return []
        return [(waiting, WAITING[waiting])]

    def _handle(self, request: Request) -> Response:
        path, said = request.path, request.get_json(silent=True) or {}
        if path.endswith("/messages"):
            return self._messages(said)
        if path.endswith("/responses"):
            return self._responses(said)
        if path.endswith("/chat/completions"):
            return self._chat(said)
        if path.endswith(("enerateContent", ":streamGenerateContent")):
            return self._gemini(said, stream="stream" in path)
        listed = [{"id": "mock", "object": "model", "created": 1, "owned_by": "loopback"}]
        return _whole({"data": listed, "has_more": False, "models": [], "input_tokens": 9, "totalTokens": 9})

    def _messages(self, said: Any) -> Response:
        contents = [each["content"] for each in said["messages"] if isinstance(each["content"], list)]
        blocks = list(itertools.chain.from_iterable(contents))
        called = [block["name"] for block in blocks if block["type"] == "tool_use"]
        results = [json.dumps(block.get("content")) for block in blocks if block["type"] == "tool_result"]
        turn = Turn([tool["name"] for tool in said.get("tools", [])], called, results)
        return _streamed(ANTHROPIC, self.next_call(turn), len(called))

    def _chat(self, said: Any) -> Response:
        called = [call for each in said["messages"] for call in each.get("tool_calls") or []]
        results = [json.dumps(each["content"]) for each in said["messages"] if each["role"] == "tool"]
        offered = [tool["function"]["name"] for tool in said.get("tools") or [] if "function" in tool]
        calls = self.next_call(Turn(offered, [call["function"]["name"] for call in called], results))
        if said.get("stream"):
            return _streamed(OPENAI, calls, len(called))
        asked = [
            {"id": f"call_{len(called)}", "type": "function"}
            | {"function": {"name": name, "arguments": json.dumps(arguments)}}
            for name, arguments in calls
        ]
        message = {"role": "assistant", "content": None if calls else TEXT}
        choice = {"index": 0, "finish_reason": "tool_calls" if calls else "stop"} | {
            "message": {**message, "tool_calls": asked} if calls else message
        }
        usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
        head = {"id": "c1", "object": "chat.completion", "created": 1, "model": "mock"}
        return _whole({**head, "choices": [choice], "usage": usage})

    def _gemini(self, said: Any, *, stream: bool) -> Response:
        parts = [part for content in said.get("contents", []) for part in content.get("parts", [])]
        declared = [tool.get("functionDeclarations", []) for tool in said.get("tools", [])]
        called = [part["functionCall"]["name"] for part in parts if "functionCall" in part]
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        results = [json.dumps(each["response"]) for each in answers]
        offered = [each["name"] for each in itertools.chain.from_iterable(declared)]
        calls = self.next_call(Turn(offered, called, results))
        if stream:
            return _streamed(GOOGLE, calls, len(called))
        # Without tools it asks who speaks next, or which model should.
        own = {"next_speaker": "user", "reasoning": "x", "model_choice": "flash", "complexity_score": 1}
        content = {"role": "model", "parts": [{"text": json.dumps({**own, "complexity_reasoning": "x"})}]}
        return _whole({"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]})

    def _responses(self, said: Any) -> Response:
        tools = dict(_of_namespaces(said.get("tools", [])))
        items = said["input"] if isinstance(said.get("input"), list) else []
        called = [item["name"] for item in items if item.get("type") == "function_call"]
        outputs = [json.dumps(item["output"]) for item in items if item.get("type") == "function_call_output"]
        text = {"type": "output_text", "text": TEXT, "annotations": []}
        item: dict[str, Any] = {"type": "message", "role": "assistant", "content": [text]}
        for name, arguments in self.next_call(Turn(list(tools), called, outputs)):
            item = {"type": "function_call", "call_id": f"call_{len(called)}", **tools[name]}
            item["arguments"] = json.dumps(arguments)
        item |= {"id": f"item_{len(called)}", "status": "completed"}
        whole = {
            "id": f"resp_{len(called)}",
            "object": "response",
            "created_at": 1,
            "model": "mock",
            "output": [item],
            "status": "completed",
            "error": None,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": _USAGE,
        }
        if not said.get("stream"):
            return _whole(whole)
        begun = {"response": {**whole, "output": [], "status": "in_progress"}}
        added = {"output_index": 0, "item": {**item, "status": "in_progress"}}
        events: list[tuple[str, dict[str, Any]]] = [("created", begun), ("output_item.added", added)]
        events += _deltas(item)
        events.append(("output_item.done", {"output_index": 0, "item": item}))
        events.append(("completed", {"response": whole}))
        lines = [
            {"type": f"response.{kind}", "sequence_number": number, **data}
            for number, (kind, data) in enumerate(events)
        ]
        body = "".join(f"event: {line['type']}\ndata: {json.dumps(line)}\n\n" for line in lines)
        return Response(body, content_type="text/event-stream")


def find(names: Sequence[str], wanted: str) -> str | None:
    """Return the name that is a tool's, or ends with it, however the client spells it."""
    plain = _plain(wanted)
    return next((name for name in names if _plain(name).endswith(plain)), None)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _whole(document: Any) -> Response:
    return Response(json.dumps(document), content_type="application/json")


def _streamed(dialect: Dialect, calls: Sequence[Call], before: int) -> Response:
    events = dialect.call_events("", calls, before) if calls else dialect.events(TEXT, "end")
    return Response("".join(events), content_type="text/event-stream")


def _of_namespaces(tools: Sequence[Any]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the full name of each tool with what a call of it names: tools may be grouped."""
    for tool in tools:
        if "tools" in tool:
            for each in tool["tools"]:
                yield tool["name"] + each["name"], {"namespace": tool["name"], "name": each["name"]}
        elif "name" in tool:
            yield tool["name"], {"name": tool["name"]}


def _deltas(item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    at: dict[str, Any] = {"item_id": item["id"], "output_index": 0}
    if "arguments" in item:
        yield "function_call_arguments.delta", {**at, "delta": item["arguments"]}
        yield "function_call_arguments.done", {**at, "arguments": item["arguments"]}
        return
    (part,) = item["content"]
    at["content_index"] = 0
    yield "content_part.added", {**at, "part": {**part, "text": ""}}
    yield "output_text.delta", {**at, "delta": TEXT, "logprobs": []}
    yield "output_text.done", {**at, "text": TEXT, "logprobs": []}
    yield "content_part.done", {**at, "part": part}
