"""Tools that no call can use, whatever the rules say of them."""

from __future__ import annotations

from collections.abc import Iterator

from ironcurtain.analysis.findings.draft import FindingDraft
from ironcurtain.analysis.findings.finder import FinderInputs
from ironcurtain.system.text import visible

REMEDY = "Ask whoever wrote the server for a schema without that, or leave the tool out."


def unusable_tools(inputs: FinderInputs) -> Iterator[FindingDraft]:
    """Yield the tools whose schema cannot be evaluated, so that every call of them is denied."""
    analysis = inputs.context.analysis
    policy = analysis.policies[0].policy
    for server, name in analysis.tools:
        validated = policy.tool(server, name)
        if validated is not None and validated.unusable is not None:
            tool = f"{visible(server)}/{visible(name)}"
            yield FindingDraft(
                kind="unusable-tool",
                severity="note",
                about=[server, name],
                where=tool,
                message=f"every call of {tool} is denied, since its schema cannot be evaluated: "
                f"{validated.unusable}",
                suggestion=REMEDY,
            )
