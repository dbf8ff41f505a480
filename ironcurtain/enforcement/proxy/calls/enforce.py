"""The one straight line that every call goes: decide, ask, decide again, record, forward, record.

Tool calls and everything that is decided like one come here, whatever was listed and whoever asks. Whatever
goes wrong on the way is a deny with a record of its own; a call that cannot be recorded does not happen.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

import anyio
from mcp.shared.exceptions import MCPError

from ironcurtain.decision.agent_view import AgentState, AgentView
from ironcurtain.decision.decide import Call, Prepared, evaluate, prepare
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.decision.locality import is_quick
from ironcurtain.enforcement.approvals.request import binding_of
from ironcurtain.enforcement.audit.log import AuditLog
from ironcurtain.enforcement.audit.record_types import Approval, RecordListener, ResultRecord, ResultStatus
from ironcurtain.enforcement.proxy.active_policy import ActivePolicy
from ironcurtain.enforcement.proxy.calls.approval_broker import ApprovalBroker
from ironcurtain.enforcement.proxy.calls.destination import Destination
from ironcurtain.enforcement.proxy.calls.evaluated_call import EvaluatedCall, observed
from ironcurtain.enforcement.proxy.calls.outputs import Outputs, gateway_call
from ironcurtain.enforcement.proxy.calls.path_checks import Watched, are_near
from ironcurtain.enforcement.proxy.calls.refusal import (
    admitted_again,
    failed,
    not_admitted,
    repeated,
    state_of,
    unrecorded,
    unsettled,
    view_of,
)
from ironcurtain.enforcement.proxy.calls.repeated_calls import RepeatedCallLimiter
from ironcurtain.enforcement.proxy.calls.turns import (
    CallPaths,
    OtherProxies,
    Turns,
    UnsettledError,
    path_resources,
)
from ironcurtain.enforcement.proxy.run_blocking import run_blocking
from ironcurtain.enforcement.proxy.status.rate_counter import RateCounter
from ironcurtain.enforcement.proxy.transport.client_requests import ClientRequest
from ironcurtain.enforcement.proxy.upstream.events import UpstreamError
from ironcurtain.enforcement.proxy.upstream.out_of_reach import (
    Reaching,
    SeparateCall,
    paths_of,
    resources_of,
    sent_apart,
    within_reach,
)
from ironcurtain.enforcement.sandbox.launcher import Confinement
from ironcurtain.errors import AuditError
from ironcurtain.gateway.admission import Admission
from ironcurtain.gateway.calling import NOTES, CallNotes
from ironcurtain.gateway.principal import Principal
from ironcurtain.model.decision import Decision
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue

_MOST_TRIES = 3
_TO_BE_STARTED = Confinement(
    "none", "a process of its own is started for this call; events tell what is seen"
)
_IN_PROCESS = Confinement("none", "a tool of a gateway runs in the proxy's own process")
_log = logging.getLogger(__name__)


class RefusedError(Exception):
    """The call does not happen.

    Attributes:
        view: What the agent is told.
    """

    def __init__(self, view: AgentView) -> None:
        super().__init__(view.reason)
        self.view = view


def _unlimited(principal: Principal) -> Principal:
    return principal


@dataclass(frozen=True)
class Enforcer:
    """Everything that a call meets on its way.

    Attributes:
        confined: Tells what was seen to confine a server.
        reaching: Knows what servers' sandboxes let through, and opens their roots.
        caller: Facts about whom the agent acts for.
        observe: Decide and record, but enforce nothing. For trying a policy out; each record says so.
        listeners: Are told what is recorded, too.
        rate: Counts the decisions.
        neighbours: Does that for the calls of other proxies.
        turns: Keeps calls that change paths apart from those that rely on them.
        principal: Whom the agent acts for, unless its request shows another; None where nobody said.
        limited: Takes from whom it is what the deployment does not have.
        admission: What calls of a gateway's tools meet before the policy.
        outputs: What leaves of answers.
    """

    policy: ActivePolicy
    broker: ApprovalBroker
    log: AuditLog
    breaker: RepeatedCallLimiter
    confined: Callable[[str], Confinement]
    neighbours: OtherProxies
    reaching: Reaching = field(default_factory=Reaching)
    caller: Mapping[str, JsonValue] = field(default_factory=dict)
    observe: bool = False
    listeners: tuple[RecordListener, ...] = ()
    rate: RateCounter = field(default_factory=RateCounter)
    turns: Turns = field(default_factory=Turns)
    principal: Principal | None = None
    limited: Callable[[Principal], Principal] = _unlimited
    admission: Admission = field(default_factory=lambda: Admission({}))
    outputs: Outputs = field(default_factory=Outputs)

    async def enforce(
        self, call: Call, destination: Destination, client_request: ClientRequest | None = None
    ) -> dict[str, JsonValue]:
        """Let a call happen, or not.

        Args:
            call: The call as it arrived, without an id, caller and client.
            destination: Where it goes; sent to at most once, with exactly the arguments that were evaluated.
            client_request: The client's request behind it, through which a person can be asked.

        Returns:
            The server's result.

        Raises:
            RefusedError: If the call does not happen.
            UpstreamError: If the server gave no answer.
            MCPError: The server's own error.
        """
        id_ = secrets.token_hex(8)
        client = client_request.client_name if client_request is not None else call.client
        principal = self.principal_of(client_request)
        caller = principal.facts() if principal is not None else self.caller
        arrived = replace(call, id=id_, caller=caller, client=client)
        refused = await self.admission.check(call.server, call.tool, call.arguments, principal)
        if refused is not None:
            return await self._carry_out(
                not_admitted(arrived, self.policy.current, refused), destination, id_
            )
        evaluated = await self._judge(arrived, counted=True)
        if self.observe:
            evaluated = observed(evaluated, is_tool=destination.is_tool)
            return await self._carry_out(evaluated, destination, id_, principal)
        evaluated = within_reach(evaluated, self.reaching)
        for _ in range(_MOST_TRIES):
            if evaluated.escalated and evaluated.approval is None:
                evaluated = await self._ask(evaluated, client_request, destination)
            if not evaluated.forwarded or evaluated.prepared is None:
                return await self._carry_out(evaluated, destination, id_)
            paths = CallPaths.of(evaluated.prepared)
            try:
                async with (
                    self.turns.turn(paths, evaluated.since) as disturbed,
                    self.neighbours.turn(paths),
                ):
                    if disturbed:
                        before, evaluated = evaluated, await self._settled(evaluated, destination)
                    if not disturbed or _may_go_on(before, evaluated):
                        return await self._carry_out(evaluated, destination, id_, principal)
            except UnsettledError:
                break
        return await self._carry_out(unsettled(evaluated), destination, id_)

    def principal_of(self, client_request: ClientRequest | None) -> Principal | None:
        """Return whom a request acts for: whom its token names, where clients show tokens."""
        shown = client_request.principal if client_request is not None else None
        found = shown if shown is not None else self.principal
        return self.limited(found) if found is not None else None

    async def _settled(self, evaluated: EvaluatedCall, destination: Destination) -> EvaluatedCall:
        """Judge a call again that another one has disturbed; an approval is good for the same call only."""
        again = await self._again(evaluated, destination)
        if evaluated.approval is None:
            return again
        assert evaluated.prepared is not None and evaluated.annotation is not None  # noqa: S101, PT018 - it was approved
        session = self.broker.session
        binding = binding_of(evaluated.decision, evaluated.prepared, evaluated.annotation, session=session)
        if not _same(again, binding, session):
            void = evaluated.approval.model_copy(update={"state": "void", "verdict": Verdict.DENY})
            return _after(evaluated, void, "void")
        return replace(
            again, phases=evaluated.phases, approval=evaluated.approval, state=None, forwarded=True
        )

    async def _carry_out(
        self, evaluated: EvaluatedCall, destination: Destination, id_: str, principal: Principal | None = None
    ) -> dict[str, JsonValue]:
        """Record what was decided, and do it."""
        evaluated = await admitted_again(evaluated, self.admission, principal)
        evaluated = evaluated if self.observe else sent_apart(evaluated, self.reaching)
        await self._record(evaluated, id_)
        if not evaluated.forwarded:
            raise RefusedError(view_of(evaluated, id_))
        return await self._forward(evaluated, destination, id_)

    async def _judge(self, call: Call, *, counted: bool) -> EvaluatedCall:
        """Do the seven steps, under the policy that is enforced at this moment."""
        began, since = time.perf_counter(), self.turns.mark()
        if counted and self.breaker.trips(call.server, call.tool, call.arguments):
            current = self.policy.current
            return EvaluatedCall(call, repeated(call, current.loaded.revision), current)
        with self.policy.used() as enforced:
            loaded, asking = enforced.loaded, enforced.asking()
            try:
                # git and slow file systems must not hold up other calls.
                prepared, near = (
                    (prepare(call, loaded), False)
                    if is_quick(call, loaded)
                    else await run_blocking(partial(_prepare_slowly, call, loaded))
                )
                prepare_ms = _since(began)
                decision = await evaluate(prepared, loaded, asking.ask)
            except Exception as error:  # noqa: BLE001 - totality: a fault of ours must never let a call through
                return EvaluatedCall(call, failed(call, loaded.revision, error), enforced)
        phases = {"prepare": prepare_ms, "engine": _since(began) - prepare_ms}
        return EvaluatedCall(
            call,
            decision,
            enforced,
            None if isinstance(prepared, Decision) else prepared,
            phases,
            decision_id=asking.decision_id,
            state=None if decision.verdict is Verdict.ALLOW else "denied",
            forwarded=decision.verdict is Verdict.ALLOW,
            since=since,
            near=near,
        )

    async def _ask(
        self, evaluated: EvaluatedCall, client_request: ClientRequest | None, destination: Destination
    ) -> EvaluatedCall:
        """Ask a person; an approval is good only for what is still the same call under the same policy."""
        began = time.perf_counter()
        try:
            outcome, binding = await self.broker.ask(evaluated, client_request)
            again = await self._again(evaluated, destination) if outcome.approved else evaluated
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                # The request itself stays: an answer serves the same call when it comes again.
                withdrawn = Approval(state="withdrawn", verdict=Verdict.DENY)
                await self._record(_after(evaluated, withdrawn, "withdrawn"), evaluated.call.id or "")
            raise
        except Exception as error:  # noqa: BLE001 - totality, as above
            return replace(
                evaluated, decision=failed(evaluated.call, evaluated.decision.revision, error), state="denied"
            )
        phases = {**evaluated.phases, "person": _since(began)}
        state = state_of(outcome)
        approval = Approval(
            state=outcome.state.value,
            request=outcome.request,
            others=outcome.others,
            asked=evaluated.decision.approvers,
            checks=tuple(each.clause for each in evaluated.decision.checks),
            approver=outcome.by,
            scope=outcome.scope,
            verdict=Verdict.DENY,
            reason=outcome.reason,
        )
        if not outcome.approved:
            return replace(_after(evaluated, approval, cast("AgentState", state)), phases=phases)
        if not _same(again, binding, self.broker.session):
            void = approval.model_copy(update={"state": "void"})
            return replace(_after(evaluated, void, "void"), phases=phases)
        allowed = approval.model_copy(update={"verdict": Verdict.ALLOW})
        return replace(again, phases=phases, approval=allowed, state=None, forwarded=True)

    async def _again(self, evaluated: EvaluatedCall, destination: Destination) -> EvaluatedCall:
        """Judge an approved call once more: a server can have changed the tool while a person read of it."""
        digest = evaluated.call.live_digest
        if digest is not None:
            digest = await destination.current_digest(digest)
        return await self._judge(replace(evaluated.call, live_digest=digest), counted=False)

    async def _record(self, evaluated: EvaluatedCall, id_: str) -> None:
        """Make the decision durable.

        Raises:
            RefusedError: If that fails: then nothing may happen.
        """
        try:
            gateway = gateway_call(self.admission, evaluated)
            confined = _IN_PROCESS if gateway is not None else self.confined(evaluated.call.server)
            confined = _TO_BE_STARTED if evaluated.alone else confined
            record = evaluated.record(id_, confined).model_copy(update={"gateway": gateway})
            await self.log.decision(record)
        except Exception as error:
            _log.error("a decision could not be recorded", exc_info=error)
            raise RefusedError(unrecorded(view_of(evaluated, id_))) from error
        self.rate.count()
        for listener in self.listeners:
            listener.decision(record)

    async def _forward(
        self, evaluated: EvaluatedCall, destination: Destination, id_: str
    ) -> dict[str, JsonValue]:
        """Send the evaluated arguments, and record how the call ended, however it did."""
        began, recorder = time.perf_counter(), evaluated.enforced.recorder
        notes = CallNotes(id_)
        NOTES.set(notes)
        try:
            tell = partial(self._violated, evaluated, id_)
            watched = Watched(self._relied_on(evaluated), tell, near=evaluated.near)
            await watched.begin()
            sending = partial(destination.send, evaluated.sent or evaluated.decision.arguments or {})
            if evaluated.alone:
                result = await sending(SeparateCall(id_, resources_of(evaluated), watched.ready))
            else:
                result = await self.reaching.carry(evaluated.call.server, paths_of(evaluated), sending)
            await watched.end()
            result = await self.outputs.filtered(evaluated.call, result, notes)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._note(recorder.result(id_, "cancelled", duration=_since(began)))
            raise
        except Exception as error:
            await self._note(recorder.result(id_, "failed", error=_why(error), duration=_since(began)))
            if (told := self.outputs.failure(evaluated.call, error)) is not None:
                return told
            raise
        status: ResultStatus = "tool-error" if result.get("isError") is True else "ok"
        output = self.outputs.summary(evaluated.call, notes)
        await self._note(
            recorder.result(
                id_, status, result=result, duration=_since(began), failure=notes.detail, output=output
            )
        )
        return result

    def _relied_on(self, evaluated: EvaluatedCall) -> CallPaths | None:
        """Return the paths that a call was evaluated over; None where it has none, or nothing is enforced."""
        if self.observe or evaluated.prepared is None or not path_resources(evaluated.prepared):
            return None
        return CallPaths.of(evaluated.prepared)

    async def _violated(self, evaluated: EvaluatedCall, id_: str, what: str, **more: JsonValue) -> None:
        """Record that a call is not what was evaluated by now."""
        event = evaluated.enforced.recorder.event("violation", decision=id_, what=what, **more)
        try:
            await self.log.event(event)
        except AuditError as error:
            _log.error("%s", error)

    async def _note(self, record: ResultRecord) -> None:
        try:
            await self.log.result(record)
        except AuditError as error:  # the effect has happened; the log says so by the missing result
            _log.error("%s", error)
        for listener in self.listeners:
            listener.result(record)


def _prepare_slowly(call: Call, loaded: LoadedPolicy) -> tuple[Prepared | Decision, bool]:
    """Do steps 1 to 5, and tell whether the call's paths lie where a later look takes no time."""
    prepared = prepare(call, loaded)
    return prepared, isinstance(prepared, Prepared) and are_near(CallPaths.of(prepared))


def _why(error: Exception) -> str:
    if isinstance(error, UpstreamError):
        return error.reason
    return f"error {error.error.code}" if isinstance(error, MCPError) else type(error).__name__


def _same(again: EvaluatedCall, binding: str, session: str) -> bool:
    """Tell whether a call that was evaluated again is what a person approved."""
    if again.decision.verdict is Verdict.DENY or again.prepared is None or again.annotation is None:
        return False
    return binding_of(again.decision, again.prepared, again.annotation, session=session) == binding


def _after(evaluated: EvaluatedCall, approval: Approval, state: AgentState) -> EvaluatedCall:
    return replace(evaluated, approval=approval, state=state, forwarded=False)


def _may_go_on(before: EvaluatedCall, evaluated: EvaluatedCall) -> bool:
    """Tell whether a call that was evaluated again may be carried out in the turn that it was given."""
    if not evaluated.forwarded or before.prepared is None or evaluated.prepared is None:
        return not evaluated.escalated  # a refusal needs no turn; a person is not asked in one
    return [s.value for s in path_resources(before.prepared)] == [
        s.value for s in path_resources(evaluated.prepared)
    ]


def _since(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 3)
