"""Changes of one object in a text: members out, a member in, everything else to the letter as it was.

Clients keep their configuration as JSON, or as JSON with comments and trailing commas. `parse` accepts both,
and says for each value and member where it stands in the text, so that only that place is changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Sequence
from typing import NoReturn

from ironcurtain.errors import FormatError, Place
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.json_text import members
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted

MAX_DEPTH = 100
_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*(?s:.*?)\*/)*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z_.])")
_WORD = re.compile(r"(?:true|false|null)(?![0-9A-Za-z_])")


class JsonNode(Struct):
    """A value and where it stands: `text[start:end]`.

    Attributes:
        members: An object's members, in order; empty for every other value.
    """

    start: int
    end: int
    value: JsonValue
    members: tuple[Member, ...] = ()

    @property
    def fields(self) -> dict[str, JsonValue]:
        """An object's values by name; none for every other value."""
        return members(self.value)

    def member(self, name: str) -> Member | None:
        """Return the member of that name."""
        return next((member for member in self.members if member.name == name), None)


class Member(Struct):
    """A member of an object.

    Attributes:
        start: Where its name begins.
        comma: Where the comma behind it stands, if there is one.
    """

    name: str
    start: int
    node: JsonNode
    comma: int | None

    @property
    def end(self) -> int:
        """Where its value ends."""
        return self.node.end


class Syntax(Struct):
    """A format of configuration files: how servers are found in a text, and how the text is changed.

    Attributes:
        name: For people.
        read: Takes a text, what names it in errors, and the keys that lead to the servers. Returns the whole
            value, in which servers are an object by name, and the servers where they are there; members
            that cannot be changed in their place are missing.
        collapsed: As `collapsed` below.
        expanded: As `expanded` below.
        written: Returns a server of a name alone, as it is written behind these keys.
        on_one_line: Returns the same on one line, for the place where the others stand.
    """

    name: str
    read: Callable[[str, str, tuple[str, ...]], tuple[JsonNode, JsonNode | None]]
    collapsed: Callable[[str, JsonNode, Collection[str], str, dict[str, JsonValue], tuple[str, ...]], str]
    expanded: Callable[[str, JsonNode, str, str, Sequence[Member]], str]
    written: Callable[[tuple[str, ...], str, dict[str, JsonValue]], str]
    on_one_line: Callable[[tuple[str, ...], str, dict[str, JsonValue]], str]


def parse(text: str, source: str) -> JsonNode:
    """Read a text; `source` names it in errors.

    Raises:
        FormatError: With line and column: it is no JSON with comments, an object has a name twice, or it
            is nested deeper than `MAX_DEPTH` levels.
    """
    reader = _Reader(text, source)
    node, end = reader.value(reader.skip(0), 0)
    if reader.skip(end) != len(text):
        reader.fail(reader.skip(end), "expected the end of the file")
    return node


class _Reader:
    def __init__(self, text: str, source: str) -> None:
        self._text = text
        self._source = source

    def skip(self, at: int) -> int:
        """Return where the blanks and comments that begin here end."""
        match = _SPACE.match(self._text, at)
        return match.end() if match else at

    def value(self, at: int, depth: int) -> tuple[JsonNode, int]:
        if depth > MAX_DEPTH:
            self.fail(at, f"nested deeper than {MAX_DEPTH} levels")
        first = self._text[at : at + 1]
        if first == "{":
            node = self._object(at, depth)
        elif first == "[":
            node = self._array(at, depth)
        else:
            node = self._scalar(at)
        return node, node.end

    def _object(self, start: int, depth: int) -> JsonNode:
        members: dict[str, Member] = {}
        at = self.skip(start + 1)
        while self._text[at : at + 1] != "}":
            key = self._string(at)
            if key.value in members:
                self.fail(at, f"the name {quoted(str(key.value))} stands twice in one object")
            colon = self.skip(key.end)
            self._expect(colon, ":")
            node, end = self.value(self.skip(colon + 1), depth + 1)
            after, comma = self._comma(end, "}")
            members[str(key.value)] = Member(str(key.value), at, node, comma)
            at = after
        value = {name: member.node.value for name, member in members.items()}
        return JsonNode(start, at + 1, value, tuple(members.values()))

    def _array(self, start: int, depth: int) -> JsonNode:
        values: list[JsonValue] = []
        at = self.skip(start + 1)
        while self._text[at : at + 1] != "]":
            node, end = self.value(at, depth + 1)
            values.append(node.value)
            at, _ = self._comma(end, "]")
        return JsonNode(start, at + 1, values)

    def _comma(self, at: int, closing: str) -> tuple[int, int | None]:
        """Return where the next member or the bracket begins, and where the comma before it stands."""
        start = self.skip(at)
        if self._text[start : start + 1] == ",":
            return self.skip(start + 1), start
        self._expect(start, closing)
        return start, None

    def _scalar(self, at: int) -> JsonNode:
        if self._text[at : at + 1] == '"':
            return self._string(at)
        match = _NUMBER.match(self._text, at) or _WORD.match(self._text, at)
        if match is None:
            self.fail(at, "expected a value")
        return JsonNode(at, match.end(), self._decoded(match.group(), at))

    def _string(self, at: int) -> JsonNode:
        match = _STRING.match(self._text, at)
        if match is None:
            self.fail(at, "expected a string in double quotes")
        return JsonNode(at, match.end(), self._decoded(match.group(), at))

    def _decoded(self, token: str, at: int) -> JsonValue:
        try:
            decoded: JsonValue = json.loads(token)
        except ValueError:
            self.fail(at, "a number that is too long")
        return decoded

    def _expect(self, at: int, character: str) -> None:
        if self._text[at : at + 1] != character:
            found = quoted(self._text[at : at + 1]) if at < len(self._text) else "the end"
            self.fail(at, f"expected {character}, found {found}")

    def fail(self, at: int, what: str) -> NoReturn:
        before = self._text[:at]
        line = before.count("\n") + 1
        raise FormatError(
            f"not valid JSON: {what}",
            where=Place(self._source, line, at - (before.rfind("\n") + 1) + 1),
        )


_BLANK_BEFORE = re.compile(r"[ \t]*\Z")
_BLANK_AFTER = re.compile(r"[ \t]*(?:\r\n|\n|\r|\Z)")
_UNIT = "  "


class _Style(Struct):
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


class _Edit(Struct):
    start: int
    end: int
    new: str = ""


def _read(text: str, source: str, pointer: tuple[str, ...]) -> tuple[JsonNode, JsonNode | None]:
    root = parse(text, source)
    node: JsonNode | None = root
    for key in pointer:
        member = node.member(key) if node is not None else None
        node = member.node if member is not None else None
    return root, node


def collapsed(
    text: str,
    holder: JsonNode,
    taken: Collection[str],
    name: str,
    value: dict[str, JsonValue],
    _pointer: tuple[str, ...] = (),
) -> str:
    """Return the text with some members of an object gone and one in the place of the first of them.

    Comments between the members stay where they are, and so does every member that is not taken.
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
    match = re.compile(r"[ \t]*").match(text, line)
    return match.group() if match else ""


def _line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def _applied(text: str, edits: list[_Edit]) -> str:
    parts: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda each: each.start):
        parts += [text[at : edit.start], edit.new]
        at = edit.end
    return "".join([*parts, text[at:]])


def _written(_pointer: tuple[str, ...], name: str, value: dict[str, JsonValue]) -> str:
    return json.dumps({name: value}, indent=2, ensure_ascii=False)


def _on_one_line(_pointer: tuple[str, ...], name: str, value: dict[str, JsonValue]) -> str:
    return f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"


JSON = Syntax("JSON", _read, collapsed, expanded, _written, _on_one_line)


def with_line_ends(new: str, text: str) -> str:
    """Return lines that end as those of a text do."""
    plain = new.replace("\r\n", "\n")
    return plain.replace("\n", "\r\n") if "\r\n" in text else plain
