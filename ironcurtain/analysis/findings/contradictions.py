"""Decisions that contradict a proof: each overrules it, and nothing about its tool is called proved any more.

Scenarios and records are decided by the same steps and the same OPA as real calls. A proof that contradicts
them is a defect of IronCurtain: it is reported as a finding, and the analysis goes on without it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from ironcurtain.analysis.engine.lookup import locate
from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.policy_analysis import PolicyAnalysis
from ironcurtain.analysis.engine.search import FoundCall
from ironcurtain.analysis.findings.context import FindingDraft, WitnessQuery, answers_of
from ironcurtain.analysis.findings.decided_scenarios import DecidedScenarios
from ironcurtain.decision.decide import Prepared
from ironcurtain.model.decision import Decision
from ironcurtain.system.structs import Struct, replace
from ironcurtain.system.text import visible

CONTRADICTED = "a decision contradicts what was proved"
"""Why a tool is sampled of which every kind of call seemed to have been examined."""

Analysis = TypeVar("Analysis", bound=PolicyAnalysis)


class Contradiction(Struct):
    """A decided call that shows a proof wrong.

    Attributes:
        scenario: The id of the scenario, or record, that is the call.
        message: What was proved, and what is so.
    """

    scenario: str
    call: Prepared
    message: str

    @property
    def tool(self) -> tuple[str, str]:
        """Server and name of the call's tool."""
        return self.call.base.server, self.call.base.tool


def contradictions(analysis: PolicyAnalysis, decided: DecidedScenarios | None) -> tuple[Contradiction, ...]:
    """Return the first contradiction about each tool by the calls that were decided."""
    if decided is None:
        return ()
    first: dict[tuple[str, str], Contradiction] = {}
    deciding: dict[tuple[str, str], frozenset[object]] = {}
    for id_, prepared in decided.prepared.items():
        if not isinstance(prepared, Prepared):
            continue
        tool = prepared.base.server, prepared.base.tool
        examined = analysis.tools.get(tool)
        if examined is None or examined.gaps or tool in first:
            continue
        if tool not in deciding:
            deciding[tool] = frozenset(answered.path.outcome[0] for _, _, answered in answers_of(examined))
        message = _message(analysis, examined, prepared, decided.decisions[id_], deciding[tool])
        if message:
            first[tool] = Contradiction(
                id_, prepared, f"{message}, and the scenario {visible(id_)} shows otherwise"
            )
    return tuple(first.values())


def _message(
    analysis: PolicyAnalysis,
    examined: Examined,
    call: Prepared,
    decision: Decision,
    deciding: frozenset[object],
) -> str:
    tool, rules = visible(examined.space.tool), analysis.content.rules
    for resource in decision.subjects:
        if resource.rule in rules and rules[resource.rule].order not in deciding:
            return f"it was proved that the rule {visible(resource.rule)} decides no call of {tool}"
    try:
        _ = tuple(locate(examined, call))
    except LookupError:
        return f"it was proved that {tool} has no such call"
    return ""


def overruled(analysis: Analysis, contradicted: Iterable[Contradiction]) -> Analysis:
    """Return an analysis in which every contradicted tool is sampled."""
    wrong = {contradiction.tool for contradiction in contradicted}
    if not wrong:
        return analysis
    tools = {
        tool: dataclasses.replace(examined, gaps=examined.gaps | {CONTRADICTED})
        if tool in wrong
        else examined
        for tool, examined in analysis.tools.items()
    }
    return replace(analysis, tools=tools)


def contradiction_drafts(contradicted: Sequence[Contradiction]) -> Iterator[FindingDraft]:
    """Yield a finding for each contradiction."""
    for contradiction in contradicted:
        server, tool = contradiction.tool
        call = FoundCall(contradiction.call.call.arguments, contradiction.call.caller, "", "call")
        yield FindingDraft(
            kind="contradicted-proof",
            severity="note",
            about=[server, tool],
            where=f"{visible(server)}/{visible(tool)}",
            message=contradiction.message,
            suggestion="The decision counts, and nothing about this tool is called proved. This is a defect "
            "in IronCurtain: report it with the bundle and the scenario.",
            witness=WitnessQuery(server, tool, call),
        )
