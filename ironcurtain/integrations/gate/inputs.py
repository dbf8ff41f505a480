"""What a command line says about what a gate judges, and the scenarios that it so names."""

from __future__ import annotations

from pathlib import Path

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.published import TEST_SCENARIOS
from ironcurtain.errors import UsageError
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.settings import Settings
from ironcurtain.system.files import load
from ironcurtain.system.structs import Struct


class GateInputs(Struct):
    """What a command line says; None where it leaves that to the project.

    Attributes:
        bundle: Where the bundle lies.
        coverage: The least coverage, `mutation` the least mutation score, in percent.
        attack: Whether calls are respelled.
    """

    bundle: Path
    config: Path | None = None
    scenarios: Path | None = None
    guarantees: Path | None = None
    approvals: Path | None = None
    coverage: float | None = None
    mutation: float | None = None
    attack: bool | None = None


def scenarios_file(given: GateInputs) -> Path:
    """Return the file of scenarios that is named, or the one beside the bundle."""
    return given.scenarios or given.bundle.absolute().parent / TEST_SCENARIOS


def written_beside(bundle: Bundle, place: Path) -> Path | None:
    """Return the scenarios that somebody wrote beside a bundle of rules by hand, where no compile wrote any.

    A bundle that was compiled is verified with what its compile wrote: fewer scenarios would mean less.
    """
    beside = place.absolute().parent
    written = beside / Settings().scenarios
    compiled = bundle.manifest.metadata.provenance or (beside / TEST_SCENARIOS).exists()
    return written if not compiled and written.is_file() else None


def is_alone(given: GateInputs) -> bool:
    """Tell whether no scenarios are named, and none lie beside the bundle."""
    return given.scenarios is None and not scenarios_file(given).exists()


def read_scenarios(given: GateInputs) -> Scenarios:
    """Return the scenarios that a bundle is judged in and by.

    Raises:
        UsageError: If there are none.
        FileError, FormatError, NewerFormatError: If the file cannot be read.
    """
    path = scenarios_file(given)
    if not path.exists():
        raise UsageError(
            f"no scenarios: {path.name} does not exist", where=str(path), hint="Name a file with --scenarios."
        )
    return load(path, Scenarios)
