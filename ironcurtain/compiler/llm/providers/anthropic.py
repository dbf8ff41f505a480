"""The provider `anthropic`: the Messages API, streamed, with structured output.

The only module that imports the SDK. The API's own schema check covers neither lengths nor patterns nor
meaning, so an answer counts as valid only after `asking` has checked it.
"""

from __future__ import annotations

import anthropic
from anthropic.types import MessageParam, RawMessageStreamEvent

from ironcurtain.compiler.llm import http
from ironcurtain.compiler.llm.access import ModelAccess
from ironcurtain.compiler.llm.call import CallError, Message, ModelReply, ModelRequest, Stop, Streamed

_DEFAULT_URL = "https://api.anthropic.com"
_STOPS: dict[str, Stop] = {
    "max_tokens": "limit",
    "model_context_window_exceeded": "context",
    "refusal": "refusal",
}
# An error may also come as an event of a stream whose status was 200.
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "overloaded_error": 529,
}


class AnthropicEndpoint:
    """One model of the Messages API."""

    def __init__(self, model: str, access: ModelAccess) -> None:
        self._model = model
        self._client = anthropic.Anthropic(
            api_key=access.secret,
            base_url=access.base_url or _DEFAULT_URL,
            max_retries=0,
            timeout=access.timeout,
            http_client=http.bounded_client(access.timeout),
        )

    def send(self, request: ModelRequest) -> ModelReply:
        """Send one request and read the whole answer.

        Raises:
            CallError: If there is no complete answer.
        """
        streamed = Streamed()
        schema = anthropic.transform_schema(request.schema)
        try:
            with self._client.messages.create(
                model=self._model,
                max_tokens=request.max_tokens,
                system=request.system,
                messages=[_message(turn) for turn in request.turns],
                output_config={"format": {"type": "json_schema", "schema": schema}},
                stream=True,
            ) as events:
                for event in events:
                    _take(event, streamed)
        except (anthropic.AnthropicError, *http.FAILURES) as error:
            raise _failed(error) from None
        return streamed.reply()


def _message(turn: Message) -> MessageParam:
    if turn.role == "user":
        return {"role": "user", "content": turn.text}
    return {"role": "assistant", "content": turn.text}


def _take(event: RawMessageStreamEvent, streamed: Streamed) -> None:
    if event.type == "message_start":
        usage = event.message.usage
        cached = (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0)
        streamed.input_tokens = usage.input_tokens + cached
    elif event.type == "content_block_delta" and event.delta.type == "text_delta":
        streamed.add(event.delta.text)
    elif event.type == "message_delta":
        streamed.output_tokens = event.usage.output_tokens
        streamed.stop = _STOPS.get(event.delta.stop_reason or "", "end")


def _failed(error: Exception) -> CallError:
    if not isinstance(error, anthropic.APIStatusError):
        return http.call_error(error)
    return CallError(
        "status",
        status=_STATUS.get(error.type or "", error.status_code),
        detail=error.api_message or error.message,
        wait=http.retry_after(error.response.headers),
    )
