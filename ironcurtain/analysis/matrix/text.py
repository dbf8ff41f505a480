"""The decision matrix as text for a terminal and as markdown for a review."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ironcurtain.analysis.clauses.report import ClauseCell
from ironcurtain.analysis.engine.proof import reason_line
from ironcurtain.analysis.matrix.report import Matrix, Row, RowOutcome, Table
from ironcurtain.system.text import marked, printable, visible

_NO_RULE = {"allow": "the sandbox", "deny": "no rule", "escalate": "no rule"}


_HEADER = ("| role | where | when | verdict | clause | floor |", "|---|---|---|---|---|---|")


def text_lines(matrix: Matrix) -> Iterator[str]:
    """Yield the matrix as plain text, a block for each group of tools that are decided alike."""
    yield from (f"caller {line}" for line in caller_lines(matrix))
    if matrix.caller:
        yield ""
    for server, tables in matrix.servers.items():
        for table in tables:
            yield f"{visible(server)}: {', '.join(map(visible, table.tools))}"
            yield from (f"  {reason_line(visible(reason))}" for reason in table.reasons)
            if table.checks:
                yield f"  whoever is asked must check: {', '.join(map(visible, table.checks))}"
            for row in table.rows:
                yield f"  {', '.join(row.roles)} in {places(row)}{exactness_mark(row)}"
                yield from (f"    {outcome_words(row, outcome)}" for outcome in row.outcomes)
            yield ""


def markdown_lines(matrix: Matrix) -> Iterator[str]:
    """Yield the matrix as markdown, a table for each group of tools that are decided alike."""
    yield "# What the policy decides"
    yield ""
    sandbox = visible(matrix.world.sandbox or "none")
    yield f"Assumed: home `{visible(matrix.world.home)}`, sandbox `{sandbox}`."
    if matrix.caller:
        yield ""
        yield from (f"- caller {_marked(line)}" for line in caller_lines(matrix))
    for server, tables in matrix.servers.items():
        for table in tables:
            yield ""
            yield f"## {_cell(server)}: {', '.join(map(_cell, table.tools))}"
            yield ""
            for reason in table.reasons:
                yield f"Sampled, not exact: {_cell(reason)}."
                yield ""
            if table.checks:
                yield f"Whoever is asked must check {', '.join(map(_cell, table.checks))}."
                yield ""
            yield from _HEADER
            yield from _markdown_rows(table)


def caller_lines(matrix: Matrix) -> Iterator[str]:
    """Yield what the policy declares about the caller, a line for each fact; safe to show."""
    for key, fact in sorted(matrix.caller.items()):
        example = marked(json.dumps(fact.example, ensure_ascii=False))
        yield (
            f"{visible(key)} ({fact.type}, for example {example}): {visible(fact.meaning)}; "
            f"from {visible(fact.from_)}"
        )


def places(row: Row) -> str:
    """Return the places of a row."""
    return ", ".join(visible(place) for place in row.where)


def exactness_mark(found: Row | ClauseCell) -> str:
    """Return what stands after a row of which a verdict or a condition may be missing."""
    return "" if found.exactness == "exact" else f" ({found.exactness})"


def outcome_words(row: Row, outcome: RowOutcome) -> str:
    """Return one verdict with its clause, its conditions and its minimum verdict."""
    clause = outcome.clause or _NO_RULE[outcome.verdict.value]
    when = f" when {'; '.join(map(printable, outcome.when))}" if outcome.when else ""
    minimum = f" [at least escalate: {row.floor}]" if row.floor else ""
    return f"{outcome.verdict.value:<9}{clause}{approver_words(outcome)}{when}{minimum}"


def approver_words(outcome: RowOutcome) -> str:
    """Return whose approval an outcome asks for, and whether that is the one for whom the agent acts."""
    if outcome.approver is None:
        return ""
    name = visible(outcome.approver)
    unenforced = f", so not enforced against {name}" if outcome.of_caller else ""
    return f" asked of {name}{unenforced}"


def _markdown_rows(table: Table) -> Iterator[str]:
    for row in table.rows:
        for outcome in row.outcomes:
            cells = [
                ", ".join(row.roles),
                ", ".join(map(_cell, row.where)),
                "; ".join(map(_marked, outcome.when)),
                f"{outcome.verdict.value}{_marked(approver_words(outcome))}{exactness_mark(row)}",
                outcome.clause or _NO_RULE[outcome.verdict.value],
                row.floor or "",
            ]
            yield f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    """Show text in a table so that nothing in it is read as markdown."""
    return _marked(visible(text))


def _marked(words: str) -> str:
    """Show words that are safe to show already in a table; `wording` has escaped what they hold."""
    escaped = printable(words)
    for mark in "\\`*_[]<>|#":
        escaped = escaped.replace(mark, f"\\{mark}")
    return escaped
