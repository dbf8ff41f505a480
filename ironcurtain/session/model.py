"""The model of a session, with the keys, addresses and prices of docs/models.md.

The one module that knows the classes of the agent library's providers. Each needs the extra of its provider.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx2
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAPIError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelQuotaExceededError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext

from ironcurtain.compiler.llm.access import (
    FILE_NAME,
    ModelAccess,
    Price,
    access_to,
    load_user_config,
    price_of,
)
from ironcurtain.compiler.llm.call import CallError
from ironcurtain.compiler.llm.providers.choose import installed, parse_model
from ironcurtain.compiler.llm.question import MANUAL
from ironcurtain.compiler.llm.structured_completion import ANSWERED_LATER, Patience, model_failed
from ironcurtain.errors import IronCurtainError, ModelFailedError, SessionError, UsageError
from ironcurtain.settings import user_directory
from ironcurtain.system.extras import how_to_install
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import visible

_SHOWN = 500
_log = logging.getLogger(__name__)
# A person waits here: less often and less long than a compile.
_PATIENCE = Patience(refusals=2, breaks=1, longest_wait=60.0)


class SessionModel(Struct):
    """A model that can be asked.

    Attributes:
        name: `provider:id`.
        price: None where nobody knows it.
        access: The way to it, with the key.
        client: The connections to it; close it when the session ends.
    """

    name: str
    model: Model
    price: Price | None
    access: ModelAccess
    client: httpx2.AsyncClient

    def failed(self, error: Exception) -> IronCurtainError:
        """Return the error to show for an answer that could not be had; the SDKs raise anything at all."""
        match error:
            case ModelContextWindowExceededError():
                return SessionError(
                    "the conversation no longer fits into the model's context window",
                    hint="`/compact` lets the model summarize it, `/new` begins another one.",
                )
            case ModelHTTPError(status_code=status, body=body):
                return model_failed(CallError("status", status=status, detail=_detail(body)), self.access)
            case ModelAPIError():
                return model_failed(CallError("unreachable", detail=error.message), self.access)
            case AgentRunError():
                return ModelFailedError(f"the model gave no answer: {visible(str(error))[:_SHOWN]}")
            case _:
                return model_failed(CallError("unintelligible"), self.access)


def open_model(model: str) -> SessionModel:
    """Return a model; it is not asked yet.

    Args:
        model: `anthropic:ID`, `openai:ID`, `google:ID`, or the id of an Anthropic model.

    Raises:
        UsageError: If it names no known provider, or a person.
        ModelFailedError: If the provider's SDK is not installed, or its key is missing.
        FileError, FormatError: If the user's configuration file cannot be used.
    """
    if model == MANUAL:
        raise UsageError("a session needs a model that answers by itself", hint="Write --model PROVIDER:ID.")
    service, name = parse_model(model)
    if not installed(service.sdk):
        raise ModelFailedError(
            f"the SDK for {service.title} is not installed", hint=how_to_install(service.name)
        )
    config = load_user_config(user_directory() / FILE_NAME)
    access = access_to(service, config, or_manual=False)
    full = f"{service.name}:{name}"
    # A key travels in a header that is not always dropped on a redirect.
    client = httpx2.AsyncClient(timeout=access.timeout, follow_redirects=False)
    price = price_of(full, config.prices)
    asked = _AskedAgain(_model(name, access, client))
    return SessionModel(full, asked, price, access, client)


def _detail(body: object) -> str:
    """Return the provider's own sentence about a failure, where it stands in what was answered."""
    told = body.get("error", body) if isinstance(body, dict) else None
    message = told.get("message") if isinstance(told, dict) else None
    return message if isinstance(message, str) else ""


def _model(name: str, access: ModelAccess, client: httpx2.AsyncClient) -> Model:
    # A server of one's own may want no key; the SDKs want some text.
    key, url = access.secret or "none", access.base_url or access.service.url
    settings = ModelSettings(timeout=access.timeout)
    match access.service.name:  # only the provider's own SDK is loaded
        case "anthropic":
            from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415
            from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415

            anthropic = AnthropicProvider(api_key=key, base_url=url, http_client=client)
            anthropic.client.max_retries = 0
            return AnthropicModel(name, provider=anthropic, settings=settings)
        case "openai":
            from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415
            from pydantic_ai.profiles.openai import OpenAIModelProfile  # noqa: PLC0415
            from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415

            openai = OpenAIProvider(api_key=key, base_url=url, http_client=client)
            openai.client.max_retries = 0
            # Without it a stream that breaks off would pass for a whole answer.
            ending = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
            return OpenAIChatModel(name, provider=openai, settings=settings, profile=ending)
        case "google":
            from pydantic_ai.models.google import GoogleModel  # noqa: PLC0415
            from pydantic_ai.providers.google import GoogleProvider  # noqa: PLC0415

            google = GoogleProvider(api_key=key, base_url=url, http_client=client)
            return GoogleModel(name, provider=google, settings=settings)


class _AskedAgain(WrapperModel):
    """The model that it wraps, asked again where it is refused for now or its stream has no beginning.

    Nothing was shown and no call asked for then, so that asking again repeats nothing. Later a broken stream
    ends the turn. The retries of the SDKs are turned off: they differ, and one has none.
    """

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Yield the model's stream once something of it has come."""
        async with AsyncExitStack() as stack:
            tried = 0
            while True:
                try:
                    opening = self.wrapped.request_stream(
                        messages, model_settings, model_request_parameters, run_context
                    )
                    stream = await stack.enter_async_context(opening)
                    break
                except AgentRunError as error:
                    pause = _pause(error, tried)
                    if pause is None:
                        raise
                    _log.warning("the model is asked again in %.1f s: %s", pause, error)
                tried += 1
                await asyncio.sleep(pause)
            yield stream


def _pause(error: AgentRunError, tried: int) -> float | None:
    """Return the seconds to wait before the model is asked again, or None if that cannot help.

    Args:
        error: Why there is no answer.
        tried: How often it was asked again.
    """
    match error:
        case ModelQuotaExceededError():
            return None
        case ModelConnectionError() if tried < _PATIENCE.refusals:
            asked = None
        case ModelHTTPError(status_code=status) if status in ANSWERED_LATER and tried < _PATIENCE.refusals:
            asked = error.retry_after
        case UnexpectedModelBehavior() if tried < _PATIENCE.breaks:
            return 0.0
        case _:
            return None
    pause = _PATIENCE.first_wait * 2**tried if asked is None else asked
    return pause if pause <= _PATIENCE.longest_wait else None
