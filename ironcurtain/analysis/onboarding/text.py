"""How far a new server has come, as text."""

from __future__ import annotations

from collections.abc import Iterator

from ironcurtain.analysis.matrix.text import exactness_mark, outcome_words, places
from ironcurtain.analysis.onboarding.report import Onboarding
from ironcurtain.system.text import visible


def text_lines(report: Onboarding) -> Iterator[str]:
    """Yield what the published policy decides about the new tools, and the commands that lead on."""
    if report.revision is None:
        yield "no policy is published yet: every call is denied until one is compiled"
    for tool in report.tools:
        if tool.status == "known":
            continue
        yield f"{tool.status} to the policy: {visible(tool.tool)}"
        for row in tool.rows:
            shown = "; ".join(" ".join(outcome_words(row, outcome).split()) for outcome in row.outcomes)
            mark = "uncovered: " if row in tool.uncovered else ""
            yield f"    {mark}{', '.join(row.roles)} in {places(row)}{exactness_mark(row)}: {shown}"
    uncovered = sum(len(tool.uncovered) for tool in report.tools)
    cells = sum(len(tool.rows) for tool in report.tools)
    if report.stage == "annotated":
        if cells:
            yield f"{uncovered} of {cells} cells are uncovered: denied until the constitution says otherwise"
        yield f"next: say in the constitution what {report.server} may do, then"
    else:
        yield f"{report.server} is in the published policy; next:"
    yield from (f"    {command}" for command in report.next)
