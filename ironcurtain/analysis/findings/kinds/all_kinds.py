"""All finders, from what concerns rules to what concerns scenarios and lists."""

from __future__ import annotations

from ironcurtain.analysis.findings.finder import Finder
from ironcurtain.analysis.findings.kinds.clause_claims import clause_claims
from ironcurtain.analysis.findings.kinds.dead_rules import dead_rules
from ironcurtain.analysis.findings.kinds.evadable_rules import evadable_rules, sandbox_bypasses
from ironcurtain.analysis.findings.kinds.foreign_records import foreign_records
from ironcurtain.analysis.findings.kinds.idle_lists import idle_lists
from ironcurtain.analysis.findings.kinds.open_allows import open_allows
from ironcurtain.analysis.findings.kinds.scenario_clauses import contradictory_scenarios, scenario_clauses
from ironcurtain.analysis.findings.kinds.uncovered_roles import uncovered_roles
from ironcurtain.analysis.findings.kinds.unknown_names import unknown_names
from ironcurtain.analysis.findings.kinds.unmatched_clauses import unmatched_clauses
from ironcurtain.analysis.findings.kinds.unstated_exemptions import unstated_exemptions
from ironcurtain.analysis.findings.kinds.unusable_tools import (
    language_arguments,
    unexamined_tools,
    unusable_tools,
)
from ironcurtain.analysis.findings.kinds.vacuous_conditions import vacuous_conditions

FINDERS: tuple[Finder, ...] = (
    unknown_names,
    dead_rules,
    vacuous_conditions,
    sandbox_bypasses,
    unstated_exemptions,
    evadable_rules,
    open_allows,
    foreign_records,
    language_arguments,
    uncovered_roles,
    unusable_tools,
    unexamined_tools,
    contradictory_scenarios,
    scenario_clauses,
    clause_claims,
    unmatched_clauses,
    idle_lists,
)
"""Their order is of no consequence: reports are sorted."""
