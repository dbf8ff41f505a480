"""Changes of one object in a text: members out, a member in, everything else to the letter as it was."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ironcurtain.integrations.clients.jsonc import JsonNode, Member
from ironcurtain.system.frozen import JsonValue

_BLANK_BEFORE = re.compile(r"[ \t]*\Z")
_BLANK_AFTER = re.compile(r"[ \t]*(?:\r\n|\n|\r|\Z)")
_UNIT = "  "


@dataclass(frozen=True)
class _Style:
    """How the members of an object are written.

    Attributes:
        newline: The line's end before each member; empty if they all stand on one line.
        indent: What stands before a member on its line.
        unit: One more level of it.
        colon: What stands between name and value.
    """

    newline: str
    indent: str
    unit: str
    colon: str

    @property
    def between(self) -> str:
        """What stands between two members."""
        blank = " " if self.colon.endswith(" ") else ""
        return f",{self.newline}{self.indent}" if self.newline else f",{blank}"


@dataclass(frozen=True)
class _Edit:
    start: int
    end: int
    new: str = ""


def collapsed(text: str, holder: JsonNode, taken: Collection[str], name: str, value: JsonValue) -> str:
    """Return the text with some members of an object gone and one in the place of the first of them.

    Comments between the members stay where they are, and so does every member that is not taken.

    Args:
        text: The whole text.
        holder: The object in it.
        taken: Names of members that go; at least one.
        name: The new member's name.
        value: Its value.
    """
    style = _style(text, holder)
    first, *others = (member for member in holder.members if member.name in taken)
    edits = [_Edit(first.start, first.end, _member(style, name, value))]
    for member in others:
        edits += _removal(text, member)
    kept = [member for member in holder.members if member not in others]
    if kept[-1].comma is not None and holder.members[-1].comma is None:
        edits.append(_Edit(kept[-1].comma, kept[-1].comma + 1))
    return _applied(text, edits)


def expanded(text: str, holder: JsonNode, name: str, source: str, members: Sequence[Member]) -> str:
    """Return the text with one member of an object gone and, in its place, members of another text.

    Args:
        text: The whole text.
        holder: The object in it.
        name: The member that goes; it is there.
        source: The text that the others are taken from, to the letter.
        members: Their places in `source`; at least one.
    """
    style = _style(text, holder)
    (gone,) = (member for member in holder.members if member.name == name)
    new = style.between.join(source[member.start : member.end] for member in members)
    return _applied(text, [_Edit(gone.start, gone.end, new)])


def replaced(text: str, node: JsonNode, new: str) -> str:
    """Return the text with another text in the place of a value."""
    return _applied(text, [_Edit(node.start, node.end, new)])


def _member(style: _Style, name: str, value: JsonValue) -> str:
    if not style.newline:
        separators = (", ", style.colon) if style.colon.endswith(" ") else (",", style.colon)
        written = json.dumps(value, ensure_ascii=False, separators=separators)
    else:
        lines = json.dumps(value, ensure_ascii=False, indent=style.unit, separators=(",", style.colon))
        written = lines.replace("\n", style.newline + style.indent)
    return f"{json.dumps(name)}{style.colon}{written}"


def _removal(text: str, member: Member) -> list[_Edit]:
    """Remove a member with its comma, and the lines that would be left blank."""
    after = _BLANK_AFTER.match(text, member.end + (member.comma == member.end))
    before = _BLANK_BEFORE.search(text[_line_start(text, member.start) : member.start])
    start, end = member.start, member.end
    alone = before is not None and before.start() == 0
    edits = []
    if member.comma == member.end:
        end += 1
    elif member.comma is not None:
        edits.append(_Edit(member.comma, member.comma + 1))
    if alone and after is not None:
        start, end = _line_start(text, start), after.end()
    return [_Edit(start, end), *edits]


def _style(text: str, holder: JsonNode) -> _Style:
    first = holder.members[0]
    colon = ": " if text[first.node.start - 1] in " \t\r\n" else ":"
    line = _line_start(text, first.start)
    if line <= holder.start:
        return _Style("", "", "", colon)
    indent = _leading(text, line)
    outer = _leading(text, _line_start(text, holder.start))
    unit = indent[len(outer) :] if indent.startswith(outer) and indent != outer else _UNIT
    ends = re.search(r"\r\n|\n|\r", text)
    return _Style(ends.group() if ends else "\n", indent, unit, colon)


def _leading(text: str, line: int) -> str:
    found = re.compile(r"[ \t]*").match(text, line)
    return found.group() if found else ""


def _line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def _applied(text: str, edits: list[_Edit]) -> str:
    parts: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda each: each.start):
        parts += [text[at : edit.start], edit.new]
        at = edit.end
    return "".join([*parts, text[at:]])
