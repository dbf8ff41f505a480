"""What a compile found of the policy that it published, kept for the next compile in which nothing changed.

Most of such a compile would be spent on finding the same again. What is kept counts for exactly the published
bundle (its tests, and the digests of its sources and scenarios in its manifest), the guarantees, the engine
and our code; only what passed the gate is kept. The gate of a published policy, `ironcurtain verify`, reads
none of it (`docs/decisions/0015-evidence-kept-for-the-next-compile.md`).
"""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from ironcurtain.analysis.clauses.report import ClauseReport
from ironcurtain.analysis.coverage.report import CoverageReport
from ironcurtain.analysis.findings.report import FindingReport
from ironcurtain.analysis.matrix.report import Matrix
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.verify.evidence import Evidence
from ironcurtain.compiler.verify.report import Verification
from ironcurtain.engine.locate import Opa
from ironcurtain.model.guarantees import GuaranteeReport, Guarantees
from ironcurtain.model.scenarios import Scenario
from ironcurtain.settings import evidence_directory
from ironcurtain.system.frozen import Frozen
from ironcurtain.system.json_text import digest, digest_bytes
from ironcurtain.system.kept_results import file_state, keep, own_code, read_kept
from ironcurtain.system.structs import Struct


class GeneratedCalls(Struct):
    """What a policy was seen to decide of generated calls.

    Attributes:
        records: Calls that no scenario demands, with what becomes of them.
        left_out: How many calls were not made because they would have been too many.
        since: When an earlier compile found it; None if this one does.
    """

    records: tuple[Scenario, ...]
    left_out: int
    since: datetime | None = None


class EvidenceParts(Frozen):
    """The parts of an `Evidence` that a compile reads; `guarantees` are None where it has none."""

    matrix: Matrix
    findings: FindingReport
    coverage: CoverageReport
    clauses: ClauseReport
    guarantees: GuaranteeReport | None


class KeptEvidence(Frozen):
    """The file in which a compile keeps what it found.

    Attributes:
        since: When that was.
        verification: What `verify` says of the bundle and the scenarios that demand something.
        left_out: How many generated calls would have been too many.
    """

    format: Literal["ironcurtain/kept-evidence/v1"] = "ironcurtain/kept-evidence/v1"
    since: datetime
    verification: Verification
    left_out: int
    parts: EvidenceParts


class KnownEvidence(Evidence, kw_only=True):
    """Evidence whose parts were found before; whatever else is asked of it is worked out."""

    parts: EvidenceParts

    @property
    def matrix(self) -> Matrix:
        """The decision matrix."""
        return self.parts.matrix

    @property
    def guarantee_report(self) -> GuaranteeReport:
        """The guarantees, decided over all calls."""
        return self.parts.guarantees or super().guarantee_report

    @property
    def findings(self) -> FindingReport:
        """Everything that stands out, nothing waived."""
        return self.parts.findings

    @property
    def coverage(self) -> CoverageReport:
        """What scenarios and guarantees reach."""
        return self.parts.coverage

    @property
    def clauses(self) -> ClauseReport:
        """What becomes of each clause."""
        return self.parts.clauses


def kept_evidence(published: Bundle, guarantees: Guarantees | None, opa: Opa) -> KeptEvidence | None:
    """Return what was found of a published bundle, None where nothing usable is kept."""
    return read_kept(_place(published, guarantees, opa), KeptEvidence)


def keep_evidence(
    published: Bundle, recorded: GeneratedCalls, verification: Verification, evidence: Evidence
) -> None:
    """Keep what was found of a bundle that was published just now.

    Args:
        published: The bundle.
        recorded: The calls that were recorded of it.
        verification: What was found of it without these.
        evidence: What holds of all calls.
    """
    kept = KeptEvidence(
        since=datetime.now(UTC),
        verification=verification,
        left_out=recorded.left_out,
        parts=EvidenceParts(
            matrix=evidence.matrix,
            findings=evidence.findings,
            coverage=evidence.coverage,
            clauses=evidence.clauses,
            guarantees=evidence.guarantee_report if evidence.guarantees is not None else None,
        ),
    )
    with contextlib.suppress(OSError):  # then the next compile takes as long as this one
        keep(_place(published, evidence.guarantees, evidence.opa), kept)


def _place(published: Bundle, guarantees: Guarantees | None, opa: Opa) -> Path:
    """Return the file for exactly this bundle, these guarantees, this engine and our code."""
    depends_on = [
        {path: digest_bytes(data) for path, data in published.files.items()},
        guarantees.model_dump_json(by_alias=True) if guarantees is not None else None,
        [opa.version, *file_state([opa.path])],
        own_code(),
    ]
    return evidence_directory() / f"{digest(depends_on).removeprefix('sha256:')}.json"
