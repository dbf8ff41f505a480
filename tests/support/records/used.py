"""Logs of many calls of an example project, made of its scenarios, with what people answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from ironcurtain.analysis.engine.evaluate import decide_prepared, load_described
from ironcurtain.analysis.replay.pseudonymization import AbstractSanitizer
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.decide import Call, prepare
from ironcurtain.decision.facts import stated_facts
from ironcurtain.enforcement.audit.log import AuditLog
from ironcurtain.enforcement.audit.log_paths import LogPaths, session_log
from ironcurtain.enforcement.audit.record_types import (
    Approval,
    DecisionRecord,
    RecordedApprovalState,
    RecordedFacts,
)
from ironcurtain.enforcement.audit.recorder import Observed, Recorder
from ironcurtain.enforcement.facts.facts_of_tool import ConcernedTools
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.scenarios import DescribedWorld, Scenario, Scenarios
from ironcurtain.model.verdict import Verdict
from support.records.audited import KEY

FIRST = datetime(2026, 3, 2, 8, tzinfo=UTC)
FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"


@dataclass(frozen=True)
class Made:
    """A call that an agent makes, and what a person answers where one is asked."""

    call: Call
    answer: RecordedApprovalState = "approved"
    request: str | None = None


def of_scenarios(scenarios: Scenarios, bundle: Bundle, times: Callable[[Scenario], int]) -> Iterator[Made]:
    """Yield the single calls of scenarios, each as often as `times` says."""
    facts = PolicyContent.of(bundle).facts
    for scenario in scenarios.scenarios:
        call = scenario.call
        stated = stated_facts(facts, call.facts or {}, call.at)
        made = Call(call.server, call.tool, call.arguments, call.caller, facts=stated)
        for _ in range(times(scenario)):
            yield Made(made)


def write_used_log(
    directory: Path,
    name: str,
    bundle: Bundle,
    world: DescribedWorld,
    calls: Iterable[Made],
    *,
    days: int = 30,
    first_day: int = 0,
    seed: int = 1,
    abstract: bool = False,
    key: bytes = KEY,
) -> LogPaths:
    """Decide calls by the real steps and OPA, and write them as a log, in a random order over some days."""
    listed = list(calls)
    Random(seed).shuffle(listed)
    loaded, content = load_described(bundle, world), PolicyContent.of(bundle)
    distinct = {id(made.call): made.call for made in listed}
    prepared = {str(key): prepare(call, loaded) for key, call in distinct.items()}
    decisions = decide_prepared(prepared, bundle, loaded, OpaCommand(find()))
    concerned = ConcernedTools(content)
    times = iter(
        FIRST + timedelta(days=first_day) + number * timedelta(days=days) / len(listed)
        for number in range(len(listed))
    )
    place = session_log(directory, name)
    recorder = Recorder(
        content,
        loaded,
        key=key,
        sanitizer=(lambda key: AbstractSanitizer(content, loaded, key)) if abstract else None,
        clock=lambda: next(times).strftime(FORMAT),
    )

    def record(number: int, made: Made) -> DecisionRecord:
        key, call = str(id(made.call)), made.call
        decision = decisions[key]
        asks = decision.verdict is Verdict.ESCALATE
        is_sent = made.answer == "approved" if asks else decision.verdict is Verdict.ALLOW
        about = concerned.of(call.server, loaded.annotation(call.server, call.tool))
        facts = (
            RecordedFacts(
                at="2026-03-02T09:00:00Z", values=dict(call.facts or {}), declared=dict(about.declared)
            )
            if about is not None
            else None
        )
        approval = (
            Approval(
                state=made.answer,
                request=made.request or f"r{number}",
                scope="once" if made.request is None else "session",
                approver="mia",
                verdict=Verdict.ALLOW if is_sent else Verdict.DENY,
                checks=tuple(each.clause for each in decision.checks),
            )
            if asks
            else None
        )
        return recorder.decision(
            call,
            prepared[key],
            decision,
            id_=f"d{number}",
            forwarded=is_sent,
            approval=approval,
            observed=Observed(facts=facts),
        )

    async def write() -> None:
        async with AuditLog(place, key=key) as log:
            for start in range(0, len(listed), 200):
                group = [record(n, made) for n, made in enumerate(listed[start : start + 200], start)]
                await asyncio.gather(*map(log.decision, group))

    asyncio.run(write())
    return place
