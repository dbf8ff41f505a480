"""The decision matrix: what a policy decides about every tool, role and place, grouped for reading.

    matrix = matrix_of(analyse_policy(bundle, world, opa))
    matrix_json(matrix)

Rows depend on verdicts and clauses alone: rules that are renamed, split or reordered without an effect leave
the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

from ironcurtain.analysis.engine.indexes import VariableIndex, indexed
from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.policy_analysis import PlainAnalysis, analyse_policy
from ironcurtain.analysis.engine.proof import Exactness
from ironcurtain.analysis.engine.rules.diagram import DiagramPath, merged, paths
from ironcurtain.analysis.engine.rules.regions import Region, grouped
from ironcurtain.analysis.engine.rules.wording import path_words
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass
from ironcurtain.analysis.engine.values.witnesses import OUTSIDE
from ironcurtain.analysis.matrix.report import Matrix, Row, RowOutcome, Table
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.escalation import checks_of
from ironcurtain.engine.command import OpaCommand
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, asdict


def decision_matrix(bundle: Bundle, world: DescribedWorld, opa: OpaCommand) -> Matrix:
    """Return the decision matrix of a bundle in an assumed world.

    Args:
        bundle: The policy.
        world: Home, sandbox, domain lists and whatever else the answers shall assume.
        opa: The engine that evaluates every question.

    Raises:
        EvidenceError: If the policy cannot be examined.
        EngineFailedError: If OPA does not run.
        VerificationError: If OPA decides otherwise than the bundle's rules say.
    """
    return matrix_of(analyse_policy(bundle, world, opa))


def matrix_of(analysis: PlainAnalysis) -> Matrix:
    """Return the decision matrix of an analysed policy."""
    tables: dict[str, list[Table]] = {}
    for examined in analysis.tools.values():
        table = _with_people(tool_table(examined), analysis.content, examined)
        tables.setdefault(examined.space.server, []).append(table)
    servers = {server: _grouped(each) for server, each in tables.items()}
    return Matrix(world=analysis.policies.world, caller=dict(analysis.content.caller), servers=servers)


def _with_people(table: Table, content: PolicyContent, examined: Examined) -> Table:
    """Return a table with what whoever is asked must check, and which approvers are the principal."""
    if not any(outcome.verdict is Verdict.ESCALATE for row in table.rows for outcome in row.outcomes):
        return table
    checks = checks_of(content, examined.space.server, examined.space.tool)
    callers = {name for name, approver in content.approvers.items() if approver.is_caller}
    rows = tuple(
        row.model_copy(update={"outcomes": tuple(_of_caller(each, callers) for each in row.outcomes)})
        for row in table.rows
    )
    return table.model_copy(update={"checks": tuple(each.clause for each in checks), "rows": rows})


def _of_caller(outcome: RowOutcome, callers: Collection[str]) -> RowOutcome:
    return outcome.model_copy(update={"of_caller": True}) if outcome.approver in callers else outcome


def matrix_json(matrix: Matrix) -> str:
    """Return the text of `decision-matrix.json`: the same bytes for the same behaviour, on every machine.

    A row is a line, so that a review shows the rows that changed.
    """
    document = matrix.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude_none=True)
    servers = []
    for server, tables in document.get("servers", {}).items():
        texts = [_table_text(table) for table in tables]
        servers.append(f"{_line(server)}: [\n{_COMMA.join(texts)}\n]")
    head = f'"format": {_line(matrix.format)},\n"world": {_line(document["world"])}'
    if matrix.caller:
        head += f',\n"caller": {_line(document["caller"])}'
    return f'{{\n{head},\n"servers": {{\n{_COMMA.join(servers)}\n}}\n}}\n'


_COMMA = ",\n"


def _table_text(table: dict[str, JsonValue]) -> str:
    head = ", ".join(f"{_line(key)}: {_line(value)}" for key, value in table.items() if key != "rows")
    listed = table["rows"]
    rows = _COMMA.join(f"  {_line(row)}" for row in (listed if isinstance(listed, list) else ()))
    return f' {{{head}, "rows": [\n{rows}\n ]}}' if rows else f' {{{head}, "rows": []}}'


def _line(value: JsonValue) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def tool_table(examined: Examined) -> Table:
    """Return the table of one examined tool."""
    behaviours = {
        keys: _behaviour(examined, cell)
        for keys, cell in examined.space.cells.items()
        if examined.answers.get(keys)
    }
    rows: dict[tuple[_Behaviour, tuple[str, ...]], list[str]] = {}
    for role in dict.fromkeys(cell.role for cell in examined.space.cells.values()):
        own = [
            Region(chain, label, behaviours[keys])
            for keys, cell in examined.space.cells.items()
            if cell.role == role and keys in behaviours
            for chain, label in cell.regions
        ]
        for behaviour, labels in grouped(own).items():
            rows.setdefault((behaviour, labels), []).append(role)
    listed = [
        Row(roles=tuple(sorted(roles)), where=labels, **asdict(behaviour))
        for (behaviour, labels), roles in rows.items()
    ]
    ordered = tuple(sorted(listed, key=lambda row: (row.roles, OUTSIDE in row.where, row.where)))
    return Table(
        tools=(examined.space.tool,),
        exactness=examined.exactness,
        reasons=tuple(sorted(examined.gaps)),
        rows=ordered,
    )


class _Behaviour(Struct):
    """All that a reader sees of a cell."""

    floor: str | None
    exactness: Exactness
    outcomes: tuple[RowOutcome, ...]


def _behaviour(examined: Examined, cell: EquivalenceClass) -> _Behaviour:
    """Return a cell's outcomes on the diagram over verdicts and clauses, where rules no longer show."""
    reduced = examined.verdict_diagram(cell)
    variables = examined.space.variables
    taken = [path for path in paths(reduced) if examined.calls.is_taken(cell, path)]
    reached = {
        (tuple(sorted(path_words(path, variables))), *_said(path)) for path in merged(taken, variables)
    }
    key = cell.keys[0]
    outcomes = sorted(
        (
            RowOutcome(when=when, verdict=Verdict(verdict), clause=clause, approver=approver)
            for when, verdict, clause, approver in reached
        ),
        key=lambda each: (each.when, each.verdict.value, each.clause or "", each.approver or ""),
    )
    minimum = key.minimum if key is not None else None
    return _Behaviour(minimum, _exactness(examined, cell), tuple(outcomes))


def _exactness(examined: Examined, cell: EquivalenceClass) -> Exactness:
    """Tell whether everything that decides resources of a cell was followed.

    It was where the tool is exact. Of a sampled tool it was where all that is missing are values of
    arguments and facts that neither a rule which can decide about the cell tests nor any resource depends on.
    """
    if examined.exactness == "not examined":
        return "not examined"
    space = examined.space
    unread = {index: variable for index, variable in indexed(VariableIndex, space.variables) if variable.gaps}
    if not examined.gaps <= {gap for variable in unread.values() for gap in variable.gaps}:
        return "sampled"
    resources = {("args", name) for source in space.sources for name in source.places}
    of_resources = {index for index, each in unread.items() if resources & {*each.places}}
    if of_resources or unread.keys() & {*space.modes.role_variables}:
        return "sampled"
    missing = {predicate.key for variable in unread.values() for predicate in variable.predicates}
    asked = {
        key for steps in space.diagrams.decision_lists(cell) for step in steps for key in step.predicates
    }
    return "sampled" if missing & asked else "exact"


def _said(path: DiagramPath) -> tuple[str, str | None, str | None]:
    """Return verdict, clause and approver at the end of a path."""
    said = path.outcome[0]
    return (str(said[0]), said[1], said[2]) if isinstance(said, tuple) else (Verdict.DENY.value, None, None)


def _grouped(tables: Iterable[Table]) -> tuple[Table, ...]:
    """Put tools together that are decided alike."""
    groups: dict[Table, list[str]] = {}
    for table in tables:
        groups.setdefault(table.model_copy(update={"tools": ()}), []).extend(table.tools)
    merged = [table.model_copy(update={"tools": tuple(sorted(tools))}) for table, tools in groups.items()]
    return tuple(sorted(merged, key=lambda table: table.tools))
