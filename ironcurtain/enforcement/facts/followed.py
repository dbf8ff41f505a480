"""A session that is told as data: labels and totals, folded as a proxy folds them, without store and clock.

session = FollowedSession(policy)
known = session.before(prepared, at)    # the call with labels and totals, or its refusal
...                                     # decide it
session.send(known, given_by(known, answer))        # if it is sent
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from ironcurtain.decision.decide import Prepared
from ironcurtain.decision.facts import normalise
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.decision.policy_input import PolicyInput
from ironcurtain.enforcement.audit.record_types import Booked
from ironcurtain.enforcement.facts.answer_labels import may_be_given
from ironcurtain.enforcement.facts.facts_of_tool import ConcernedTools
from ironcurtain.enforcement.facts.memory import SessionMemory
from ironcurtain.enforcement.facts.records.answers import ToolResult
from ironcurtain.enforcement.facts.totals.additions import Additions, additions_of
from ironcurtain.enforcement.facts.unavailable import FactUnavailableError, fact_unavailable
from ironcurtain.model.decision import Decision
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, replace


class FollowedCall(Struct):
    """A call with what its session and its caller have booked before it.

    Attributes:
        outcome: The call, or its refusal where a fact cannot be had.
        remembered: The labels and totals that it is decided on, by name.
        additions: What it adds if it is sent.
    """

    outcome: Prepared | Decision
    remembered: dict[str, JsonValue]
    additions: Additions


class FollowedSession:
    """One session from its first call on; what its callers have booked elsewhere is nothing.

    Args:
        policy: The policy, loaded where the calls happen.
    """

    def __init__(self, policy: LoadedPolicy) -> None:
        self._policy = policy
        self._concerned = ConcernedTools(policy.content)
        self.memory = SessionMemory()

    def before(self, prepared: Prepared, at: datetime) -> FollowedCall:
        """Return a call with the labels and totals that it is decided on.

        Args:
            prepared: The call after step 5, with the facts that do not follow from the session.
            at: When it is decided.
        """
        question = prepared.input
        annotation = self._policy.annotation(question["server"], question["tool"])
        concerned = self._concerned.of(question["server"], annotation)
        if concerned is None:
            return FollowedCall(prepared, {}, Additions((), ()))
        try:
            additions = additions_of(concerned, prepared, at)
            totals = additions.totals(self.memory, self.memory.least)
        except FactUnavailableError as error:
            refusal = fact_unavailable(prepared.base, str(error), prepared.call.arguments)
            return FollowedCall(refusal, {}, Additions((), ()))
        labels = {name: self.memory.has(name) for name in concerned.labels}
        remembered = normalise(concerned.declarations, {**totals, **labels}, None)
        known: PolicyInput = {**question, "facts": {**question.get("facts", {}), **remembered}}
        return FollowedCall(replace(prepared, input=known), remembered, additions)

    def send(self, call: FollowedCall, given: Collection[str]) -> None:
        """Book what a call adds that is sent.

        Args:
            call: The call.
            given: Of the labels that depend on its answer, those that the answer gives.
        """
        for booked in call.additions.booked:
            self.memory.add(booked)
        for label in call.additions.awaited:
            if label.name in given:
                self.memory.add(Booked(fact=label.name))


def given_by(call: FollowedCall, answer: ToolResult | None) -> frozenset[str]:
    """Return the labels that an answer gives; one that cannot be read, None, gives all that depend on it."""
    return frozenset(each.name for each in call.additions.awaited if may_be_given(each.fact, answer))
