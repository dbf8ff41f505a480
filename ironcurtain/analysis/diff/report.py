"""What changed between two policies (`ironcurtain diff`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from pydantic import Field

from ironcurtain.analysis.engine.proof import NOT_EXAMINED, Exactness, Proof
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen, JsonValue, is_empty
from ironcurtain.system.text import marked, printable, visible

Direction = Literal["loosened", "tightened"]
_ALIKE: Mapping[Exactness, Proof] = {
    "exact": Proof.PROVED,
    "sampled": Proof.NOT_FOUND,
    "not examined": Proof.NOT_EXAMINED,
}


class AskedOf(Frozen):
    """Whose approval a rule asks for: the name of an approver, and whether that is the principal."""

    name: str
    is_caller: bool = False


class Decided(Frozen):
    """How one policy decides a call; `approvers` are those that must all approve it, none for anybody."""

    verdict: Verdict
    rule: str
    clause: str | None = None
    approvers: tuple[str, ...] = Field(default=(), exclude_if=is_empty)


class DifferentCall(Frozen):
    """A whole call that the two policies decide differently."""

    server: str
    tool: str
    arguments: dict[str, JsonValue]
    caller: dict[str, JsonValue] = Field(default_factory=dict)
    facts: dict[str, JsonValue] = Field(default_factory=dict)
    old: Decided
    new: Decided


class Change(Frozen):
    """Resources whose verdict changed, or the approver that an `escalate` names.

    Attributes:
        id: Stable over runs: a digest of what changed.
        tools: `server/tool` of every tool that it concerns.
        where: The places, as in the matrix; empty for whole tools.
        when: What else must be so.
        old: The resource's verdict before; None where there was no such tool.
        new: Its verdict now; None where there is no such tool.
        old_asked: Of an `escalate`, whose approval was asked for; None for anybody's. `new_asked`: now.
        old_rules: The rules behind it before, each with its clause; `new_rules` those now.
        witness: A call whose decision differs.
        masked_by: Where no call differs: the rules that decide such calls under both policies.
        note: Why there is neither.
        meaning: Digest of all that the words stand for under both policies; approvals bind to it.
    """

    id: str
    direction: Direction
    tools: tuple[str, ...]
    roles: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    old: Verdict | None = None
    new: Verdict | None = None
    old_asked: AskedOf | None = Field(default=None, exclude_if=is_empty)
    new_asked: AskedOf | None = Field(default=None, exclude_if=is_empty)
    old_rules: tuple[str, ...] = ()
    new_rules: tuple[str, ...] = ()
    witness: DifferentCall | None = None
    masked_by: tuple[str, ...] = ()
    note: str = ""
    meaning: str = ""


class OtherWords(Frozen):
    """A sentence, or what is told of a rule (its clause and reason), that is not the same in both policies.

    Attributes:
        name: The clause's id or the rule's name.
        old: Its words before; None where there was none. `new`: its words now.
    """

    of: Literal["clause", "rule"]
    name: str
    old: str | None = None
    new: str | None = None


class Difference(Frozen):
    """The result of comparing two policies in one assumed world.

    Attributes:
        exactness: `sampled` where something may have been missed, for the `reasons` given.
        changes: What was found. Where there are none, that the policies decide every call alike is `proved`
            if the comparison is exact; otherwise no difference was found, and that is all.
        begins_empty: Counters and labels on which nothing is booked when the new policy replaces the old one,
            each with what it is: what was booked before does not count for them.
        words: What the policies say in other words, from which no verdict follows.
    """

    format: Literal["ironcurtain/difference/v1"] = "ironcurtain/difference/v1"
    old_revision: str
    new_revision: str
    exactness: Exactness
    reasons: tuple[str, ...] = ()
    changes: tuple[Change, ...]
    begins_empty: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    words: tuple[OtherWords, ...] = Field(default=(), exclude_if=is_empty)
    world: DescribedWorld

    @property
    def proof(self) -> Proof:
        """Whether a difference was found, or that there is none is proved, or none was found."""
        return Proof.FOUND if self.changes else _ALIKE[self.exactness]

    @property
    def loosened(self) -> tuple[Change, ...]:
        """The changes that permit more than before and that some call shows, or might."""
        return tuple(c for c in self.changes if c.direction == "loosened" and not c.masked_by)


_FEW = 3


def text_lines(result: Difference, said: Mapping[str, Sequence[str]] | None = None) -> Iterator[str]:
    """Yield a difference as plain text: what is loosened first, then what is tightened.

    Args:
        result: The difference.
        said: By change id, what else is to be said of a change.
    """
    yield from _lines(result, said or {}, heading="{}", change="  {}", detail="      {}")


def markdown_lines(result: Difference, said: Mapping[str, Sequence[str]] | None = None) -> Iterator[str]:
    """Yield a difference as markdown; arguments as for `text_lines`."""
    lines = _lines(result, said or {}, heading="## {}\n", change="- {}", detail="  - {}", markdown=True)
    for number, line in enumerate(lines):
        yield f"\n{line}" if number and line.startswith("## ") else line


def _lines(
    result: Difference,
    said: Mapping[str, Sequence[str]],
    *,
    heading: str,
    change: str,
    detail: str,
    markdown: bool = False,
) -> Iterator[str]:
    show = escaped if markdown else printable
    for direction in ("loosened", "tightened"):
        changes = [each for each in result.changes if each.direction == direction]
        if changes:
            yield heading.format(f"{direction.capitalize()}: {len(changes)}")
        for each in changes:
            yield change.format(f"{show(statement(each))} ({each.id})")
            yield from (detail.format(show(line)) for line in (*details(each), *said.get(each.id, ())))
    if result.begins_empty:
        yield heading.format(f"Begins with nothing booked: {len(result.begins_empty)}")
    yield from (change.format(show(visible(each))) for each in result.begins_empty)
    if result.words:
        yield heading.format(f"In other words: {len(result.words)}")
    for words in result.words:
        yield change.format(show(words_statement(words)))
        yield from (detail.format(show(line)) for line in words_details(words))
    if result.proof is not Proof.FOUND:
        yield same_words(result.proof)
    yield from (f"{_doubt(reason)}{show(visible(reason))}" for reason in result.reasons)


def _doubt(reason: str) -> str:
    return "" if NOT_EXAMINED in reason else "sampled, not exact: "


_NONE_FOUND = "No call was found that the two policies decide differently"


def same_words(proof: Proof) -> str:
    """Return what is known of policies between which no difference was found."""
    if proof is Proof.PROVED:
        return "The two policies decide every call alike: proved."
    if proof is Proof.NOT_EXAMINED:
        return f"{_NONE_FOUND}; of some tools no call could be made."
    return f"{_NONE_FOUND}; that there is none is not proved."


def words_statement(words: OtherWords) -> str:
    """Return in one line what is said otherwise; safe to show."""
    how = "is new" if words.old is None else "is gone" if words.new is None else "says it otherwise"
    return f"{words.of} {visible(words.name)} {how}"


def words_details(words: OtherWords) -> Iterator[str]:
    """Yield the words on both sides; safe to show."""
    if words.old is not None:
        yield f"was: {visible(words.old)}"
    if words.new is not None:
        yield f"now: {visible(words.new)}"


def statement(change: Change) -> str:
    """Return a change as one sentence that is safe to show."""
    tools = _tools(change.tools)
    if not change.roles:
        return f"{tools}: {visible(change.note)}"
    when = f" when {'; '.join(change.when)}" if change.when else ""
    places = f"{', '.join(change.roles)} in {', '.join(map(visible, change.where))}"
    named = change.old_asked is not None or change.new_asked is not None
    old = _said(change.old, change.old_asked, named=named)
    new = _said(change.new, change.new_asked, named=named)
    return f"{places}{when}: {old} → {new} for {tools}"


def _said(verdict: Verdict | None, asked: AskedOf | None, *, named: bool) -> str:
    """Return a verdict with whose approval it asks for, where one of both sides names an approver."""
    if verdict is not Verdict.ESCALATE or not named:
        return str(verdict)
    if asked is None:
        return f"{verdict} asked of anybody"
    name = visible(asked.name)
    unenforced = f", so not enforced against {name}" if asked.is_caller else ""
    return f"{verdict} asked of {name}{unenforced}"


def _tools(tools: tuple[str, ...]) -> str:
    if len(tools) <= _FEW:
        return ", ".join(map(visible, tools))
    return f"{len(tools)} tools ({', '.join(map(visible, tools[:_FEW]))}, …)"


def details(change: Change) -> Iterator[str]:
    """Yield what shows a change: the rules on both sides, and a call or what hides it; safe to show."""
    if change.old_rules or change.new_rules:
        yield f"was by {_names(change.old_rules)}, now by {_names(change.new_rules)}"
    if change.witness is not None:
        yield _call(change.witness)
    elif change.masked_by:
        yield f"no call shows it: masked by {_names(change.masked_by)}"
    elif change.roles and change.note:
        yield visible(change.note)


def _names(rules: Iterable[str]) -> str:
    return ", ".join(map(visible, rules)) or "nothing"


def _call(call: DifferentCall) -> str:
    caller = f" as {_json(call.caller)}" if call.caller else ""
    caller += f" with the facts {_json(call.facts)}" if call.facts else ""
    return (
        f"for example {visible(call.server)}/{visible(call.tool)} {_json(call.arguments)}{caller}: "
        f"{_decided(call.old)} → {_decided(call.new)}"
    )


def _decided(decided: Decided) -> str:
    asked = f" asked of {' and '.join(map(visible, decided.approvers))}" if decided.approvers else ""
    return f"{decided.verdict} by {visible(decided.rule)}{asked}"


def _json(value: JsonValue) -> str:
    return marked(json.dumps(value, ensure_ascii=False))


def escaped(text: str) -> str:
    """Return text for markdown that means nothing there: no markup, no HTML, no link, nobody mentioned."""
    shown = printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for mark in "\\`*_[]|#~!":
        shown = shown.replace(mark, f"\\{mark}")
    # Names after @ and addresses are linked after the escapes are gone; an empty comment parts them.
    return shown.replace("@", "@<!-- -->").replace("://", ":<!-- -->//").replace("www.", "www<!-- -->.")
