"""What a gate judges: a bundle, what speaks about it, and the files that this was read from.

Reports name a scenario's place in the file that was written by hand, if it is there.
"""

from __future__ import annotations

from datetime import date
from functools import cached_property
from pathlib import Path

from ironcurtain.analysis.findings.waivers import Waivers
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.compiler.load.sources import ANSWERS_FILE
from ironcurtain.compiler.verify.evidence import Evidence
from ironcurtain.compiler.verify.report import Verification
from ironcurtain.compiler.verify.verify import verify
from ironcurtain.engine.command import OpaCommand
from ironcurtain.errors import IronCurtainError
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.scenarios import Scenario, Scenarios
from ironcurtain.settings import Settings, VerifySettings
from ironcurtain.system.files import has_content, load, read_text
from ironcurtain.system.structs import Struct
from ironcurtain.system.yaml_text import place_of


class Document(Struct):
    """A file that evidence was read from."""

    path: Path

    @property
    def shown(self) -> str:
        """Its path as reports show it: relative to the working directory where it lies there."""
        return shown_path(self.path)

    def line_of(self, list_key: str, number: int) -> int | None:
        """Return the 1-based line of an item of one of its lists."""
        return place_of(read_text(self.path), str(self.path), [list_key, number]).line


def shown_path(path: Path) -> str:
    """Return a path relative to the working directory where it lies there, else absolute."""
    absolute = path.absolute()
    here = Path.cwd()
    return absolute.relative_to(here).as_posix() if absolute.is_relative_to(here) else absolute.as_posix()


class PolicyUnderReview(Struct):
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
        evidence = self.evidence
        return self.known or verify(self.bundle, self.scenarios, evidence.opa, evidence.decide)

    @cached_property
    def content(self) -> PolicyContent:
        """What the bundle holds."""
        return PolicyContent.of(self.bundle)

    def clause_place(self, clause: str | None) -> tuple[str | None, int | None]:
        """Return the file and line of a clause, where the bundle knows them and the file is there."""
        name, _, line = self.content.sources.get(clause or "", "").rpartition(":")
        path = self.root / name
        if not name or not path.is_file():
            return None, None
        return shown_path(path), int(line) if line.isdigit() else None


def scenario_place(reviewed: PolicyUnderReview, scenario: Scenario, key: str) -> tuple[str, int | None]:
    """Return file and line of what a scenario says."""
    written = reviewed.root / reviewed.settings.scenarios
    file = written.with_name(ANSWERS_FILE) if scenario.origin == "answer" else written
    steps = _path(file, scenario) if reviewed.in_project else None
    if steps is None:
        file = reviewed.scenarios_file.path
        steps = reviewed.scenarios.path_of(scenario.id) or ()
    return shown_path(file), place_of(read_text(file), str(file), [*steps, key]).line


def _path(file: Path, scenario: Scenario) -> tuple[str | int, ...] | None:
    """Return where a scenario stands in a file; None if it is not there, or the file cannot be read."""
    try:
        return load(file, Scenarios).path_of(scenario.id) if has_content(file) else None
    except IronCurtainError:  # what is wrong with it is told by the check of sources
        return None
