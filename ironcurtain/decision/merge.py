"""Step 7: the most severe of the structural floor and the policy (specification 2.7)."""

from __future__ import annotations

from collections.abc import Mapping

from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.decision.engine_answer import PolicyAnswer
from ironcurtain.decision.structural_checks import MinimumVerdict
from ironcurtain.model.decision import Decision, SubjectDecision
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue


def merge(
    base: Decision,
    arguments: Mapping[str, JsonValue],
    subjects: tuple[Resource, ...],
    floor: MinimumVerdict,
    answer: PolicyAnswer,
    clauses: Mapping[str, str],
) -> Decision:
    """Return the decision; on a tie of severity the policy comes before the floor.

    Args:
        arguments: The canonical arguments.
        subjects: The call's subjects in document order.
        floor: What the structural checks found.
        answer: What the policy says.
        base: Server, tool, revision and drift check of the call; its verdict is replaced.
        clauses: The constitution's clauses by id, in their own words.
    """
    decided = {s.id: _subject(s, floor, answer) for s in subjects}
    rule, reason, clause, verdict = answer.rule, answer.reason, answer.clause, answer.verdict
    if floor.escalated and verdict.severity < Verdict.ESCALATE.severity:
        rule, reason = floor.escalated[min(floor.escalated)]
        clause, verdict = None, Verdict.ESCALATE
    return base.model_copy(
        update={
            "verdict": verdict,
            "rule": rule,
            "reason": reason,
            "clause": clause,
            "clause_text": clauses.get(clause) if clause else None,
            "subjects": tuple(decided[s.id] for s in subjects),
            "arguments": dict(arguments),
        }
    )


def _subject(subject: Resource, floor: MinimumVerdict, answer: PolicyAnswer) -> SubjectDecision:
    said = answer.subjects[subject.id]
    verdict, rule = said.verdict, said.rule
    if subject.id in floor.escalated and verdict.severity < Verdict.ESCALATE.severity:
        verdict, rule = Verdict.ESCALATE, floor.escalated[subject.id][0]
    return SubjectDecision(
        at=subject.at,
        also_at=subject.also_at,
        role=subject.role.name,
        value=subject.value,
        verdict=verdict,
        rule=rule,
        discharged=subject.id in floor.discharged,
    )
