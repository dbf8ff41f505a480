"""Asking a person about an escalated call: through the approvals directory, or the client they sit at.

Where rules of one call name several approvers, they are asked one after the other, and all must approve.
Nobody waits longer than the client's patience. After that the model is told that the call is pending; the
request stays where it is, and the same call, repeated, picks up what the person said.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import count

import anyio

from ironcurtain.enforcement.approvals.approvers import USER, Approvers
from ironcurtain.enforcement.approvals.broker_directory import (
    MAX_OF_SESSION,
    ApprovalDirectory,
    Granted,
    no_approver,
)
from ironcurtain.enforcement.approvals.describe import describe
from ironcurtain.enforcement.approvals.elicitation import elicitation_schema, elicited_outcome
from ironcurtain.enforcement.approvals.grants import Grant
from ironcurtain.enforcement.approvals.messages import ApprovalOutcome, ApprovalRequest, ApprovalState
from ironcurtain.enforcement.approvals.request import ANSWER_SECONDS, binding_of, new_request
from ironcurtain.enforcement.approvals.session_grants import SessionGrants
from ironcurtain.enforcement.approvals.store import USE_SECONDS
from ironcurtain.enforcement.calls.asker import Asker
from ironcurtain.enforcement.calls.evaluated_call import EvaluatedCall
from ironcurtain.errors import ApprovalsError
from ironcurtain.system.structs import Struct, field
from ironcurtain.system.text import visible

PATIENCE = 45.0
_PROGRESS_SECONDS = 10.0
_CLIENT_PERSON = "the person at the client"


class OpenRequest(Struct):
    """How people are asked.

    Attributes:
        session: The session's name, the same after a restart.
        patience: Seconds that a call is held while a person decides.
        seconds: Seconds that a person has to answer.
        client_person: Whether whoever sits at the client is trusted to approve, as the person whose account
            this is.
        approvers: The people behind the names that rules use.
    """

    session: str
    patience: float = PATIENCE
    seconds: float = ANSWER_SECONDS
    client_person: bool = False
    approvers: Approvers = field(default_factory=Approvers)


class ApprovalBroker:
    """Everybody who can be asked, and what they have allowed for this session."""

    def __init__(self, directory: ApprovalDirectory | None, asking: OpenRequest) -> None:
        self._directory = directory
        self._asking = asking
        self._grants = SessionGrants()
        self._held: dict[str, _HeldApproval] = {}
        self._shapes: dict[str, Grant] = {}

    @property
    def session(self) -> str:
        """The session's name."""
        return self._asking.session

    @property
    def waiting(self) -> int:
        """How many requests of this session nobody has settled."""
        return self._directory.waiting_of(self.session) if self._directory is not None else 0

    async def ask(self, evaluated: EvaluatedCall, asker: Asker | None) -> tuple[ApprovalOutcome, str]:
        """Return what a person says about an escalated call, and the binding that it is good for.

        Raises:
            OSError: If an answer cannot be used up.
        """
        tool, decision, prepared = evaluated.annotation, evaluated.decision, evaluated.prepared
        assert prepared is not None and tool is not None  # noqa: S101, PT018 - else it is denied
        facts = evaluated.decided_facts
        binding = binding_of(decision, prepared, tool, session=self.session, facts=facts)

        def granted() -> ApprovalOutcome | None:
            given = self._grants.covering(decision, prepared, tool)
            approved = ApprovalState.APPROVED
            return ApprovalOutcome(state=approved, request=given, scope="session") if given else None

        if (covered := granted()) is not None:
            return covered, binding
        if missing := self._asking.approvers.missing(decision.approvers):
            return _nobody_named(missing[0]), binding
        identities = self._asking.approvers.identities
        requests = [
            new_request(
                decision,
                prepared,
                tool,
                session=self.session,
                seconds=self._asking.seconds,
                approver=approver,
                facts=facts,
            )
            for approver in (*(identities[name] for name in decision.approvers),) or (None,)
        ]
        shape = Grant.of(decision, prepared, tool)
        if isinstance(shape, Grant):
            self._shapes |= {request.binding: shape for request in requests}
            for forgotten in list(self._shapes)[:-MAX_OF_SESSION]:  # what waits is never more
                del self._shapes[forgotten]
        outcome = await self._obtain_all(requests, asker, granted)
        if outcome.state is not ApprovalState.PENDING:
            for request in requests:
                self._shapes.pop(request.binding, None)
        if outcome.approved and outcome.scope == "session" and isinstance(shape, Grant) and outcome.request:
            self._grants.add(shape, outcome.request, outcome.until)
            await self._settle_alike(shape, outcome)
        return outcome, binding

    async def _settle_alike(self, shape: Grant, outcome: ApprovalOutcome) -> None:
        """Settle what else waits and is of a shape that was approved for the session."""
        alike = [binding for binding, each in self._shapes.items() if each == shape]
        for binding in alike:
            self._shapes.pop(binding, None)
            if self._directory is not None:
                await self._directory.settle_call(binding, outcome)

    async def _obtain_all(
        self,
        requests: Sequence[ApprovalRequest],
        asker: Asker | None,
        granted: Granted,
    ) -> ApprovalOutcome:
        """Ask one after the other, and use what they said once all have approved."""
        if self._directory is None:
            return ApprovalOutcome(state=ApprovalState.NO_APPROVER, reason="Nobody is there to be asked.")
        end = anyio.current_time() + self._asking.patience
        used: dict[str, ApprovalOutcome] = {}
        left: dict[str, ApprovalOutcome] = {}
        is_complete = False
        try:
            async with _telling(asker):
                for request in requests:
                    patience, given = max(0.0, end - anyio.current_time()), used
                    outcome = self._taken(request.binding)
                    if outcome is None and len(requests) > 1 and not self._is_asked_at_client(request):
                        outcome, given = await self._directory.answered(request, patience), left
                    elif outcome is None:
                        asking = self._obtain(request, asker, self._directory, patience, granted)
                        outcome = await asking
                    if not outcome.approved:
                        return outcome
                    given[request.binding] = outcome
            for binding, outcome in left.items():
                taken = await self._directory.take(binding)
                if taken is None or not taken.approved:  # an equal call was quicker, or its time is over
                    return taken or outcome.model_copy(update={"state": ApprovalState.PENDING})
                used[binding] = taken
            is_complete = True
        finally:
            if not is_complete and len(requests) > 1:
                self._hold(used)
        return _of_all([used[request.binding] for request in requests])

    def _taken(self, binding: str) -> ApprovalOutcome | None:
        """Return an approval of one of several approvers that was used up for no call, and use it."""
        held = self._held.pop(binding, None)
        return held.outcome if held is not None and held.until > anyio.current_time() else None

    def _hold(self, given: Mapping[str, ApprovalOutcome]) -> None:
        now = anyio.current_time()
        self._held = {binding: held for binding, held in self._held.items() if held.until > now}
        until = now + self._asking.seconds + USE_SECONDS
        self._held |= {binding: _HeldApproval(outcome, until) for binding, outcome in given.items()}

    async def _obtain(
        self,
        request: ApprovalRequest,
        asker: Asker | None,
        directory: ApprovalDirectory,
        patience: float,
        granted: Granted,
    ) -> ApprovalOutcome:
        if not self._is_asked_at_client(request):
            return await directory.obtain(request, patience, granted)
        if asker is not None and asker.can_elicit:
            return await self._elicit(request, asker, directory, patience, granted)
        if request.answered_by == "client":
            reason = f"{visible(request.approver or '')} is asked at the client, and it cannot ask anybody."
            return ApprovalOutcome(state=ApprovalState.NO_APPROVER, reason=reason, fault="unknown-approver")
        return await directory.obtain(request, patience, granted)

    def _is_asked_at_client(self, request: ApprovalRequest) -> bool:
        """Tell whether the client's person is asked: an approval of theirs is no other approver's."""
        if request.answered_by == "client":
            return True
        is_own = request.approver is None or (request.approver == USER and request.answered_by == "account")
        return is_own and self._asking.client_person

    async def _elicit(
        self,
        request: ApprovalRequest,
        asker: Asker,
        directory: ApprovalDirectory,
        patience: float,
        granted: Granted,
    ) -> ApprovalOutcome:
        """Ask at the client; whoever answers first, there or in the directory, settles the request."""
        try:
            earlier = await directory.take(request.binding)
            if earlier is not None:
                return earlier
            id_ = await directory.ask(request)
            with anyio.move_on_after(patience):
                outcome = await _answer(request, asker)
                if outcome is not None and await directory.settle(id_, outcome):
                    return outcome.model_copy(update={"request": id_})
            settled = await directory.take(request.binding) or granted()
        except (ApprovalsError, OSError) as error:
            return no_approver(error)
        return settled or ApprovalOutcome(
            state=ApprovalState.PENDING, request=id_, reason="It waits for an answer."
        )


class _HeldApproval(Struct):
    """An approval that was used up for a call which other approvers have not approved.

    Attributes:
        until: Until when it can be used, as the event loop counts seconds.
    """

    outcome: ApprovalOutcome
    until: float


def _nobody_named(name: str) -> ApprovalOutcome:
    reason = f"Nobody can be asked: this deployment says of no person that they are {visible(name)}."
    return ApprovalOutcome(state=ApprovalState.NO_APPROVER, reason=reason, fault="unknown-approver")


def _of_all(given: Sequence[ApprovalOutcome]) -> ApprovalOutcome:
    """Return several approvals of one call as one, which covers what all of them cover."""
    first, *others = given
    if not others:
        return first
    for_session = all(each.scope == "session" for each in given)
    ends = [each.until for each in given if each.until is not None]
    return first.model_copy(
        update={
            "others": tuple(each.request for each in others if each.request is not None),
            "scope": "session" if for_session else "once",
            "until": min(ends, default=None) if for_session else None,
            "by": ", ".join(each.by for each in given if each.by),
            "reason": " ".join(each.reason for each in given if each.reason),
        }
    )


async def _answer(request: ApprovalRequest, asker: Asker) -> ApprovalOutcome | None:
    """Return what the client's person said; None where the client asked nobody."""
    try:
        answer = await asker.elicit(describe(request), elicitation_schema(request))
    except ValueError:  # what came back is no answer of the protocol
        return elicited_outcome(request, "", None, by=_CLIENT_PERSON)
    return elicited_outcome(request, *answer, by=_CLIENT_PERSON) if answer is not None else None


@asynccontextmanager
async def _telling(asker: Asker | None) -> AsyncIterator[None]:
    """Report progress while a person is waited for, so that a client knows that the call is alive."""
    on_progress = asker.on_progress if asker is not None else None
    if on_progress is None:
        yield
        return

    async def tell() -> None:
        for step in count(1):
            await anyio.sleep(_PROGRESS_SECONDS)
            await on_progress(step, None, "A person is asked to approve this call.")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tell)
        yield
        tasks.cancel_scope.cancel()
