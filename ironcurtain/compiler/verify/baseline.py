"""Part of the stage `compare and record`: what a policy does, recorded for comparison with the next one.

Calls are recorded as scenarios that show what changes later; matrix and guarantees speak of all calls.
"""

from __future__ import annotations

from functools import partial

from ironcurtain.compiler.scenarios.generated import GenerationContext, call_key, generate_calls, record
from ironcurtain.compiler.verify.evidence import Evidence
from ironcurtain.compiler.verify.policy_builder import PolicyBuilder
from ironcurtain.compiler.verify.repair import RepairResult
from ironcurtain.compiler.verify.report import Verification
from ironcurtain.compiler.verify.verify import with_records
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.scenarios import Scenario, Scenarios
from ironcurtain.system.background import in_background
from ironcurtain.system.structs import Struct


class Baseline(Struct):
    """What is known about a settled policy.

    Attributes:
        scenarios: The scenarios that somebody demands, then the recorded calls.
        verification: What `verify` says of the bundle and these scenarios.
        evidence: What holds of all calls.
        recorded: How many calls were recorded.
        notes: What a person should know.
    """

    scenarios: Scenarios
    verification: Verification
    evidence: Evidence
    recorded: int
    notes: tuple[str, ...]


def record_policy(settled: RepairResult, builder: PolicyBuilder, guarantees: Guarantees | None) -> Baseline:
    """Record what a settled policy does.

    Raises:
        GuaranteeError: For each guarantee that names what does not exist or contradicts itself.
        EvidenceError: If the policy has more ways to a verdict than can be examined.
        EngineFailedError: If OPA does not run.
        VerificationError: If OPA decides otherwise than the bundle's rules say.
    """
    demanded = builder.demanded(settled.draft)
    evidence = builder.evidence(settled.tried, demanded, guarantees)
    records, left_out = _record(settled, builder, demanded, evidence)
    return Baseline(
        scenarios=demanded.with_more(records),
        verification=with_records(settled.tried.verification, records),
        evidence=evidence,
        recorded=len(records),
        notes=(f"{left_out} generated calls were left out: too many",) if left_out else (),
    )


def _record(
    settled: RepairResult, builder: PolicyBuilder, demanded: Scenarios, evidence: Evidence
) -> tuple[tuple[Scenario, ...], int]:
    """Record what becomes of generated calls, and how many were too many, while the evidence is gathered."""
    policy = settled.draft.policy
    ground = GenerationContext(builder.listed(policy), (policy,), builder.lists, builder.world)
    generated = generate_calls(ground)
    known = {call_key(scenario.call) for scenario in demanded.scenarios}
    fresh = [call for call in generated.calls if call_key(call) not in known]
    with in_background(evidence.gathered) as gathering:
        records = record(fresh, partial(builder.attempt, settled.tried.bundle))
        gathering.result()
    return records, generated.left_out
