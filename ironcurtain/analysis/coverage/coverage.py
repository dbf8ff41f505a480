"""Coverage: which cells and which deciding rules the scenarios and guarantees of a policy reach.

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
from ironcurtain.analysis.engine.rules.regions import Region, grouped
from ironcurtain.analysis.engine.space.elements import SubjectKey
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass
from ironcurtain.analysis.findings.context import answers_of
from ironcurtain.analysis.findings.contradictions import contradictions, overruled
from ironcurtain.analysis.findings.decided_scenarios import DecidedScenarios, demanded
from ironcurtain.analysis.guarantees.guarantees import overlaps, speaks_of, wanted_classes
from ironcurtain.decision.decide import Prepared
from ironcurtain.engine.command import OpaCommand
from ironcurtain.model.scenarios import Scenario

_Place: TypeAlias = tuple[str, str, SubjectKey]
"""Server, tool, and what the policy itself knows of a subject."""


@dataclass
class _Reached:
    """What is reached: places, and by rule the scenarios that it decides a subject of."""

    places: set[_Place] = field(default_factory=set)
    rules: set[str] = field(default_factory=set)
    scenarios: dict[str, set[str]] = field(default_factory=dict)


def coverage(
    examined: PolicyAnalysis,
    scenarios: Sequence[Scenario],
    opa: OpaCommand,
    decided: DecidedScenarios | None = None,
) -> CoverageReport:
    """Return what scenarios, and the guarantees of the examination, reach of a policy.

    Args:
        examined: The policy.
        scenarios: The scenarios, records included.
        opa: The engine.
        decided: The scenarios that demand something, where they have been decided before.

    Raises:
        EngineFailedError: If OPA does not run.
        VerificationError: If a decision is undefined.
    """
    decided = decided or demanded(examined, tuple(scenarios), opa)
    examined = overruled(examined, contradictions(examined, decided))
    reached = _Reached()
    _by_scenarios(examined, decided, reached)
    _by_guarantees(examined, reached)
    places = {place for one in examined.tools.values() for place in _places(one)}
    deciding = _deciding(examined)
    # What a scenario reaches exists, also where not every kind of call was found.
    places |= reached.places
    for rule in reached.rules:
        deciding.setdefault(rule, set())
    return CoverageReport(
        revision=examined.bundle.revision,
        scenarios=len(decided.scenarios),
        records=len(scenarios) - len(decided.scenarios),
        guarantees=len(examined.guarantees),
        cells=_share(places, reached.places),
        rules=_share(deciding, reached.rules),
        clauses=tuple(_clauses(examined, decided, reached, deciding)),
        missed=tuple(_missed(examined, reached)),
        sampled=tuple(sorted("/".join(tool) for tool, one in examined.tools.items() if one.gaps)),
    )


# -- what is reached ------------------------------------------------------------------------------


def _by_scenarios(examined: PolicyAnalysis, decided: DecidedScenarios, reached: _Reached) -> None:
    for scenario in decided.scenarios:
        prepared, decision = decided.prepared[scenario.id], decided.decisions[scenario.id]
        for rule in {subject.rule for subject in decision.subjects} & examined.content.rules.keys():
            reached.rules.add(rule)
            reached.scenarios.setdefault(rule, set()).add(scenario.id)
        one = examined.tools.get((scenario.call.server, scenario.call.tool))
        if one is not None and isinstance(prepared, Prepared):
            reached.places |= {_place(one, cell) for cell in _cells_of(one, prepared)}


def _cells_of(one: Examined, prepared: Prepared) -> Iterator[EquivalenceClass]:
    """Yield the cells of a call's subjects; none of a call of a kind that was not examined."""
    with suppress(LookupError):
        yield from (found.cell for found in locate(one, prepared))


def _by_guarantees(examined: PolicyAnalysis, reached: _Reached) -> None:
    """Count what guarantees speak of: each is decided over all such calls."""
    registry = examined.sides.registry
    for each in examined.guarantees:
        for tool in each.tools:
            one = examined.tools[tool]
            wanted = wanted_classes(each, one.space)
            for cell, _, answered in answers_of(one):
                if speaks_of(each, cell, registry) and overlaps(answered, wanted):
                    reached.places.add(_place(one, cell))
                    outcome = answered.outcomes[0]
                    if outcome is not None and outcome.rule in examined.content.rules:
                        reached.rules.add(outcome.rule)


# -- what there is --------------------------------------------------------------------------------


def _place(one: Examined, cell: EquivalenceClass) -> _Place:
    """Return a cell without what only the guarantees tell apart."""
    key = cell.keys[0]
    if key is None:
        raise LookupError(one.space.tool)
    return one.space.server, one.space.tool, key._replace(marks=frozenset())


def _places(one: Examined) -> dict[_Place, list[EquivalenceClass]]:
    found: dict[_Place, list[EquivalenceClass]] = {}
    for keys, cell in one.space.cells.items():
        if one.answers.get(keys):
            found.setdefault(_place(one, cell), []).append(cell)
    return found


def _deciding(examined: PolicyAnalysis) -> dict[str, set[_Place]]:
    """Return the rules that decide something, with the places where they do."""
    found: dict[str, set[_Place]] = {}
    for one in examined.tools.values():
        for cell, _, answered in answers_of(one):
            outcome = answered.outcomes[0]
            if outcome is not None and outcome.rule in examined.content.rules:
                found.setdefault(outcome.rule, set()).add(_place(one, cell))
    return found


def _share(things: Iterable[object], reached: set[str] | set[_Place]) -> Share:
    known = set(things)
    return Share(reached=len(known & reached), total=len(known))


# -- by clause ------------------------------------------------------------------------------------


def _clauses(
    examined: PolicyAnalysis, decided: DecidedScenarios, reached: _Reached, deciding: dict[str, set[_Place]]
) -> Iterator[ClauseCoverage]:
    texts = examined.content.rules
    known = {*examined.content.clauses, *(text.clause for text in texts.values())}
    for clause in sorted(known, key=numbered):
        rules = [name for name in deciding if texts[name].clause == clause]
        named = {scenario.id for scenario in decided.scenarios if scenario.clause == clause}
        named |= {id_ for rule in rules for id_ in reached.scenarios.get(rule, ())}
        guarantees = sum(each.guarantee.clause == clause for each in examined.guarantees)
        if not (rules or named or guarantees):
            continue
        yield ClauseCoverage(
            clause=clause,
            source=examined.content.sources.get(clause, ""),
            scenarios=len(named),
            guarantees=guarantees,
            cells=_share({place for rule in rules for place in deciding[rule]}, reached.places),
            rules=_share(rules, reached.rules),
            missed=tuple(sorted(set(rules) - reached.rules)),
        )


def numbered(id_: str) -> list[tuple[int, str]]:
    """Return what ids are sorted by so that C9 stands before C10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", id_)]


def _missed(examined: PolicyAnalysis, reached: _Reached) -> Iterator[MissedCell]:
    for (server, tool), one in examined.tools.items():
        regions: dict[str, list[Region[bool]]] = {}
        missing = set()
        for place, cells in _places(one).items():
            role, found = place[2].role, place in reached.places
            missing |= set() if found else {role}
            regions.setdefault(role, []).extend(
                Region(chain, label, found) for cell in cells for chain, label in cell.regions
            )
        for role in sorted(missing):
            where = grouped(regions[role]).get(False, ())
            yield MissedCell(server=server, tool=tool, role=role, where=where)
