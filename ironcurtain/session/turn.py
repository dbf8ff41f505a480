"""What a turn has come to: the model's answers in it, and what they used."""

from __future__ import annotations

import time

from pydantic_ai.messages import ModelResponse, TextPart

from ironcurtain.compiler.llm.access import Price
from ironcurtain.errors import ModelFailedError
from ironcurtain.session.limits import Budget, Used, cost_of


class Turn:
    """A turn that runs.

    Its answers are counted by themselves: the agent library joins messages of a conversation, so that a place
    in it is no mark.

    Args:
        budget: What it may use.
        price: Of the model; None where nobody knows it.

    Attributes:
        answers: All answers of the model, the last of which may have no end.
    """

    def __init__(self, budget: Budget, price: Price | None) -> None:
        self.budget = budget
        self.answers: list[ModelResponse] = []
        self._price, self._began = price, time.monotonic()

    @property
    def used(self) -> Used:
        """What was used from its beginning until now."""
        # A provider that reports less than nothing gives nothing back.
        read = sum(max(0, answer.usage.input_tokens) for answer in self.answers)
        written = sum(max(0, answer.usage.output_tokens) for answer in self.answers)
        return Used(
            steps=len(self.answers),
            tokens=read + written,
            seconds=time.monotonic() - self._began,
            cost=cost_of(self._price, read, written),
        )

    @property
    def text(self) -> str:
        """What the model said last, without its calls; nothing where it has not answered."""
        parts = self.answers[-1].parts if self.answers else []
        return "".join(part.content for part in parts if isinstance(part, TextPart))


def check_whole(answer: ModelResponse) -> None:
    """See that an answer has its end: half a call must not be carried out, nor half an answer pass for one.

    Raises:
        ModelFailedError: If it was broken off, or the model refused.
    """
    if answer.finish_reason is None:
        raise ModelFailedError("the connection broke off in the middle of the answer")
    if answer.finish_reason == "length":
        raise ModelFailedError("the answer was cut off at the model's limit")
    if answer.finish_reason == "content_filter":
        raise ModelFailedError("the model refused to answer")
