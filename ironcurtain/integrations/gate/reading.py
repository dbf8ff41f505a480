"""What a gate judges and by what: the settings of the bundle's project and the files beside the bundle.

A published bundle is read with them; one that a compile is about to publish is judged by the same. A bundle
without the scenarios that it was compiled with, such as an archive that somebody downloaded, is checked for
what it says of itself. What speaks of calls needs the world that scenarios describe, so that is not examined
there, and the report names each check that is left out.
"""

from __future__ import annotations

from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ironcurtain.analysis.findings.decided_scenarios import decide_all
from ironcurtain.analysis.findings.waivers import Waivers
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.published import PROVENANCE, TEST_SCENARIOS
from ironcurtain.compiler.render.rendered import check_rendered
from ironcurtain.compiler.verify.evidence import FILE_NAME, Evidence
from ironcurtain.compiler.verify.gate_report import Check
from ironcurtain.compiler.verify.verify import verify_itself
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import Opa
from ironcurtain.integrations.gate.checks.all_checks import ABOUT_RULES, OF_FILES, run_check
from ironcurtain.integrations.gate.checks.bundle import tested
from ironcurtain.integrations.gate.inputs import GateInputs, read_scenarios, scenarios_file
from ironcurtain.integrations.gate.policy_under_review import Document, PolicyUnderReview
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.settings import FILE_NAME as SETTINGS_FILE
from ironcurtain.settings import Settings, find_settings, load_settings
from ironcurtain.system.background import Once
from ironcurtain.system.files import has_content, load, read_bytes
from ironcurtain.system.structs import Struct, replace

if TYPE_CHECKING:
    from ironcurtain.compiler.verify.baseline import Baseline


_WAIVERS = "waivers.yaml"


class Standards(Struct):
    """What a project demands of its policy.

    Attributes:
        root: The project's directory, where its waivers are and which paths are relative to.
    """

    root: Path
    settings: Settings


def read_policy_under_review(bundle: Bundle, given: GateInputs, opa: Opa, today: date) -> PolicyUnderReview:
    """Read everything that speaks about a bundle.

    The project is the one above the bundle, whether it was published there or copied: evidence that a
    project demands is not lost with a file's place.

    Args:
        bundle: The bundle.
        given: What the command line says.
        opa: The engine.
        today: The day on which approvals and waivers are judged.

    Raises:
        UsageError: If there are no scenarios.
        FileError, FormatError, NewerFormatError: If a file cannot be read.
    """
    beside = given.bundle.absolute().parent
    file = given.config or find_settings(beside)
    project = Standards(file.absolute().parent if file else _above(beside), load_settings(file))
    demands = {
        name: value
        for name in ("coverage", "mutation", "attack")
        if (value := getattr(given, name)) is not None
    }
    scenarios = read_scenarios(given)
    guarantees = given.guarantees or project.root / project.settings.guarantees
    evidence = Evidence(
        bundle=bundle,
        scenarios=scenarios,
        guarantees=load(guarantees, Guarantees) if given.guarantees or has_content(guarantees) else None,
        opa=opa,
        decide=Once(partial(decide_all, bundle, scenarios, OpaCommand(opa))),
    )
    reviewed = _reviewed(evidence, scenarios, project, beside, today)
    matrix = reviewed.matrix_file.path
    return replace(
        reviewed,
        in_archive=given.bundle.is_file(),
        scenarios_file=Document(scenarios_file(given)),
        guarantees_file=Document(guarantees),
        matrix=read_bytes(matrix) if matrix.exists() else None,
        approvals_file=Document(given.approvals) if given.approvals else reviewed.approvals_file,
        demands=reviewed.demands.model_copy(update=demands),
    )


def unpublished(recorded: Baseline, project: Standards, output: Path, today: date) -> PolicyUnderReview:
    """Return what a compile is about to publish, as `read_policy_under_review` would read it from there.

    Raises:
        FileError, FormatError, NewerFormatError: If the waivers cannot be read.
    """
    evidence = recorded.evidence
    reviewed = _reviewed(evidence, recorded.scenarios, project, output, today)
    return replace(reviewed, matrix=evidence.matrix_file, known=recorded.verification)


def _reviewed(
    evidence: Evidence, scenarios: Scenarios, project: Standards, published: Path, today: date
) -> PolicyUnderReview:
    root, settings = project.root, project.settings
    waivers = root / _WAIVERS
    return PolicyUnderReview(
        evidence=evidence,
        root=root,
        settings=settings,
        in_project=(root / SETTINGS_FILE).is_file() or (root / settings.constitution).is_file(),
        scenarios=scenarios,
        scenarios_file=Document(published / TEST_SCENARIOS),
        guarantees_file=Document(root / settings.guarantees),
        matrix=None,
        matrix_file=Document(published / FILE_NAME),
        waivers=load(waivers, Waivers) if has_content(waivers) else Waivers(format="ironcurtain/waivers/v1"),
        waivers_file=Document(waivers),
        approvals_file=Document(root / settings.diff_approvals),
        demands=settings.verify,
        today=today,
    )


def _above(published: Path) -> Path:
    """Return the project of a directory without settings: a compile publishes into one of its directories."""
    return published.parent if (published / PROVENANCE).is_file() else published


def run_alone(bundle: Bundle, opa: Opa, *, archived: bool, compared: bool) -> tuple[Check, ...]:
    """Check what needs nothing beside the bundle; name everything else as not examined.

    Args:
        bundle: The bundle.
        opa: The engine.
        archived: Whether it is an archive, which holds no Rego tests.
        compared: Whether it was to be compared with an older one.

    Raises:
        IronCurtainError: If something cannot be judged: an engine without an answer.
    """
    missing = f"{TEST_SCENARIOS} is not beside the bundle; name scenarios with --scenarios"
    others = [*(name for name, _ in OF_FILES), "scenarios", *(name for name, _ in ABOUT_RULES)]
    others += ["difference"] if compared else []
    return (
        *(tested(bundle, check, 1, archived=archived) for check in verify_itself(bundle, opa)),
        *run_check("rules", partial(_rendered, bundle)),
        *(Check(name=name, status="unexamined", summary=missing) for name in others),
    )


def _rendered(bundle: Bundle) -> tuple[Check, ...]:
    check_rendered(bundle)
    return (Check(name="rules", status="passed", summary="the Rego is what the rules say"),)
