"""Hide the secrets of a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from ironcurtain.system.secret_forms.linear import MOST, compiled
from ironcurtain.system.secret_forms.names import is_secret_flag, names_in_text
from ironcurtain.system.secret_forms.numbers import number_pattern, number_places
from ironcurtain.system.secret_forms.tokens import open_key, token_pattern
from ironcurtain.system.secret_forms.values import unnamed_pattern, value_places

_HIDDEN = "[redacted]"
_LONGEST_KEY = 1 << 14
"""Characters after which a key whose end does not come is taken to have ended."""


@cache
def suspicious() -> Any:  # noqa: ANN401 - the library has no type for a pattern
    """Return what every text has that is or names a secret: most have nothing, and are looked at once."""
    # Only decisions need it, so it is compiled for the first of them, or shortly after the start.
    patterns = (token_pattern(), names_in_text(), unnamed_pattern(), number_pattern())
    return compiled(each.pattern for each in patterns)


def hide(text: str, mark: Callable[[str], str]) -> str:
    """Return a text with a mark in the place of each secret; the name that makes a value one stays."""
    if suspicious().search(text) is None:
        return text
    shown: str
    shown, tokens = token_pattern().subn(lambda found: mark(found.group()), text, MOST)
    for places_in in (value_places, number_places):
        places = places_in(shown)
        if places is None or tokens >= MOST:
            return mark(text)
        shown = _marked(shown, places, mark)
    return shown


def _marked(text: str, places: Iterable[tuple[int, int]], mark: Callable[[str], str]) -> str:
    parts, at = [], 0
    for start, end in places:
        if start >= at:
            parts += [text[at:start], mark(text[start:end])]
            at = end
    return "".join([*parts, text[at:]])


def is_named_by(flag: str, word: str) -> bool:
    """Tell whether a word of a command line is a secret by the flag before it."""
    return flag.startswith("-") and (is_secret_flag(flag) or value_places(f"{flag} {word}") != [])


def words_without_secrets(words: Sequence[str]) -> list[str]:
    """Return a command line that may be shown."""
    return [
        _HIDDEN if number and is_named_by(words[number - 1], word) else without_secrets(word)
        for number, word in enumerate(words)
    ]


def without_secrets(text: str) -> str:
    """Return a text that may be shown: what looks like a secret is `[redacted]`."""
    return hide(text, lambda _: _HIDDEN)


class PiecewiseHiding:
    """Hides the secrets of a text that comes in pieces, each of whole lines: a key goes over several."""

    def __init__(self) -> None:
        self._key, self._length = "", 0

    def shown(self, piece: str) -> str:
        """Return a piece that may be shown."""
        whole = f"{self._key}\n{piece}" if self._key else piece
        self._length = self._length + len(piece) if self._key else 0
        self._key = open_key(whole) if self._length < _LONGEST_KEY else ""
        return without_secrets(whole)
