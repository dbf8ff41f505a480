"""Choosing the provider for a model id: `manual`, `anthropic:ID`, `openai:ID`, `google:ID`, or a bare id.

The one place that loads a provider's module, and with it its SDK: each SDK is an extra of its own, and
takes a second or two to load.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Sequence
from pathlib import Path

from ironcurtain.compiler.llm.access import (
    FILE_NAME,
    SERVICES,
    Service,
    access_to,
    load_user_config,
    price_of,
)
from ironcurtain.compiler.llm.call import Endpoint
from ironcurtain.compiler.llm.ledger import Ledger
from ironcurtain.compiler.llm.providers import manual
from ironcurtain.compiler.llm.question import MANUAL, Answer, EarlierAnswer, Keep, Provider, Question
from ironcurtain.compiler.llm.structured_completion import PATIENCE, ModelProvider, Patience
from ironcurtain.errors import ModelFailedError, UsageError
from ironcurtain.settings import user_directory
from ironcurtain.system.extras import how_to_install
from ironcurtain.system.text import quoted

DEFAULT_PROVIDER = "anthropic"
JUDGE_STAGE = "judge"
"""Questions of this stage go to the judge's model, if there is one."""

_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}")


class _WithJudge:
    """Sends the questions of the judge to its own model, and all others to the other one."""

    def __init__(self, compiling: Provider, judging: Provider) -> None:
        self._compiling = compiling
        self._judging = judging

    def ask(self, questions: Sequence[Question], keep: Keep) -> list[Answer]:
        """Ask each question of whom it concerns."""
        groups: tuple[list[Question], list[Question]] = ([], [])
        for question in questions:
            groups[question.stage == JUDGE_STAGE].append(question)
        answers: dict[str, Answer] = {}
        for provider, group in zip((self._compiling, self._judging), groups, strict=True):
            if group:
                answers.update(
                    {each.key: answer for each, answer in zip(group, provider.ask(group, keep), strict=True)}
                )
        return [answers[question.key] for question in questions]

    def given(self) -> Sequence[EarlierAnswer]:
        """Return what lies there for the one that compiles; judges get no joint questions."""
        return self._compiling.given()

    def published(self) -> None:
        """Tell both."""
        self._compiling.published()
        self._judging.published()


def provider_for(
    model: str,
    *,
    questions: Path,
    judge_model: str | None = None,
    ledger: Ledger | None = None,
    patience: Patience = PATIENCE,
) -> Provider:
    """Return who answers the questions of a compile.

    A model is `manual`, `<provider>:<id>` or the `<id>` of an Anthropic model; without `judge_model` the same
    model judges. `questions` is the directory for the files of `manual`.

    Raises:
        UsageError: If a provider is unknown.
        ModelFailedError: If its SDK is not installed, its key is missing, or a budget is set and its
            price is not known.
        FileError, FormatError: If the user's configuration file cannot be used.
    """
    book = ledger if ledger is not None else Ledger()
    compiling = _provider(model, questions, book, patience)
    if judge_model is None or judge_model == model:
        return compiling
    return _WithJudge(compiling, _provider(judge_model, questions, book, patience))


def parse_model(model: str) -> tuple[Service, str]:
    """Return the provider and the model's id of a model id other than `manual`.

    Raises:
        UsageError: If the provider is unknown or the id is none.
    """
    provider, colon, name = model.partition(":")
    if not colon:
        provider, name = DEFAULT_PROVIDER, model
    if provider not in SERVICES or not _MODEL.fullmatch(name) or ".." in name:
        known = ", ".join(f"{service}:ID" for service in SERVICES)
        raise UsageError(
            f"the model {quoted(model)} names no known provider",
            hint=f"Write {MANUAL}, {known}, or the id of an Anthropic model.",
        )
    return SERVICES[provider], name


def _provider(model: str, questions: Path, ledger: Ledger, patience: Patience) -> Provider:
    if model == MANUAL:
        return manual.ManualProvider(questions)
    service, name = parse_model(model)
    config = load_user_config(user_directory() / FILE_NAME)
    access = access_to(service, config)
    price = price_of(f"{service.name}:{name}", config.prices)
    if price is None and ledger.budget is not None:
        raise ModelFailedError(
            f"nobody knows what {service.name}:{name} costs, so no budget can be kept",
            hint="Put its price into config.json (`ironcurtain error models`), or leave --max-cost away.",
        )
    endpoint: Endpoint = _endpoint_class(service)(name, access)
    return ModelProvider(endpoint, access, name, price, ledger, patience)


def _endpoint_class(service: Service) -> type:
    if not installed(service.sdk):
        raise ModelFailedError(
            f"the SDK for {service.title} is not installed", hint=how_to_install(service.name)
        )
    module = importlib.import_module(f"ironcurtain.compiler.llm.providers.{service.module}")
    found: type = getattr(module, service.endpoint)
    return found


def installed(module: str) -> bool:
    """Tell whether a module, such as an SDK, is installed; it is not loaded."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
