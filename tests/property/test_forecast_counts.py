"""A forecast is the count that one gets by deciding every call of the profile."""

from __future__ import annotations

import json
from collections import Counter
from random import Random

import pytest
from support.documents import object_at
from support.generators import spaces
from support.generators.recorded import decide_all, random_calls, record_all
from support.records.audited import KEY

from ironcurtain.analysis.advice.forecast import decide_profile, decide_records, forecast
from ironcurtain.analysis.advice.forecast_report import ProfileCall, UsageProfile
from ironcurtain.analysis.engine.evaluate import load_described
from ironcurtain.analysis.replay.replay import Replayer
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.verdict import Verdict

CALLS = 150
SESSIONS = 4


@pytest.mark.parametrize("seed", [1, 4, 5])
def test_a_forecast_equals_the_count_when_the_profile_is_replayed(seed: int) -> None:
    random = Random(seed)
    bundle = spaces.bundle_of(spaces.random_policy(random, 20))
    calls = [call for call in random_calls(random, CALLS) if isinstance(call.arguments, dict)]
    counts = [random.randint(1, 5) for _ in calls]
    profile = UsageProfile(
        format="ironcurtain/profile/v1",
        sessions=SESSIONS,
        calls=tuple(
            ProfileCall(
                server=call.server,
                tool=call.tool,
                arguments=object_at(json.loads(json.dumps(call.arguments))),
                caller=dict(call.caller or {}),
                count=count,
            )
            for call, count in zip(calls, counts, strict=True)
        ),
    )
    opa = OpaCommand(find())
    content = PolicyContent.of(bundle)
    found = forecast(decide_profile(profile, bundle, spaces.WORLD, opa), content, SESSIONS)
    decided = decide_all(calls, bundle)
    causes: Counter[str] = Counter()
    for call, count in zip(calls, counts, strict=True):
        decision = decided[1][str(call.id)]
        if decision.verdict is Verdict.ESCALATE:
            causes[decision.clause or decision.rule] += count
    assert found.approvals * SESSIONS == pytest.approx(causes.total())
    assert {each.clause: round(each.approvals * SESSIONS) for each in found.clauses} == dict(causes)
    assert (found.unknown, round(found.calls * SESSIONS)) == (0, sum(counts))
    assert causes.total() > 0

    replayer = Replayer(bundle, load_described(bundle, spaces.WORLD), opa, KEY)
    for abstract in (False, True):
        records = record_all(calls, bundle, abstract=abstract, decided=decided)
        again = forecast(decide_records(records, replayer), content, 1)
        asked = sum(record.verdict is Verdict.ESCALATE for record in records)
        assert (again.approvals, again.unknown) == (asked, 0)
