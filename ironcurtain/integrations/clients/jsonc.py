"""Reading JSON with comments so that a place in it can be changed and all else stays as it is.

Clients keep their configuration as JSON or as JSON with comments and trailing commas. `parse` accepts the
latter, which includes the former, and says for each value and member where it stands in the text.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import NoReturn

from ironcurtain.errors import FormatError, Place
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.json_text import members
from ironcurtain.system.text import quoted

MAX_DEPTH = 100
_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*(?s:.*?)\*/)*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z_.])")
_WORD = re.compile(r"(?:true|false|null)(?![0-9A-Za-z_])")


@dataclass(frozen=True)
class JsonNode:
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


@dataclass(frozen=True)
class Member:
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
        found = _SPACE.match(self._text, at)
        return found.end() if found else at

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
        found = self.skip(at)
        if self._text[found : found + 1] == ",":
            return self.skip(found + 1), found
        self._expect(found, closing)
        return found, None

    def _scalar(self, at: int) -> JsonNode:
        if self._text[at : at + 1] == '"':
            return self._string(at)
        found = _NUMBER.match(self._text, at) or _WORD.match(self._text, at)
        if found is None:
            self.fail(at, "expected a value")
        return JsonNode(at, found.end(), self._decoded(found.group(), at))

    def _string(self, at: int) -> JsonNode:
        found = _STRING.match(self._text, at)
        if found is None:
            self.fail(at, "expected a string in double quotes")
        return JsonNode(at, found.end(), self._decoded(found.group(), at))

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
