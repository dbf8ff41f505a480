"""Drift: what changed in the tools of live servers since a policy's annotations were made for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from ironcurtain.analysis.matrix.report import Row
from ironcurtain.analysis.matrix.text import exactness_mark, outcome_words, places
from ironcurtain.decision.comparison import Deviation, Part, confirm_line, reason, remedy
from ironcurtain.model.varying import Varying
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
        difference: The first place where its text or schema differs, quoted; empty where the annotated text
            is not there.
        varying: What to confirm where its description depends on where the server runs, if that suffices.
        texts: What in the live texts speaks to the model or hides characters, quoted.
        rows: What the policy decides about the tool as it was annotated; empty for a new one.
    """

    server: ServerName
    tool: str
    kind: Literal["added", "gone", "changed"]
    changed: tuple[Part, ...] = ()
    difference: str = ""
    varying: Varying | None = None
    arguments: ChangedArguments = ChangedArguments()
    texts: tuple[str, ...] = ()
    rules: tuple[TouchedRule, ...] = ()
    rows: tuple[Row, ...] = ()


class DriftedText(Frozen):
    """Instructions or a prompt of a server that are not as they were annotated."""

    server: ServerName
    deviation: Deviation


class DriftReport(Frozen):
    """The drift of the servers that were read.

    Attributes:
        revision: The policy's.
        tools: The tools that changed; enforcement denies all their calls until they are annotated again.
        unchanged: How many tools are as they were annotated; these go on.
        beside: Instructions and prompts that changed; clients do not get them.
        unpinned: Tools (`SERVER/TOOL`) whose annotation holds no digest, so that nobody can tell.
        unpinned_beside: Instructions and prompts (`SERVER/instructions`) that were not read when the server
            was annotated; clients get them as they are.
        unread: Servers of the policy that were not read.
    """

    format: Literal["ironcurtain/drift/v1"] = "ironcurtain/drift/v1"
    revision: str
    tools: tuple[DriftedTool, ...]
    unchanged: int
    beside: tuple[DriftedText, ...] = ()
    unpinned: tuple[str, ...] = ()
    unpinned_beside: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def is_drifted(self) -> bool:
        """Whether anything is not as it was annotated."""
        return bool(self.tools or self.beside)


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
    for text in report.beside:
        what = {"added": "is new", "gone": "is gone", "changed": reason(text.deviation)}[text.deviation.kind]
        yield f"{text.server}: {text.deviation.shown}: {what}"
        if text.deviation.kind == "changed":
            yield f"    {remedy(text.server, text.deviation)}"
    yield from (f"unpinned: {visible(tool)}: its annotation holds no digest" for tool in report.unpinned)
    yield from (
        f"unpinned: {visible(what)}: not read when the server was annotated; compile again to pin it"
        for what in report.unpinned_beside
    )
    yield from (f"not read: {server}" for server in report.unread)
    yield f"{counted(len(report.tools), 'tool')} drifted, {report.unchanged} as annotated"


def _details(tool: DriftedTool) -> Iterator[str]:
    yield from (f"WARNING: {printable(text)}" for text in tool.texts)
    if tool.difference:
        yield f"differs: {printable(tool.difference)}"
    if tool.varying is not None:
        yield confirm_line(tool.server, tool.varying)
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
