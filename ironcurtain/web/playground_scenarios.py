"""Keeping a call of the playground as a scenario of its project."""

from __future__ import annotations

import threading
from pathlib import Path

from pydantic import ValidationError

from ironcurtain.compiler.scenarios.text import append_scenarios
from ironcurtain.errors import ScenarioError, UsageError
from ironcurtain.model.decision import Decision
from ironcurtain.model.scenarios import DescribedWorld, Scenario, ScenarioCall, Scenarios
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.files import load


def scenario_of(call: ScenarioCall, decision: Decision, id_: str, expect: str, why: str) -> Scenario:
    """Return the scenario that demands a verdict for a call.

    It names the clause that decides where it demands what is decided.

    Raises:
        UsageError: If the id or the verdict is none.
    """
    try:
        verdict = Verdict(expect)
        clause = decision.clause if decision.verdict is verdict else None
        return Scenario(id=id_, call=call, expect=verdict, clause=clause, why=why)
    except ValidationError:
        raise UsageError(
            "a scenario's id has lower-case letters, digits, `_`, `-` and `.`, 128 at most"
        ) from None
    except ValueError:
        raise UsageError("a scenario demands allow, escalate or deny") from None


class ScenarioFile:
    """The file of a project that holds the scenarios of people.

    Args:
        path: The file.
        root: The directory of the project.
    """

    def __init__(self, path: Path, root: Path) -> None:
        self.path, self._root = path, root
        self._turn = threading.Lock()

    @property
    def name(self) -> str:
        """What it is called in its project."""
        return self.path.name

    def append(self, scenario: Scenario, machine: DescribedWorld) -> None:
        """Append a scenario.

        Args:
            scenario: The scenario.
            machine: The machine on which it was decided.

        Raises:
            ScenarioError: If its id is taken, or the scenarios of the file assume another machine.
            UsageError: If the file lies outside its project.
            FileError, FormatError: If the file is not one that can be appended to.
            OSError: If it cannot be written.
        """
        with self._turn:
            place = self.path.resolve()
            if not place.is_relative_to(self._root.resolve()):
                raise UsageError("the file of scenarios lies outside its project", where=str(self.path))
            if load(place, Scenarios).world != machine:
                raise ScenarioError(
                    "the scenarios of the file assume another machine than this form describes",
                    where=str(self.path),
                    hint="Decide the call on their machine first.",
                )
            append_scenarios(place, [scenario])
