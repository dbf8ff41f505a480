"""Tools that no call can use, whatever the rules say of them."""

from __future__ import annotations

from collections.abc import Iterator

from ironcurtain.analysis.findings.draft import FindingContext, FindingDraft
from ironcurtain.system.text import visible

MEND = "Ask whoever wrote the server for a schema without that, or leave the tool out."


def tool_drafts(looked: FindingContext) -> Iterator[FindingDraft]:
    """Yield the tools whose schema cannot be evaluated, so that every call of them is denied."""
    policy = looked.examined.sides.sides[0].policy
    for server, name in looked.examined.tools:
        fitted = policy.tool(server, name)
        if fitted is not None and fitted.unusable is not None:
            tool = f"{visible(server)}/{visible(name)}"
            yield FindingDraft(
                kind="unusable-tool",
                severity="note",
                about=[server, name],
                where=tool,
                message=f"every call of {tool} is denied, since its schema cannot be evaluated: "
                f"{fitted.unusable}",
                suggestion=MEND,
            )
