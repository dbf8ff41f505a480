"""Guarantees about totals: is a call allowed that brings a total above a number, and by which calls?

Over cells it is decided exactly whether any call is allowed above the number. Which calls bring a total there
is searched: by the amounts that the policy and the guarantee can tell apart, breadth first, so that the
shortest such sequence of these amounts is found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from ironcurtain.analysis.engine.cell_verdicts import Severities
from ironcurtain.analysis.engine.evaluate import decide_prepared
from ironcurtain.analysis.engine.policy_analysis import PolicyAnalysis
from ironcurtain.analysis.engine.search import CallSearch, FoundCall
from ironcurtain.analysis.engine.sequence_scope import ReadSequence
from ironcurtain.analysis.guarantees.kinds import ToolName
from ironcurtain.analysis.guarantees.sessions import SentCall
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.enforcement.facts.totals.amounts import AmountError, add, amount_of, as_json
from ironcurtain.engine.command import OpaCommand
from ironcurtain.model.decision import Decision
from ironcurtain.model.facts import CounterFact, Fact, LabelFact
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, replace

MAX_CALLS, MAX_AMOUNTS, MAX_LENGTH, MAX_COUNT = 12, 24, 4, 200
UNREACHED = "calls are allowed above the number, but no calls were found that bring the total there"


class _Move(Struct):
    """A call that is counted, with what it adds."""

    tool: ToolName
    call: FoundCall
    amount: Decimal


def above(sequence: ReadSequence, analysis: PolicyAnalysis, opa: OpaCommand) -> tuple[SentCall, ...]:
    """Return calls of one session the last of which is allowed above the number; nothing if none are found.

    Raises:
        EngineFailedError: If OPA does not run.
    """
    demand = sequence.guarantee.at_most
    if demand is None or sequence.counter is None:
        return ()
    limit = Decimal(repr(demand.is_))
    moves = list(_moves(sequence, analysis, limit))
    longest = MAX_COUNT if sequence.counter.add is None else MAX_LENGTH
    reached: dict[Decimal, tuple[_Move, ...]] = {Decimal(0): ()}
    newest = dict(reached)
    for _ in range(longest):
        decided = _decided(newest, moves, demand.total, analysis, opa)
        newest = {}
        for before, move, verdict in decided:
            path = (*reached[before], move)
            total = before + move.amount
            if verdict is Verdict.ALLOW and total > limit:
                return tuple(SentCall(each.tool, each.call) for each in path)
            if verdict is not Verdict.DENY and total not in reached:
                reached[total] = newest[total] = path
        if not newest:
            break
    return ()


def _decided(
    totals: Mapping[Decimal, Sequence[_Move]],
    moves: Sequence[_Move],
    counter: str,
    analysis: PolicyAnalysis,
    opa: OpaCommand,
) -> list[tuple[Decimal, _Move, Verdict]]:
    """Decide every move at every total; the most allowing first, so that no approval is used without need."""
    side = analysis.policies[0]
    asked: dict[str, Prepared | Decision] = {}
    places: dict[str, tuple[Decimal, _Move]] = {}
    for before in sorted(totals)[: 4_000 // max(1, len(moves))]:
        for move in moves:
            try:
                total = as_json(add(before, move.amount))
            except AmountError:
                continue
            id_ = str(len(asked))
            call = move.call
            asked[id_] = prepare(
                Call(*move.tool, call.arguments, call.caller, id=id_, facts={**call.facts, counter: total}),
                side.policy,
            )
            places[id_] = before, move
    decisions = decide_prepared(asked, side.bundle, side.policy, opa) if asked else {}
    found = [(*places[id_], decision.verdict) for id_, decision in decisions.items()]
    return sorted(found, key=lambda each: (each[2].severity, -each[0] - each[1].amount))


def _moves(sequence: ReadSequence, analysis: PolicyAnalysis, limit: Decimal) -> Iterator[_Move]:
    """Yield calls that are counted, of every way to be sent and every amount that can matter."""
    added = None if sequence.counter is None else sequence.counter.add
    for tool in sequence.allow.read.tools:
        found = list(_calls(sequence, analysis, tool))[:MAX_CALLS]
        if added is None:
            yield from (_Move(tool, call, Decimal(1)) for call in found)
            continue
        (name, *below) = pointers.steps_of(added.arg)
        if below:
            return
        known = {amount for call in found for amount in _amount(call.arguments.get(name))}
        amounts = sorted({*known, *_near(limit)}, reverse=True)[:MAX_AMOUNTS]
        reader = analysis.tools[tool].space.reader
        for call in found:
            for amount in amounts:
                arguments = {**call.arguments, name: as_json(amount)}
                if reader.accepts(arguments):
                    yield _Move(tool, replace(call, arguments=arguments), amount)


def _calls(sequence: ReadSequence, analysis: PolicyAnalysis, tool: ToolName) -> Iterator[FoundCall]:
    """Yield a call of each path that is not denied, each once but for its totals."""
    examined = analysis.tools[tool]
    search = CallSearch(examined)
    registry = analysis.policies.registry
    seen = set()
    for keys, cell in examined.space.cells.items():
        key = keys[0]
        if key is None or not sequence.allow.read.matches(key, registry):
            continue
        for answered in examined.answers.get(keys, ()):
            outcome = answered.outcomes[0]
            if outcome is None or outcome.verdict is Verdict.DENY:
                continue
            found = search.find(cell, _is_sent, path=answered.path).call
            if found is None:
                continue
            facts = _of_a_new_session(found.facts, analysis.content.facts)
            plain = replace(found, facts=facts)
            same = json_text.canonical([plain.arguments, plain.caller, plain.facts])
            if same not in seen:
                seen.add(same)
                yield plain


def _is_sent(_: Severities, call: Severities) -> bool:
    return call[0] < Verdict.DENY.severity


def _of_a_new_session(known: Mapping[str, JsonValue], declared: Mapping[str, Fact]) -> dict[str, JsonValue]:
    """Return the facts of a call in a session without labels; its total is told for itself."""
    kept = {
        name: value
        for name, value in known.items()
        if not isinstance(declared.get(name), CounterFact | LabelFact)
    }
    return {**kept, **{name: False for name, fact in declared.items() if isinstance(fact, LabelFact)}}


def _amount(value: JsonValue) -> Iterator[Decimal]:
    try:
        yield amount_of(value)
    except AmountError:
        return


def _near(limit: Decimal) -> Iterator[Decimal]:
    """Yield amounts by which few calls come near a number or just above it."""
    yield from (limit, limit + 1, Decimal(1))
    half = limit / 2
    yield from (half, half + 1) if half == half.to_integral_value() else ()
