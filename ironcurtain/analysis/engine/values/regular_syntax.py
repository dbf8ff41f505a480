r"""Reading RE2's syntax: what is read exactly, and what only nearly.

What names sets of Unicode (`\pL`) or repeats very often is read as something near to it, and said to be:
texts that are made of it are still worth trying, since RE2 itself says what each of them is.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ironcurtain.analysis.engine.values.regular import (
    ANYTHING,
    EMPTY,
    LAST,
    NEWLINE,
    WORD,
    Interval,
    RegexState,
    chars,
    complement,
    counted,
    either,
    folded,
    many,
    place,
    sequence,
)
from ironcurtain.system.structs import Struct, replace

_MAX_REPEAT = 64
_MAX_SIZE = 4_000
_LETTERS: tuple[Interval, ...] = ((65, 90), (97, 122))
_CLASSES: dict[str, tuple[Interval, ...]] = {
    "d": ((48, 57),),
    "w": WORD,
    "s": ((9, 10), (12, 13), (32, 32)),
}
_NAMED: dict[str, tuple[Interval, ...]] = {
    "alnum": ((48, 57), *_LETTERS),
    "alpha": _LETTERS,
    "ascii": ((0, 127),),
    "blank": ((9, 9), (32, 32)),
    "cntrl": ((0, 31), (127, 127)),
    "digit": ((48, 57),),
    "graph": ((33, 126),),
    "lower": ((97, 122),),
    "print": ((32, 126),),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 13), (32, 32)),
    "upper": ((65, 90),),
    "word": WORD,
    "xdigit": ((48, 57), (65, 70), (97, 102)),
}
_ESCAPES = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
_PLACES = {"A": "^", "z": "$", "b": "\\b", "B": "\\B"}
_REPEAT = re.compile(r"\{(\d+)(,(\d*))?\}")
_FLAGS = re.compile(r"\?([imsU]*)(-[imsU]+)?([:)])")
_NAME = re.compile(r"\?P?<\w+>")
_CODE = re.compile(r"x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]+)\})|(0[0-7]{0,2}|[1-7][0-7]{1,2})")
_UNICODE = re.compile(r"[pP](?:\w|\{\^?\w+\})")
_BRACKETED = re.compile(r"\[:(\^?)(\w+):\]")


class Expression(Struct):
    """An expression as it was read.

    Attributes:
        doubt: What of it was read only nearly; None where it is exact.
    """

    rest: RegexState
    doubt: str | None


def whole(pattern: str) -> Expression:
    """Read a rule's expression: it covers whole texts, and its dot covers line breaks."""
    return _read(pattern, _Flags(dot_is_newline=True))


def searching(pattern: str) -> Expression:
    """Read a schema's `pattern`: it is searched for."""
    found = _read(pattern, _Flags())
    return Expression(sequence([ANYTHING, found.rest, ANYTHING]), found.doubt)


def is_read(pattern: str) -> bool:
    """Tell whether a schema's `pattern` is read exactly."""
    return searching(pattern).doubt is None


@lru_cache(maxsize=1024)
def _read(pattern: str, flags: _Flags) -> Expression:
    parser = _Parser(pattern, flags)
    try:
        rest = parser.whole()
    except (_UnreadableError, RecursionError) as error:
        return Expression(ANYTHING, str(error) or "very deep nesting")
    return Expression(rest, parser.doubt)


class _Flags(Struct):
    ignore_case: bool = False
    dot_is_newline: bool = False
    lines: bool = False


class _UnreadableError(Exception):
    """The expression is not read at all."""


class _Parser:
    """Recursive descent over one expression."""

    def __init__(self, pattern: str, flags: _Flags) -> None:
        self._text = pattern
        self._at = 0
        self._flags = flags
        self._size = 0
        self.doubt: str | None = None

    def whole(self) -> RegexState:
        found = self._alternatives()
        if self._at != len(self._text):
            raise _UnreadableError(f"{self._peek()} at {self._at}")
        return found

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self) -> str:
        self._at += 1
        return self._text[self._at - 1 : self._at]

    def _match(self, syntax: re.Pattern[str]) -> re.Match[str] | None:
        found = syntax.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return found

    def _alternatives(self) -> RegexState:
        # Flags that are set inside a group end with it, and hold for the alternatives that follow.
        flags = self._flags
        found = [self._sequence()]
        while self._peek() == "|":
            self._take()
            found.append(self._sequence())
        self._flags = flags
        return either(*found)

    def _sequence(self) -> RegexState:
        parts = []
        while self._peek() and self._peek() not in "|)":
            parts.append(self._repeated(self._one()))
        return sequence(parts)

    def _repeated(self, one: RegexState) -> RegexState:
        repeated = False
        while True:
            counts = self._match(_REPEAT)
            if counts is None and (not self._peek() or self._peek() not in "*+?"):
                return one
            if repeated:
                raise _UnreadableError("a repetition of a repetition")
            one, repeated = self._times(one, counts), True
            if self._peek() == "?":  # which match is preferred does not matter to whole texts
                self._take()

    def _times(self, one: RegexState, counts: re.Match[str] | None) -> RegexState:
        if counts is None:
            mark = self._take()
            return {"*": many(one), "+": sequence([one, many(one)]), "?": either(one, EMPTY)}[mark]
        low = int(counts[1])
        high = low if counts[2] is None else int(counts[3]) if counts[3] else None
        times = max(low, high or 0)
        self._size += times * _size(one)
        if times > _MAX_REPEAT or self._size > _MAX_SIZE:
            self.doubt = "a part that is repeated very often"
            return counted(one, min(low, 1), None)
        return counted(one, low, high)

    def _one(self) -> RegexState:
        character = self._take()
        if character == "(":
            return self._group()
        if character == "[":
            return self._chars(self._set(), fold=False)
        if character == ".":
            return chars(complement(() if self._flags.dot_is_newline else ((NEWLINE, NEWLINE),)))
        if character in "^$":
            return place(f"line{character}" if self._flags.lines else character)
        if character == "\\":
            return self._escaped()
        if character in "*+?":
            raise _UnreadableError(f"{character} after nothing")
        return self._chars(((ord(character), ord(character)),))

    def _chars(self, found: tuple[Interval, ...], *, fold: bool = True) -> RegexState:
        return chars(self._cased(found) if fold else found)

    def _cased(self, found: tuple[Interval, ...]) -> tuple[Interval, ...]:
        return folded(found) if self._flags.ignore_case else found

    def _group(self) -> RegexState:
        flags = self._flags
        setting = self._match(_FLAGS)
        if setting is not None:
            self._set_flags(setting)
            if setting[3] == ")":  # for the rest of the group around it
                return EMPTY
        elif self._peek() == "?" and self._match(_NAME) is None:
            raise _UnreadableError("a group of an unknown kind")
        found = self._alternatives()
        self._flags = flags
        if self._take() != ")":
            raise _UnreadableError("an open group")
        return found

    def _set_flags(self, setting: re.Match[str]) -> None:
        for letters, value in ((setting[1], True), ((setting[2] or "")[1:], False)):
            names = {"i": "ignore_case", "s": "dot_is_newline", "m": "lines"}
            changed = {names[letter]: value for letter in letters if letter in names}
            self._flags = replace(self._flags, **changed)

    def _escaped(self) -> RegexState:
        if self._text.startswith("Q", self._at):
            return self._quoted()
        if self._peek() in _PLACES and self._peek():
            if self._peek() == "B":  # RE2 finds it inside the bytes of one character, too; Go does not
                self.doubt = "\\B"
            return place(_PLACES[self._take()])
        return self._chars(self._escape(), fold=False)

    def _quoted(self) -> RegexState:
        end = self._text.find("\\E", self._at)
        text = self._text[self._at + 1 : end if end >= 0 else None]
        self._at = len(self._text) if end < 0 else end + 2
        if text and self._peek() and self._peek() in "*+?{":
            raise _UnreadableError("a repetition of a quotation")
        return sequence([self._chars(((ord(c), ord(c)),)) for c in text])

    def _escape(self) -> tuple[Interval, ...]:
        """Return the characters of an escape, in every case that the flags ask for."""
        code = self._match(_CODE)
        if code is not None:
            number = int(code[1] or code[2], 16) if code[3] is None else int(code[3], 8)
            if number > LAST:
                raise _UnreadableError("a character beyond Unicode")
            return self._cased(((number, number),))
        if self._match(_UNICODE):
            self.doubt = "a set of Unicode"
            return _LETTERS
        character = self._take()
        if character and character.lower() in _CLASSES:
            found = self._cased(_CLASSES[character.lower()])
            return found if character.islower() else complement(found)
        if character in _ESCAPES:
            return ((_ESCAPES[character], _ESCAPES[character]),)
        if not character or character.isalnum() or not character.isascii():
            raise _UnreadableError(f"\\{character}")
        return ((ord(character), ord(character)),)

    def _set(self) -> tuple[Interval, ...]:
        negated = self._peek() == "^"
        if negated:
            self._take()
        found: list[Interval] = []
        first = True
        while self._peek() != "]" or first:
            first = False
            found += self._members()
        self._take()
        return complement(found) if negated else tuple(found)

    def _members(self) -> tuple[Interval, ...]:
        named = self._match(_BRACKETED)
        if named is not None:
            if named[2] not in _NAMED:
                raise _UnreadableError(f"the set {named[2]}")
            own = self._cased(_NAMED[named[2]])
            return complement(own) if named[1] else own
        low, is_one = self._member()
        if not is_one or self._peek() != "-" or self._text[self._at + 1 : self._at + 2] in ("]", ""):
            return self._cased(low)
        self._take()
        high, is_one = self._member()
        if not is_one or low[0][0] > high[0][1]:
            raise _UnreadableError("a range")
        return self._cased(((low[0][0], high[0][1]),))

    def _member(self) -> tuple[tuple[Interval, ...], bool]:
        """Return characters of a set, and whether they are one that may begin or end a range."""
        character = self._take()
        if not character:
            raise _UnreadableError("an open set")
        if character != "\\":
            return ((ord(character), ord(character)),), True
        is_set = self._peek().lower() in {*_CLASSES, "p"}
        flags, self._flags = self._flags, replace(self._flags, ignore_case=is_set and self._flags.ignore_case)
        found = self._escape()
        self._flags = flags
        return found, not is_set


def _size(rest: RegexState) -> int:
    return 1 + sum(_size(part) for part in rest.parts)
