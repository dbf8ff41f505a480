"""What `ironcurtain blame` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ironcurtain.integrations.gate.git import Change
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen
from ironcurtain.system.text import in_quotes, visible


class Outcome(Frozen):
    """How one bundle decides the call.

    Attributes:
        clause: The sentence that decides, by its id; `text` are its words and `source` its `FILE:LINE` then.
    """

    verdict: Verdict
    rule: str
    clause: str | None = None
    text: str = ""
    source: str = ""


class Blame(Frozen):
    """The commit from which on a call has been permitted, without a break until now.

    Attributes:
        now: How the project's bundle decides the call.
        since: The commit; None where the call is not permitted.
        after: How the bundle of that commit decides it.
        before: How the bundle before that commit did; None where there was none.
        sentence_before: The words of the sentence of `after` before that commit; None where it was not there.
        written: The commit from which on the constitution has had the sentence of `after`; None where the
            file does not have it in these words.
        unknown: Why it may have been permitted before that commit, too; empty where it was not.
    """

    format: Literal["ironcurtain/blame/v1"] = "ironcurtain/blame/v1"
    server: str
    tool: str
    now: Outcome
    since: Change | None = None
    after: Outcome | None = None
    before: Outcome | None = None
    sentence_before: str | None = None
    written: Change | None = None
    unknown: str = ""


def blame_lines(blame: Blame) -> Iterator[str]:
    """Yield the report as a person reads it."""
    yield f"{blame.now.verdict.upper()} {visible(blame.server)}/{visible(blame.tool)}: now {_said(blame.now)}"
    if blame.since is None or blame.after is None:
        yield "It is not permitted, so nothing first permitted it."
        return
    least = "at least since" if blame.unknown else "since"
    yield f"permitted {least} {_named(blame.since)}"
    yield f"  after:  {_said(blame.after)}"
    yield f"  before: {_said(blame.before) if blame.before else 'there was no bundle'}"
    if blame.sentence_before is not None:
        was = blame.sentence_before
        words = "the same: rules, lists or annotations changed" if was == blame.after.text else in_quotes(was)
        yield f"  {visible(blame.after.clause or '')} before: {words}"
    if blame.written is not None and blame.written != blame.since:
        yield f"  the sentence is there since {_named(blame.written)}"
    if blame.unknown:
        yield f"not known: {blame.unknown}"


def _named(commit: Change) -> str:
    about = f"{visible(commit.date)} {visible(commit.author)}: {visible(commit.subject)}"
    return f"{commit.commit[:12]} {about}"


def _said(outcome: Outcome) -> str:
    decided = f"{outcome.verdict} by {visible(outcome.rule)}"
    if outcome.clause is None:
        return f"{decided}, which is no sentence's"
    where = f" ({visible(outcome.source)})" if outcome.source else ""
    return f"{decided}, {visible(outcome.clause)}{where} {in_quotes(outcome.text)}"
