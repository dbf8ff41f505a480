"""Gathering: the facts that one call is decided on, found before `decide`, and what it books when it is sent.

    gathered = await gather(concerned, prepared, sources)   # raises FactUnavailableError: the call is refused
    ...                                                     # decide on gathered.facts
    await book(gathered, sources)                           # False: decide again, others were quicker

Records are looked up in the order of their references, each look-up once; then the memory of the session, the
totals of the caller, the user's words and the clock are read. Nothing is kept between two decisions.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import TypeVar

import anyio
from anyio import CapacityLimiter, to_thread

from ironcurtain.decision.decide import Prepared
from ironcurtain.decision.facts import normalise
from ironcurtain.enforcement.approvals.request import DecidedFacts
from ironcurtain.enforcement.audit.record_types import Booked
from ironcurtain.enforcement.facts import clock
from ironcurtain.enforcement.facts.facts_of_tool import FactsOfTool, Labelled
from ironcurtain.enforcement.facts.memory import SessionMemory, key_of
from ironcurtain.enforcement.facts.records.answers import AskServer, LookUpError, fields_of, look_up_of
from ironcurtain.enforcement.facts.records.looked_up import LookedUp
from ironcurtain.enforcement.facts.records.references import Operands, Raw
from ironcurtain.enforcement.facts.totals.additions import CountedCall, additions_of
from ironcurtain.enforcement.facts.totals.store import StoreError, TotalKey, TotalsStore
from ironcurtain.enforcement.facts.unavailable import FactUnavailableError
from ironcurtain.enforcement.facts.user.said import said
from ironcurtain.enforcement.facts.user.words import UserWords
from ironcurtain.model.facts import CounterFact
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, field, replace

T = TypeVar("T")

LOOK_UP_SECONDS = 10.0
"""How long a look-up may take."""
STORE_SECONDS = 10.0
"""How long a store of totals may take."""

_STORE_THREADS = 8


class FactSources:
    """Where the facts of a session come from.

    Attributes:
        memory: The memory of the session.
        store: The totals of callers.
        now: The gateway's clock.
        words: What the user wrote; None where nobody hands it over: then it is not known.
    """

    def __init__(
        self,
        memory: SessionMemory,
        store: TotalsStore,
        now: Callable[[], datetime] = clock.now,
        words: UserWords | None = None,
    ) -> None:
        self.memory, self.store, self.now, self.words = memory, store, now, words
        # Threads of its own: a store that does not answer must not hold up who does not need it.
        self._threads = CapacityLimiter(_STORE_THREADS)

    async def stored(self, work: Callable[[], T]) -> T:
        """Return what the store answers.

        Raises:
            StoreError: If it does not, in time.
        """
        with anyio.move_on_after(STORE_SECONDS):
            return await to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._threads)
        raise StoreError("the store of totals does not answer")


class Gathered(Struct):
    """The facts of one decision.

    Attributes:
        at: The moment of the decision.
        facts: What the engine sees, as `decide` takes it.
        decided: The same as a person is shown them: the fields of records as their server wrote them. An
            approval is bound to records and labels, not to what changes by itself.
        booked: What the call books when it is sent.
        awaited: Labels that it may give once its answer is there.
        labels: Labels of the session that it was decided on.
        sums: Totals of the session that it was decided on, by counter and window.
        totals: Totals of the caller that it was decided on.
        counters: The counters that concern the tool, by name.
        alone: The totals of those that rules test, were the call the first that is counted.
        declared: Digests of the declarations, by name.
    """

    at: datetime
    facts: dict[str, JsonValue]
    decided: DecidedFacts = field(default_factory=DecidedFacts)
    booked: tuple[Booked, ...] = ()
    awaited: tuple[Labelled, ...] = ()
    labels: Mapping[str, bool] = field(default_factory=dict)
    sums: Mapping[tuple[str, str], Decimal] = field(default_factory=dict)
    totals: Mapping[TotalKey, Decimal] = field(default_factory=dict)
    counters: Mapping[str, CounterFact] = field(default_factory=dict)
    alone: Mapping[str, JsonValue] = field(default_factory=dict)
    declared: Mapping[str, str] = field(default_factory=dict)


async def gather(
    concerned: FactsOfTool, prepared: Prepared, sources: FactSources, ask: AskServer
) -> Gathered:
    """Return the facts that a call is decided on.

    Args:
        concerned: What concerns its tool.
        prepared: The call after step 5.
        sources: Memory, totals and clock.
        ask: Makes a look-up.

    Raises:
        FactUnavailableError: If one cannot be had.
    """
    records = await _records(concerned, prepared, ask)
    raw = dict(records)
    at = sources.now()
    additions = additions_of(concerned, prepared, at)
    stored = await _stored(additions.counted, sources)
    memory = sources.memory
    labels = {name: memory.has(name) for name in concerned.labels}
    raw |= {**additions.totals(memory, stored.__getitem__), **labels}
    raw |= _said(concerned, prepared, sources.words)
    return Gathered(
        at=at,
        facts=_of_their_types(concerned, raw, at),
        decided=DecidedFacts(raw, {**records, **labels}),
        booked=additions.booked,
        awaited=additions.awaited,
        labels=labels,
        sums={each.place: memory.total(*each.place) for each in additions.counted if each.key is None},
        totals=stored,
        counters={each.counted.name: each.counted.fact for each in additions.counted},
        alone=additions.totals(SessionMemory(), lambda _: Decimal(0)),
        declared=concerned.declared,
    )


async def book(gathered: Gathered, sources: FactSources) -> bool:
    """Book what a call adds that is sent now, if memory and totals are what it was decided on.

    Memory is looked at and added to without a pause; what cannot be booked in the store is taken back there.

    Returns:
        Whether it was booked; if not, another call was quicker, and this one must be decided again.

    Raises:
        StoreError: If it cannot be told that it was booked.
    """
    memory = sources.memory
    if any(memory.has(label) != had for label, had in gathered.labels.items()) or any(
        memory.total(*place) != total for place, total in gathered.sums.items()
    ):
        return False
    own = [each for each in gathered.booked if each.caller is None]
    for each in own:
        memory.add(each)
    shared = [each for each in gathered.booked if each.caller is not None]
    is_booked = False
    try:
        is_booked = not gathered.totals or await _book_shared(shared, gathered, sources)
    finally:
        for each in own if not is_booked else ():
            memory.release(each)
    return is_booked


async def renewed(gathered: Gathered, sources: FactSources) -> Gathered:
    """Return what is to be booked on memory and totals as they are now, whatever was decided on.

    Raises:
        StoreError: If the totals cannot be read.
    """
    keys = tuple(gathered.totals)
    totals = await sources.stored(partial(sources.store.totals, keys)) if keys else {}
    return replace(gathered, labels={}, sums={}, totals=totals)


async def _book_shared(shared: list[Booked], gathered: Gathered, sources: FactSources) -> bool:
    added = {key_of(each): Decimal(each.add or 0) for each in shared}
    if not await sources.stored(partial(sources.store.book, gathered.totals, added)):
        return False
    for each in shared:
        sources.memory.add(each)
    return True


async def _records(concerned: FactsOfTool, prepared: Prepared, ask: AskServer) -> dict[str, JsonValue]:
    """Look up the records of a call, in the order of their references; each look-up once."""
    records = LookedUp(Operands(prepared.call.arguments, prepared.caller, {}))
    answers: dict[bytes, Mapping[str, JsonValue]] = {}
    for name, fact in concerned.records:
        found: list[Raw] = []
        for operands in records.needed(name, fact):
            asked = look_up_of(name, fact, operands)
            place = json_text.canonical([asked.server, asked.tool, asked.arguments])
            if place not in answers:
                answers[place] = await _answer(name, partial(ask, asked))
            found.append(fields_of(name, fact, asked, answers[place], operands))
        records.add(name, fact, found)
    return {**records.values}


def _said(concerned: FactsOfTool, prepared: Prepared, words: UserWords | None) -> dict[str, bool]:
    """Return what is known of whether the user named what the call names."""
    if words is None:
        return {}
    told = {name: said(fact, prepared.call.arguments, words) for name, fact in concerned.said}
    return {name: value for name, value in told.items() if value is not None}


def _of_their_types(concerned: FactsOfTool, raw: Raw, at: datetime) -> dict[str, JsonValue]:
    """Return the facts as the engine sees them; a record whose field is not of its type is none."""
    facts = normalise(concerned.declarations, raw, at)
    for name, fact in concerned.records:
        for field_, declared in fact.fields.items():
            if f"{name}/{field_}" not in facts:
                raise FactUnavailableError(f"{name}/{field_}", f"it is not of the type {declared.type}")
    return facts


async def _answer(
    name: str, ask: Callable[[], Awaitable[Mapping[str, JsonValue]]]
) -> Mapping[str, JsonValue]:
    with anyio.move_on_after(LOOK_UP_SECONDS):
        try:
            return await ask()
        except LookUpError as error:
            raise FactUnavailableError(name, str(error)) from None
    raise FactUnavailableError(name, f"the look-up gave no answer within {LOOK_UP_SECONDS:g} seconds")


async def _stored(counted: Sequence[CountedCall], sources: FactSources) -> dict[TotalKey, Decimal]:
    """Return the totals of the caller; a store that holds less than this session booked has lost some."""
    keys = {each.key: each.counted.name for each in counted if each.key is not None}
    if not keys:
        return {}
    name = next(iter(keys.values()))
    try:
        found = await sources.stored(partial(sources.store.totals, tuple(keys)))
    except StoreError as error:
        raise FactUnavailableError(name, str(error)) from error
    for key, total in found.items():
        if total < sources.memory.least(key):
            raise FactUnavailableError(keys[key], "the store holds less than this session has booked")
    return found
