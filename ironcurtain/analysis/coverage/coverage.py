"""Coverage: which cells and which deciding rules the scenarios and guarantees of a policy reach.

    coverage(analyse_with_guarantees(bundle, world, opa, guarantees), scenarios, opa).percent

A scenario counts if somebody demanded what it expects; one whose expectation was taken from the policy
records what the policy does, and comes true whatever that is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from ironcurtain.analysis.coverage.report import ClauseCoverage, CoverageReport, MissedCell, Share
from ironcurtain.analysis.engine.lookup import locate
from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.policy_analysis import PolicyAnalysis
from ironcurtain.analysis.engine.proof import Exactness
from ironcurtain.analysis.engine.rules.diagram import FALLS_THROUGH
from ironcurtain.analysis.engine.rules.regions import Region, grouped
from ironcurtain.analysis.engine.space.elements import ResourceKey
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass
from ironcurtain.analysis.findings.context import answers_of
from ironcurtain.analysis.findings.contradictions import contradictions, overruled
from ironcurtain.analysis.findings.decided_scenarios import DecidedScenarios, demanded
from ironcurtain.analysis.guarantees.spoken_of import overlaps, speaks_of, wanted_classes
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.decide import Prepared
from ironcurtain.decision.escalation import checks_of
from ironcurtain.decision.reserved_tools import is_reserved
from ironcurtain.engine.command import OpaCommand
from ironcurtain.model.scenarios import Scenario
from ironcurtain.model.verdict import Verdict

_CoverageCell: TypeAlias = tuple[str, str, ResourceKey]
"""Server, tool, and what the policy itself knows of a resource."""


@dataclass
class _Coverage:
    """What is reached: places, and by rule the scenarios that it decides a resource of."""

    places: set[_CoverageCell] = field(default_factory=set)
    rules: set[str] = field(default_factory=set)
    scenarios: dict[str, set[str]] = field(default_factory=dict)


def coverage(
    analysis: PolicyAnalysis,
    scenarios: Sequence[Scenario],
    opa: OpaCommand,
    decided: DecidedScenarios | None = None,
) -> CoverageReport:
    """Return what scenarios, and the guarantees of the examination, reach of a policy.

    Args:
        analysis: The policy.
        scenarios: The scenarios, records included.
        opa: The engine.
        decided: The scenarios that demand something, where they have been decided before.

    Raises:
        EngineFailedError: If OPA does not run.
        VerificationError: If a decision is undefined.
    """
    decided = decided or demanded(analysis, tuple(scenarios), opa)
    analysis = overruled(analysis, contradictions(analysis, decided))
    reached = _Coverage()
    _by_scenarios(analysis, decided, reached)
    _by_guarantees(analysis, reached)
    places = {place for examined in analysis.tools.values() for place in _places(examined)}
    deciding = _deciding(analysis)
    # What a scenario reaches exists, also where not every kind of call was found.
    places |= reached.places
    for rule in reached.rules:
        deciding.setdefault(rule, set())
    return CoverageReport(
        revision=analysis.bundle.revision,
        scenarios=len(decided.scenarios),
        records=len(scenarios) - len(decided.scenarios),
        guarantees=len(analysis.guarantees) + len(analysis.sequences),
        cells=_share(places, reached.places),
        rules=_share(deciding, reached.rules),
        clauses=tuple(_clauses(analysis, decided, reached, deciding)),
        missed=tuple(_missed(analysis, reached)),
        sampled=_of_exactness(analysis, "sampled"),
        unexamined=_of_exactness(analysis, "not examined"),
    )


def _of_exactness(analysis: PolicyAnalysis, exactness: Exactness) -> tuple[str, ...]:
    return tuple(sorted("/".join(t) for t, each in analysis.tools.items() if each.exactness == exactness))


# -- what is reached ------------------------------------------------------------------------------


def _by_scenarios(analysis: PolicyAnalysis, decided: DecidedScenarios, reached: _Coverage) -> None:
    for scenario in decided.scenarios:
        prepared, decision = decided.prepared[scenario.id], decided.decisions[scenario.id]
        for rule in {resource.rule for resource in decision.subjects} & analysis.content.rules.keys():
            reached.rules.add(rule)
            reached.scenarios.setdefault(rule, set()).add(scenario.id)
        examined = analysis.tools.get((scenario.call.server, scenario.call.tool))
        if examined is not None and isinstance(prepared, Prepared):
            reached.places |= {_place(examined, cell) for cell in _cells_of(examined, prepared)}


def _cells_of(examined: Examined, prepared: Prepared) -> Iterator[EquivalenceClass]:
    """Yield the cells of a call's resources; none of a call of a kind that was not examined."""
    with suppress(LookupError):
        yield from (located.cell for located in locate(examined, prepared))


def _by_guarantees(analysis: PolicyAnalysis, reached: _Coverage) -> None:
    """Count what guarantees speak of: each is decided over all such calls."""
    registry = analysis.policies.registry
    for read in (*analysis.guarantees, *(each.allow.read for each in analysis.sequences)):
        for tool in read.tools:
            examined = analysis.tools[tool]
            if examined.exactness == "not examined":
                continue
            wanted = wanted_classes(read, examined.space)
            for cell, _, answered in answers_of(examined):
                if speaks_of(read, cell, registry) and overlaps(answered, wanted):
                    reached.places.add(_place(examined, cell))
                    outcome = answered.outcomes[0]
                    if outcome is not None and outcome.rule in analysis.content.rules:
                        reached.rules.add(outcome.rule)


# -- what there is --------------------------------------------------------------------------------


def _place(examined: Examined, cell: EquivalenceClass) -> _CoverageCell:
    """Return a cell without what only the guarantees tell apart."""
    key = cell.keys[0]
    if key is None:
        raise LookupError(examined.space.tool)
    return examined.space.server, examined.space.tool, key._replace(marks=frozenset())


def _is_shut(examined: Examined, cell: EquivalenceClass) -> bool:
    """Tell whether a request beside tool calls is denied by default: that needs no scenario of a person's."""
    key = cell.keys[0]
    return (
        is_reserved(examined.space.annotation)
        and not (key is not None and key.discharged)
        and all(answered.path.outcome[0] == FALLS_THROUGH for answered in examined.answers[cell.keys])
    )


def _places(examined: Examined) -> dict[_CoverageCell, list[EquivalenceClass]]:
    by_place: dict[_CoverageCell, list[EquivalenceClass]] = {}
    for keys, cell in examined.space.cells.items():
        if examined.answers.get(keys) and not _is_shut(examined, cell):
            by_place.setdefault(_place(examined, cell), []).append(cell)
    return by_place


def _deciding(analysis: PolicyAnalysis) -> dict[str, set[_CoverageCell]]:
    """Return the rules that decide something, with the places where they do."""
    by_rule: dict[str, set[_CoverageCell]] = {}
    for examined in analysis.tools.values():
        for cell, _, answered in answers_of(examined):
            outcome = answered.outcomes[0]
            if outcome is not None and outcome.rule in analysis.content.rules:
                by_rule.setdefault(outcome.rule, set()).add(_place(examined, cell))
    return by_rule


def _share(things: Iterable[object], reached: set[str] | set[_CoverageCell]) -> Share:
    known = set(things)
    return Share(reached=len(known & reached), total=len(known))


# -- by clause ------------------------------------------------------------------------------------


def _clauses(
    analysis: PolicyAnalysis,
    decided: DecidedScenarios,
    reached: _Coverage,
    deciding: dict[str, set[_CoverageCell]],
) -> Iterator[ClauseCoverage]:
    texts = analysis.content.rules
    known = {*analysis.content.clauses, *(text.clause for text in texts.values())}
    for clause in sorted(known, key=numbered):
        rules = [name for name in deciding if texts[name].clause == clause]
        named = {scenario.id for scenario in decided.scenarios if scenario.clause == clause}
        named |= {id_ for rule in rules for id_ in reached.scenarios.get(rule, ())}
        named_by = [read.guarantee.clause for read in analysis.guarantees]
        named_by += [read.guarantee.clause for read in analysis.sequences]
        guarantees = named_by.count(clause)
        asked = _asked(analysis, clause)
        if not (rules or named or guarantees or asked):
            continue
        yield ClauseCoverage(
            clause=clause,
            source=analysis.content.sources.get(clause, ""),
            scenarios=len(named),
            guarantees=guarantees,
            cells=_share({place for rule in rules for place in deciding[rule]}, reached.places),
            rules=_share(rules, reached.rules),
            missed=tuple(sorted(set(rules) - reached.rules)),
            asked=asked,
            asked_of_caller=_asked_of_caller(analysis.content, rules),
        )


def _asked_of_caller(content: PolicyContent, rules: Iterable[str]) -> tuple[str, ...]:
    """Return the approvers whom rules ask and who are the principal."""
    named = {content.rules[rule].approver for rule in rules}
    return tuple(sorted(name for name, each in content.approvers.items() if each.is_caller and name in named))


def _asked(analysis: PolicyAnalysis, clause: str) -> tuple[str, ...]:
    """Return the tools whose requests to a person tell them to check a clause."""
    return tuple(
        f"{server}/{tool}"
        for (server, tool), examined in analysis.tools.items()
        if clause in {each.clause for each in checks_of(analysis.content, server, tool)}
        and any(
            outcome is not None and outcome.verdict is Verdict.ESCALATE
            for _, _, answered in answers_of(examined)
            for outcome in answered.outcomes[:1]
        )
    )


def numbered(id_: str) -> list[tuple[int, str]]:
    """Return what ids are sorted by so that C9 stands before C10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", id_)]


def _missed(analysis: PolicyAnalysis, reached: _Coverage) -> Iterator[MissedCell]:
    for (server, tool), examined in analysis.tools.items():
        regions: dict[str, list[Region[bool]]] = {}
        missing = set()
        for place, cells in _places(examined).items():
            role, reached_here = place[2].role, place in reached.places
            missing |= set() if reached_here else {role}
            regions.setdefault(role, []).extend(
                Region(chain, label, reached_here) for cell in cells for chain, label in cell.regions
            )
        for role in sorted(missing):
            where = grouped(regions[role]).get(False, ())
            yield MissedCell(server=server, tool=tool, role=role, where=where)
