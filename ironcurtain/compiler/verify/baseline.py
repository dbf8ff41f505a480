"""Part of the stage `compare and record`: what a policy does, recorded for comparison with the next one.

Calls are recorded as scenarios that show what changes later; matrix and guarantees speak of all calls.
"""

from __future__ import annotations

from functools import partial

from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.scenarios.generated import GenerationContext, call_key, generate_calls, record
from ironcurtain.compiler.verify.evidence import Evidence
from ironcurtain.compiler.verify.kept_evidence import GeneratedCalls, keep_evidence
from ironcurtain.compiler.verify.policy_builder import PolicyBuilder
from ironcurtain.compiler.verify.repair import RepairResult, TriedDraft
from ironcurtain.compiler.verify.report import Verification
from ironcurtain.compiler.verify.verify import with_records
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.system.background import in_background
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import counted


class Baseline(Struct):
    """What is known about a settled policy.

    Attributes:
        tried: The policy, as it was tried by the scenarios that somebody demands.
        scenarios: These, then the recorded ones.
        verification: What `verify` says of the bundle and these scenarios.
        evidence: What holds of all calls.
        recorded: The calls that were recorded.
        notes: What a person should know.
    """

    tried: TriedDraft
    scenarios: Scenarios
    verification: Verification
    evidence: Evidence
    recorded: GeneratedCalls
    notes: tuple[str, ...]

    @property
    def told(self) -> str:
        """What was recorded and, if it was found before, when, in a few words."""
        since, told = self.recorded.since, f"{counted(len(self.recorded.records), 'call')} recorded"
        if since is None:
            return told
        when = f"{since.astimezone():%Y-%m-%d %H:%M}"
        return f"{told}, examined before ({when}; `ironcurtain verify` examines anew)"

    def keep(self, published: Bundle) -> None:
        """Keep what was found of the bundle that this became, for a compile in which nothing changes."""
        if self.recorded.since is None:
            keep_evidence(published, self.recorded, self.tried.verification, self.evidence)


def record_policy(settled: RepairResult, builder: PolicyBuilder, guarantees: Guarantees | None) -> Baseline:
    """Record what a settled policy does.

    Raises:
        GuaranteeError: For each guarantee that names what does not exist or contradicts itself.
        EvidenceError: If the policy has more ways to a verdict than can be examined.
        EngineFailedError: If OPA does not run.
        VerificationError: If OPA decides otherwise than the bundle's rules say.
    """
    bundle, demanded = settled.tried.bundle, builder.demanded(settled.draft)
    evidence = builder.evidence(settled.tried, demanded, guarantees)
    recorded = builder.recorded(bundle, demanded) or _record(settled, builder, demanded, evidence)
    left_out = recorded.left_out
    return Baseline(
        tried=settled.tried,
        scenarios=demanded.with_more(recorded.records),
        verification=with_records(settled.tried.verification, recorded.records),
        evidence=evidence,
        recorded=recorded,
        notes=(f"{left_out} generated calls were left out: too many",) if left_out else (),
    )


def _record(
    settled: RepairResult, builder: PolicyBuilder, demanded: Scenarios, evidence: Evidence
) -> GeneratedCalls:
    """Generate calls and record what becomes of them, while the evidence is gathered."""
    policy = settled.draft.policy
    ground = GenerationContext(builder.listed(policy), (policy,), builder.lists, builder.world)
    generated = generate_calls(ground)
    known = {call_key(scenario.call) for scenario in demanded.scenarios}
    fresh = [call for call in generated.calls if call_key(call) not in known]
    with in_background(evidence.gathered) as gathering:
        records = record(fresh, partial(builder.attempt, settled.tried.bundle))
        gathering.result()
    return GeneratedCalls(records, generated.left_out)
