"""Reading what a gate judges by: the settings of the bundle's project and the files beside the bundle."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path

from ironcurtain.bundle.archive import Bundle
from ironcurtain.errors import UsageError
from ironcurtain.files import has_content, load, read_bytes
from ironcurtain.gate.subject import Document, Subject
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.model.waivers import Waivers
from ironcurtain.opa.locate import Opa
from ironcurtain.settings import find_settings, load_settings

_SCENARIOS = "test-scenarios.json"
_MATRIX = "decision-matrix.json"
_POLICY = "compiled-policy.json"
_WAIVERS = "waivers.yaml"


@dataclass(frozen=True)
class Given:
    """What a command line says; None where it leaves that to the project.

    Attributes:
        bundle: Where the bundle lies.
        coverage: The least coverage, `mutation` the least mutation score, in percent.
    """

    bundle: Path
    config: Path | None = None
    scenarios: Path | None = None
    guarantees: Path | None = None
    approvals: Path | None = None
    coverage: float | None = None
    mutation: float | None = None


def read_subject(bundle: Bundle, given: Given, opa: Opa, today: date) -> Subject:
    """Read everything that speaks about a bundle.

    The project is the one above the bundle, whether it was published there or copied: evidence that a
    project demands is not lost with a file's place.

    Raises:
        UsageError: If there are no scenarios.
        FileError, FormatError, NewerFormatError: If a file cannot be read.
    """
    beside = given.bundle.absolute().parent
    file = given.config or find_settings(beside)
    root = file.absolute().parent if file else beside
    settings = load_settings(file)
    demands = {
        name: value for name in ("coverage", "mutation") if (value := getattr(given, name)) is not None
    }
    scenarios = given.scenarios or beside / _SCENARIOS
    guarantees = given.guarantees or root / settings.guarantees
    matrix, policy, waivers = beside / _MATRIX, beside / _POLICY, root / _WAIVERS
    return Subject(
        bundle=bundle,
        root=root,
        scenarios=_scenarios(scenarios),
        scenarios_file=Document(scenarios),
        guarantees=load(guarantees, Guarantees) if given.guarantees or has_content(guarantees) else None,
        guarantees_file=Document(guarantees),
        matrix=read_bytes(matrix) if matrix.exists() else None,
        matrix_file=Document(matrix),
        waivers=load(waivers, Waivers) if has_content(waivers) else Waivers(format="ironcurtain/waivers/v1"),
        waivers_file=Document(waivers),
        approvals_file=Document(given.approvals or root / settings.diff_approvals),
        clauses=load(policy, CompiledPolicy).clauses if policy.exists() else None,
        demands=settings.verify.model_copy(update=demands),
        opa=opa,
        today=today,
    )


def _scenarios(path: Path) -> Scenarios:
    if not path.exists():
        raise UsageError(
            f"no scenarios: {path.name} does not exist", where=str(path), hint="Name a file with --scenarios."
        )
    return load(path, Scenarios)
