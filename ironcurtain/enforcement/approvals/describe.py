"""A request as a person reads it: the whole call, in full, nothing hidden, nothing that styles a terminal.

Values stand behind a margin and are broken before they reach the edge, so that no text in them can
look like a line of ours.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterator

from ironcurtain.enforcement.approvals.effects import effect_of
from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from ironcurtain.model.decision import SubjectDecision
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import in_quotes, isolated, visible

WIDTH = 78
"""Columns where nobody knows how many there are."""
NARROWEST = 24
_INDENT = "      "
_MARGIN = "    | "
_CONTINUED = "    : "
_NARROW = frozenset({"N", "Na", "H"})
_RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})
# Any other name of a member could be read as two names, as an element, or as a name and a value.
_PLAIN = re.compile(r"[A-Za-z0-9_.~-]+")


def describe(request: ApprovalRequest, *, width: int = WIDTH) -> str:
    r"""Return a whole request as text of lines of at most `width` columns (never fewer than 24).

    Every argument is shown in full. Strings stand in double quotes with `\n`, `\xNN`, `\uNNNN` for what
    cannot be seen or could be mistaken for something else; a line that begins with `|` begins a line of a
    value, one with `:` continues it.
    """
    columns = max(width, NARROWEST)
    lines = (part for line in _lines(request, columns) for part in _fitting(line, columns))
    return "\n".join(map(isolated, lines)) + "\n"


def _fitting(line: str, width: int) -> list[str]:
    """Break a line of ours at spaces: what a terminal breaks goes on at its edge, where only ours begins."""
    if line.startswith((_MARGIN, _CONTINUED)) or len(line) <= width:
        return [line]
    return textwrap.wrap(line, width, subsequent_indent=_INDENT)


def _lines(request: ApprovalRequest, width: int) -> Iterator[str]:
    yield f"request {request.id}"
    yield from _field("tool", f"{request.server} {request.tool}", width)
    yield "  effects:"
    yield from behind_margin(effect_of(request), width)
    yield from _field("why", request.reason, width)
    yield from _field("rule", request.rule, width)
    if request.clause:
        yield from _field(f"clause {visible(request.clause)}", request.clause_text or "", width)
    yield from _field("session", request.session, width)
    if request.client:
        yield from _field("client", request.client, width)
    yield from _object("caller", request.caller, width)
    yield f"  asked: {request.asked:%Y-%m-%d %H:%M:%S} UTC"
    yield f"  answer by: {request.expires:%Y-%m-%d %H:%M:%S} UTC"
    yield from _object("arguments", request.arguments, width)
    if request.meta:
        yield from _object("sent along, judged by no rule (_meta)", request.meta, width)
    yield "  what it touches:"
    for subject in request.subjects:
        yield from _subject(subject, width)
    yield from _session(request, width)
    yield from _field("digest", request.binding, width)


def _session(request: ApprovalRequest, width: int) -> Iterator[str]:
    offer = request.session_offer
    if not offer.covers:
        yield from _field("for this session", f"not possible: {offer.why_not}", width)
        return
    yield "  for this session: would also cover calls of this tool with"
    for sentence in offer.covers:
        yield from behind_margin(sentence, width)
    yield "    and every other argument as above (commit messages aside)"


def _field(name: str, text: str, width: int) -> Iterator[str]:
    yield f"  {name}:"
    yield from behind_margin(visible(text), width)


def _object(name: str, value: dict[str, JsonValue], width: int) -> Iterator[str]:
    if not value:
        yield f"  {name}: none"
        return
    yield f"  {name}:"
    for place, end in _ends(value, ""):
        yield from _value(place, end, width)


def _ends(value: JsonValue, place: str) -> Iterator[tuple[str, JsonValue]]:
    """Yield every scalar and empty container with its place: `/name` in objects, `[0]` in arrays."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            name = key if _PLAIN.fullmatch(key) else in_quotes(key)
            yield from _ends(item, f"{place}/{name}")
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from _ends(item, f"{place}[{number}]")
    else:
        yield place, value


def _value(place: str, value: JsonValue, width: int) -> Iterator[str]:
    """Show one end: a string line by line where it has several, anything else as JSON."""
    if not isinstance(value, str):
        yield from behind_margin(f"{place} = {json_text.canonical(value).decode()}", width)
        return
    lines = value.splitlines(keepends=True) or [""]
    if len(lines) == 1:
        yield from behind_margin(f"{place} = {in_quotes(value)}", width)
        return
    yield from behind_margin(f"{place} = {len(lines)} lines, {len(value)} characters:", width)
    for line in lines:
        yield from behind_margin(in_quotes(line), width)


def _subject(subject: SubjectDecision, width: int) -> Iterator[str]:
    asks = "needs your word" if subject.verdict is Verdict.ESCALATE else "allowed"
    places = ", ".join(visible(place) for place in (subject.at, *subject.also_at) if place)
    at = f" at {places}" if places else ""
    yield from behind_margin(
        f"{asks}: {subject.role} {in_quotes(subject.value)}{at} ({visible(subject.rule)})", width
    )


def behind_margin(text: str, width: int) -> Iterator[str]:
    """Yield safe text behind the margin, broken at the width that a terminal gives it."""
    margin, line, columns = _MARGIN, "", len(_MARGIN)
    for character in text:
        wide = columns_of(character)
        if columns + wide > width:
            yield margin + line
            margin, line, columns = _CONTINUED, "", len(_CONTINUED)
        line += character
        columns += wide
    yield margin + line


def columns_of(character: str) -> int:
    """Return the most columns that a terminal gives a character; they differ in all but letters and ASCII."""
    if character.isascii():
        return 1
    if unicodedata.bidirectional(character) in _RIGHT_TO_LEFT:
        return 3  # with the two marks that isolate it, where a terminal shows these
    narrow = unicodedata.east_asian_width(character) in _NARROW and character.isalnum()
    return 1 if narrow else 2
