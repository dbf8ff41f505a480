"""The way of every call: admit, evaluate, see its reach, ask, evaluate again, book, record, send, record.

Tool calls and everything that is decided like one come here, whatever was listed and whoever asks. Whatever
goes wrong on the way is a deny with a record of its own; a call that cannot be recorded does not happen.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial

import anyio

from ironcurtain.decision.decide import Call, Prepared, evaluate, prepare
from ironcurtain.decision.locality import is_quick
from ironcurtain.enforcement.approvals.request import binding_of
from ironcurtain.enforcement.audit.log import AuditLog
from ironcurtain.enforcement.audit.record_types import Approval, RecordListener
from ironcurtain.enforcement.calls.active_policy import ActivePolicy
from ironcurtain.enforcement.calls.approval_broker import ApprovalBroker
from ironcurtain.enforcement.calls.asker import Asker
from ironcurtain.enforcement.calls.decisive_counts import decisive_counts
from ironcurtain.enforcement.calls.declared_facts import DeclaredFacts
from ironcurtain.enforcement.calls.destination import Destination, NoAnswerError
from ironcurtain.enforcement.calls.evaluated_call import (
    EvaluatedCall,
    after_asking,
    is_same,
    may_go_on,
    observed,
    voided,
)
from ironcurtain.enforcement.calls.outputs import Outputs, gateway_call
from ironcurtain.enforcement.calls.path_checks import prepare_slowly
from ironcurtain.enforcement.calls.path_locks import LockTimeoutError, OtherProxies, PathLocks
from ironcurtain.enforcement.calls.rate_counter import RateCounter
from ironcurtain.enforcement.calls.reach import Reach, in_own_process, within_reach
from ironcurtain.enforcement.calls.refusal import (
    RefusedError,
    admitted_again,
    broken,
    not_admitted,
    repeated,
    state_of,
    unrecorded,
    unsettled,
    view_of,
)
from ironcurtain.enforcement.calls.repeated_calls import RepeatedCallLimiter
from ironcurtain.enforcement.calls.run_blocking import run_blocking
from ironcurtain.enforcement.calls.sending import Sending
from ironcurtain.enforcement.facts.records.answers import LookUp, LookUpError, ToolResult
from ironcurtain.enforcement.sandbox.watch import Confinement
from ironcurtain.errors import AuditError
from ironcurtain.gateway.admission import Admission
from ironcurtain.gateway.principal import Principal
from ironcurtain.model.decision import Decision
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, field, replace

_MOST_TRIES = 3
_TO_BE_STARTED = Confinement(
    "none", "a process of its own is started for this call; events tell what is seen"
)
_IN_PROCESS = Confinement("none", "a tool of a gateway runs in the proxy's own process")
_log = logging.getLogger(__name__)


FindTool = Callable[[LookUp], Awaitable[tuple[Call, Destination]]]
"""Returns a look-up as the call that it is decided as, and where it goes; raises `LookUpError`."""


def unlimited(principal: Principal) -> Principal:
    """Return whom the agent acts for, with all that they have."""
    return principal


class Enforcer(Struct):
    """Everything that a call meets on its way.

    Attributes:
        facts: Where declared facts come from, and where they are kept.
        confined: Tells what was seen to confine a server.
        reach: Knows what servers' sandboxes let through, and opens their roots.
        caller: Facts about whom the agent acts for.
        observe: Decide and record, but enforce nothing. For trying a policy out; each record says so.
        listeners: Are told what is recorded, too.
        neighbours: Keeps calls that change paths apart from those of other proxies that rely on them.
        principal: Whom the agent acts for, unless its request shows another; None where nobody said.
        limited: Takes from whom it is what the deployment does not have.
        admission: What calls of a gateway's tools meet before the policy.
        outputs: What leaves of answers.
        find_tool: Finds the tools of look-ups.
        rate: Counts the decisions.
        path_locks: Does for the calls of this proxy what `neighbours` does for others.
    """

    policy: ActivePolicy
    broker: ApprovalBroker
    log: AuditLog
    facts: DeclaredFacts
    breaker: RepeatedCallLimiter
    confined: Callable[[str], Confinement]
    neighbours: OtherProxies
    reach: Reach
    find_tool: FindTool
    caller: Mapping[str, JsonValue]
    observe: bool
    listeners: tuple[RecordListener, ...]
    principal: Principal | None
    limited: Callable[[Principal], Principal]
    admission: Admission
    outputs: Outputs
    rate: RateCounter = field(default_factory=RateCounter)
    path_locks: PathLocks = field(default_factory=PathLocks)

    async def enforce(
        self, call: Call, destination: Destination, asker: Asker | None = None
    ) -> dict[str, JsonValue]:
        """Let a call happen, or not.

        Args:
            call: The call as it arrived, without an id, caller and client.
            destination: Where it goes; sent to at most once, with exactly the arguments that were evaluated.
            asker: Who made it, and the person there who can be asked.

        Returns:
            The server's result.

        Raises:
            RefusedError: If the call does not happen.
            NoAnswerError: If the server gave no answer.
            Exception: The receiver's own error, as `destination` raises it.
        """
        id_ = secrets.token_hex(8)
        client = asker.client_name if asker is not None else call.client
        principal = self.principal_of(asker)
        caller = principal.facts() if principal is not None else self.caller
        arrived = replace(call, id=id_, caller=caller, client=client)
        async with AsyncExitStack() as turn:
            try:
                evaluated = await self._decided(arrived, principal, destination, asker, turn)
            except Exception as error:  # noqa: BLE001 - totality: a fault of ours must never let a call through
                evaluated = broken(arrived, self.policy.current, error)
            return await self._carry_out(evaluated, destination, id_)

    async def _decided(
        self,
        arrived: Call,
        principal: Principal | None,
        destination: Destination,
        asker: Asker | None,
        turn: AsyncExitStack,
    ) -> EvaluatedCall:
        """Return a call as it is to be recorded: refused, or booked and in its turn, which `turn` holds."""
        refused = await self.admission.check(arrived.server, arrived.tool, arrived.arguments, principal)
        if refused is not None:
            return not_admitted(arrived, self.policy.current, refused)
        evaluated = await self._evaluate(arrived, principal, counted=True)
        if self.observe:
            evaluated = observed(evaluated, is_tool=destination.is_tool)
            return await self.facts.book_anyway(await admitted_again(evaluated, self.admission, principal))
        evaluated = await self._possible(evaluated)
        for _ in range(_MOST_TRIES):
            if evaluated.escalated and evaluated.approval is None:
                evaluated = await self._ask(evaluated, asker, destination)
            if not evaluated.forwarded or evaluated.prepared is None:
                return evaluated
            paths = evaluated.relied_on
            try:
                async with AsyncExitStack() as held:
                    disturbed = await held.enter_async_context(self.path_locks.turn(paths, evaluated.since))
                    await held.enter_async_context(self.neighbours.turn(paths))
                    evaluated, goes_on = await self._in_its_turn(evaluated, destination, disturbed=disturbed)
                    if goes_on:
                        await turn.enter_async_context(held.pop_all())
                        return in_own_process(evaluated, self.reach)
            except LockTimeoutError:
                break
        return unsettled(evaluated)

    async def _possible(self, evaluated: EvaluatedCall) -> EvaluatedCall:
        """Refuse a call as it was judged where its sandbox or its gateway does not let it happen."""
        evaluated = within_reach(evaluated, self.reach)
        return await admitted_again(evaluated, self.admission, evaluated.principal)

    def holds_back(self, server: str, tool: str) -> bool:
        """Tell whether nothing of a tool may reach the client before its answer."""
        enforced = self.policy.current
        concerned = enforced.concerned.of(server, enforced.loaded.annotation(server, tool))
        awaited = concerned is not None and any(each.fact.from_result for each in concerned.giving)
        return awaited or self.outputs.covers(server, tool)

    def principal_of(self, asker: Asker | None) -> Principal | None:
        """Return whom a request acts for: whom its token names, where clients show tokens."""
        shown = asker.principal if asker is not None else None
        found = shown if shown is not None else self.principal
        return self.limited(found) if found is not None else None

    async def _in_its_turn(
        self, evaluated: EvaluatedCall, destination: Destination, *, disturbed: bool
    ) -> tuple[EvaluatedCall, bool]:
        """Judge a call again if it was disturbed, and book it; tell also whether it may be carried out."""
        # What waited for its turn is not sent by a policy that was replaced meanwhile.
        if disturbed or evaluated.enforced is not self.policy.current:
            before, evaluated = evaluated, await self._settled(evaluated, destination)
            if not may_go_on(before, evaluated):
                return evaluated, False
        evaluated = await self.facts.booked(evaluated, partial(self._settled, destination=destination))
        return evaluated, evaluated.is_settled

    async def _settled(self, evaluated: EvaluatedCall, destination: Destination) -> EvaluatedCall:
        """Judge a call again that another one has disturbed; an approval is good for the same call only."""
        again = await self._again(evaluated, destination)
        if evaluated.approval is None:
            return again
        assert evaluated.prepared is not None and evaluated.annotation is not None  # noqa: S101, PT018 - it was approved
        session = self.broker.session
        binding = binding_of(
            evaluated.decision,
            evaluated.prepared,
            evaluated.annotation,
            session=session,
            facts=evaluated.decided_facts,
        )
        if not is_same(again, binding, session):
            return voided(evaluated, again, evaluated.approval)
        return replace(
            again, phases=evaluated.phases, approval=evaluated.approval, state=None, forwarded=True
        )

    async def _look_up(self, call: Call, principal: Principal | None, asked: LookUp) -> ToolResult:
        """Make a look-up for a call: decided like every call of its caller, and recorded beside it.

        Raises:
            LookUpError: If it is not allowed, or has no answer.
        """
        found, destination = await self.find_tool(asked)
        id_ = secrets.token_hex(8)
        found = replace(found, id=id_, caller=call.caller, client=call.client)
        refused = await self.admission.check(found.server, found.tool, found.arguments, principal)
        if refused is not None:
            evaluated = not_admitted(found, self.policy.current, refused)
        else:
            evaluated = await self._possible(await self._evaluate(found, principal, parent=call.id))
        try:
            return await self._carry_out(replace(evaluated, parent=call.id), destination, id_)
        except RefusedError:
            raise LookUpError("the look-up is not allowed") from None
        except Exception as error:
            if isinstance(error, NoAnswerError) or destination.own_error(error):
                raise LookUpError("the look-up has no answer") from None
            raise

    async def _carry_out(
        self, evaluated: EvaluatedCall, destination: Destination, id_: str
    ) -> dict[str, JsonValue]:
        """Record what was decided, and do it."""
        await self._record(evaluated, id_)
        if not evaluated.forwarded:
            raise RefusedError(view_of(evaluated, id_))
        sending = Sending(self.log, self.reach, self.outputs, self.facts, self.observe, self.listeners)
        try:
            result = await sending.send(evaluated, destination, id_)
        except AuditError as error:
            _log.error("an answer could not be recorded", exc_info=error)
            raise RefusedError(unrecorded(view_of(evaluated, id_), is_sent=True)) from error
        if evaluated.parent is None and (destination.is_read_only or evaluated.is_read_only):
            call = evaluated.call
            self.breaker.answered(call.server, call.tool, call.arguments, result)
        return result

    async def _evaluate(
        self, call: Call, principal: Principal | None, *, counted: bool = False, parent: str | None = None
    ) -> EvaluatedCall:
        """Do the seven steps, under the policy that is enforced at this moment.

        Args:
            call: The call.
            principal: Whom the agent acts for.
            counted: Whether it counts as one more call of its kind.
            parent: For a look-up the id of the decision that it serves.
        """
        began, since = time.perf_counter(), self.path_locks.mark()
        if counted and self.breaker.trips(call.server, call.tool, call.arguments):
            return repeated(call, self.policy.current, self.breaker.most)
        with self.policy.current as enforced:
            loaded, asking = enforced.loaded, enforced.asking()
            try:
                # git and slow file systems must not hold up other calls.
                prepared, near = (
                    (prepare(call, loaded), False)
                    if is_quick(call, loaded)
                    else await run_blocking(partial(prepare_slowly, call, loaded))
                )
                prepare_ms = _since(began)
                gathered, refused = None, None
                if isinstance(prepared, Prepared):
                    ask = partial(self._look_up, call, principal)
                    prepared, gathered, refused = await self.facts.gather(
                        prepared, enforced, ask, is_look_up=parent is not None
                    )
                facts_ms = _since(began) - prepare_ms
                decision = refused if refused is not None else await evaluate(prepared, loaded, asking.ask)
                judge = partial(evaluate, policy=loaded, ask=enforced.asking().ask)
                counts = await decisive_counts(prepared, gathered, decision, judge)
            except Exception as error:  # noqa: BLE001 - totality, as above
                return broken(call, enforced, error)
        phases = {"prepare": prepare_ms, "engine": _since(began) - prepare_ms - facts_ms}
        phases |= {"facts": facts_ms} if gathered is not None or refused is not None else {}
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
            principal=principal,
            parent=parent,
            gathered=gathered,
            counts=counts,
        )

    async def _ask(
        self, evaluated: EvaluatedCall, asker: Asker | None, destination: Destination
    ) -> EvaluatedCall:
        """Ask a person; an approval is good only for what is still the same call under the same policy."""
        began = time.perf_counter()
        try:
            outcome, binding = await self.broker.ask(evaluated, asker)
            again = await self._again(evaluated, destination) if outcome.approved else evaluated
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                # The request itself stays: an answer serves the same call when it comes again.
                withdrawn = Approval(state="withdrawn", verdict=Verdict.DENY)
                await self._record(after_asking(evaluated, withdrawn, "withdrawn"), evaluated.call.id or "")
            raise
        except Exception as error:  # noqa: BLE001 - totality, as above
            return broken(evaluated.call, evaluated.enforced, error)
        phases = {**evaluated.phases, "person": _since(began)}
        approval = Approval(
            state=outcome.state.value,
            request=outcome.request,
            others=outcome.others,
            asked=evaluated.decision.approvers,
            checks=tuple(each.clause for each in evaluated.decision.checks),
            approver=outcome.by,
            scope=outcome.scope,
            until=outcome.until,
            verdict=Verdict.DENY,
            reason=outcome.reason,
        )
        if not outcome.approved:
            return replace(after_asking(evaluated, approval, state_of(outcome)), phases=phases)
        if not is_same(again, binding, self.broker.session):
            return replace(voided(evaluated, again, approval), phases=phases)
        allowed = approval.model_copy(update={"verdict": Verdict.ALLOW})
        return replace(again, phases=phases, approval=allowed, state=None, forwarded=True)

    async def _again(self, evaluated: EvaluatedCall, destination: Destination) -> EvaluatedCall:
        """Judge a call once more: the tool, the facts or the policy can have changed while it waited."""
        digest = evaluated.call.live_digest
        if digest is not None:
            digest = await destination.current_digest(digest)
        again = await self._evaluate(replace(evaluated.call, live_digest=digest), evaluated.principal)
        return await self._possible(again)

    async def _record(self, evaluated: EvaluatedCall, id_: str) -> None:
        """Make the decision durable.

        Raises:
            RefusedError: If that fails: then nothing may happen.
        """
        try:
            gateway = gateway_call(self.admission, evaluated)
            confined = _IN_PROCESS if gateway is not None else self.confined(evaluated.call.server)
            confined = _TO_BE_STARTED if evaluated.own_process else confined
            record = evaluated.record(id_, confined, gateway)
            await self.log.decision(record)
        except Exception as error:
            _log.error("a decision could not be recorded", exc_info=error)
            raise RefusedError(unrecorded(view_of(evaluated, id_))) from error
        self.rate.count()
        for listener in self.listeners:
            listener.decision(record)


def _since(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 3)
