"""Step 7: the engine's answer, read and merged with the minimum verdict (specification 2.6, 2.7).

Only a well-formed decision about exactly the call's resources is an answer. The most severe verdict counts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pydantic import Field, TypeAdapter, ValidationError

from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.decision.refusal import Refusal
from ironcurtain.decision.structural_checks import MinimumVerdict
from ironcurtain.model.decision import Decision, ResourceDecision
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen, JsonValue


class ResourceAnswer(Frozen):
    """The policy's verdict for one resource."""

    verdict: Verdict
    rule: str = Field(min_length=1)


class PolicyAnswer(Frozen):
    """The decision object of `data.ironcurtain.decision.decision`.

    Attributes:
        subject: Id of the deciding resource; None where a custom module spoke of the whole call.
    """

    verdict: Verdict
    rule: str = Field(min_length=1)
    clause: str | None
    reason: str
    subject: str | None
    subjects: dict[str, ResourceAnswer]


def read_answer(answer: JsonValue, resources: Collection[str]) -> PolicyAnswer:
    """Validate a decision object against the resources that were asked about.

    Raises:
        Refusal: If it is not well-formed, does not speak of exactly these resources, or is milder than
            what it says of one of them.
    """
    try:
        read = PolicyAnswer.model_validate(answer, strict=False)
    except ValidationError as error:
        raise Refusal(
            ReservedRule.ENGINE_MALFORMED,
            f"The engine's answer is no decision ({error.error_count()} problems).",
        ) from None
    if read.subjects.keys() != set(resources) or read.subject not in {None, *read.subjects}:
        raise Refusal(
            ReservedRule.ENGINE_MALFORMED, "The engine's answer is not about the resources of this call."
        )
    verdicts = {each.verdict for each in read.subjects.values()}
    if any(verdict.severity > read.verdict.severity for verdict in verdicts):
        raise Refusal(ReservedRule.ENGINE_MALFORMED, "The engine's answer contradicts itself.")
    return read


def merge(
    base: Decision,
    arguments: Mapping[str, JsonValue],
    resources: tuple[Resource, ...],
    minimum: MinimumVerdict,
    answer: PolicyAnswer,
    clauses: Mapping[str, str],
) -> Decision:
    """Return the decision; on a tie of severity the policy comes before the minimum.

    Args:
        arguments: The canonical arguments.
        resources: The call's resources in document order.
        minimum: What the structural checks found.
        answer: What the policy says.
        base: Server, tool, revision and drift check of the call; its verdict is replaced.
        clauses: The constitution's clauses by id, in their own words.
    """
    decided = _RESOURCES.validate_python([_resource_decision(s, minimum, answer) for s in resources])
    rule, reason, clause, verdict = answer.rule, answer.reason, answer.clause, answer.verdict
    if minimum.escalated and verdict.severity < Verdict.ESCALATE.severity:
        rule, reason = minimum.escalated[min(minimum.escalated)]
        clause, verdict = None, Verdict.ESCALATE
    return base.model_copy(
        update={
            "verdict": verdict,
            "rule": rule,
            "reason": reason,
            "clause": clause,
            "clause_text": clauses.get(clause) if clause else None,
            "subjects": decided,
            "arguments": dict(arguments),
        }
    )


_RESOURCES: TypeAdapter[tuple[ResourceDecision, ...]] = TypeAdapter(tuple[ResourceDecision, ...])
"""A call may name thousands of resources: made together they take a third of the time."""


def _resource_decision(
    resource: Resource, minimum: MinimumVerdict, answer: PolicyAnswer
) -> dict[str, object]:
    said = answer.subjects[resource.id]
    verdict, rule = said.verdict, said.rule
    if resource.id in minimum.escalated and verdict.severity < Verdict.ESCALATE.severity:
        verdict, rule = Verdict.ESCALATE, minimum.escalated[resource.id][0]
    return {
        "at": resource.at,
        "also_at": resource.also_at,
        "role": resource.role.name,
        "value": resource.value,
        "verdict": verdict,
        "rule": rule,
        "discharged": resource.id in minimum.discharged,
    }
