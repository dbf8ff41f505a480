"""From a model id to the provider that answers: `manual`, `anthropic:ID`, or a bare Anthropic id."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from ironcurtain.errors import ModelFailedError, UsageError
from ironcurtain.llm import manual
from ironcurtain.llm.question import Provider
from ironcurtain.text import quoted

MANUAL = manual.PROVIDER


def provider_for(model: str, *, questions: Path) -> Provider:
    """Return the provider behind a model id.

    Args:
        model: `manual`, `anthropic:<id>` or `<id>`.
        questions: Directory for the files of the `manual` provider.

    Raises:
        UsageError: If the provider is unknown.
        ModelFailedError: If its SDK is not installed or its key is missing.
    """
    if model == MANUAL:
        return manual.ManualProvider(questions)
    provider, colon, name = model.partition(":")
    if not colon:
        provider, name = "anthropic", model
    if provider != "anthropic" or not name:
        raise UsageError(
            f"the model {quoted(model)} names no known provider",
            hint="Write manual, anthropic:ID, or the id of an Anthropic model.",
        )
    if importlib.util.find_spec("anthropic") is None:
        raise ModelFailedError(
            "the Anthropic SDK is not installed", hint="pip install 'ironcurtain[anthropic]'"
        )
    from ironcurtain.llm.anthropic import AnthropicProvider  # noqa: PLC0415 - an optional extra

    return AnthropicProvider(name)
