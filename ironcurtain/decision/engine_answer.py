"""Reading OPA's answer: only a well-formed decision object is one (specification 2.6)."""

from __future__ import annotations

from collections.abc import Collection

from pydantic import Field, ValidationError

from ironcurtain.decision.refusal import Refusal
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen, JsonValue


class SubjectAnswer(Frozen):
    """The policy's verdict for one subject."""

    verdict: Verdict
    rule: str = Field(min_length=1)


class PolicyAnswer(Frozen):
    """The decision object of `data.ironcurtain.decision.decision`.

    Attributes:
        subject: Id of the deciding subject; None where a custom module spoke of the whole call.
    """

    verdict: Verdict
    rule: str = Field(min_length=1)
    clause: str | None
    reason: str
    subject: str | None
    subjects: dict[str, SubjectAnswer]


def read_answer(answer: JsonValue, subjects: Collection[str]) -> PolicyAnswer:
    """Validate a decision object against the subjects that were asked about.

    Raises:
        Refusal: If it is not well-formed, does not speak of exactly these subjects, or is milder than
            what it says of one of them.
    """
    try:
        read = PolicyAnswer.model_validate(answer, strict=False)
    except ValidationError as error:
        raise Refusal(
            ReservedRule.ENGINE_MALFORMED,
            f"The engine's answer is no decision ({error.error_count()} problems).",
        ) from None
    if read.subjects.keys() != set(subjects) or read.subject not in {None, *read.subjects}:
        raise Refusal(
            ReservedRule.ENGINE_MALFORMED, "The engine's answer is not about the subjects of this call."
        )
    if any(each.verdict.severity > read.verdict.severity for each in read.subjects.values()):
        raise Refusal(ReservedRule.ENGINE_MALFORMED, "The engine's answer contradicts itself.")
    return read
