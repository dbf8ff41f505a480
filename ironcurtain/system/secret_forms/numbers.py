"""Numbers that are secrets: cards with the right check digit, and social security."""

from __future__ import annotations

import re
from itertools import chain, islice
from typing import Any

import re2

from ironcurtain.system.secret_forms.linear import MOST

_LONG, _FOURS, _UNEVEN = (
    r"[0-9]{12,18}",
    r"[0-9]{3}(?:[ -][0-9]{4}){3}",
    r"[0-9]{3}[ -][0-9]{6}[ -][0-9]{4,5}",
)
_ROW = r"(?:[ -]?[0-9]){12,18}"
"""How card numbers go on after their first digit: in groups, beside other numbers, or in any way if alone."""
_CARD_SHAPE = re2.compile(
    rf"(?:^|[^0-9])[0-9](?:{_LONG}|{_FOURS}|{_UNEVEN})(?:[^0-9]|$)"
    rf"|(?:^|[^0-9 -]|[^0-9][ -]|^[ -])[0-9]{_ROW}(?:[^0-9 -]|[ -][^0-9]|[ -]?$)"
)
_CARD_FORMS = (
    re.compile(
        rf"[0-9](?<![0-9]{{2}})(?=[0-9]{{3}})(?:(?=({_LONG})(?![0-9]))|(?=({_UNEVEN})(?![0-9]))"
        rf"|(?=({_FOURS})(?![0-9]))(?=({_FOURS}[ -][0-9]{{3}})(?![0-9]))?)"
    ),
    re.compile(rf"[0-9](?<![0-9]{{2}})(?<![0-9][ -].)({_ROW})(?![ -]?[0-9])"),
)
_ZERO = ord("0")
_DOUBLED = bytes(sum(divmod(2 * (code - _ZERO), 10)) if 0 <= code - _ZERO <= 9 else 0 for code in range(256))  # noqa: PLR2004
_DOTTED = re2.compile(r"\b[0-9]{4}\.(?:[0-9]{4}\.){2}[0-9]{1,7}\b|\b[0-9]{4}\.[0-9]{6}\.[0-9]{4,5}\b")
_SEPARATORS = {
    **dict.fromkeys(
        map(ord, "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"), " "
    ),
    **dict.fromkeys(map(ord, "\u202f\u205f\u3000\u00b7\u2022\t"), " "),
    **dict.fromkeys(map(ord, "\u00ad\u2010\u2011\u2012\u2013\u2014\u2212\u30fb"), "-"),
}
"""Other blanks and strokes that stand between the groups of a card's number."""
_SOCIAL = re2.compile(r"\b([0-9]{3})-([0-9]{2})-([0-9]{4})\b")
_LONG_ENOUGH = re2.compile(r"(?:[0-9][^0-9]?){8}[0-9]")
"""What every number of a card or of social security has: nine digits, each at most one character apart."""


def number_pattern() -> Any:  # noqa: ANN401 - the library has no type for a pattern
    """Return the pattern of what every text has that holds such a number."""
    return _LONG_ENOUGH


def number_places(text: str) -> list[tuple[int, int]] | None:
    """Return where such numbers stand, in their order; None if there are too many to look at them all."""
    if _LONG_ENOUGH.search(text) is None:
        return []
    plain = _plainly(text)
    socials = [found.span() for found in islice(_SOCIAL.finditer(plain), MOST) if _is_social(found)]
    cards = _card_places(plain)
    return None if cards is None or len(socials) >= MOST else sorted([*socials, *cards])


def _is_social(found: Any) -> bool:  # noqa: ANN401 - as above
    area, group, serial = found.groups()
    return not (area in {"000", "666"} or area.startswith("9") or group == "00" or serial == "0000")


def _plainly(text: str) -> str:
    """Return a text, of the same length, with plain blanks and hyphens between the groups of card numbers."""
    plain = text if text.isascii() else text.translate(_SEPARATORS)
    return _DOTTED.sub(lambda found: found.group().replace(".", "-"), plain) if "." in plain else plain


def _card_places(text: str) -> list[tuple[int, int]] | None:
    """Return where card numbers stand; overlapping ones are one place. None: too many to look at them all."""
    if _CARD_SHAPE.search(text) is None:
        return []
    matches = islice(chain.from_iterable(form.finditer(text) for form in _CARD_FORMS), MOST)
    spans = [(m.start(), m.end(n)) for m in matches for n, one in enumerate(m.groups(), 1) if one]
    if len(spans) >= MOST:
        return None
    places: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if _luhn(text[start:end].replace(" ", "").replace("-", "").encode()):
            overlaps = bool(places) and start < places[-1][1]
            before = places.pop() if overlaps else (start, end)
            places.append((before[0], max(before[1], end)))
    return places


def _luhn(digits: bytes) -> bool:
    """Tell whether the digits, not all of them 0, end in the right check digit."""
    kept, doubled = digits[-1::-2], digits[-2::-2].translate(_DOUBLED)
    total = sum(kept) - len(kept) * _ZERO + sum(doubled)
    return total % 10 == 0 and bool(digits.strip(b"0"))
