"""Which rows of a sampled tool are exact all the same: those that rest on nothing that was not followed."""

from __future__ import annotations

from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.proof import Exactness
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass


def exactness_of(one: Examined, cell: EquivalenceClass) -> Exactness:
    """Tell whether everything that decides subjects of a cell was followed.

    It was where the tool is exact. Of a sampled tool it was where all that is missing are values of
    arguments and facts that neither a rule which can judge the cell tests nor any resource depends on.
    """
    space = one.space
    unread = {index: variable for index, variable in enumerate(space.variables) if variable.gaps}
    if not one.gaps <= {gap for variable in unread.values() for gap in variable.gaps}:
        return "sampled"
    resources = {("args", name) for source in space.sources for name in source.places}
    of_resources = {index for index, each in unread.items() if resources & {*each.places}}
    if of_resources or unread.keys() & {*space.role_variables}:
        return "sampled"
    missing = {atom.key for variable in unread.values() for atom in variable.atoms}
    asked = {key for steps in space.decision_lists(cell) for step in steps for key in step.atoms}
    return "sampled" if missing & asked else "exact"
