"""The paths of output policies: a small language of its own that names places in a JSON value.

The grammar, in full (docs/output-policies.md explains it with examples):

    path    = "." | first step*
    first   = key | element | "." text-in-brackets
    step    = key | element | text-in-brackets
    key     = "." name | "." string | ".*" | ".." name | ".." string
    element = ["."] "[]" | ["."] "[" number "]"          the dot only at the beginning of a path
    name    = a letter or "_", then letters, digits and "_" (ASCII)
    string  = a JSON string
    number  = "0" | a digit from 1 to 9, then digits

It looks like jq and is not jq: `[]` never enters an object, `.*` never enters an array, a missing key is no
match, and `..name` is that key at any depth.
"""

from __future__ import annotations

import json
import re
from typing import TypeAlias

from ironcurtain.system.structs import Struct


class Key(Struct):
    """One key of an object; keys compare exactly."""

    name: str

    def __str__(self) -> str:
        """Write it as a step of a path."""
        return f".{_written(self.name)}"


class Deep(Struct):
    """One key of an object at any depth below, this level included."""

    name: str

    def __str__(self) -> str:
        """Write it as a step of a path."""
        return f"..{_written(self.name)}"


class AnyKey(Struct):
    """Any key of an object."""

    def __str__(self) -> str:
        """Write it as a step of a path."""
        return ".*"


class Index(Struct):
    """One element of an array, counted from 0."""

    number: int

    def __str__(self) -> str:
        """Write it as a step of a path."""
        return f"[{self.number}]"


class AnyIndex(Struct):
    """Any element of an array."""

    def __str__(self) -> str:
        """Write it as a step of a path."""
        return "[]"


Step: TypeAlias = Key | Deep | AnyKey | Index | AnyIndex

MAX_CHARACTERS = 1_000
MAX_STEPS = 32

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_INDEX = re.compile(r"\[(0|[1-9][0-9]{0,8})\]")
_BARE = re.compile(r"[^\s.\[\]\"|?*]+")
_WORDS = {
    "|": ("`|` is not part of the language", "Write one rule for each path."),
    "?": ("`?` is not part of the language", "Leave it out: a missing key is never an error."),
}


class Path(Struct):
    """A path that was understood; without steps it is the root."""

    steps: tuple[Step, ...] = ()

    def __str__(self) -> str:
        """Write it in its one canonical form."""
        text = "".join(map(str, self.steps))
        return text if text.startswith(".") else f".{text}"


class PathSyntaxError(ValueError):
    """A text that is no path.

    Attributes:
        text: What was written.
        position: Where the mistake stands, counted in characters from 1.
        problem: What is wrong there.
        suggestion: What to write instead.
    """

    def __init__(self, text: str, offset: int, problem: str, suggestion: str) -> None:
        self.text, self.position = text, offset + 1
        self.problem, self.suggestion = problem, suggestion
        super().__init__(f"position {self.position}: {problem}")


def parse(text: str) -> Path:
    """Read a path.

    Raises:
        PathSyntaxError: If it is none, with the position of the first mistake and a suggestion.
    """
    if len(text) > MAX_CHARACTERS:
        raise PathSyntaxError(
            text[:40], MAX_CHARACTERS, f"a path has at most {MAX_CHARACTERS:,} characters", "Shorten it."
        )
    if not text:
        raise PathSyntaxError(text, 0, "the path is empty", "Write `.` for the whole value.")
    if text == ".":
        return Path()
    if not text.startswith("."):
        raise PathSyntaxError(text, 0, "a path begins with a dot", _with_dot(text))
    steps: list[Step] = []
    # `.[]` and `.["x"]` at the beginning: the dot is the root's own.
    at = 1 if text.startswith(".[") else 0
    while at < len(text):
        step, at = _step(text, at)
        steps.append(step)
    if len(steps) > MAX_STEPS:
        raise PathSyntaxError(text, len(text), f"a path has at most {MAX_STEPS} steps", "Shorten it.")
    return Path(tuple(steps))


def _with_dot(text: str) -> str:
    if text.startswith("$"):
        return "JSONPath is another language; write the path with a dot at its beginning and no `$`."
    return f"Write `.{text}`." if _NAME.match(text) or text.startswith("[") else "Write `.name`."


def _step(text: str, at: int) -> tuple[Step, int]:
    """Read one step; return it and where the next begins."""
    if text[at] == "[":
        return _bracket(text, at)
    if text[at] != ".":
        problem, suggestion = _WORDS.get(
            text[at], ("here a step begins with `.` or `[`", "Put a name of other characters in quotes.")
        )
        raise PathSyntaxError(text, at, problem, suggestion)
    if text.startswith("...", at):
        raise PathSyntaxError(text, at + 2, "three dots in a row", "Write `..name` for a key at any depth.")
    if text.startswith("..", at):
        name, end = _key(text, at + 2, deep=True)
        return Deep(name), end
    if text.startswith(".*", at):
        return AnyKey(), at + 2
    name, end = _key(text, at + 1, deep=False)
    return Key(name), end


def _key(text: str, at: int, *, deep: bool) -> tuple[str, int]:
    """Read a name or a string after its dots."""
    dots = ".." if deep else "."
    if text.startswith('"', at):
        return _string(text, at)
    match = _NAME.match(text, at)
    if match is None:
        raise PathSyntaxError(text, at, *_no_key(text, at, dots))
    end = match.end()
    bare = _BARE.match(text, at)
    if bare is not None and bare.end() > end:
        quoted = json.dumps(bare.group(), ensure_ascii=False)
        raise PathSyntaxError(
            text, end, f"{text[end]!r} cannot stand in a name without quotes", f"Write `{dots}{quoted}`."
        )
    return match.group(), end


def _no_key(text: str, at: int, dots: str) -> tuple[str, str]:
    """Say why no key begins here, and what to write."""
    rest = text[at : at + 1]
    if dots == "..":
        if rest in {"", "*", "["}:
            return "`..` needs the name of a key", "Write `..name`, or end the path at the container."
    elif rest == "":
        return "the path ends with a dot", "Leave the last dot out, or name a key after it."
    elif rest == "[":
        return "no dot stands before a bracket", f"Write `{text[: at - 1]}{text[at:]}`."
    bare = _BARE.match(text, at)
    if bare is not None:
        return (
            f"a name without quotes does not begin with {rest!r}",
            f"Write `{dots}{json.dumps(bare.group(), ensure_ascii=False)}`.",
        )
    return f"a key is expected after `{dots}`", f'Write `{dots}name` or `{dots}"any text"`.'


def _string(text: str, at: int) -> tuple[str, int]:
    match = _STRING.match(text, at)
    if match is None:
        raise PathSyntaxError(text, at, "the string does not end", 'Close it with `"`.')
    try:
        value: str = json.loads(match.group())
        value.encode()
    except ValueError:
        raise PathSyntaxError(
            text, at, "this is no JSON string", "Write escapes as JSON does: `\\n`, `\\u00e9`."
        ) from None
    return value, match.end()


def _bracket(text: str, at: int) -> tuple[Step, int]:
    if text.startswith("[]", at):
        return AnyIndex(), at + 2
    if match := _INDEX.match(text, at):
        return Index(int(match.group(1))), match.end()
    if text.startswith('["', at):
        name, end = _string(text, at + 1)
        if not text.startswith("]", end):
            raise PathSyntaxError(text, end, "the bracket does not close", "Write `]` after the string.")
        return Key(name), end + 1
    raise PathSyntaxError(text, at + 1, *_no_bracket(text[at + 1 :].partition("]")[0]))


def _no_bracket(inside: str) -> tuple[str, str]:
    """Say why a bracket holds no step, and what to write."""
    if ":" in inside:
        return "a slice is not part of the language", "Write `[]` for every element."
    if inside.startswith("-"):
        return "an index is counted from the beginning", "Write `[0]` for the first element, `[]` for every."
    if inside == "*":
        return "`[*]` is not part of the language", "Write `[]` for every element, `.*` for every key."
    if inside.isdecimal():
        return "an index is written without zeros before it, and is below 1,000,000,000", "Write `[0]`."
    if inside.startswith("'"):
        return "a string stands in double quotes", 'Write `["name"]`.'
    return "a bracket holds nothing, an index, or a string", 'Write `[]`, `[0]` or `["name"]`.'


def _written(name: str) -> str:
    return name if _NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False)
