"""The conversation is kept valid, whatever ends a turn.

A model's call that has no result makes a conversation that no provider accepts. So a call that is left
unanswered gets a result that says what is known of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart

UNKNOWN = (
    "The session ended before the result of this call was recorded. Its outcome is unknown: it may or may "
    "not have happened. Check before you repeat it."
)
CALLED_OFF = "The turn was ended before this call had a result. It may or may not have happened."


def completed(messages: Sequence[ModelMessage], told: str) -> list[ModelMessage]:
    """Return the messages with a result for each call of the last answer that has none.

    Args:
        messages: The conversation; only its last answer can have calls without results.
        told: What the model reads as their result.
    """
    answers = [place for place, message in enumerate(messages) if isinstance(message, ModelResponse)]
    if not answers:
        return list(messages)
    answered = {
        part.tool_call_id
        for message in messages[answers[-1] + 1 :]
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    }
    missing = [
        ToolReturnPart(tool_name=part.tool_name, content=told, tool_call_id=part.tool_call_id)
        for part in messages[answers[-1]].parts
        if isinstance(part, ToolCallPart) and part.tool_call_id not in answered
    ]
    return [*messages, ModelRequest(parts=missing)] if missing else list(messages)
