"""Drift as people read it."""

from __future__ import annotations

from collections.abc import Iterator

from ironcurtain.analysis.drift.report import ChangedArguments, DriftedTool, DriftReport
from ironcurtain.analysis.matrix.text import exactness_mark, outcome_words, places
from ironcurtain.system.text import counted, printable, visible

_FATE = {
    "added": "is new; it is denied until it is annotated",
    "gone": "is gone",
    "changed": "changed ({changed}); it is denied until it is annotated again",
}


def text_lines(report: DriftReport) -> Iterator[str]:
    """Yield a report as lines of plain text."""
    for tool in report.tools:
        fate = _FATE[tool.kind].format(changed=" and ".join(tool.changed))
        yield f"{tool.server}/{visible(tool.tool)} {fate}"
        yield from (f"    {line}" for line in _details(tool))
    yield from (f"unpinned: {visible(tool)}: its annotation holds no digest" for tool in report.unpinned)
    yield from (f"not read: {server}" for server in report.unread)
    yield f"{counted(len(report.tools), 'tool')} drifted, {report.unchanged} as annotated"


def _details(tool: DriftedTool) -> Iterator[str]:
    yield from (f"WARNING: {printable(text)}" for text in tool.texts)
    yield from argument_lines(tool.arguments)
    would = "would be judged by" if tool.kind == "added" else "rule"
    for rule in tool.rules:
        yield f"{would} {visible(rule.rule)} ({rule.then}, clause {visible(rule.clause)})"
    for row in tool.rows:
        shown = "; ".join(outcome_words(row, outcome) for outcome in row.outcomes)
        place = f"{', '.join(row.roles)} in {places(row)}{exactness_mark(row)}"
        yield f"cell {place}: {' '.join(shown.split())}"


def argument_lines(arguments: ChangedArguments) -> Iterator[str]:
    """Yield a line for each argument that came, went, was renamed or takes other values."""
    yield from (f"argument {visible(a)} is now called {visible(b)}" for a, b in arguments.renamed.items())
    yield from (f"argument {visible(name)} is gone" for name in arguments.gone)
    yield from (f"argument {visible(name)} is new" for name in arguments.added)
    yield from (f"the schema of argument {visible(name)} changed" for name in arguments.schema_changed)
