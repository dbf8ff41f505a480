"""Part of the stage `compare and record`: what a policy does, recorded for comparison with the next one.

Calls are recorded as scenarios that show what changes later; matrix and guarantees speak of all calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from ironcurtain.compiler.scenarios.generated import GenerationContext, call_key, generate_calls, record
from ironcurtain.compiler.verify.evidence import Evidence
from ironcurtain.compiler.verify.policy_builder import PolicyBuilder
from ironcurtain.compiler.verify.repair import RepairResult
from ironcurtain.compiler.verify.report import Verification
from ironcurtain.compiler.verify.verify import with_records
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.system.background import in_background


@dataclass(frozen=True)
class Baseline:
    """What is known about a settled policy.

    Attributes:
        scenarios: The demanded ones, then the recorded ones.
        verification: What `verify` says of the bundle and these scenarios.
        evidence: What holds of all calls.
        calls: How many calls were generated.
        notes: What a person should know.
    """

    scenarios: Scenarios
    verification: Verification
    evidence: Evidence
    calls: int
    notes: tuple[str, ...]


def record_policy(settled: RepairResult, builder: PolicyBuilder, guarantees: Guarantees | None) -> Baseline:
    """Record what a settled policy does.

    Raises:
        GuaranteeError: For each guarantee that names what does not exist or contradicts itself.
        EvidenceError: If the policy has more ways to a verdict than can be examined.
        EngineFailedError: If OPA does not run.
        VerificationError: If OPA decides otherwise than the bundle's rules say.
    """
    bundle, demanded = settled.tried.bundle, builder.demanded(settled.draft)
    ground = GenerationContext(builder.annotations, (settled.draft.policy,), builder.lists, builder.world)
    generated = generate_calls(ground)
    known = {call_key(scenario.call) for scenario in demanded.scenarios}
    fresh = [call for call in generated.calls if call_key(call) not in known]
    evidence = builder.evidence(settled.tried, demanded, guarantees)
    with in_background(evidence.gathered) as gathering:
        records = record(fresh, partial(builder.attempt, bundle))
        gathering.result()
    left_out = generated.left_out
    return Baseline(
        scenarios=demanded.with_more(records),
        verification=with_records(settled.tried.verification, records),
        evidence=evidence,
        calls=len(generated.calls),
        notes=(f"{left_out} generated calls were left out: too many",) if left_out else (),
    )
