"""Whether what a call names stands in what the user wrote.

A value stands there as a whole: between spaces or ends of the text, apart from the punctuation around it. So
`bob@example.com` does not stand in `bob@example.com.evil.org`, nor `Ann` in `Anna`. What is doubtful does not
stand there: then the fact is false, and a person is asked or the call is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from ironcurtain.decision.canonical import pointers
from ironcurtain.enforcement.facts.user.words import UserWords, folded
from ironcurtain.model.facts import SaidFact
from ironcurtain.system.frozen import JsonValue

# Brackets and quotation marks; those of other scripts as escapes, since some look like one another.
_QUOTES = "\"'`\u201c\u201d\u201e\u2018\u2019\u201a\u00ab\u00bb\u2039\u203a"
_OPENING = frozenset("([<\u300c\u300e" + _QUOTES)
_CLOSING = frozenset(".,;:!?)]>\u3001\u3002\u300d\u300f" + _QUOTES)
_CURRENCIES = frozenset("$€£¥₹₩₽₺₴₪₫₱₦₿¢")
_ROOT_OF_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#]+/")
_IBAN = re.compile(r"[a-z]{2}[0-9]{2}[a-z0-9]{11,30}")
_GROUPED = re.compile(r"(-?)([1-9][0-9]{0,2}(?:([.,'])[0-9]{3})(?:\3[0-9]{3})*)(?:([.,])([0-9]+))?")
_PLAIN = re.compile(r"(-?)(0|[1-9][0-9]*)(?:[.,]([0-9]+))?")
# Groups of three digits between spaces are one number, and none of its parts is one.
_SPACED = re.compile(r"(?<!\S)[^\s\w]*[1-9][0-9]{0,2}(?: [0-9]{3})+(?![0-9])")


def said(fact: SaidFact, arguments: JsonValue, words: UserWords) -> bool | None:
    """Tell whether all that a call names in the arguments of a fact stands in the user's words.

    Args:
        fact: The declaration.
        arguments: The canonical arguments of the call.
        words: What the user wrote.

    Returns:
        None where the call names nothing there: that is not known.
    """
    places = [found for at in fact.args for _, found in pointers.matches(arguments, pointers.steps_of(at))]
    values = [value for place in places for value in _elements(place)]
    return all(_stands(value, words) for value in values) if values else None


def _elements(value: JsonValue) -> Iterator[JsonValue]:
    if isinstance(value, list):
        for each in value:
            yield from _elements(each)
    elif value is not None:
        yield value


def _stands(value: JsonValue, words: UserWords) -> bool:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False  # an object has names, too, and true is no word of anybody
    if not isinstance(value, str):
        return any(Decimal(str(value)) == amount for piece in words.pieces for amount in _amounts(piece))
    return any(
        _is_whole(piece, found.start(), found.start() + len(found[1]))
        for spelling in _spellings(value, words.home)
        for piece in words.pieces
        for found in re.finditer(f"(?=({spelling}))", piece)
    )


def _spellings(value: str, home: str) -> Iterator[str]:
    """Yield, as patterns, the ways in which a user writes a value: all of them name just that."""
    text = folded(value)
    if not any(letter.isalnum() for letter in text):
        return
    yield re.escape(text)
    together = text.replace(" ", "")
    if _IBAN.fullmatch(together) and _is_iban(together):
        yield " ?".join(together)
    if _ROOT_OF_URL.fullmatch(text):
        yield re.escape(text.removesuffix("/"))
    if text.startswith("/"):
        yield re.escape(text + "/")
        inside = text.removeprefix(folded(home) + "/")
        if inside != text:
            yield re.escape(f"~/{inside}")
            yield re.escape(f"~/{inside}/")


def _is_iban(text: str) -> bool:
    return int("".join(str(int(each, 36)) for each in text[4:] + text[:4])) % 97 == 1


def _is_whole(piece: str, begin: int, end: int) -> bool:
    """Tell whether only punctuation stands between a stretch of a text and the spaces around it."""
    before, after = piece[:begin].rpartition(" ")[2], piece[end:].partition(" ")[0]
    opening = _OPENING | _CURRENCIES if piece[begin].isdecimal() else _OPENING
    closing = _CLOSING | _CURRENCIES if piece[end - 1].isdecimal() else _CLOSING
    return opening.issuperset(before) and closing.issuperset(after)


def _amounts(piece: str) -> Iterator[Decimal]:
    """Yield the numbers that stand in a text as a whole; three digits after a mark are thousands."""
    joined = _SPACED.sub(lambda found: found[0].replace(" ", "'"), piece)
    opening, closing = "".join(_OPENING | _CURRENCIES), "".join(_CLOSING | _CURRENCIES)
    for word in joined.split(" "):
        text = word.lstrip(opening).rstrip(closing)
        grouped, plain = _GROUPED.fullmatch(text), _PLAIN.fullmatch(text)
        if grouped is not None and grouped[3] != grouped[4]:
            whole = re.sub(r"[.,']", "", grouped[2])
            yield Decimal(f"{grouped[1]}{whole}.{grouped[5] or 0}")
        elif plain is not None and grouped is None:
            yield Decimal(f"{plain[1]}{plain[2]}.{plain[3] or 0}")
