"""An attack's report as plain text."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ironcurtain.analysis.attack.report import AttackCall, AttackReport, Break, Live
from ironcurtain.system.text import counted, marked, visible

_PLURALS = {"scenario": "scenarios", "witness": "witnesses", "recorded": "recorded calls"}


def report_lines(report: AttackReport) -> Iterator[str]:
    """Yield the report as lines of plain text, the smallest breaking pair first."""
    for a_break in report.breaks:
        yield from break_lines(a_break)
    if report.live is not None:
        yield from _live_lines(report.live)
    bases = ", ".join(f"{count} {_PLURALS[origin]}" for origin, count in report.bases.items())
    tried = counted(sum(report.tried.values()), "respelled call")
    yield f"{tried} of {bases or 'no calls'} (at most {report.maximum})"
    yield from (f"left out: {left_out.count} {visible(left_out.what)}" for left_out in report.left_out)
    yield summary(report)


def summary(report: AttackReport) -> str:
    """Return in one sentence what was found."""
    if report.outcome == "not found":
        return "not found: nothing respelled gets further than what it stands for; a search, no proof"
    pairs = sum(a_break.count for a_break in report.breaks)
    if not pairs:
        return "found: a real server touched what had not been judged"
    further = counted(
        pairs,
        "respelled call gets further than what it stands for",
        "respelled calls get further than what they stand for",
    )
    return f"found: {further} ({counted(len(report.breaks), 'kind')})"


def break_lines(a_break: Break) -> Iterator[str]:
    """Yield a breaking pair: what was done, the call, and what it stands for."""
    times = f", {a_break.count} times" if a_break.count > 1 else ""
    yield f"{a_break.kind}  {visible(a_break.respelling)}, the same to {visible(a_break.taken_by)}{times}"
    yield f"  {_words(a_break.base)} ({visible(a_break.origin)})"
    yield from (f"  {_words(call)}" for call in a_break.calls)
    if a_break.world:
        yield f"  with {visible(a_break.world)}"


def _live_lines(live: Live) -> Iterator[str]:
    for stray in live.strays:
        given = marked(json.dumps(stray.arguments, ensure_ascii=False))
        yield f"stray  {visible(stray.server)}/{visible(stray.tool)} {given}"
        yield f"  judged:  {', '.join(map(visible, stray.judged))}"
        yield f"  touched: {', '.join(map(visible, stray.touched))}"
    contained = ", ".join(f"{visible(name)} ({visible(how)})" for name, how in live.isolation.items())
    yield (
        f"live: {counted(live.sent, 'call')} sent to {contained or 'no server'}, {live.answered} answered, "
        f"{live.refused} denied and not sent, {len(live.strays)} touched what was not judged"
    )


def _words(call: AttackCall) -> str:
    given = call.arguments
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    caller = f" as {marked(json.dumps(call.caller, ensure_ascii=False))}" if call.caller else ""
    clause = f" ({call.clause})" if call.clause else ""
    decided = f"{call.verdict} by {visible(call.rule)}{clause}"
    return f"{decided}: {visible(call.server)}/{visible(call.tool)} {marked(text)}{caller}"
