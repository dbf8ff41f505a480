"""Part of the stage `compare and record`: what a settled policy does, written down for the next reader.

Calls are recorded as scenarios that show what changes later; matrix and guarantees speak of all calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.model.verification import Verification
from ironcurtain.opa.beside import beside
from ironcurtain.pipeline.proof import prove
from ironcurtain.pipeline.repair import Settled
from ironcurtain.pipeline.scenarios import Ground, call_key, generate_calls, record
from ironcurtain.pipeline.verify import with_records
from ironcurtain.pipeline.workshop import Workshop


@dataclass(frozen=True)
class Recorded:
    """What is known about a settled policy.

    Attributes:
        scenarios: The demanded ones, then the recorded ones.
        verification: All checks, those of matrix and guarantees included.
        matrix: The text of `decision-matrix.json`.
        calls: How many calls were generated.
        broken: What broken guarantees look like, as lines.
        notes: What a person should know.
    """

    scenarios: Scenarios
    verification: Verification
    matrix: bytes
    calls: int
    broken: tuple[str, ...]
    notes: tuple[str, ...]


def record_policy(settled: Settled, workshop: Workshop, guarantees: Guarantees | None) -> Recorded:
    """Record what a settled policy does.

    Raises:
        GuaranteeError, EvidenceError, EngineFailedError, VerificationError: See `proof.prove`.
    """
    bundle, demanded = settled.tried.bundle, workshop.demanded(settled.draft)
    ground = Ground(workshop.annotations, (settled.draft.policy,), workshop.lists, workshop.world)
    generated = generate_calls(ground)
    known = {call_key(scenario.call) for scenario in demanded.scenarios}
    fresh = [call for call in generated.calls if call_key(call) not in known]
    with beside(partial(prove, bundle, guarantees, workshop.world, workshop.opa)) as proving:
        records = record(fresh, partial(workshop.attempt, bundle))
        proof = proving.result()
    left_out = generated.left_out
    return Recorded(
        scenarios=demanded.model_copy(update={"scenarios": (*demanded.scenarios, *records)}),
        verification=proof.added_to(with_records(settled.tried.verification, records)),
        matrix=proof.matrix,
        calls=len(generated.calls),
        broken=proof.lines,
        notes=(f"{left_out} generated calls were left out: too many",) if left_out else (),
    )
