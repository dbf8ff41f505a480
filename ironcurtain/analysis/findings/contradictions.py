"""Decisions that contradict a proof: each overrules it, and nothing about its tool is called proved any more.

Scenarios and records are decided by the same steps and the same OPA as calls are. What they show is so, and
a proof that says otherwise is a defect of ours: it is told as a finding, and everything goes on without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ironcurtain.analysis.engine.lookup import locate
from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.policy_analysis import PolicyAnalysis
from ironcurtain.analysis.engine.search import FoundCall
from ironcurtain.analysis.findings.draft import Decided, FindingDraft, WitnessQuery, answers_of
from ironcurtain.decision.decide import Prepared
from ironcurtain.model.decision import Decision
from ironcurtain.system.text import visible

CONTRADICTED = "a decision contradicts what was proved"
"""Why a tool is sampled of which every kind of call seemed to have been examined."""


@dataclass(frozen=True)
class Contradiction:
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


def contradictions(examined: PolicyAnalysis, decided: Decided | None) -> tuple[Contradiction, ...]:
    """Return the first contradiction about each tool by the calls that were decided."""
    found: dict[tuple[str, str], Contradiction] = {}
    deciding: dict[tuple[str, str], frozenset[object]] = {}
    for id_, prepared in decided.prepared.items() if decided is not None else ():
        if decided is None or not isinstance(prepared, Prepared):
            continue
        tool = prepared.base.server, prepared.base.tool
        one = examined.tools.get(tool)
        if one is None or one.gaps or tool in found:
            continue
        if tool not in deciding:
            deciding[tool] = frozenset(answered.path.outcome[0] for _, _, answered in answers_of(one))
        message = _message(examined, one, prepared, decided.decisions[id_], deciding[tool])
        if message:
            found[tool] = Contradiction(
                id_, prepared, f"{message}, and the scenario {visible(id_)} shows otherwise"
            )
    return tuple(found.values())


def _message(
    examined: PolicyAnalysis, one: Examined, call: Prepared, decision: Decision, deciding: frozenset[object]
) -> str:
    tool, rules = visible(one.space.tool), examined.content.rules
    for subject in decision.subjects:
        if subject.rule in rules and rules[subject.rule].order not in deciding:
            return f"it was proved that the rule {visible(subject.rule)} decides no call of {tool}"
    try:
        _ = tuple(locate(one, call))
    except LookupError:
        return f"it was proved that {tool} has no such call"
    return ""


def overruled(examined: PolicyAnalysis, found: Iterable[Contradiction]) -> PolicyAnalysis:
    """Return an examination in which every contradicted tool is sampled."""
    wrong = {each.tool for each in found}
    if not wrong:
        return examined
    tools = {
        tool: replace(one, gaps=one.gaps | {CONTRADICTED}) if tool in wrong else one
        for tool, one in examined.tools.items()
    }
    return replace(examined, tools=tools)


def contradiction_drafts(found: Sequence[Contradiction]) -> Iterator[FindingDraft]:
    """Yield a finding for each contradiction."""
    for each in found:
        server, tool = each.tool
        call = FoundCall(each.call.call.arguments, each.call.caller, "", "call")
        yield FindingDraft(
            kind="contradicted-proof",
            severity="note",
            about=[server, tool],
            where=f"{visible(server)}/{visible(tool)}",
            message=each.message,
            suggestion="The decision counts, and nothing about this tool is called proved. This is a defect "
            "in IronCurtain: report it with the bundle and the scenario.",
            witness=WitnessQuery(server, tool, call),
        )
