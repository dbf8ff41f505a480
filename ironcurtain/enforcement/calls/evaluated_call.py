"""One call as it was evaluated, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping

from ironcurtain.decision.agent_view import AgentState
from ironcurtain.decision.decide import Call, Prepared, arguments_of
from ironcurtain.enforcement.approvals.request import DecidedFacts, binding_of
from ironcurtain.enforcement.audit.record_types import (
    Approval,
    DecisionRecord,
    GatewayCall,
    RecordedFacts,
    Sandbox,
)
from ironcurtain.enforcement.audit.recorder import Observed
from ironcurtain.enforcement.calls.active_policy import PolicyInstance
from ironcurtain.enforcement.calls.decisive_counts import DecisiveCount
from ironcurtain.enforcement.calls.path_locks import CallPaths, path_resources
from ironcurtain.enforcement.facts.gather import Gathered
from ironcurtain.enforcement.sandbox.watch import Confinement
from ironcurtain.gateway.principal import Principal
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.decision import Decision
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, field, replace


class EvaluatedCall(Struct):
    """A call after the seven steps, and after a person where one was asked.

    Attributes:
        prepared: The call after steps 1 to 5; None where it ended there.
        enforced: What it was evaluated by.
        phases: Milliseconds by phase.
        approval: What became of asking a person; None where nobody was asked.
        state: What the agent is told of that.
        forwarded: Whether the call may now be sent to its server.
        sent: The arguments to send, where these are others than the decision's.
        decision_id: The engine's own id of its decision.
        since: The moment before it was evaluated, as `PathLocks` counts.
        near: Whether its paths were seen to lie where a look never takes long.
        own_process: Whether it is sent to a server process of its own.
        told: What the agent is told of a refusal, where the decision's rule does not say it.
        principal: Whom the agent acts for; None where nobody said.
        parent: For a look-up the id of the decision that it serves.
        gathered: The declared facts that it was decided on; None where none concern it.
        is_booked: Whether what it adds to memory and totals is booked.
        counts: The counts without which the verdict would be milder.
    """

    call: Call
    decision: Decision
    enforced: PolicyInstance
    prepared: Prepared | None = None
    phases: dict[str, float] = field(default_factory=dict)
    approval: Approval | None = None
    state: AgentState | None = None
    forwarded: bool = False
    sent: Mapping[str, JsonValue] | None = None
    decision_id: str | None = None
    since: int = 0
    near: bool = False
    own_process: bool = False
    told: str = ""
    principal: Principal | None = None
    parent: str | None = None
    gathered: Gathered | None = None
    is_booked: bool = False
    counts: tuple[DecisiveCount, ...] = ()

    @property
    def escalated(self) -> bool:
        """Whether a person has to say."""
        return self.decision.verdict is Verdict.ESCALATE and self.prepared is not None

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left but to record it and, if it is to be, to send it."""
        return (self.is_booked or self.gathered is None) if self.forwarded else not self.escalated

    @property
    def decided_facts(self) -> DecidedFacts:
        """The declared facts that it was decided on, as a person is shown them."""
        return self.gathered.decided if self.gathered is not None else DecidedFacts()

    @property
    def annotation(self) -> ToolAnnotation | None:
        """The called tool's annotation; None for an unknown tool."""
        return self.enforced.loaded.annotation(self.decision.server, self.decision.tool)

    @property
    def is_read_only(self) -> bool:
        """Whether the called tool is annotated to change nothing."""
        tool = self.annotation
        return tool is not None and (tool.reads or not tool.side_effects)

    @property
    def relied_on(self) -> CallPaths:
        """What it was evaluated over, and what it may change; for a call that ended before, nothing."""
        if self.prepared is None:
            return CallPaths(frozenset(), frozenset(), frozenset())
        concerned, server, tool = self.enforced.concerned, self.decision.server, self.annotation
        return CallPaths.of(
            self.prepared, concerned.recorded_at(server, tool), concerned.altered_at(server, tool)
        )

    def record(self, id_: str, confined: Confinement, gateway: GatewayCall | None) -> DecisionRecord:
        """Return the record of the decision, for the audit log."""
        directory = self.enforced.loaded.boundaries(self.decision.server).sandbox
        sandbox = Sandbox(
            directory=directory,
            isolation=confined.isolation,
            observed=confined.observed,
            alone=self.own_process,
        )
        return self.enforced.recorder.decision(
            self.call,
            self.prepared or self.decision,
            self.decision,
            id_=id_,
            forwarded=self.forwarded,
            approval=self.approval,
            observed=Observed(
                phases=self.phases,
                sandbox=sandbox,
                decision_id=self.decision_id,
                parent=self.parent,
                facts=self._recorded_facts(),
                gateway=gateway,
            ),
        )

    def _recorded_facts(self) -> RecordedFacts | None:
        if self.gathered is None:
            return None
        at = self.gathered.at.isoformat(timespec="microseconds").replace("+00:00", "Z")
        booked = self.gathered.booked if self.is_booked else ()
        values, declared = dict(self.gathered.facts), dict(self.gathered.declared)
        counts = tuple(each.name for each in self.counts)
        return RecordedFacts(at=at, values=values, declared=declared, booked=booked, decisive=counts)


def observed(evaluated: EvaluatedCall, *, is_tool: bool) -> EvaluatedCall:
    """Let a call through, whatever was decided: as it came, where it was refused before it was canonical.

    What is no strict JSON object cannot be sent on; a tool that its server does not list cannot be called.
    """
    decision, call = evaluated.decision, evaluated.call
    sent = decision.arguments
    words = "observed only, not enforced"
    if sent is None and (call.live_digest or not is_tool):
        sent = arguments_of(call)
        words = f"{words}, and sent as it came" if sent is not None else words
    if sent is None:
        words = "observed only, but it cannot be sent"
    marked = decision.model_copy(update={"reason": f"{words}: {decision.reason}"})
    return replace(evaluated, decision=marked, sent=sent, forwarded=sent is not None)


def is_same(again: EvaluatedCall, binding: str, session: str) -> bool:
    """Tell whether a call that was evaluated again is what a person approved."""
    if again.decision.verdict is Verdict.DENY or again.prepared is None or again.annotation is None:
        return False
    bound = binding_of(
        again.decision, again.prepared, again.annotation, session=session, facts=again.decided_facts
    )
    return bound == binding


def after_asking(evaluated: EvaluatedCall, approval: Approval, state: AgentState) -> EvaluatedCall:
    """Return a call that does not happen, for what became of asking a person."""
    return replace(evaluated, approval=approval, state=state, forwarded=False)


def voided(evaluated: EvaluatedCall, again: EvaluatedCall, approval: Approval) -> EvaluatedCall:
    """Return a call that is no longer what was approved, and is refused for what refuses it now, if it is."""
    void = approval.model_copy(update={"state": "void", "verdict": Verdict.DENY})
    return after_asking(again if again.decision.verdict is Verdict.DENY else evaluated, void, "void")


def may_go_on(before: EvaluatedCall, evaluated: EvaluatedCall) -> bool:
    """Tell whether a call that was evaluated again may be carried out in the turn that it was given."""
    if not evaluated.forwarded or before.prepared is None or evaluated.prepared is None:
        return not evaluated.escalated  # a refusal needs no turn; a person is not asked in one
    paths = [[each.value for each in path_resources(one)] for one in (before.prepared, evaluated.prepared)]
    return paths[0] == paths[1] and before.relied_on.recorded == evaluated.relied_on.recorded
