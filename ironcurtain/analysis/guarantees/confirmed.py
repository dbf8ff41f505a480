"""Holding a sequence of calls against the fold of a session and OPA: each call as it would be decided there.

Windows of counters are as far from each other as steps can be: each call is two weeks after the one before,
unless the sequence is about a total.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from ironcurtain.analysis.engine.evaluate import decide_prepared
from ironcurtain.analysis.engine.indexes import VariableIndex, indexed
from ironcurtain.analysis.engine.policy_analysis import PolicyAnalysis
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.analysis.guarantees.sessions import SentCall
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.decision.facts import normalise
from ironcurtain.enforcement.facts.followed import FollowedCall, FollowedSession
from ironcurtain.engine.command import OpaCommand
from ironcurtain.model.decision import Decision
from ironcurtain.model.facts import ClockFact, CounterFact, Fact, LabelFact
from ironcurtain.model.guarantees import WitnessCall
from ironcurtain.model.times import MINUTES_OF_WEEK
from ironcurtain.model.unknown_facts import values_by_root
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, replace

_MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
_APART = timedelta(weeks=2)
OTHERWISE = "a sequence was found whose totals or times let it be decided otherwise; there may be another one"


class _Step(Struct):
    sent: SentCall
    at: datetime
    followed: FollowedCall


def confirmed(
    path: Sequence[SentCall], analysis: PolicyAnalysis, opa: OpaCommand, *, apart: timedelta = _APART
) -> tuple[WitnessCall, ...]:
    """Return the calls of a sequence as they are decided one after the other; nothing if they are not.

    All but the last must be sent, the last one allowed.

    Args:
        path: The calls.
        analysis: The policy.
        opa: The engine.
        apart: How long after one call the next one is made.

    Raises:
        EngineFailedError: If OPA does not run.
    """
    steps = _followed(path, analysis, apart)
    if len(steps) < len(path):
        return ()
    asked = {str(number): step.followed.outcome for number, step in enumerate(steps)}
    side = analysis.policies[0]
    decisions = decide_prepared(asked, side.bundle, side.policy, opa)
    told = tuple(_witness(step, decisions[str(number)]) for number, step in enumerate(steps))
    if any(each.verdict is Verdict.DENY for each in told) or told[-1].verdict is not Verdict.ALLOW:
        return ()
    last = told[-1].model_copy(update={"approved": False})
    return (*told[:-1], last)


def _followed(path: Sequence[SentCall], analysis: PolicyAnalysis, apart: timedelta) -> list[_Step]:
    policy = analysis.policies[0].policy
    session = FollowedSession(policy)
    steps: list[_Step] = []
    for number, each in enumerate(path):
        sent = _counted(each, analysis)
        at = _moment(sent, analysis, _MONDAY + number * apart)
        prepared = prepare(_call(sent, at, policy.facts, number), policy)
        if not isinstance(prepared, Prepared) or (steps and at < steps[-1].at):
            break
        followed = session.before(prepared, at)
        if isinstance(followed.outcome, Decision):
            break
        session.send(followed, sent.awaited)
        steps.append(_Step(sent, at, followed))
    return steps


def _counted(sent: SentCall, analysis: PolicyAnalysis) -> SentCall:
    """Return a call with the amounts that counters need of it: without them it is never sent."""
    space = analysis.tools[sent.tool].space
    needed = {
        steps[0]: 0
        for fact in analysis.content.facts.values()
        if isinstance(fact, CounterFact) and fact.add is not None
        for steps in [pointers.steps_of(fact.add.arg)]
        if len(steps) == 1
    }
    missing = {name: zero for name, zero in needed.items() if name not in sent.call.arguments}
    arguments: dict[str, JsonValue] = {**sent.call.arguments, **missing}
    if not missing or not space.reader.accepts(arguments):
        return sent
    return replace(sent, call=replace(sent.call, arguments=arguments))


def _call(sent: SentCall, at: datetime, declared: Mapping[str, Fact], number: int) -> Call:
    server, tool = sent.tool
    times = {name: fact for name, fact in declared.items() if isinstance(fact, ClockFact)}
    of_records = {
        name: value
        for name, value in sent.call.facts.items()
        if not isinstance(declared.get(name), CounterFact | LabelFact | ClockFact)
    }
    facts: dict[str, JsonValue] = {**of_records, **normalise(times, {}, at)}
    return Call(server, tool, sent.call.arguments, sent.call.caller, id=str(number), facts=facts)


def _moment(sent: SentCall, analysis: PolicyAnalysis, at: datetime) -> datetime:
    """Return a moment of a week at which a call is of its class; several clocks are right only by chance."""
    space = analysis.tools[sent.tool].space
    for index, variable in indexed(VariableIndex, space.variables):
        root, name = variable.places[0]
        fact = analysis.content.facts.get(name) if root == "facts" else None
        if len(variable.places) == 1 and isinstance(fact, ClockFact):
            zone = ZoneInfo(fact.zone)
            monday = datetime(at.year, at.month, at.day, tzinfo=zone)
            return (monday + timedelta(minutes=_minute(space, index, sent))).astimezone(UTC)
    return at


def _minute(space: CallSpace, index: VariableIndex, sent: SentCall) -> int:
    """Return the first minute of the week that is of the class that a call was found in."""
    variable = space.variables[index]
    ((_, name),) = variable.places
    known = values_by_root()
    known["facts"].update({name: sent.call.facts[name]} if name in sent.call.facts else {})
    wanted = variable.class_of(known)
    for minute in range(MINUTES_OF_WEEK):
        known["facts"][name] = minute
        if variable.class_of(known) == wanted:
            return minute
    return 0


def _witness(step: _Step, decision: Decision) -> WitnessCall:
    call, followed = step.sent.call, step.followed
    outcome = followed.outcome
    facts = dict(outcome.facts) if isinstance(outcome, Prepared) else {}
    given = {each.fact for each in followed.additions.booked if each.add is None} | step.sent.awaited
    return WitnessCall(
        server=step.sent.tool[0],
        tool=step.sent.tool[1],
        arguments=call.arguments,
        caller=call.caller,
        facts=facts,
        subject=f"{call.role} {call.value}",
        verdict=decision.verdict,
        rule=decision.rule,
        clause=decision.clause,
        at=step.at.isoformat().replace("+00:00", "Z"),
        approved=decision.verdict is Verdict.ESCALATE,
        gives=tuple(sorted(given)),
    )
