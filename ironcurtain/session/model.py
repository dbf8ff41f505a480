"""The model of a session, with the keys, addresses and prices of docs/models.md.

The one module that knows the classes of the agent library's providers. Each needs the extra of its provider.
"""

from __future__ import annotations

import httpx2
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAPIError,
    ModelContextWindowExceededError,
    ModelHTTPError,
)
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

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
from ironcurtain.compiler.llm.structured_completion import model_failed
from ironcurtain.errors import IronCurtainError, ModelFailedError, SessionError, UsageError
from ironcurtain.session.asking_again import AskedAgain
from ironcurtain.settings import user_directory
from ironcurtain.system.extras import how_to_install
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import visible

_SHOWN = 500


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
    asked = AskedAgain(_model(name, access, client))
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
