"""What the model says of a conversation, in place of it."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

_ASKED = "Summarize this conversation for yourself, so that you can go on from the summary alone: the task, \
what was found, what was done, what was refused, and what is left. Write nothing else."


async def summary(
    model: Model, conversation: Sequence[ModelMessage], tools: Sequence[ToolDefinition]
) -> ModelResponse:
    """Have a model summarize a conversation: one request, whose answer can have no effect.

    Args:
        model: The model.
        conversation: Messages, the last of them of the model or with the results of its calls.
        tools: Those that the conversation has calls of. They are told and may not be called: some providers
            take no conversation with calls of tools that the request does not name.

    Raises:
        AgentRunError: If the model gives no answer.
    """
    asked = [*conversation, ModelRequest.user_text_prompt(_ASKED)]
    parameters = ModelRequestParameters(function_tools=list(tools))
    settings = ModelSettings(tool_choice="none")
    async with model_request_stream(
        model, asked, model_settings=settings, model_request_parameters=parameters
    ) as stream:
        async for _ in stream:
            pass
    return stream.get()
