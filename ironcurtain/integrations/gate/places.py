"""Where a person finds what a scenario says: in the file that was written by hand, if that is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ironcurtain.compiler.questions.open_questions import ANSWERS_FILE
from ironcurtain.errors import IronCurtainError
from ironcurtain.integrations.gate.document import shown_path
from ironcurtain.model.scenarios import Scenario, Scenarios
from ironcurtain.system.files import has_content, load, read_text
from ironcurtain.system.yaml_text import place_of

SCENARIOS = "test-scenarios.json"
"""The file beside a bundle that holds all scenarios it was verified by."""

if TYPE_CHECKING:
    from pathlib import Path

    from ironcurtain.integrations.gate.subject import PolicyUnderReview


def scenario_place(subject: PolicyUnderReview, scenario: Scenario, key: str) -> tuple[str, int | None]:
    """Return file and line of what a scenario says.

    Args:
        subject: What is judged.
        scenario: One of its scenarios.
        key: What of the scenario is meant.
    """
    written = subject.root / subject.settings.scenarios
    file = written.with_name(ANSWERS_FILE) if scenario.origin == "answer" else written
    number = _number(file, scenario) if subject.in_project else None
    if number is None:
        file = subject.scenarios_file.path
        number = subject.scenarios.scenarios.index(scenario)
    return shown_path(file), place_of(read_text(file), str(file), ["scenarios", number, key]).line


def _number(file: Path, scenario: Scenario) -> int | None:
    """Return the place of a scenario in a file; None if it is not there, or the file cannot be read."""
    try:
        listed = load(file, Scenarios).scenarios if has_content(file) else ()
    except IronCurtainError:  # what is wrong with it is told by the check of sources
        return None
    return next((number for number, each in enumerate(listed) if each.id == scenario.id), None)
