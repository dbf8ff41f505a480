"""Advice as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ironcurtain.analysis.advice.report import Advice, Asking, PermittedClass, Proposal, Use
from ironcurtain.analysis.advice.usage import DAY
from ironcurtain.analysis.diff.report import text_lines as difference_lines
from ironcurtain.model.guarantees import GuaranteeResult
from ironcurtain.system.text import counted, visible

_THEN = (
    "Nothing was changed, and no model was asked: a template made these sentences of the rules that were "
    "proved. Write one into the constitution and run `ironcurtain compile`; what it means is what "
    "`ironcurtain diff` then shows, and that has to be the classes above."
)


def text_lines(advice: Advice) -> Iterator[str]:
    """Yield advice as plain text."""
    if advice.asking is not None:
        yield from _asking_lines(advice.asking)
    if advice.logs:
        yield logs_line(advice)
    yield from _instead_lines(advice) if advice.asking is not None else _policy_lines(advice)
    if advice.notes:
        yield ""
        yield from advice.notes
    if advice.proposals:
        yield ""
        yield _THEN


def logs_line(advice: Advice) -> str:
    """Return what the logs are that advice rests on."""
    days, questions = counted(advice.days, "day"), counted(advice.questions, "question")
    return f"{counted(advice.calls, 'call')} on {days}, {questions} ({', '.join(map(visible, advice.logs))})"


def _asking_lines(asking: Asking) -> Iterator[str]:
    yield f"request {asking.request}: {visible(f'{asking.server}/{asking.tool}')}"
    yield f"  why: {visible(asking.reason)}"
    yield f"  rule: {visible(asking.rule)}"
    if asking.clause is not None:
        source = f" ({visible(asking.source)})" if asking.source else ""
        yield f"  {visible(asking.clause)}{source}: {visible(asking.clause_text or '')}"
    else:
        yield "  no sentence of the constitution is known to ask, so a new one may not end the question"
    ended = ", ".join(f"{number:,} {state}" for state, number in asking.before.items())
    yield f"  asked before: {counted(sum(asking.before.values()), 'request')}{ended and f': {ended}'}"


def _instead_lines(advice: Advice) -> Iterator[str]:
    yield ""
    yield f"Instead of being asked always: {counted(len(advice.proposals), 'sentence')} to choose from"
    for proposal in advice.proposals:
        yield from _proposal_lines(proposal)


def _policy_lines(advice: Advice) -> Iterator[str]:
    yield ""
    yield "Used of what is permitted:"
    for use in advice.use:
        yield from _use_lines(use)
    if advice.unplaced:
        yield f"  of no class that was examined: {counted(advice.unplaced, 'call')}"
    fewer = [each for each in advice.proposals if each.kind == "fewer-questions"]
    yield ""
    saved = f"{advice.saved:,} of {counted(advice.questions, 'question')} saved"
    yield f"Fewer questions: {counted(len(fewer), 'sentence')}, {saved}"
    for proposal in fewer:
        yield from _proposal_lines(proposal)
    tighter = [each for each in advice.proposals if each.kind == "tighter"]
    yield ""
    yield f"Tighter sentences: {len(tighter)}"
    for proposal in tighter:
        yield from _proposal_lines(proposal)


def _use_lines(use: Use) -> Iterator[str]:
    place = f"{visible(use.server)}/{visible(use.tool)}"
    clause = visible(use.clause) if use.clause is not None else "the workspace"
    classes = counted(use.permitted, "class", "classes")
    yield f"  {place} {use.verdict} by {clause}: {use.used} of {classes}, {counted(use.calls, 'call')}"
    if use.last is not None:
        more = f" and {use.others} more" if use.others else ""
        callers = ", ".join(visible(caller) or "nobody named" for caller in use.callers)
        yield f"      last {use.last[:DAY]}, for {callers}{more}"
    for each in use.unused:
        yield f"      never used: {class_words(each)}"


def class_words(each: PermittedClass) -> str:
    """Return a class of calls in words."""
    when = f" when {'; '.join(each.when)}" if each.when else ""
    return f"{', '.join(each.roles)} in {', '.join(map(visible, each.where))}{when}"


def _proposal_lines(proposal: Proposal) -> Iterator[str]:
    support = proposal.support
    yield ""
    if proposal.replaces is not None:
        yield f"  instead of {visible(proposal.replaces)}: {visible(proposal.replaced)}"
    yield f"  > {visible(proposal.sentence)}" if proposal.sentence else "  > (no sentence: remove it)"
    calls, days = counted(support.calls, "call"), counted(support.days, "day")
    answers = f", {counted(support.answers, 'answer')}" if support.answers else ""
    yield f"    rests on {calls} on {days} for {counted(support.callers, 'caller')}{answers}"
    if proposal.kind == "fewer-questions":
        yield f"    saves {counted(proposal.saves, 'question')}"
        yield from (f"    opens, though nobody asked: {class_words(each)}" for each in proposal.opens)
        if not proposal.opens:
            yield "    opens no class of which no call was asked about"
    yield f"    replay: {_replayed(proposal)}"
    yield from (f"    {line}" for line in _guarantee_lines(proposal.proof.guarantees, proposal.guarantees))
    yield "    diff:"
    shown = proposal.proof.difference.model_copy(update={"words": ()})
    yield from (f"      {line}" for line in difference_lines(shown))


def _replayed(proposal: Proposal) -> str:
    proof = proposal.proof
    changed = f"{proof.changed:,} escalate → allow" if proof.changed else "none decided otherwise"
    unknown = f", {proof.unknown:,} unknown" if proof.unknown else ""
    return f"{counted(proof.replayed, 'call')}, {changed}{unknown}"


def _guarantee_lines(kept: Sequence[GuaranteeResult], new: Sequence[GuaranteeResult]) -> Iterator[str]:
    if not kept:
        yield "guarantees: none are demanded"
    else:
        proved = sum(each.status == "proved" for each in kept)
        yield f"guarantees: {proved} of {len(kept)} proved"
    for each in new:
        yield f"now proved: {visible(each.id)}: {each.demand}"
