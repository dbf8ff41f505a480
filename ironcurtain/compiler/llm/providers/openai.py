"""The provider `openai`: Chat Completions, streamed, of OpenAI and of every server that speaks the same.

The only module that imports the SDK. Chat Completions, not Responses, because that is what compatible
and local servers speak. Some of those ignore the schema that is sent along, so they get it as text too.
"""

from __future__ import annotations

import openai
from openai.types.chat import ChatCompletionChunk, ChatCompletionMessageParam

from ironcurtain.compiler.llm import http
from ironcurtain.compiler.llm.access import ModelAccess
from ironcurtain.compiler.llm.call import CallError, ModelReply, ModelRequest, Stop, Streamed
from ironcurtain.compiler.llm.providers.strict import relaxed, strict
from ironcurtain.compiler.llm.question import schema_text

_DEFAULT_URL = "https://api.openai.com/v1"
_NO_KEY = "none"
_STOPS: dict[str, Stop] = {"length": "limit", "content_filter": "refusal"}
_NO_MONEY = "insufficient_quota"


class OpenAIEndpoint:
    """One model of a Chat Completions API."""

    def __init__(self, model: str, access: ModelAccess) -> None:
        self._model = model
        self._official = access.base_url is None
        self._client = openai.OpenAI(
            api_key=access.secret or _NO_KEY,
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
        schema: dict[str, object] = {**strict(request.schema)}
        try:
            with self._client.chat.completions.create(
                model=self._model,
                messages=self._messages(request),
                max_completion_tokens=request.max_tokens,
                response_format={
                    "type": "json_schema",
                    "json_schema": {"name": "answer", "schema": schema, "strict": True},
                },
                stream=True,
                stream_options={"include_usage": True},
            ) as chunks:
                for chunk in chunks:
                    _take(chunk, streamed)
        except (openai.OpenAIError, *http.FAILURES) as error:
            raise _failed(error) from None
        reply = streamed.reply()
        return ModelReply(relaxed(reply.text, request.schema), reply.stop, reply.usage)

    def _messages(self, request: ModelRequest) -> list[ChatCompletionMessageParam]:
        system = request.system
        if not self._official:
            system += f"\n\nAnswer with JSON that fits this JSON Schema:\n{schema_text(request.schema)}"
        messages: list[ChatCompletionMessageParam] = [{"role": "system", "content": system}]
        for turn in request.turns:
            if turn.role == "user":
                messages.append({"role": "user", "content": turn.text})
            else:
                messages.append({"role": "assistant", "content": turn.text})
        return messages


def _take(chunk: ChatCompletionChunk, streamed: Streamed) -> None:
    if chunk.usage is not None:
        streamed.input_tokens = chunk.usage.prompt_tokens
        streamed.output_tokens = chunk.usage.completion_tokens
    for choice in chunk.choices:
        streamed.add(choice.delta.content)
        if choice.delta.refusal:
            streamed.stop = "refusal"
        elif choice.finish_reason is not None and streamed.stop is None:
            streamed.stop = _STOPS.get(choice.finish_reason, "end")


def _failed(error: Exception) -> CallError:
    if isinstance(error, openai.APIStatusError):
        return CallError(
            "status",
            status=error.status_code,
            detail=error.message,
            wait=http.retry_after(error.response.headers),
            final=error.code == _NO_MONEY,
        )
    if isinstance(error, openai.APIError) and not isinstance(error, openai.APIConnectionError):
        return CallError("cut", detail=error.message)
    return http.call_error(error)
