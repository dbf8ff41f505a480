"""A model that is asked again where nothing of an answer came.

Nothing was shown and no call asked for then, so that asking again repeats nothing. Later a broken stream ends
the turn. The retries of the SDKs are turned off: they differ, and one has none.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from pydantic_ai.exceptions import (
    AgentRunError,
    ModelConnectionError,
    ModelHTTPError,
    ModelQuotaExceededError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext

from ironcurtain.compiler.llm.structured_completion import ANSWERED_LATER, Patience

_log = logging.getLogger(__name__)
# A person waits here: less often and less long than a compile.
_PATIENCE = Patience(refusals=2, breaks=1, longest_wait=60.0)


class AskedAgain(WrapperModel):
    """The model that it wraps, asked again where it is refused for now or its stream has no beginning."""

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
