"""The declared facts of a proxy's calls: gathered before a decision, booked with it, added to by answers."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable

import anyio

from ironcurtain.decision.decide import Prepared
from ironcurtain.decision.policy_input import PolicyInput
from ironcurtain.enforcement.audit.log import AuditLog
from ironcurtain.enforcement.audit.record_types import Booked
from ironcurtain.enforcement.calls.active_policy import PolicyInstance
from ironcurtain.enforcement.calls.evaluated_call import EvaluatedCall, may_go_on
from ironcurtain.enforcement.calls.refusal import not_booked
from ironcurtain.enforcement.facts.answer_labels import may_be_given
from ironcurtain.enforcement.facts.gather import FactSources, Gathered, book, gather, renewed
from ironcurtain.enforcement.facts.memory import BOOKED
from ironcurtain.enforcement.facts.records.answers import AskServer, ToolResult
from ironcurtain.enforcement.facts.totals.store import StoreError
from ironcurtain.enforcement.facts.unavailable import FactUnavailableError, fact_unavailable
from ironcurtain.model.decision import Decision
from ironcurtain.system.structs import Struct, field, replace

EvaluateAgain = Callable[[EvaluatedCall], Awaitable[EvaluatedCall]]

_log = logging.getLogger(__name__)
MOST_BOOKINGS = 10
"""How often a call is decided again because others were booked before it."""


class DeclaredFacts(Struct):
    """Where the facts of one proxy come from, and where they are kept.

    Attributes:
        sources: Memory, totals and clock.
        log: Where labels that an answer gives are recorded.
    """

    sources: FactSources
    log: AuditLog
    _turns: defaultdict[str, anyio.Lock] = field(default_factory=lambda: defaultdict(anyio.Lock))

    async def gather(
        self, prepared: Prepared, enforced: PolicyInstance, ask: AskServer, *, is_look_up: bool
    ) -> tuple[Prepared, Gathered | None, Decision | None]:
        """Return a call with the facts that it is decided on, these, and its refusal where one cannot be had.

        Args:
            prepared: The call after step 5.
            enforced: The policy.
            ask: Makes a look-up.
            is_look_up: Whether the call is one itself: then it is decided without records, and books nothing.
        """
        annotation = enforced.loaded.annotation(prepared.input["server"], prepared.input["tool"])
        concerned = enforced.concerned.of(prepared.input["server"], annotation)
        if concerned is None:
            return prepared, None, None
        try:
            gathered = await gather(
                concerned.for_look_up if is_look_up else concerned, prepared, self.sources, ask
            )
        except FactUnavailableError as error:
            return prepared, None, fact_unavailable(prepared.base, str(error), prepared.call.arguments)
        question: PolicyInput = {**prepared.input, "facts": gathered.facts}
        return replace(prepared, input=question), gathered, None

    async def booked(self, evaluated: EvaluatedCall, evaluate_again: EvaluateAgain) -> EvaluatedCall:
        """Book what a call adds that is to be sent, or return what has become of it.

        It is evaluated again for as long as others are booked before it. Calls of one caller are booked one
        after the other; those of others do not wait.
        """
        if evaluated.gathered is None or not evaluated.forwarded:
            return evaluated
        async with self._turns[next((key.caller for key in evaluated.gathered.totals), "")]:
            for _ in range(MOST_BOOKINGS):
                try:
                    if evaluated.gathered is None or await book(evaluated.gathered, self.sources):
                        return replace(evaluated, is_booked=True)
                except StoreError as error:
                    return not_booked(evaluated, str(error))
                before, evaluated = evaluated, await evaluate_again(evaluated)
                if not evaluated.forwarded or not may_go_on(before, evaluated):
                    return evaluated
        return not_booked(evaluated, "other calls keep being booked before this one")

    async def book_anyway(self, evaluated: EvaluatedCall) -> EvaluatedCall:
        """Book a call that is sent whatever was decided, as far as that can be done."""
        gathered = evaluated.gathered
        if gathered is None or not evaluated.forwarded:
            return evaluated
        try:
            for _ in range(MOST_BOOKINGS):
                if await book(await renewed(gathered, self.sources), self.sources):
                    return replace(evaluated, is_booked=True)
        except StoreError as error:
            _log.error("an observed call could not be booked: %s", error)
        return evaluated

    async def take_in(self, evaluated: EvaluatedCall, id_: str, result: ToolResult | None) -> None:
        """Give the session the labels of an answer; when this returns, that is on the disk.

        Args:
            evaluated: The call.
            id_: The decision's id.
            result: The answer; None where there is none that can be read, which counts as matching.

        Raises:
            AuditError: If it cannot be recorded: then the client must not see the answer.
        """
        awaited = evaluated.gathered.awaited if evaluated.gathered is not None else ()
        given = [Booked(fact=each.name) for each in awaited if may_be_given(each.fact, result)]
        for each in given:
            self.sources.memory.add(each)
        if given:
            # Our own words: the names of labels are in every log.
            event = evaluated.enforced.recorder.event(BOOKED)
            told = [each.model_dump(mode="json") for each in given]
            await self.log.event(event.model_copy(update={"detail": {"decision": id_, "booked": told}}))
