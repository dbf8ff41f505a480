"""Which rows of a decision matrix, and which scenarios, are decided otherwise than before, line by line.

It compares two records, in no time; `difference` compares two policies, with calls that show it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from ironcurtain.analysis.matrix.report import Matrix, Row
from ironcurtain.model.scenarios import Scenario
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import printable, visible

_RowPlace: TypeAlias = tuple[str, str, str, str]
"""Server, tool, role, where."""


def matrix_changes(before: Matrix, after: Matrix) -> Iterator[str]:
    """Yield a line for each role in each place that is decided otherwise, tools that changed alike together.

    Clauses do not count: their numbers move.
    """
    old, new = _decided(before), _decided(after)
    alike: dict[tuple[str, str], list[str]] = {}
    for place in dict.fromkeys((*old, *new)):
        server, tool, role, where = place
        was, now = old.get(place, "not named"), new.get(place, "not named")
        if was != now:
            change = f"{role} in {visible(where)}: {was} -> {now}"
            alike.setdefault((visible(server), change), []).append(visible(tool))
    for (server, change), tools in alike.items():
        yield f"{server} {', '.join(tools)}: {change}"


def scenario_changes(before: Sequence[Scenario], after: Sequence[Scenario]) -> Iterator[str]:
    """Yield a line for each scenario of people or models whose call has another verdict than before."""
    old = {_call(scenario): scenario.expect for scenario in before}
    for scenario in after:
        was = old.get(_call(scenario))
        if scenario.origin != "generated" and was is not None and was is not scenario.expect:
            yield f"scenario {visible(scenario.id)}: {was} -> {scenario.expect}"


def _call(scenario: Scenario) -> bytes:
    call: JsonValue = scenario.call.model_dump(mode="json", exclude_unset=True)
    return json_text.canonical(call)


def _decided(matrix: Matrix) -> Mapping[_RowPlace, str]:
    return {
        (server, tool, role, where): _verdicts(row)
        for server, tables in matrix.servers.items()
        for table in tables
        for row in table.rows
        for tool in table.tools
        for role in row.roles
        for where in row.where
    }


def _verdicts(row: Row) -> str:
    said = [
        f"{outcome.verdict} when {'; '.join(map(printable, outcome.when))}" if outcome.when
        else str(outcome.verdict)
        for outcome in row.outcomes
    ]  # fmt: skip
    return " or ".join(dict.fromkeys(said))
