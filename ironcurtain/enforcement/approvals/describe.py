"""A request as a person reads it: in full (`describe`), as one or two sentences, and as a row of a list.

The full text is the whole call, with nothing hidden and nothing that styles a terminal. Values stand behind
a margin and are broken before they reach the edge. In a row, only our own words begin a line; whatever an
agent or a server wrote stands in quotes behind them, or behind the margin. So no text can look like a line
of ours. A row shortens long values; the whole request is what a person answers.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from ironcurtain.decision.roles import BUILT_IN, NONE
from ironcurtain.enforcement.approvals.messages import ApprovalChannel, ApprovalRequest, ApprovalStatus
from ironcurtain.model.decision import ResourceDecision
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import RIGHT_TO_LEFT, cut, in_quotes, isolated, quoted, visible

WIDTH = 78
"""Columns where nobody knows how many there are."""
NARROWEST = 24
HOW_ANSWERED: Mapping[ApprovalChannel, str] = {
    "account": "(who answers here)",
    "client": "(who answers at the client that made the call)",
    "key": "(who answers with a key: --approver-key)",
}
_INDENT = "      "
_MARGIN = "    | "
_CONTINUED = "    : "
_NARROW = frozenset({"N", "Na", "H"})
# Any other name of a member could be read as two names, as an element, or as a name and a value.
_PLAIN = re.compile(r"[A-Za-z0-9_.~-]+")


def describe(request: ApprovalRequest, *, width: int = WIDTH) -> str:
    r"""Return a whole request as text of lines of at most `width` columns (never fewer than 24).

    Every argument is shown in full. Strings stand in double quotes with `\n`, `\xNN`, `\uNNNN` for what
    cannot be seen or could be mistaken for something else; what stands behind `|` begins a line of a value,
    and a line that begins with `:` continues it.
    """
    return in_lines(f"request {request.id}", parts_of(request), width)


class RequestPart(Struct):
    """A part of a request as a person reads it; all of it is safe to show.

    Attributes:
        name: What it is.
        lines: What an agent, a server or the policy wrote: each whole, however long.
        brief: Words of ours behind the name.
        after: Words of ours behind the lines.
        short: Whether the one line stands beside the name where it fits.
    """

    name: str
    lines: tuple[str, ...] = ()
    brief: str = ""
    after: str = ""
    short: bool = False


def in_lines(heading: str, parts: Iterable[RequestPart], width: int) -> str:
    """Return parts below a heading as text of lines of at most `width` columns (never fewer than 24)."""
    columns = max(width, NARROWEST)
    lines = (line for part in parts for line in _laid_out(part, columns))
    fitted = (each for line in (heading, *lines) for each in _fitting(line, columns))
    return "\n".join(map(isolated, fitted)) + "\n"


def parts_of(request: ApprovalRequest) -> Iterator[RequestPart]:
    """Yield all that a person is shown of a request, in the order in which it is read."""
    yield _field("tool", f"{request.server} {request.tool}")
    yield RequestPart("effects", (effect_of(request),))
    yield _object("arguments", request.arguments)
    if request.meta:
        yield _object("sent along, judged by no rule (_meta)", request.meta)
    if request.facts:
        yield _object("decided on these facts", request.facts)
    yield RequestPart("what it touches", tuple(map(_resource_line, request.subjects)))
    yield _field("why", request.reason)
    yield _field("rule", request.rule)
    if request.clause:
        yield _field(f"clause {visible(request.clause)}", request.clause_text or "")
    for check in request.checks:
        yield _field(f"check {visible(check.clause)}", check.text)
    if request.approver is not None:
        yield _field("approval of", f"{request.approver} {HOW_ANSWERED[request.answered_by]}")
    yield _session(request)
    yield _field("session", request.session)
    if request.client:
        yield _field("client", request.client)
    yield _object("caller", request.caller)
    yield RequestPart("asked", brief=f"{request.asked:%Y-%m-%d %H:%M:%S} UTC")
    yield RequestPart("answer by", brief=f"{request.expires:%Y-%m-%d %H:%M:%S} UTC")
    yield _field("digest", request.binding)


def _laid_out(part: RequestPart, width: int) -> Iterator[str]:
    name = f"  {part.name}:"
    if part.short and sum(map(columns_of, line := f"{name} | {part.lines[0]}")) <= width:
        yield line
        return
    yield f"{name} {part.brief}" if part.brief else name
    for line in part.lines:
        yield from behind_margin(line, width)
    if part.after:
        yield f"    {part.after}"


def _fitting(line: str, width: int) -> list[str]:
    """Break a line of ours at spaces: what a terminal breaks goes on at its edge, where only ours begins."""
    if line.startswith((_MARGIN, _CONTINUED)) or len(line) <= width:
        return [line]
    return textwrap.wrap(line, width, subsequent_indent=_INDENT)


def _session(request: ApprovalRequest) -> RequestPart:
    offer = request.session_offer
    if not offer.covers:
        return _field("for this session", f"not possible: {offer.why_not}")
    return RequestPart(
        "for this session",
        offer.covers,
        brief="would also cover calls of this tool with",
        after="and every other argument as above (commit messages aside)",
    )


def _field(name: str, text: str) -> RequestPart:
    return RequestPart(name, (visible(text),), short=True)


def _object(name: str, value: dict[str, JsonValue]) -> RequestPart:
    if not value:
        return RequestPart(name, brief="none")
    return RequestPart(name, tuple(line for place, end in _ends(value, "") for line in _value(place, end)))


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


def _value(place: str, value: JsonValue) -> Iterator[str]:
    """Show one end: a string line by line where it has several, anything else as JSON."""
    if not isinstance(value, str):
        yield f"{place} = {json_text.canonical(value).decode()}"
        return
    lines = value.splitlines(keepends=True) or [""]
    if len(lines) == 1:
        yield f"{place} = {in_quotes(value)}"
        return
    yield f"{place} = {len(lines)} lines, {len(value)} characters:"
    yield from map(in_quotes, lines)


def _resource_line(resource: ResourceDecision) -> str:
    asks = "needs your word" if resource.verdict is Verdict.ESCALATE else "allowed"
    places = ", ".join(visible(place) for place in (resource.at, *resource.also_at) if place)
    at = f" at {places}" if places else ""
    return f"{asks}: {resource.role} {in_quotes(resource.value)}{at} ({visible(resource.rule)})"


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
    if unicodedata.bidirectional(character) in RIGHT_TO_LEFT:
        return 3  # with the two marks that isolate it, where a terminal shows these
    narrow = unicodedata.east_asian_width(character) in _NARROW and character.isalnum()
    return 1 if narrow else 2


# -- what a call does to what it names, no further than its annotation knows -------------------

_IS_ABOUT = "is about"
_VERBS = {role.name: role.verb.present for role in BUILT_IN if role.verb}
_WRITING = frozenset(role.name for role in BUILT_IN if role.writes)
_READ_PATH = "read-path"
_SENTENCE_VALUES = 5


def effect_of(request: ApprovalRequest, *, length: int | None = None) -> str:
    """Return one or two sentences, safe to show: what the call reads, changes and contacts.

    What only the tool's annotation says is told as that, and what nobody knows as unknown.

    Args:
        request: The request.
        length: Most characters of each resource; None shows them whole.
    """
    roles = {each.role for each in request.subjects} - {NONE}
    if not roles and request.side_effects:
        return (
            "What this call changes is not known: it names nothing, and its tool is annotated to change "
            "something."
        )
    if not roles:
        return "This call changes nothing, as its tool is annotated."
    said = f"This call {resources_of(request, most=_SENTENCE_VALUES, length=length)}."
    if roles & _WRITING:
        return said
    # A tool with a resource has side effects by the rules of annotation, though all it does is read. What it
    # does beyond that is known where every effect of it lies at its paths.
    if request.side_effects and not (request.contained and roles == {_READ_PATH}):
        return f"{said} Whether it changes something as well is not known."
    return f"{said} It changes nothing, as its tool is annotated."


def resources_of(request: ApprovalRequest, *, most: int, length: int | None = None) -> str:
    """Return what the call does to which resource, in canonical form, those first that are asked about.

    Args:
        request: The request.
        most: How many resources are named; of more, their number is told.
        length: Most characters of each; None shows them whole.
    """
    ordered = sorted(request.subjects, key=lambda each: each.verdict is not Verdict.ESCALATE)
    verbs = _verbs_by_value(each for each in ordered if each.role != NONE)
    parts: list[str] = []
    previous: Sequence[str] = ()
    for value in list(verbs)[:most]:
        shown = in_quotes(value) if length is None else f'"{cut(in_quotes(value)[1:-1], length)}"'
        parts.append(shown if verbs[value] == previous else f"{' and '.join(verbs[value])} {shown}")
        previous = verbs[value]
    if len(verbs) > most:
        parts.append(f"and {len(verbs) - most:,} more")
    return ", ".join(parts)


def _verbs_by_value(resources: Iterable[ResourceDecision]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in resources:
        verb = _VERBS.get(each.role, f"{_IS_ABOUT} the {visible(each.role)}")
        verbs = found.setdefault(each.value, [])
        if verb not in verbs:
            verbs.append(verb)
    return found


# -- rows --------------------------------------------------------------------------------------

_RESOURCES = 3
_VALUE = 160
_REASON = 60
_ARGUMENTS = 3
_ARGUMENT = 40
_NAME = 60
UNAWAITED = "nobody waits; it counts if it is repeated"
_NAMED_PLAINLY = re.compile(r"[A-Za-z0-9_./:-]+")


class _Resource(Protocol):
    """A resource of a call, as it is asked about or was recorded."""

    @property
    def at(self) -> str: ...

    @property
    def also_at(self) -> tuple[str, ...]: ...

    @property
    def role(self) -> str: ...


def rows(status: ApprovalStatus, now: datetime, width: int | None) -> list[str]:
    """Return a request's lines, safe to show.

    Args:
        status: The request, and what became of it.
        now: The time of day, to say how long there is to answer.
        width: The terminal's columns; None gives one line, as long as it needs to be.
    """
    if status.request is None:
        parts = [status.id, "unreadable", visible(status.problem)]
    else:
        parts = [status.id, f"{_state(status, status.request, now):<10}", *_about(status.request)]
        parts += [] if status.waits or status.state != "pending" else [UNAWAITED]
    line = "  ".join(parts)
    if width is None or sum(map(columns_of, line)) <= width:
        return [isolated(line)]
    return [isolated(each) for each in _broken(parts, max(width, NARROWEST))]


def _broken(parts: list[str], width: int) -> Iterator[str]:
    """Put as much on the first line as fits whole, and each other part behind the margin."""
    first, *others = parts
    while others and sum(map(columns_of, f"{first}  {others[0]}")) <= width:
        first = f"{first}  {others.pop(0)}"
    yield first.rstrip()
    for part in others:
        yield from behind_margin(part, width)


def _state(status: ApprovalStatus, request: ApprovalRequest, now: datetime) -> str:
    if status.state != "pending":
        return status.state
    left = max(0, int((request.expires - now).total_seconds()))
    return f"{left // 60}:{left % 60:02d} left"


def _about(request: ApprovalRequest) -> Iterator[str]:
    yield f"{_name(request.server)} {_name(request.tool)}"
    resources = resources_of(request, most=_RESOURCES, length=_VALUE)
    others = ", ".join(other_arguments(request.arguments, request.subjects))
    nothing = "may change something" if request.side_effects else "changes nothing"
    yield from filter(None, (resources, others) if resources or others else (nothing,))
    clause = f"[{visible(request.clause)}] " if request.clause else ""
    yield clause + quoted(request.reason, _REASON)[1:-1]
    if request.checks:
        yield f"check {', '.join(visible(check.clause) for check in request.checks)}"
    if request.approver is not None:
        yield f"asks {_name(request.approver)}"


def other_arguments(
    arguments: Mapping[str, JsonValue], resources: Iterable[_Resource], *, most: int = _ARGUMENTS
) -> list[str]:
    """Return the arguments that tell a call from others of its tool, beside the resources, safe to show."""
    judged = {place for each in resources for place in (each.at, *each.also_at) if each.role != NONE}
    ends = [(place, end) for place, end in _ends(dict(arguments), "") if end not in ({}, [])]
    # What is false or null is mostly what a schema fills in.
    ends.sort(key=lambda each: (not each[1], not isinstance(each[1], str)))
    others = [
        f"{place.removeprefix('/')}={_shortened(end)}"
        for place, end in ends
        if not any(f"{_pointer(place)}/".startswith(f"{at}/") for at in judged)
    ]
    more = [f"{len(others) - most:,} more"] if len(others) > most else []
    return [*others[:most], *more]


def _pointer(place: str) -> str:
    return place.replace("[", "/").replace("]", "")


def _shortened(end: JsonValue) -> str:
    if isinstance(end, str):
        return f'"{cut(in_quotes(end)[1:-1], _ARGUMENT)}"'
    return cut(json_text.canonical(end).decode(), _ARGUMENT)


def _name(name: str) -> str:
    """Return a name as it is where nothing in it could look like a column of ours."""
    return cut(name if _NAMED_PLAINLY.fullmatch(name) else in_quotes(name), _NAME)
