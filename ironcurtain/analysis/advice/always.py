"""Sentences instead of answering one request always, made and proved as all advice is.

    advice = always(request, bundle, world, opa, guarantees, logs)

What a person asks for rests on as few answers as there are, and says so. Everything else is as for sentences
that logs alone propose: no guarantee is lost, and what a person ever denied, under any policy, stays so.
"""

from __future__ import annotations

from collections import Counter

from ironcurtain.analysis.advice.advise import Logs, counts, spared, unspared, with_all
from ironcurtain.analysis.advice.candidates import Candidate
from ironcurtain.analysis.advice.proofs import Prover, Unproved
from ironcurtain.analysis.advice.questions import ApprovedCalls
from ironcurtain.analysis.advice.report import Advice, Asking, Proposal
from ironcurtain.analysis.advice.usage import LoggedCalls, classes_of, is_denied
from ironcurtain.analysis.engine.evaluate import decide_prepared
from ironcurtain.analysis.mutation.source import PolicySource
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.canonical.this_host import ThisHost
from ironcurtain.decision.decide import Call, prepare
from ironcurtain.decision.facts import stated_facts
from ironcurtain.decision.loaded_policy import Deployment, LoadedPolicy
from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from ironcurtain.enforcement.audit.record_types import (
    Approval,
    DecisionRecord,
    RecordedApprovalState,
    RecordedFacts,
    Sandbox,
)
from ironcurtain.enforcement.audit.recorder import Observed, Recorder
from ironcurtain.enforcement.facts.facts_of_tool import ConcernedTools
from ironcurtain.engine.command import OpaCommand
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.structs import replace
from ironcurtain.system.text import visible

_REQUEST = "the request itself"
_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"


class PastRequests:
    """What logs hold of requests like one that waits.

    Args:
        request: It.

    Attributes:
        sandbox: The newest sandbox of its session; None where there is none.
    """

    def __init__(self, request: ApprovalRequest) -> None:
        self._request = request
        self._states: dict[str, RecordedApprovalState] = {}
        self.sandbox: str | None = None

    def add(self, log: str, record: DecisionRecord) -> None:
        """Take in a recorded call."""
        request, approval = self._request, record.approval
        if log == request.session:
            self.sandbox = record.sandbox.directory or self.sandbox
        if approval is None or not _is_alike(record, request) or record.clause != request.clause:
            return
        if request.clause is not None or record.rule == request.rule:
            # A call that comes again is the same request.
            self._states[approval.request or record.id] = approval.state

    def asking(self, content: PolicyContent | None) -> Asking:
        """Return the request with how others like it ended, and where a policy has the sentence that asks."""
        request = self._request
        clause = request.clause
        is_same = content is not None and clause and content.clauses.get(clause) == request.clause_text
        before = Counter(self._states.values())
        return Asking(
            request=request.id,
            server=request.server,
            tool=request.tool,
            rule=request.rule,
            reason=request.reason,
            clause=clause,
            clause_text=request.clause_text,
            source=content.sources.get(clause, "") if is_same and content and clause else "",
            before=dict(before.most_common()),
        )


def always(
    request: ApprovalRequest,
    bundle: Bundle,
    world: DescribedWorld,
    opa: OpaCommand,
    guarantees: Guarantees | None,
    logs: Logs,
) -> Advice:
    """Return sentences that would answer a request, and why others would not do.

    Raises:
        BundleRelationError: If the policy's directories lie otherwise here than was verified.
        EvidenceError: If the policy cannot be examined.
        EngineFailedError: If OPA does not run.
        VerificationError: If OPA decides otherwise than the bundle's rules say.
    """
    source = PolicySource.of(bundle)
    approved, past = ApprovedCalls(source, logs.home), PastRequests(request)
    for log, record in logs.read():
        past.add(log, record)
        if _is_alike(record, request) and record.revision == bundle.revision:
            approved.add(log, record)
    advice = counts(bundle.revision, logs, ()).model_copy(update={"asking": past.asking(source.content)})
    asked = _decided(request, bundle, opa, Deployment(home=logs.home, sandbox=past.sandbox))
    candidates = approved.answering(asked) if isinstance(asked, DecisionRecord) else asked.why
    if isinstance(asked, Unproved) or isinstance(candidates, str):
        return _noted(advice, f"no sentence is proposed: {candidates}")

    def read() -> LoggedCalls:
        yield _REQUEST, asked
        for log, record in logs.read():
            if _is_alike(record, request) and (record.revision == bundle.revision or is_denied(record)):
                yield log, record

    classes = classes_of(read(), logs.replayers_of(with_all(source, candidates)))
    prover = Prover(source, world, opa, guarantees, classes, logs.replayers_of)
    blocked = [*unspared(prover)]
    tried = [(each, _proposal(prover, each)) for each in candidates if not blocked]
    proposals = tuple(made for _, made in tried if isinstance(made, Proposal))
    found = counts(bundle.revision, logs, classes).model_copy(
        update={
            "asking": advice.asking,
            "logs": (*logs.names, _REQUEST),
            "saved": max((each.saves for each in proposals), default=0),
            "proposals": proposals,
        }
    )
    refused = [(each.sentence(source), made.why) for each, made in tried if isinstance(made, Unproved)]
    return _noted(found, *blocked, *(f"not proposed: {sentence} {why}" for sentence, why in refused))


def without_policy(request: ApprovalRequest, logs: Logs, why: str) -> Advice:
    """Return what logs alone say of a request, and why no sentence is proposed."""
    past = PastRequests(request)
    for log, record in logs.read():
        past.add(log, record)
    found = counts(request.revision, logs, ()).model_copy(update={"asking": past.asking(None)})
    return _noted(found, f"no sentence is proposed: {why}")


def _proposal(prover: Prover, candidate: Candidate) -> Proposal | Unproved:
    """Prove a candidate about the calls, of which the first is the one that is asked about."""
    screened = prover.screened([candidate])
    if isinstance(screened, Unproved):
        return screened
    if 0 in screened.unknown:
        return Unproved("Nobody can tell whether it would answer the request.")
    if 0 not in screened.saved:
        return Unproved("The request would be asked all the same.")
    proof = prover.proof(screened, candidate)
    return proof if isinstance(proof, Unproved) else spared(prover, candidate, screened, proof)


def _decided(
    request: ApprovalRequest, bundle: Bundle, opa: OpaCommand, there: Deployment
) -> DecisionRecord | Unproved:
    """Decide the call of a request again, and return what a log would hold of it; nobody has answered it."""
    if bundle.revision != request.revision:
        return Unproved(f"Another policy asks, of revision {visible(request.revision)}.")
    content, at = PolicyContent.of(bundle), request.asked.strftime(_TIME)
    loaded = LoadedPolicy(content, there, ThisHost(home=there.home, git_environ={}))
    facts = stated_facts(content.facts, request.facts, at)
    call = Call(request.server, request.tool, request.arguments, request.caller, facts=facts)
    prepared = prepare(replace(call, client=request.client), loaded)
    decision = decide_prepared({request.id: prepared}, bundle, loaded, opa)[request.id]
    if (decision.verdict, decision.rule) != (Verdict.ESCALATE, request.rule):
        return Unproved(f"Decided again here, the call is {decision.verdict} by {visible(decision.rule)}.")
    about = ConcernedTools(content).of(request.server, loaded.annotation(request.server, request.tool))
    recorded = (
        RecordedFacts(at=at, values=facts, declared=dict(about.declared)) if about is not None else None
    )
    checks = tuple(each.clause for each in request.checks)
    return Recorder(content, loaded, clock=lambda: at).decision(
        call,
        prepared,
        decision,
        id_=request.id,
        forwarded=False,
        approval=Approval(state="pending", request=request.id, checks=checks, verdict=Verdict.DENY),
        observed=Observed(sandbox=Sandbox(directory=there.sandbox), facts=recorded),
    )


def _is_alike(record: DecisionRecord, request: ApprovalRequest) -> bool:
    """Tell whether a recorded call is another one of the same tool, or was denied."""
    is_itself = record.approval is not None and record.approval.request == request.id
    is_of_tool = (record.server, record.tool) == (request.server, request.tool)
    return is_of_tool and (not is_itself or is_denied(record))


def _noted(advice: Advice, *notes: str) -> Advice:
    return advice.model_copy(update={"notes": (*advice.notes, *notes)})
