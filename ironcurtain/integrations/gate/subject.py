"""What a gate judges, and by what."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path

from ironcurtain.analysis.findings.waivers import Waivers
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent, clause_sources
from ironcurtain.compiler.verify.evidence import Evidence
from ironcurtain.compiler.verify.report import Verification
from ironcurtain.compiler.verify.verify import verify
from ironcurtain.engine.command import OpaCommand
from ironcurtain.integrations.gate.document import Document, shown_path
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.settings import Settings, VerifySettings


@dataclass(frozen=True)
class PolicyUnderReview:
    """A bundle with everything that speaks about it.

    Attributes:
        evidence: What holds of all calls.
        root: The project's directory, which the clauses' places are relative to.
        settings: The project's settings.
        in_archive: Whether the bundle is an archive, which holds no Rego tests.
        in_project: Whether files of the project lie there; a bundle that was copied elsewhere has none.
        scenarios: What it was verified in and by, records included, and where that was read.
        matrix: The golden decision matrix, if there is one.
        waivers: The findings that somebody accepted, and where that was read.
        approvals_file: Where changes are approved.
        demands: The thresholds.
        today: The day on which approvals and waivers are judged.
        known: What `verify` says of bundle and scenarios, where it has said so before.
    """

    evidence: Evidence
    root: Path
    settings: Settings
    in_project: bool
    scenarios: Scenarios
    scenarios_file: Document
    guarantees_file: Document
    matrix: bytes | None
    matrix_file: Document
    waivers: Waivers
    waivers_file: Document
    approvals_file: Document
    demands: VerifySettings
    today: date
    known: Verification | None = None
    in_archive: bool = False

    @property
    def is_at_home(self) -> bool:
        """Whether the bundle lies in its project as a compile wrote it: what is not there was deleted."""
        return self.in_project and not self.in_archive

    @property
    def bundle(self) -> Bundle:
        """The bundle."""
        return self.evidence.bundle

    @property
    def published(self) -> Path:
        """The directory that the bundle lies in, with what a compile put beside it."""
        return self.matrix_file.path.parent

    @property
    def guarantees(self) -> Guarantees | None:
        """What it must never and must always do, if there is a file of them."""
        return self.evidence.guarantees

    @property
    def engine(self) -> OpaCommand:
        """OPA's commands."""
        return self.evidence.engine

    @cached_property
    def verification(self) -> Verification:
        """Manifest, Rego, Rego tests, scenarios and records."""
        return self.known or verify(self.bundle, self.scenarios, self.evidence.opa)

    @cached_property
    def content(self) -> PolicyContent:
        """What the bundle holds."""
        return PolicyContent.of(self.bundle)

    def clause_place(self, clause: str | None) -> tuple[str | None, int | None]:
        """Return the file and line of a clause, where the bundle knows them and the file is there."""
        name, _, line = clause_sources(self.bundle).get(clause or "", "").rpartition(":")
        path = self.root / name
        if not name or not path.is_file():
            return None, None
        return shown_path(path), int(line) if line.isdigit() else None
