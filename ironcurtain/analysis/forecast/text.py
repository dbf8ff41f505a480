"""A forecast as people read it."""

from __future__ import annotations

from collections.abc import Iterator

from ironcurtain.analysis.diff.text import text_lines as difference_lines
from ironcurtain.analysis.forecast.report import Forecast
from ironcurtain.system import json_text
from ironcurtain.system.text import visible


def text_lines(result: Forecast) -> Iterator[str]:
    """Yield a forecast as plain text."""
    budget = f" (budget {_number(result.budget)})" if result.budget is not None else ""
    yield f"{_number(result.approvals)} approvals per session{budget}, of {_number(result.calls)} calls"
    if result.unknown:
        yield f"unknown: {_number(result.unknown)} calls per session may need one, too"
    for clause in result.clauses:
        words = f" {visible(clause.text)}" if clause.text else ""
        yield f"  {_number(clause.approvals):>8}  {visible(clause.clause)}{words}"
        yield f"            {', '.join(visible(tool) for tool in clause.tools)}"
    if result.suggestion is not None:
        suggestion = result.suggestion
        yield ""
        before, approvals = visible(suggestion.before), _number(suggestion.approvals)
        yield f"With this rule before {before} it would be {approvals}:"
        rule = suggestion.rule.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        yield from (f"  {visible(line)}" for line in json_text.pretty(rule).splitlines())
        yield ""
        yield "What it would change:"
        yield from (f"  {line}" for line in difference_lines(suggestion.difference))


def _number(value: float | None) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if value is not None else "-"
