"""Explanations as text for a terminal and as markdown for a review."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from ironcurtain.analysis.clauses.outcomes_text import outcome_words, report_lines
from ironcurtain.analysis.clauses.report import ClauseExplanation, ClauseReport
from ironcurtain.analysis.engine.proof import reason_line
from ironcurtain.analysis.explain.report import (
    ExplainedResource,
    Explanation,
    QuotedClause,
    Reproduction,
    Suggestion,
)
from ironcurtain.analysis.matrix.text import exactness_mark
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import marked, printable, visible

_MARKS = {True: "passed", False: "ended here", None: "not reached"}
_ESCAPED = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>#|!~&"})


def text_lines(explanation: Explanation) -> Iterator[str]:
    """Yield an explanation for a person at a terminal."""
    decision = explanation.decision
    yield f"{decision.verdict.upper()}  {visible(decision.server)}/{visible(decision.tool)}"
    yield f"  rule:    {visible(decision.rule)}"
    yield f"  reason:  {printable(decision.reason)}"
    yield ""
    yield "The way through the seven steps"
    for step in explanation.steps:
        yield f"  {step.number}. {step.name}: {_MARKS[step.passed]}"
        yield from (f"     {printable(line)}" for line in step.found)
    for resource in explanation.subjects:
        yield ""
        yield from _resource_lines(resource, explanation)
    yield ""
    yield from _what_else(explanation)
    yield from _recorded(explanation)


def markdown_lines(explanation: Explanation) -> Iterator[str]:
    """Yield an explanation as markdown."""
    decision = explanation.decision
    yield f"# {decision.verdict.capitalize()}: {_md(decision.server)}/{_md(decision.tool)}"
    yield ""
    yield f"By **{_md(decision.rule)}**: {_md(decision.reason)}"
    yield ""
    yield "| step | | found |"
    yield "|---|---|---|"
    for step in explanation.steps:
        details = "<br>".join(map(_md, step.found))
        yield f"| {step.number}. {step.name} | {_MARKS[step.passed]} | {details} |"
    for resource in explanation.subjects:
        yield ""
        yield from _block(_resource_lines(resource, explanation))
    yield ""
    yield from _block(_what_else(explanation))
    yield from _block(_recorded(explanation))


def _block(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines as markdown: the indented ones are a list."""
    for line in lines:
        yield f"- {_md(line.strip())}" if line.startswith(" ") else f"\n{_md(line)}\n"


def _resource_lines(resource: ExplainedResource, explanation: Explanation) -> Iterator[str]:
    clauses = {clause.id: clause for clause in explanation.clauses}
    where = (
        f"{visible(resource.at)}: {resource.role} {visible(resource.value)}" if resource.at else "the call"
    )
    yield f"{resource.verdict.upper()} {where} ({visible(resource.rule)})"
    if resource.reason:
        yield f"  because: {visible(resource.reason)}"
    if resource.clause in clauses:
        yield f"  clause:  {_quoted(clauses[resource.clause])}"
    if resource.patterns:
        yield f"  lies in: {', '.join(map(visible, resource.patterns))}"
    if resource.verdict is Verdict.ALLOW:
        return
    for near in resource.near:
        yield f"  close:   {visible(near.rule)} ({near.then}), failed: {'; '.join(near.failed)}"
        if near.clause in clauses:
            yield f"           {_quoted(clauses[near.clause])}"


def _quoted(clause: QuotedClause) -> str:
    place = f" ({visible(clause.file)}:{clause.line})" if clause.line else ""
    return f'{visible(clause.id)}{place} "{visible(clause.text)}"'


def _asked_lines(explanation: Explanation) -> Iterator[str]:
    """Yield whose approval permits an escalated call, and what they must check."""
    names = ", ".join(map(visible, explanation.decision.approvers))
    whose = f"The approval of {names}" if names else "A person's approval"
    yield f"{whose} permits this call."
    for name, approver in explanation.approvers.items():
        unenforced = ": asked of them, so not enforced against them" if approver.is_caller else ""
        yield f"  {visible(name)} is {visible(approver.meaning)}{unenforced}"
    for check in explanation.decision.checks:
        yield f'  to check: {visible(check.clause)} "{visible(check.text)}"'


def _what_else(explanation: Explanation) -> Iterator[str]:
    decision = explanation.decision
    if decision.verdict is Verdict.ALLOW:
        return
    if decision.verdict is Verdict.ESCALATE:
        yield from _asked_lines(explanation)
    else:
        yield "No approval can permit this call."
    if not explanation.suggestions:
        further = "is allowed" if decision.verdict is Verdict.ESCALATE else "gets further"
        yield f"No call near it was found that {further}."
    else:
        yield f"Near it, each decided just now: {explanation.suggestions[0].verdict}"
        yield from (f"  {_call(suggestion)}" for suggestion in explanation.suggestions)
    if explanation.other_facts:
        yield "The same call, if it were so, each decided just now:"
        yield from (f"  {other.verdict:<9}{printable(other.words)}" for other in explanation.other_facts)


def _call(suggestion: Suggestion) -> str:
    return f"{visible(suggestion.server)} {visible(suggestion.tool)} {_json(suggestion.arguments)}"


def _json(value: Mapping[str, JsonValue]) -> str:
    # JSON has its own escapes for what a person could not see; backslashes of others must stay single.
    return marked(json.dumps(value, ensure_ascii=False))


def _recorded(explanation: Explanation) -> Iterator[str]:
    yield from _compared("The record's own bundle", explanation.reproduction)
    yield from _compared("Today's bundle", explanation.today)


def _compared(what: str, reproduction: Reproduction | None) -> Iterator[str]:
    if reproduction is None:
        return
    how = "as recorded" if reproduction.same else "otherwise"
    yield f"{what} ({reproduction.revision}) decides it {how}."
    yield from (f"  {line}" for line in reproduction.differences)


def clause_text_lines(explanation: ClauseExplanation) -> Iterator[str]:
    """Yield what a clause causes, for a terminal."""
    yield _quoted(explanation.clause)
    yield ""
    yield f"{visible(explanation.clause.id)} {outcome_words(explanation.outcome)}"
    yield ""
    yield f"Rules: {len(explanation.rules)}"
    for rule in explanation.rules:
        yield f"  {rule.order}. {visible(rule.name)} ({rule.then}): {visible(rule.reason)}"
    yield ""
    exact = explanation.exactness == "exact"
    doubt = "" if exact else f" ({explanation.exactness}: not every kind of call was examined)"
    yield f"Where it decides: {len(explanation.cells)}{doubt}"
    for tool, reasons in explanation.reasons.items():
        yield from (f"  {reason_line(visible(reason), visible(tool))}" for reason in reasons)
    for cell in explanation.cells:
        when = f" when {'; '.join(map(printable, cell.when))}" if cell.when else ""
        where = ", ".join(map(visible, cell.where))
        place = f"{visible(cell.server)}/{visible(cell.tool)} {', '.join(cell.roles)} in {where}"
        yield f"  {cell.verdict:<9}{place}{when}{exactness_mark(cell)}"
    yield ""
    yield f"Calls that it decides: {len(explanation.examples)}"
    for call in explanation.examples:
        caller = f" for {_json(call.caller)}" if call.caller else ""
        caller += f" with the facts {_json(call.facts)}" if call.facts else ""
        name = f"{visible(call.server)} {visible(call.tool)}"
        yield f"  {call.verdict:<9}{name} {_json(call.arguments)}{caller}"
    yield ""
    yield f"Scenarios that test it: {', '.join(map(visible, explanation.scenarios)) or 'none'}"


def clause_markdown_lines(explanation: ClauseExplanation) -> Iterator[str]:
    """Yield what a clause causes, as markdown."""
    first, *others = clause_text_lines(explanation)
    yield f"# {_md(first)}"
    yield from _block(line for line in others if line)


def report_markdown_lines(report: ClauseReport) -> Iterator[str]:
    """Yield what becomes of each clause, as markdown."""
    yield "# Clauses"
    yield from _block(report_lines(report))


def joined(lines: Iterable[str]) -> str:
    """Return lines as one text."""
    return "\n".join(lines).rstrip()


def _md(text: str) -> str:
    return printable(text).translate(_ESCAPED)
