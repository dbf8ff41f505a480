"""What the user wrote in a session, without what is marked as the words of others.

Text between fences (three or more backticks or tildes) and in quotes of Markdown (lines that begin with `>`)
is not the user's own word. A fence may stand in what was pasted, so everything from the first fence of a
message to its last one is left out, and all that follows a fence that stands alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import groupby

_OTHERWISE = frozenset({"<super>", "<sub>", "<fraction>", "<circle>", "<square>"})
_NUMBERS = frozenset({"No", "Nl"})
"""Characters that NFKC writes as others, with which they are not the same number or word."""
_FENCE = re.compile(r"`{3,}|~{3,}")


class UserWords:
    """The user's own words in one session.

    Args:
        home: The home directory, which users write as `~`.
        messages: What was written so far.
    """

    def __init__(self, home: str, messages: Iterable[str] = ()) -> None:
        self.home = home
        self._pieces: dict[str, None] = {}
        for message in messages:
            self.add(message)

    @property
    def pieces(self) -> tuple[str, ...]:
        """The stretches of text that are the user's own, folded; a value stands in one of them or in none."""
        return tuple(self._pieces)

    def add(self, message: str) -> None:
        """Take in what the user wrote."""
        self._pieces |= dict.fromkeys(filter(None, map(folded, _own(message))))

    def forget(self) -> None:
        """Know nothing of what was written, because another conversation begins."""
        self._pieces.clear()


def folded(text: str) -> str:
    """Return a text in NFKC and lower case, with single spaces.

    `ß` and `ς` stay letters of their own, as they are in domain names. A superscript, a fraction or a number
    in a circle stays what it is: `1²` is not 12.
    """
    return " ".join(_same(_same(text).lower()).split())


def _same(text: str) -> str:
    """Return a text in NFKC, but for the characters that mean something else than what that makes of them."""
    if text.isascii():
        return text
    return "".join(
        piece if own else unicodedata.normalize("NFKC", piece)
        for own, pieces in groupby(text, _is_its_own)
        for piece in ["".join(pieces)]
    )


def _is_its_own(character: str) -> bool:
    tag = unicodedata.decomposition(character).partition(" ")[0]
    return tag in _OTHERWISE or unicodedata.category(character) in _NUMBERS


def _own(message: str) -> Iterator[str]:
    # Marks in other widths are marks, too.
    text = "\n".join(_same(message).splitlines())
    fences = [found.span() for found in _FENCE.finditer(text)]
    if not fences:
        yield from _unquoted(text)
        return
    yield from _unquoted(text[: fences[0][0]])
    if len(fences) > 1:
        yield from _unquoted(text[fences[-1][1] :])


def _unquoted(text: str) -> Iterator[str]:
    """Yield a text without its quotes; a quote goes on to the next empty line, as in Markdown."""
    kept: list[str] = []
    is_quoted = False
    for line in text.split("\n"):
        is_quoted = line.lstrip().startswith(">") or (is_quoted and bool(line.strip()))
        if not is_quoted:
            kept.append(line)
        elif kept:
            yield "\n".join(kept)
            kept = []
    yield "\n".join(kept)
