"""What is said of a scenario that names a clause which does not exist, or which does not decide it."""

from __future__ import annotations

from ironcurtain.compiler.verify.report import Mismatch
from ironcurtain.system.text import visible


def clause_words(mismatch: Mismatch) -> str:
    """Say what is wrong with the clause that a scenario names."""
    named = f"scenario {mismatch.scenario} is of the clause {visible(mismatch.clause or '')}"
    if mismatch.wrong_clause == "unknown":
        return f"{named}, which does not exist"
    deciding = sorted(mismatch.deciding.items())
    shown = " and ".join(f"{visible(clause)} (by {visible(rule)})" for clause, rule in deciding)
    return f"{named}, and what decides it is {shown}"


def clause_mend(mismatch: Mismatch) -> str:
    """Say what to do about a scenario that another clause decides."""
    named = visible(mismatch.clause or "")
    return f"Name {min(mismatch.deciding)} in the scenario; or, if {named} has to decide, correct the rules."
