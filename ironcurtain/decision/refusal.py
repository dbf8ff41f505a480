"""How steps 1 to 6 end a call early: a deny with its reserved rule name."""

from __future__ import annotations

from ironcurtain.model.decision import SubjectDecision


class Refusal(Exception):  # noqa: N818 - a refusal is an answer, not an error
    """The call is denied here and now.

    Attributes:
        rule: One of the reserved rule names (`structural-…`, `engine-…`).
        reason: Why, in plain words, hidden characters escaped.
        subjects: The subjects that caused it, as far as they are known.
    """

    def __init__(self, rule: str, reason: str, subjects: tuple[SubjectDecision, ...] = ()) -> None:
        super().__init__(rule, reason)
        self.rule = rule
        self.reason = reason
        self.subjects = subjects
