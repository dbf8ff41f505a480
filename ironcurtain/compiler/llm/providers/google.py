"""The provider `google`: `generateContent` of the Gemini API, streamed, with a JSON Schema.

The only module that imports the SDK. Vertex AI, which the SDK would turn to when certain variables are
set, is never used: its credentials are not a key.
"""

from __future__ import annotations

from google import genai
from google.genai import errors, types

from ironcurtain.compiler.llm import http
from ironcurtain.compiler.llm.access import ModelAccess
from ironcurtain.compiler.llm.call import CallError, ModelReply, ModelRequest, Stop, Streamed
from ironcurtain.system.frozen import JsonValue

_NO_KEY = "none"
_STOPS: dict[str, Stop] = {"STOP": "end", "MAX_TOKENS": "limit", "CONTINUATION": "limit"}
_MILLISECONDS = 1000


class GoogleEndpoint:
    """One model of the Gemini API."""

    def __init__(self, model: str, access: ModelAccess) -> None:
        self._model = model
        self._client = genai.Client(
            api_key=access.secret or _NO_KEY,
            vertexai=False,
            http_options=types.HttpOptions(
                base_url=access.base_url,
                timeout=int(access.timeout * _MILLISECONDS),
                httpx_client=http.bounded_client(access.timeout),
            ),
        )

    def send(self, request: ModelRequest) -> ModelReply:
        """Send one request and read the whole answer.

        Raises:
            CallError: If there is no complete answer.
        """
        streamed = Streamed()
        try:
            for chunk in self._client.models.generate_content_stream(
                model=self._model,
                contents=[_content(turn.role, turn.text) for turn in request.turns],
                config=types.GenerateContentConfig(
                    system_instruction=request.system,
                    max_output_tokens=request.max_tokens,
                    response_mime_type="application/json",
                    response_json_schema=request.schema,
                ),
            ):
                _take(chunk, streamed)
        except errors.APIError as error:
            raise _refused(error) from None
        except (errors.UnknownApiResponseError, *http.FAILURES) as error:
            raise http.call_error(error) from None
        return streamed.reply()


def _content(role: str, text: str) -> types.Content:
    return types.Content(role="user" if role == "user" else "model", parts=[types.Part(text=text)])


def _take(chunk: types.GenerateContentResponse, streamed: Streamed) -> None:
    usage = chunk.usage_metadata
    if usage is not None and usage.prompt_token_count is not None:
        streamed.input_tokens = usage.prompt_token_count
        streamed.output_tokens = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
    if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason is not None:
        streamed.stop = "refusal"
    for candidate in chunk.candidates or ():
        for part in (candidate.content.parts if candidate.content else None) or ():
            if not part.thought:
                streamed.add(part.text)
        if candidate.finish_reason is not None:
            streamed.stop = _STOPS.get(candidate.finish_reason.value, "refusal")


def _refused(error: errors.APIError) -> CallError:
    headers = getattr(error.response, "headers", None) or {}
    wait = http.retry_after(headers)
    return CallError(
        "status",
        status=error.code or 0,
        detail=str(error.message or error.status or ""),
        wait=wait if wait is not None else _delay(error.details),
    )


def _delay(body: JsonValue) -> float | None:
    """Return the delay of the body's `RetryInfo`: this API has no header for it."""
    error = body.get("error") if isinstance(body, dict) else None
    entries = error.get("details") if isinstance(error, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and str(entry.get("@type", "")).endswith("google.rpc.RetryInfo"):
            return http.retry_after({"retry-after": str(entry.get("retryDelay", "")).removesuffix("s")})
    return None
