"""Checking people's scenarios before a model is asked: their clauses exist, and some rules can satisfy them.

What people demand is never left out. A scenario of a clause that is not there, or one whose verdict no rule
can bring about, stops the compile and says what decides instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from ironcurtain.analysis.engine.evaluate import prepare_scenarios
from ironcurtain.compiler.load.clause_ids import KnownClauses
from ironcurtain.compiler.load.clause_record import missing_clause
from ironcurtain.compiler.scenarios.checks import Unreachable, unreachable
from ironcurtain.compiler.verify.report import Mismatch, clause_mend, clause_words
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.errors import Place, ScenarioError, raise_all
from ironcurtain.model.policy import Clause
from ironcurtain.model.reasons import ReasonCode
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.model.scenarios import Scenario, Scenarios
from ironcurtain.system.files import read_text
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted, visible
from ironcurtain.system.yaml_text import place_of

_MENDS: dict[str, str] = {
    ReservedRule.MALFORMED_CALL: "Correct the call of the scenario.",
    ReservedRule.UNKNOWN_TOOL: "Correct the names of server and tool: `ironcurtain tools` lists them.",
    ReservedRule.INVALID_ARGUMENTS: (
        "Correct the arguments: the tool's schema refuses them, whatever the policy says."
    ),
    ReservedRule.PROTECTED_PATH: "Expect deny: no rule opens what the protection itself consists of.",
    ReservedRule.DOMAIN_ESCALATE: (
        "Expect escalate, or add the address to the server's domains, and to those of the scenarios' `world`."
    ),
    ReservedRule.UNRESOLVED_REMOTE: (
        "Expect escalate, or describe the repository with its remotes in the scenarios' `world`."
    ),
    ReservedRule.UNREPRESENTABLE_ARGUMENT: (
        "Expect deny, or write the argument in a form that has one meaning; if the annotation "
        "reads the argument wrongly, have it annotated anew with --refresh annotate."
    ),
}
"""By structural rule, what to do about a scenario that it decides otherwise."""
_SCHEME = (
    "Write the address with its scheme. If it is the tool that puts one before it, the tool's annotation has "
    "to say which, in `assume_scheme`: correct the kept answer, or ask anew with --refresh annotate."
)


class GroundTruth(Struct):
    """The scenarios that people wrote or answered, and the files that they stand in.

    Attributes:
        document: The scenarios with their world.
        handwritten: The file of the handwritten scenarios; `answers` that of the answers.
        read: Returns the text of one of the files, in which places are looked for.
    """

    document: Scenarios
    handwritten: Path
    answers: Path
    read: Callable[[Path], str] = read_text

    @property
    def count(self) -> int:
        """How many scenarios there are, one with steps counted once."""
        return len(self.document.entries)

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """The scenarios, each step a call of its own."""
        return self.document.calls

    def require_clauses(self, clauses: Sequence[Clause], before: KnownClauses) -> None:
        """Refuse scenarios that cite no clause of the constitution.

        `before` is what ids stood for in the published result.

        Raises:
            ScenarioError: For each of them.
        """
        ids = {clause.id for clause in clauses}
        raise_all(
            [
                ScenarioError(
                    f"scenario {visible(scenario.id)} is of the clause {quoted(scenario.clause)}, which the "
                    "constitution does not have",
                    where=self._place(scenario, "clause"),
                    hint=missing_clause(scenario.clause, clauses, before),
                )
                for scenario in self.scenarios
                if scenario.clause is not None and scenario.clause not in ids
            ]
        )

    def require_reachable(self, structure: LoadedPolicy) -> None:
        """Refuse scenarios whose verdict no rule can bring about.

        `structure` is a policy without rules in the scenarios' world.

        Raises:
            ScenarioError: For each of them, with the structural rule that decides it.
        """
        prepared = prepare_scenarios(map(_without_facts, self.scenarios), structure)
        raise_all(
            [
                ScenarioError(
                    f"scenario {visible(scenario.id)} expects {scenario.expect}, but {found}",
                    where=self._place(scenario, "expect"),
                    hint=_mend(found),
                )
                for scenario in self.scenarios
                if (found := unreachable(scenario, prepared[scenario.id])) is not None
            ]
        )

    def wrong_clauses(self, mismatches: Iterable[Mismatch]) -> Iterator[str]:
        """Yield a line for each scenario that comes true because of another clause than it names."""
        known = {scenario.id: scenario for scenario in self.scenarios}
        for mismatch in mismatches:
            if mismatch.wrong_clause is not None and mismatch.scenario in known:
                place = self._place(known[mismatch.scenario], "clause")
                yield f"{place}: {clause_words(mismatch)}. {clause_mend(mismatch)}"

    def _place(self, scenario: Scenario, key: str) -> Place:
        """Return where a scenario says something, in the file that it was read from."""
        file = self.answers if scenario.origin == "answer" else self.handwritten
        steps = self.document.path_of(scenario.id, scenario.origin) or ()
        return place_of(self.read(file), str(file), [*steps, key])


def _without_facts(scenario: Scenario) -> Scenario:
    """Return a scenario as it is where nothing is declared yet: facts change no structural verdict."""
    call = scenario.call.model_copy(update={"facts": None, "at": None})
    return scenario.model_copy(update={"call": call})


def _mend(found: Unreachable) -> str:
    if found.cause is not None and found.cause.code is ReasonCode.NO_SCHEME:
        return _SCHEME
    return _MENDS.get(found.rule, "Correct the scenario.")
