"""A bundle without the scenarios that it was compiled with, such as an archive that somebody downloaded.

What it says of itself can be checked. What speaks of calls needs the world that scenarios describe, so it is
not examined, and the report says so by name.
"""

from __future__ import annotations

from functools import partial

from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.rendered import check_rendered
from ironcurtain.compiler.verify.gate_report import Check
from ironcurtain.compiler.verify.verify import verify_itself
from ironcurtain.engine.locate import Opa
from ironcurtain.integrations.gate.checks.all_checks import ABOUT_RULES, OF_FILES, run_check
from ironcurtain.integrations.gate.checks.bundle import tested
from ironcurtain.integrations.gate.places import SCENARIOS
from ironcurtain.integrations.gate.reading import GateInputs


def is_alone(given: GateInputs) -> bool:
    """Tell whether no scenarios are named, and none lie beside the bundle."""
    return given.scenarios is None and not (given.bundle.absolute().parent / SCENARIOS).exists()


def run_alone(bundle: Bundle, opa: Opa, *, archived: bool, compared: bool) -> tuple[Check, ...]:
    """Check what needs nothing beside the bundle; name everything else as not examined.

    Args:
        bundle: The bundle.
        opa: OPA.
        archived: Whether it is an archive.
        compared: Whether it was to be compared with an older one.

    Raises:
        IronCurtainError: If something cannot be judged: an engine without an answer.
    """
    missing = f"{SCENARIOS} is not beside the bundle; name scenarios with --scenarios"
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
