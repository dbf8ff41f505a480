"""Turning a conversation into edits of the user's own guidance: `ironcurtain customize`, before any stage.

The purpose of the prompt is to put a wish into sentences that rules can keep; its inputs are both
constitutions and the conversation; the ways in which it can fail are a sentence that loosens what nobody
spoke of, and an edit that changes more than it says. Against the first the person sees the difference
before anything is written; against the second the edited text is read again and must hold exactly the
clauses that the edits promise.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Literal

from ironcurtain.compiler.llm.question import Question
from ironcurtain.compiler.load.clauses import PlacedClause, read_user_clauses, sentences
from ironcurtain.compiler.load.linter import Finding, lint
from ironcurtain.compiler.questions.schema_parts import (
    STRING,
    Schema,
    array_of,
    closed_object,
    one_of,
    read_answer,
)
from ironcurtain.compiler.questions.templates import as_data, fill
from ironcurtain.system.frozen import Frozen, JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import is_hidden, quoted, visible

MAX_TEXT = 500
"""Characters of a sentence at most."""

_HEADER = "# My own guidance\n\n"
_MARK = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)?(?:>\s*)*")
_STARTS_MARKDOWN = re.compile(r"(?:#|>|[-*+]\s|\d{1,9}[.)]\s|```|~~~|<|---|===|\||\s)")


class ConversationTurn(Frozen):
    """One thing said in the conversation: by the `person`, or by whoever answers (`helper`)."""

    who: str
    said: str


class Edit(Frozen):
    """One change of the user's own guidance.

    Attributes:
        clause: The id of the clause that is replaced or deleted; empty for `add`.
        text: The new sentence; empty for `delete`.
    """

    op: Literal["add", "replace", "delete"]
    clause: str
    text: str


class _Edits(Frozen):
    """The content of an answer."""

    edits: tuple[Edit, ...]
    question: str
    remark: str


class GuidanceProposal(Struct):
    """What an answer comes to.

    Attributes:
        text: The whole of the user's own guidance afterwards.
        difference: The change as a unified diff, safe to show; empty if nothing changes.
        findings: What the linter says about the sentences that are new.
        question: What the person is asked back; there is then no change.
    """

    text: str
    difference: str
    findings: tuple[Finding, ...]
    question: str
    remark: str


def customize_question(
    base: Sequence[PlacedClause], guidance: str, source: str, conversation: Sequence[ConversationTurn]
) -> Question:
    """Ask for the edits that a conversation comes to."""
    clauses = read_user_clauses(guidance, source)
    return Question(
        stage="customize",
        key="customize",
        system=fill("customize.system"),
        prompt=fill(
            "customize.user",
            constitution=as_data([_clause_data(placed) for placed in base]),
            guidance=as_data([_clause_data(placed) for placed in clauses]),
            conversation=as_data([turn.model_dump(mode="json") for turn in conversation]),
        ),
        schema=_schema([placed.clause.id for placed in clauses]),
        check=lambda content: _mistakes(content, guidance, source),
    )


def proposal(content: JsonValue, guidance: str, source: str) -> GuidanceProposal:
    """Return what a valid answer comes to."""
    answer = read_answer(_Edits, content)
    text = _edited(answer.edits, guidance, source)
    lines = difflib.unified_diff(
        guidance.splitlines(), text.splitlines(), f"{source} (now)", f"{source} (proposed)", lineterm=""
    )
    old = {placed.clause.text for placed in read_user_clauses(guidance, source)}
    clauses = read_user_clauses(text, source)
    fresh = {placed.clause.id for placed in clauses if placed.clause.text not in old}
    return GuidanceProposal(
        text=text,
        difference="\n".join(visible(line) for line in lines),
        findings=tuple(finding for finding in lint(clauses) if finding.clause in fresh),
        question=visible(answer.question.strip()),
        remark=visible(answer.remark.strip()),
    )


def _clause_data(placed: PlacedClause) -> dict[str, JsonValue]:
    return {"id": placed.clause.id, "under": list(placed.headings), "text": placed.clause.text}


def _schema(ids: Sequence[str]) -> Schema:
    edit = {
        "op": one_of(["add", "replace", "delete"] if ids else ["add"]),
        "clause": one_of([*ids, ""]),
        "text": STRING,
    }
    return closed_object({"edits": array_of(closed_object(edit)), "question": STRING, "remark": STRING})


def _mistakes(content: JsonValue, guidance: str, source: str) -> list[str]:
    """Return what is wrong with an answer that fits its schema."""
    answer = read_answer(_Edits, content)
    edits = answer.edits
    if answer.question.strip() and edits:
        return ["give either edits or a question"]
    mistakes = [mistake for number, edit in enumerate(edits) for mistake in _edit_mistakes(number, edit)]
    named = [edit.clause for edit in edits if edit.clause]
    if len(named) != len(set(named)):
        mistakes.append("a clause is edited twice")
    if mistakes:
        return mistakes
    before = read_user_clauses(guidance, source)
    after = [placed.clause.text for placed in read_user_clauses(_edited(edits, guidance, source), source)]
    return [] if after == _promised(edits, before) else ["an edit changes more than its own sentence"]


def _edit_mistakes(number: int, edit: Edit) -> list[str]:
    where, text = f"edit {number}", edit.text
    if (edit.op == "add") != (edit.clause == ""):
        return [f"{where}: `clause` is given for `replace` and `delete`, and only for these"]
    if edit.op == "delete":
        return [f"{where}: `text` is empty for `delete`"] if text else []
    if not text.strip() or len(text) > MAX_TEXT:
        return [f"{where}: `text` is empty or has more than {MAX_TEXT} characters"]
    if any(is_hidden(character) for character in text):
        return [f"{where}: {quoted(text)} has a line break or an invisible character"]
    if _STARTS_MARKDOWN.match(text):
        return [f"{where}: {quoted(text)} begins with a mark of Markdown; write the sentence alone"]
    return []


def _promised(edits: Sequence[Edit], before: Sequence[PlacedClause]) -> list[str]:
    """Return the texts of all clauses as the edits promise them."""
    changes = {edit.clause: edit for edit in edits if edit.clause}
    kept = []
    for placed in before:
        edit = changes.get(placed.clause.id)
        if edit is None:
            kept.append(placed.clause.text)
        elif edit.op == "replace":
            kept += sentences(edit.text)
    return kept + [text for edit in edits if edit.op == "add" for text in sentences(edit.text)]


def _edited(edits: Sequence[Edit], guidance: str, source: str) -> str:
    lines = guidance.splitlines()
    changes = {edit.clause: edit for edit in edits if edit.clause}
    paragraphs: dict[tuple[int, int], list[PlacedClause]] = {}
    for placed in read_user_clauses(guidance, source):
        paragraphs.setdefault(placed.lines, []).append(placed)
    for (first, last), clauses in sorted(paragraphs.items(), reverse=True):
        if not any(placed.clause.id in changes for placed in clauses):
            continue
        mark = _MARK.match(lines[first])
        texts = [_written(placed, changes.get(placed.clause.id)) for placed in clauses]
        kept = " ".join(filter(None, texts))  # the text of a deletion is empty
        lines[first:last] = [(mark[0] if mark else "") + kept] if kept else []
    text = "\n".join(lines).rstrip()
    added = [f"- {_one_line(edit.text)}" for edit in edits if edit.op == "add"]
    if added:
        text = _begun(text) + "\n".join(added)
    return f"{text}\n" if text else _HEADER


def _written(placed: PlacedClause, edit: Edit | None) -> str:
    """Return a clause as it is to be written: edited or not, it keeps the id that stands behind it."""
    text = placed.clause.text if edit is None else _one_line(edit.text)
    return f"{text} {{#{placed.written}}}" if text and placed.written else text


def _begun(text: str) -> str:
    """Return the text with what must stand before a new list item at its end."""
    if not text:
        return _HEADER
    return text + ("\n" if re.match(r"[-*+]\s", text.splitlines()[-1]) else "\n\n")


def _one_line(text: str) -> str:
    return " ".join(text.split())
