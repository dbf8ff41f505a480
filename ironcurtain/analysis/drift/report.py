"""Drift: what changed in the tools of live servers since a policy's annotations were made for them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ironcurtain.analysis.matrix.report import Row
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen, ServerName


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
