"""Which id each clause has: one that its author wrote, or the one that it had in the last compile.

A clause that stays word for word keeps its id wherever it is moved to; so does one that was edited in its
place, as long as half of its words stay. A new clause gets the next number, and the id of a clause that is
gone is not given to another one. At first, clauses are numbered in the order of the document.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import count, pairwise

from ironcurtain.errors import ClauseIdError, raise_all
from ironcurtain.model.policy import CLAUSE_ID, Clause
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted

_WORD = re.compile(r"\w+")
_LEAST_ALIKE = 0.5
_MOST_COMPARED = 250_000
"""Pairs of sentences between the same neighbours: beyond that it is another text, and nothing was edited."""


class KnownClauses(Struct):
    """What ids stand for, as far as is known.

    Attributes:
        clauses: The clauses as they were, in their order.
        former: Those that were there before and are gone, as they were last.
    """

    clauses: tuple[Clause, ...] = ()
    former: tuple[Clause, ...] = ()

    def of_file(self, prefix: str, elsewhere: Collection[str]) -> KnownClauses:
        """Return what is known for one of the two files, without the ids of the other one."""
        other = re.compile(rf"(?!{prefix})[CU]\d+")

        def own(clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
            return tuple(c for c in clauses if c.id not in elsewhere and not other.fullmatch(c.id))

        return KnownClauses(own(self.clauses), own(self.former))

    def gone(self, clauses: Sequence[Clause]) -> tuple[Clause, ...]:
        """Return the known clauses whose ids none of these has, those that went last at the end."""
        ids = {clause.id for clause in clauses}
        return tuple(clause for clause in (*self.former, *self.clauses) if clause.id not in ids)


NOTHING_KNOWN = KnownClauses()


class Sentence(Struct):
    """A sentence before it has an id.

    Attributes:
        written: The id that its author wrote behind it; empty if there is none.
        where: `file:line`.
    """

    text: str
    written: str
    where: str


def clause_ids(
    sentences: Sequence[Sentence], known: KnownClauses, prefix: str, elsewhere: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the id of each sentence of a file, in their order.

    Args:
        sentences: The sentences.
        known: What ids stood for until now.
        prefix: What the numbers of this file's clauses begin with: `C` or `U`.
        elsewhere: Ids that clauses of the other file have.

    Raises:
        ClauseIdError: For each id that is none, that is written twice, or that is another clause's.
    """
    known = known.of_file(prefix, elsewhere)
    raise_all([*_unusable(sentences), *_written_twice(sentences, elsewhere), *_taken(sentences, known)])
    ids = {place: sentence.written for place, sentence in enumerate(sentences) if sentence.written}
    for old, new in _kept(known.clauses, sentences):
        ids.setdefault(new, known.clauses[old].id)
    back = {clause.text: clause.id for clause in known.former if clause.id not in ids.values()}
    for place, sentence in enumerate(sentences):
        if place not in ids and sentence.text in back:
            ids[place] = back.pop(sentence.text)
    used = {*ids.values(), *elsewhere, *(clause.id for clause in (*known.clauses, *known.former))}
    free = _numbers(prefix, used, positions=len(sentences) if known == NOTHING_KNOWN else 0)
    return tuple(ids.get(place) or free(place) for place in range(len(sentences)))


def is_alike(first: str, second: str) -> bool:
    """Tell whether half of the words of two sentences are the same."""
    return _alike(_words(first), _words(second)) >= _LEAST_ALIKE


def _numbers(prefix: str, used: Collection[str], *, positions: int) -> Callable[[int], str]:
    """Return what gives a number to a sentence by its place, counted from 0.

    Args:
        prefix: What the numbers begin with.
        used: Ids that are, or were, those of other clauses.
        positions: How many sentences are numbered by their places; 0 to go on from the highest number.
    """
    numbers = [int(found[1]) for id_ in used if (found := re.fullmatch(rf"{prefix}(\d+)", id_))]
    later = count(max([*numbers, positions]) + 1)

    def free(place: int) -> str:
        own = f"{prefix}{place + 1}"
        return own if place < positions and own not in used else f"{prefix}{next(later)}"

    return free


# -- what an author may write -----------------------------------------------------------------------


def _unusable(sentences: Sequence[Sentence]) -> Iterator[ClauseIdError]:
    for sentence in sentences:
        if sentence.written and not re.fullmatch(CLAUSE_ID, sentence.written):
            yield ClauseIdError(
                f"{quoted(sentence.written)} cannot be the id of a clause",
                where=sentence.where,
                hint="A letter, then letters, digits, `.`, `_` and `-`, 64 at most: {#payments}.",
            )


def _written_twice(sentences: Sequence[Sentence], elsewhere: Collection[str]) -> Iterator[ClauseIdError]:
    places = dict.fromkeys(elsewhere, "in the user's own guidance")
    for sentence in sentences:
        if sentence.written in places:
            yield ClauseIdError(
                f"two clauses have the id {quoted(sentence.written)}; "
                f"the other one is {places[sentence.written]}",
                where=sentence.where,
                hint="Give one of them another id.",
            )
        elif sentence.written:
            places[sentence.written] = f"at {sentence.where}"


def _taken(sentences: Sequence[Sentence], known: KnownClauses) -> Iterator[ClauseIdError]:
    """Yield an error for each written id by which another clause is known."""
    now, former = ({c.id: c.text for c in clauses} for clauses in (known.clauses, known.former))
    places = {sentence.text: sentence.where for sentence in sentences}
    for sentence in sentences:
        before = now.get(sentence.written)
        if before is not None and before != sentence.text and before in places:
            said_of = f"the id of the clause at {places[before]}"
        elif (
            before is not None
            and (other := _more_alike(before, sentence, sentences, now.values())) is not None
        ):
            said_of = f"the id of the clause at {other.where}, which was edited"
        elif sentence.written in former and not is_alike(former[sentence.written], sentence.text):
            said_of = f"the id of a clause that is gone: {quoted(former[sentence.written])}"
        else:
            continue
        yield ClauseIdError(
            f"{quoted(sentence.written)} is {said_of}",
            where=sentence.where,
            hint="Write another id: reports and records of before would seem to speak of this clause.",
        )


def _more_alike(
    before: str, sentence: Sentence, sentences: Sequence[Sentence], known: Collection[str]
) -> Sentence | None:
    """Return the sentence that a known clause was edited into, if it is another one than this."""
    words = _words(before)
    least = max(_LEAST_ALIKE, _alike(words, _words(sentence.text)))
    others = [other for other in sentences if other is not sentence and other.text not in known]
    alike = [(_alike(words, _words(other.text)), -place) for place, other in enumerate(others)]
    most, place = max(alike, default=(0.0, 0))
    return others[-place] if most > least else None


# -- what stayed ------------------------------------------------------------------------------------


def _kept(before: Sequence[Clause], sentences: Sequence[Sentence]) -> Iterator[tuple[int, int]]:
    """Yield the places, before and now, of each clause that stayed: as it was, moved, or edited in place."""
    written, ids = {sentence.written for sentence in sentences}, {clause.id for clause in before}
    old = [(clause.id, "") if clause.id in written else ("", clause.text) for clause in before]
    new = [
        (sentence.written, "") if sentence.written in ids else ("", sentence.text) for sentence in sentences
    ]
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    stayed = [(i + n, j + n) for i, j, size in matcher.get_matching_blocks() for n in range(size)]
    moved = [*_moved(old, new, stayed)]
    yield from (*stayed, *moved)
    done_old, done_new = ({pair[side] for pair in (*stayed, *moved)} for side in (0, 1))
    for (i, j), (i_end, j_end) in pairwise([(-1, -1), *stayed, (len(old), len(new))]):
        olds = [place for place in range(i + 1, i_end) if place not in done_old]
        news = [place for place in range(j + 1, j_end) if place not in done_new]
        yield from _edited(before, sentences, olds, news)


def _moved(
    old: Sequence[tuple[str, str]], new: Sequence[tuple[str, str]], stayed: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    done_old, done_new = ({pair[side] for pair in stayed} for side in (0, 1))
    places = defaultdict(list)
    for place in reversed(range(len(old))):
        if place not in done_old:
            places[old[place]].append(place)
    for place, key in enumerate(new):
        if place not in done_new and places[key]:
            yield places[key].pop(), place


def _edited(
    before: Sequence[Clause], sentences: Sequence[Sentence], olds: Sequence[int], news: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Yield the pairs of clauses between the same neighbours that are alike, the most alike ones first."""
    if len(olds) * len(news) > _MOST_COMPARED:
        return
    were = {place: _words(before[place].text) for place in olds}
    are = {place: _words(sentences[place].text) for place in news}
    alike = [(-_alike(were[i], are[j]), i, j) for i in olds for j in news]
    gone, here = set(olds), set(news)
    for less, i, j in sorted(alike):
        if -less >= _LEAST_ALIKE and i in gone and j in here:
            gone.remove(i)
            here.remove(j)
            yield i, j


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.casefold()))


def _alike(first: Counter[str], second: Counter[str]) -> float:
    """Return which share of the words of two sentences they have in common, from 0 to 1."""
    both = first.total() + second.total()
    return 2 * (first & second).total() / both if both else 1.0
