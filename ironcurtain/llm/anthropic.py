"""The provider `anthropic`: the Messages API with structured output, validated by us.

The only module that imports the SDK. The key comes from the environment (`ANTHROPIC_API_KEY`), the
address too (`ANTHROPIC_BASE_URL`). The API's own schema check covers neither lengths nor patterns nor
meaning, so every answer is validated here, and an invalid one is sent back with its mistakes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import anthropic
from anthropic.types import Message, MessageParam

from ironcurtain.errors import ModelFailedError
from ironcurtain.llm.question import Answer, Keep, Question, answer_to
from ironcurtain.model import jsontext
from ironcurtain.model.base import Json
from ironcurtain.text import visible

PROVIDER = "anthropic"
MAX_TOKENS = 32_000
MAX_CORRECTIONS = 2
DEFAULT_TIMEOUT = 600.0

_INSTEAD = "Try another model, or --model manual to answer the question yourself."
_STOPPED = {
    "max_tokens": "the answer was cut off at the limit of {limit:,} tokens",
    "model_context_window_exceeded": "the question and its answer exceed what the model can read",
    "refusal": "the model refused to answer",
}


class AnthropicProvider:
    """Asks one model; the SDK itself repeats what was rate-limited or overloaded, as the server tells it."""

    def __init__(self, model: str, *, timeout: float = DEFAULT_TIMEOUT, max_retries: int = 4) -> None:
        if not os.environ.get("ANTHROPIC_API_KEY"):
            raise ModelFailedError(
                "there is no key for the Anthropic API",
                hint="Set ANTHROPIC_API_KEY, or use --model manual.",
            )
        self._model = model
        self._client = anthropic.Anthropic(timeout=timeout, max_retries=max_retries)

    def ask(self, questions: Sequence[Question], keep: Keep) -> list[Answer]:
        """Ask the questions one after the other; each answer is kept before the next is asked.

        Raises:
            ModelFailedError: If the model cannot be reached, refuses, is cut off, or its answer is not
                valid after two corrections.
        """
        answers = []
        for question in questions:
            answer = answer_to(question, self._content(question), provider=PROVIDER, model=self._model)
            keep(answer)
            answers.append(answer)
        return answers

    def published(self) -> None:
        """Do nothing: there are no working files."""

    def _content(self, question: Question) -> Json:
        messages: list[MessageParam] = [{"role": "user", "content": question.prompt}]
        mistakes: list[str] = []
        for _ in range(1 + MAX_CORRECTIONS):
            text = self._text(question, messages)
            try:
                content = jsontext.parse(text)
                mistakes = question.mistakes(content)
            except jsontext.MalformedJsonError as error:
                mistakes = [f"not valid JSON: {visible(str(error))}"]
            if not mistakes:
                return content
            messages.append({"role": "assistant", "content": text})
            messages.append({"role": "user", "content": _correction(mistakes)})
        raise ModelFailedError(
            f"question {question.key}: the answer is still not valid after {MAX_CORRECTIONS} corrections: "
            + "; ".join(mistakes[:5]),
            hint=_INSTEAD,
        )

    def _text(self, question: Question, messages: Sequence[MessageParam]) -> str:
        schema = anthropic.transform_schema(question.schema)
        try:
            message = self._client.messages.create(
                model=self._model,
                max_tokens=MAX_TOKENS,
                system=question.system,
                messages=messages,
                output_config={"format": {"type": "json_schema", "schema": schema}},
            )
        except anthropic.APIError as error:
            what, hint = _failure(error)
            raise ModelFailedError(f"question {question.key}: {what}", hint=hint) from error
        if message.stop_reason in _STOPPED:
            reason = _STOPPED[message.stop_reason].format(limit=MAX_TOKENS)
            raise ModelFailedError(
                f"question {question.key}: {reason}",
                hint=_INSTEAD,
            )
        return _joined(question, message)


def _joined(question: Question, message: Message) -> str:
    text = "".join(block.text for block in message.content if block.type == "text")
    if not text.strip():
        raise ModelFailedError(f"question {question.key}: the model answered nothing", hint=_INSTEAD)
    return text


def _correction(mistakes: Sequence[str]) -> str:
    listed = "\n".join(f"- {mistake}" for mistake in mistakes)
    return f"The answer is not valid:\n{listed}\nGive the whole corrected answer, in the same form."


_LATER = "Try again later; answers already given are kept."
# The first class that matches counts.
_FAILURES: tuple[tuple[type[anthropic.APIError], str, str], ...] = (
    (anthropic.APITimeoutError, "the model gave no answer in time", _LATER),
    (
        anthropic.APIConnectionError,
        "the Anthropic API cannot be reached",
        "Check the network and ANTHROPIC_BASE_URL.",
    ),
    (anthropic.RateLimitError, "the Anthropic API keeps refusing: its rate limit is reached (429)", _LATER),
    (
        anthropic.AuthenticationError,
        "the Anthropic API does not accept the key (401)",
        "Check ANTHROPIC_API_KEY.",
    ),
    (
        anthropic.PermissionDeniedError,
        "the key may not use this model (403)",
        "Check ANTHROPIC_API_KEY and --model.",
    ),
    (anthropic.NotFoundError, "the Anthropic API does not know this model (404)", "Check --model."),
)
_OVERLOADED = 529


def _failure(error: anthropic.APIError) -> tuple[str, str]:
    """Return what happened, in plain words, and what to do about it."""
    for kind, what, hint in _FAILURES:
        if isinstance(error, kind):
            return what, hint
    status = getattr(error, "status_code", None)
    if status == _OVERLOADED:
        return "the Anthropic API is overloaded (529)", _LATER
    return f"the Anthropic API failed ({status}): {visible(error.message)[:300]}", _LATER
