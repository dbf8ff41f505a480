"""A model whose empty answer is asked for once more.

An overloaded provider, or a gateway before it, ends a stream before anything came. Nothing was shown and no
call asked for then, so that asking again repeats nothing. Later a broken stream ends the turn.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext

_log = logging.getLogger(__name__)


class EmptyAnswersAskedAgain(WrapperModel):
    """The model that it wraps, asked again where its stream has no beginning."""

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Yield the model's stream once something of it has come."""

        def opened() -> Any:  # noqa: ANN401 - the library's decorators hide the type
            return self.wrapped.request_stream(
                messages, model_settings, model_request_parameters, run_context
            )

        async with AsyncExitStack() as stack:
            try:
                stream = await stack.enter_async_context(opened())
            except UnexpectedModelBehavior as error:
                _log.warning("the model is asked again: %s", error)
                stream = await stack.enter_async_context(opened())
            yield stream
