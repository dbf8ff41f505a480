"""Whole calls that show what the decision matrix says of a place, each decided by OPA.

shown_calls(analysis, MatrixCell("fs", "read", "read-path", "~/Documents"), opa)
"""

from __future__ import annotations

from collections.abc import Iterator

from ironcurtain.analysis.engine.evaluate import decide_prepared
from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.policy_analysis import PolicyAnalysis
from ironcurtain.analysis.engine.search import CallSearch, FoundCall
from ironcurtain.analysis.engine.values.witnesses import OUTSIDE
from ironcurtain.analysis.findings.context import EFFORT
from ironcurtain.analysis.guarantees.guarantees import witness_call
from ironcurtain.decision.decide import Call, prepare
from ironcurtain.engine.command import OpaCommand
from ironcurtain.model.guarantees import WitnessCall
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.structs import Struct

MAX_SEARCHES = 24
"""So many of a place's paths are searched for calls; further ones are left out."""


class MatrixCell(Struct):
    """Resources of one role of a tool in one place.

    Attributes:
        where: The place, as the decision matrix names it.
    """

    server: str
    tool: str
    role: str
    where: str


def shown_calls(analysis: PolicyAnalysis, cell: MatrixCell, opa: OpaCommand) -> tuple[WitnessCall, ...]:
    """Return for each verdict of a place a call that is decided so, where one was found.

    Args:
        analysis: The policy.
        cell: The place.
        opa: The engine, which decides every call that is returned.

    Raises:
        EngineFailedError: If OPA does not run.
        VerificationError: If a decision is undefined.
    """
    examined = analysis.tools.get((cell.server, cell.tool))
    found = dict(_found(examined, cell)) if examined is not None else {}
    side = analysis.policies[0]
    prepared = {
        verdict.value: prepare(
            Call(cell.server, cell.tool, call.arguments, call.caller, facts=call.facts), side.policy
        )
        for verdict, call in found.items()
    }
    decisions = decide_prepared(prepared, side.bundle, side.policy, opa) if prepared else {}
    return tuple(
        witness_call((cell.server, cell.tool), call, decisions[verdict.value])
        for verdict, call in found.items()
        if decisions[verdict.value].verdict is verdict
    )


def _found(examined: Examined, cell: MatrixCell) -> Iterator[tuple[Verdict, FoundCall]]:
    """Yield for each verdict a call whose resource and whose whole are expected to have it."""
    search, done, tried = CallSearch(examined, effort=EFFORT), set[Verdict](), 0
    for keys, each in examined.space.cells.items():
        labels = {label for _, label in each.regions}
        outside = cell.where == OUTSIDE and any(not chain for chain, _ in each.regions)
        if each.role != cell.role or not (cell.where in labels or outside):
            continue
        for answered in examined.answers.get(keys, ()):
            outcome = answered.outcomes[0]
            if outcome is None or outcome.verdict in done or tried >= MAX_SEARCHES:
                continue
            tried += 1
            call = search.find(each, lambda resource, whole: resource == whole, path=answered.path).call
            if call is not None:
                done.add(outcome.verdict)
                yield outcome.verdict, call
