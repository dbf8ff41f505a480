"""What a language model (or a person in its place) is asked, and how its answer is kept.

A question is data: its digest is the key under which its answer is found again, so the text of the
prompt, the schema and every input that appears in them are part of the digest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, TypeAlias

from jsonschema import Draft202012Validator

from ironcurtain.model import jsontext
from ironcurtain.model.base import Digest, Frozen, Json
from ironcurtain.text import visible

Check: TypeAlias = Callable[[Json], list[str]]
"""Returns the mistakes of an answer that already fits its schema, one sentence each; empty if none."""

_SHOWN_MISTAKES = 50


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes:
        stage: The stage that asks: `annotate`, `rules`.
        key: Readable and unique within a compile: `annotate-filesystem-1`. Not part of the digest.
        system: The standing instruction.
        prompt: The request with its data.
        schema: JSON Schema (2020-12) of the answer.
        check: What the schema cannot say; not part of the digest.
    """

    stage: str
    key: str
    system: str
    prompt: str
    schema: dict[str, Json]
    check: Check

    @cached_property
    def digest(self) -> str:
        """`sha256:<hex>` over all that the answer depends on."""
        return jsontext.digest(
            {"stage": self.stage, "system": self.system, "prompt": self.prompt, "schema": self.schema}
        )

    def mistakes(self, content: Json) -> list[str]:
        """Return every mistake of an answer, safe to show and to send back; empty if it is valid."""
        found = [
            visible(f"{error.json_path}: {error.message}")
            for error in Draft202012Validator(self.schema).iter_errors(content)
        ]
        return (found or self.check(content))[:_SHOWN_MISTAKES]


class Answer(Frozen):
    """An answer that was used, as `answers/` keeps it (`ironcurtain/answer/v1`).

    Attributes:
        question: Digest of the question.
        provider: Who gave it: `anthropic`, or `manual` for a person (or a chat that a person used).
        model: The model's id; None for `manual`.
    """

    format: Literal["ironcurtain/answer/v1"] = "ironcurtain/answer/v1"
    question: Digest
    stage: str
    key: str
    provider: str
    model: str | None = None
    content: Json

    @property
    def file_name(self) -> str:
        """`<key>-<first 12 digits of the question's digest>.json`."""
        return f"{self.key}-{self.question.removeprefix('sha256:')[:12]}.json"


Keep: TypeAlias = Callable[[Answer], None]
"""Called with each answer as soon as it is there, so that an interruption loses none that was paid for."""


class Provider(Protocol):
    """Whoever answers questions. One file in this package for each."""

    def ask(self, questions: Sequence[Question], keep: Keep) -> list[Answer]:
        """Return a valid answer to each question, in their order.

        Raises:
            ModelFailedError: If a model gives none.
            OpenQuestionError, BadAnswerError: If a person has to act.
        """
        ...

    def published(self) -> None:
        """Hear that the result of all answers is published, so that working files can go."""
        ...


def answer_to(question: Question, content: Json, *, provider: str, model: str | None = None) -> Answer:
    """Make the record of an answer."""
    return Answer(
        question=question.digest,
        stage=question.stage,
        key=question.key,
        provider=provider,
        model=model,
        content=content,
    )
