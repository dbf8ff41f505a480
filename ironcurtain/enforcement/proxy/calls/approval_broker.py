"""Asking a person about an escalated call: through the approvals directory, or the client they sit at.

Nobody waits longer than the client's patience. After that the model is told that the call is pending; the
request stays where it is, and the same call, repeated, picks up what the person said.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count

import anyio
import mcp_types as types

from ironcurtain.enforcement.approvals.broker_directory import ApprovalDirectory, no_approver
from ironcurtain.enforcement.approvals.describe import describe
from ironcurtain.enforcement.approvals.elicitation import elicitation_schema, elicited_outcome
from ironcurtain.enforcement.approvals.grants import Grant, SessionGrants
from ironcurtain.enforcement.approvals.messages import ApprovalOutcome, ApprovalRequest, ApprovalState
from ironcurtain.enforcement.approvals.request import ANSWER_SECONDS, new_request
from ironcurtain.enforcement.proxy.calls.evaluated_call import EvaluatedCall
from ironcurtain.enforcement.proxy.transport.client_requests import ClientRequest, can
from ironcurtain.errors import ApprovalsError

PATIENCE = 45.0
_PROGRESS_SECONDS = 10.0
_CLIENT_PERSON = "the person at the client"


@dataclass(frozen=True)
class OpenRequest:
    """How people are asked.

    Attributes:
        session: The session's name, the same after a restart.
        patience: Seconds that a call is held while a person decides.
        seconds: Seconds that a person has to answer.
        client_person: Whether whoever sits at the client is trusted to approve.
    """

    session: str
    patience: float = PATIENCE
    seconds: float = ANSWER_SECONDS
    client_person: bool = False


class ApprovalBroker:
    """Everybody who can be asked, and what they have allowed for this session."""

    def __init__(self, directory: ApprovalDirectory | None, asking: OpenRequest) -> None:
        self._directory = directory
        self._asking = asking
        self._grants = SessionGrants()

    @property
    def session(self) -> str:
        """The session's name."""
        return self._asking.session

    @property
    def waiting(self) -> int:
        """How many requests of this session nobody has settled."""
        return self._directory.waiting_of(self.session) if self._directory is not None else 0

    async def ask(
        self, evaluated: EvaluatedCall, client_request: ClientRequest | None
    ) -> tuple[ApprovalOutcome, str]:
        """Return what a person says about an escalated call, and the binding that it is good for.

        Raises:
            OSError: If an answer cannot be used up.
        """
        tool = evaluated.annotation
        assert evaluated.prepared is not None and tool is not None  # noqa: S101, PT018 - else it is denied
        request = new_request(
            evaluated.decision,
            evaluated.prepared,
            tool,
            session=self._asking.session,
            seconds=self._asking.seconds,
        )
        granted = self._grants.covering(evaluated.decision, evaluated.prepared, tool)
        if granted is not None:
            return ApprovalOutcome(
                state=ApprovalState.APPROVED, request=granted, scope="session"
            ), request.binding
        outcome = await self._obtain(request, client_request)
        if outcome.approved and outcome.scope == "session":
            grant = Grant.of(evaluated.decision, evaluated.prepared, tool)
            if isinstance(grant, Grant) and outcome.request is not None:
                self._grants.add(grant, outcome.request)
        return outcome, request.binding

    async def _obtain(
        self, request: ApprovalRequest, client_request: ClientRequest | None
    ) -> ApprovalOutcome:
        if self._directory is None:
            return ApprovalOutcome(state=ApprovalState.NO_APPROVER, reason="Nobody is there to be asked.")
        async with _telling(client_request):
            if (
                client_request is not None
                and self._asking.client_person
                and can(client_request.capabilities, _ELICIT)
            ):
                return await self._elicit(request, client_request, self._directory)
            return await self._directory.obtain(request, self._asking.patience)

    async def _elicit(
        self, request: ApprovalRequest, client_request: ClientRequest, directory: ApprovalDirectory
    ) -> ApprovalOutcome:
        """Ask at the client; whoever answers first, there or in the directory, settles the request."""
        try:
            earlier = await directory.take(request.binding)
            if earlier is not None:
                return earlier
            id_ = await directory.ask(request)
            with anyio.move_on_after(self._asking.patience):
                outcome = await _answer(request, client_request)
                if outcome is not None and await directory.settle(id_, outcome):
                    return outcome.model_copy(update={"request": id_})
            settled = await directory.take(request.binding)
        except (ApprovalsError, OSError) as error:
            return no_approver(error)
        return settled or ApprovalOutcome(
            state=ApprovalState.PENDING, request=id_, reason="It waits for an answer."
        )


async def _answer(request: ApprovalRequest, client_request: ClientRequest) -> ApprovalOutcome | None:
    """Return what the client's person said; None where the client asked nobody."""
    try:
        said = await client_request.ask(_form(request))
    except ValueError:  # what came back is no answer of the protocol
        return elicited_outcome(request, "", None, by=_CLIENT_PERSON)
    if not isinstance(said, types.ElicitResult):
        return None
    return elicited_outcome(request, said.action, said.content, by=_CLIENT_PERSON)


def _form(request: ApprovalRequest) -> types.ElicitRequest:
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(
            message=describe(request), requested_schema=elicitation_schema(request)
        )
    )


_ELICIT = types.ElicitRequest(params=types.ElicitRequestFormParams(message="", requested_schema={}))


@asynccontextmanager
async def _telling(client_request: ClientRequest | None) -> AsyncIterator[None]:
    """Report progress while a person is waited for, so that a client knows that the call is alive."""
    on_progress = client_request.on_progress if client_request is not None else None
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
