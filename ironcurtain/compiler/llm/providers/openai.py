"""The provider `openai`: Chat Completions, streamed, of OpenAI and of every server that speaks the same.

The only module that imports the SDK. Chat Completions, not Responses, because that is what compatible
and local servers speak. Some of those ignore the schema that is sent along, so they get it as text too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import openai
from jsonschema import Draft202012Validator
from openai.types.chat import ChatCompletionChunk, ChatCompletionMessageParam

from ironcurtain.compiler.llm import http
from ironcurtain.compiler.llm.access import ModelAccess
from ironcurtain.compiler.llm.call import CallError, ModelReply, ModelRequest, Stop, Streamed
from ironcurtain.compiler.llm.question import schema_text
from ironcurtain.compiler.questions.schema_parts import Schema, entries
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue

_KEPT = (
    "$ref",
    "type",
    "enum",
    "const",
    "description",
    "pattern",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
)
_NULL: Final[Schema] = {"type": "null"}
_TYPES: Final[dict[type, str]] = {
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    type(None): "null",
}


def strict(schema: Schema) -> Schema:
    """Return a schema in strict form.

    Ours are made of objects, arrays, `anyOf`, enums, and references to `$defs` that do not go in circles.
    """
    formed = {key: schema[key] for key in _KEPT if key in schema}
    if "$defs" in schema:
        formed["$defs"] = {name: strict(part) for name, part in _named(schema, "$defs").items()}
    listed = schema.get("enum")
    if isinstance(listed, list) and "type" not in schema:
        types = sorted({_TYPES[type(value)] for value in listed})
        formed["type"] = types[0] if len(types) == 1 else [*types]
    if "anyOf" in schema:
        formed["anyOf"] = [strict(branch) for branch in entries(schema, "anyOf")]
    items = schema.get("items")
    if isinstance(items, dict):
        formed["items"] = strict(items)
    if "properties" in schema:
        required, properties = _required(schema), _named(schema, "properties")
        formed["properties"] = {
            name: strict(part) if name in required else {"anyOf": [strict(part), _NULL]}
            for name, part in properties.items()
        }
        formed["required"] = [*properties]
        formed["additionalProperties"] = False
    return formed


def relaxed(text: str, schema: Schema) -> str:
    """Return an answer without the nulls that stand for absent properties; any other text as it is."""
    try:
        content = json_text.parse(text)
    except json_text.MalformedJsonError:
        return text
    without = _without_nulls(content, _resolved(schema, _named(schema, "$defs")))
    return text if without == content else json_text.canonical(without).decode()


def _resolved(schema: JsonValue, definitions: Mapping[str, Schema]) -> JsonValue:
    """Return a schema with every reference replaced by what it names."""
    if isinstance(schema, list):
        return [_resolved(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _resolved(definitions[reference.removeprefix("#/$defs/")], definitions)
    return {key: _resolved(value, definitions) for key, value in schema.items() if key != "$defs"}


def _without_nulls(value: JsonValue, schema: JsonValue) -> JsonValue:
    if not isinstance(schema, dict):
        return value
    if "anyOf" in schema:
        tried = ((_without_nulls(value, branch), branch) for branch in entries(schema, "anyOf"))
        return next((without for without, branch in tried if _fits(without, branch)), value)
    if isinstance(value, list) and "items" in schema:
        return [_without_nulls(item, schema["items"]) for item in value]
    if not isinstance(value, dict) or "properties" not in schema:
        return value
    required, known = _required(schema), _named(schema, "properties")
    return {
        key: _without_nulls(item, known.get(key, {}))
        for key, item in value.items()
        if item is not None or key in required or key not in known or _fits(None, known[key])
    }


def _fits(value: JsonValue, schema: Schema) -> bool:
    return Draft202012Validator(schema).is_valid(value)


def _named(schema: Schema, key: str) -> dict[str, Schema]:
    """Return the schemas that stand under names: definitions or properties."""
    named = schema.get(key)
    items = named.items() if isinstance(named, dict) else ()
    return {name: part for name, part in items if isinstance(part, dict)}


def _required(schema: Schema) -> list[JsonValue]:
    required = schema.get("required")
    return required if isinstance(required, list) else []


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
