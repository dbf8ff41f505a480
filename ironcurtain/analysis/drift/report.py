"""Drift: what changed in the tools of live servers since a policy's annotations were made for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from ironcurtain.analysis.matrix.report import Row
from ironcurtain.analysis.matrix.text import exactness_mark, outcome_words, places
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen, ServerName
from ironcurtain.system.text import counted, printable, visible


class ChangedArguments(Frozen):
    """What became of a tool's arguments.

    Attributes:
        renamed: By old name the new one, where exactly one argument went and one of the same schema came.
        schema_changed: Arguments that are still there and take other values.
    """

    added: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    renamed: dict[str, str] = Field(default_factory=dict)
    schema_changed: tuple[str, ...] = ()


class TouchedRule(Frozen):
    """A rule that decides calls of a tool that changed, or that would once a new tool is annotated."""

    rule: str
    clause: str
    then: Verdict


class DriftedTool(Frozen):
    """One tool that is not as it was annotated.

    Attributes:
        kind: `added` has no annotation, `gone` is not listed any more, `changed` has another digest.
        changed: What of a changed tool is different; `listing` is whatever else clients are told: title,
            hints, output schema, icons.
        texts: What in the live texts speaks to the model or hides characters, quoted.
        rows: What the policy decides about the tool as it was annotated; empty for a new one.
    """

    server: ServerName
    tool: str
    kind: Literal["added", "gone", "changed"]
    changed: tuple[Literal["description", "schema", "listing"], ...] = ()
    arguments: ChangedArguments = ChangedArguments()
    texts: tuple[str, ...] = ()
    rules: tuple[TouchedRule, ...] = ()
    rows: tuple[Row, ...] = ()


class DriftReport(Frozen):
    """The drift of the servers that were read.

    Attributes:
        revision: The policy's.
        tools: The tools that changed; enforcement denies all their calls until they are annotated again.
        unchanged: How many tools are as they were annotated; these go on.
        unpinned: Tools (`SERVER/TOOL`) whose annotation holds no digest, so that nobody can tell.
        unread: Servers of the policy that were not read.
    """

    format: Literal["ironcurtain/drift/v1"] = "ironcurtain/drift/v1"
    revision: str
    tools: tuple[DriftedTool, ...]
    unchanged: int
    unpinned: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


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
