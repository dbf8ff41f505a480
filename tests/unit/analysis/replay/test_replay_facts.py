"""Recorded calls with their declared facts under another policy."""

from __future__ import annotations

from typing import Any

import pytest
from support.generators import spaces_facts
from support.projects.policies import rule

from ironcurtain.analysis.advice.forecast import decide_profile, forecast
from ironcurtain.analysis.advice.forecast_report import UsageProfile
from ironcurtain.analysis.engine.evaluate import decide_prepared, load_described
from ironcurtain.analysis.replay.pseudonymization import AbstractSanitizer
from ironcurtain.analysis.replay.replay import Replayer
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.decide import Call, prepare
from ironcurtain.enforcement.audit.record_types import DecisionRecord, RecordedFacts
from ironcurtain.enforcement.audit.recorder import Observed, Recorder
from ironcurtain.enforcement.facts.facts_of_tool import ConcernedTools
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find

WORLD, DECLARED = spaces_facts.WORLD, spaces_facts.DECLARED
KEY = b"k" * 32


def rules_of(then: str, name: str = "order/status", value: Any = "pending") -> list[dict[str, Any]]:
    test = {"fact": name, "op": "equals", "value": value}
    return [rule("tested", then, tool=["pay"], facts=[test]), rule("pay", "deny", tool=["pay"])]


def recorded(*, abstract: bool = False) -> DecisionRecord:
    """Return a payment that was allowed since its order was pending, as a proxy records it."""
    bundle = spaces_facts.bundle_of(rules_of("allow"))
    loaded, content = load_described(bundle, WORLD), PolicyContent.of(bundle)
    call = Call("shop", "pay", {"order_id": "1", "amount": 3}, facts={"order/status": "pending"})
    prepared = prepare(call, loaded)
    decision = decide_prepared({"0": prepared}, bundle, loaded, OpaCommand(find()))["0"]
    concerned = ConcernedTools(content).of("shop", loaded.annotation("shop", "pay"))
    assert concerned is not None
    facts = RecordedFacts(
        at="2026-03-02T09:00:00Z", values={"order/status": "pending"}, declared=dict(concerned.declared)
    )
    sanitizer = (lambda key: AbstractSanitizer(content, loaded, key)) if abstract else None
    recorder = Recorder(content, loaded, key=KEY, sanitizer=sanitizer)
    return recorder.decision(
        call, prepared, decision, id_="0", forwarded=True, observed=Observed(facts=facts)
    )


def replayed(
    rules: list[dict[str, Any]], declared: dict[str, Any] = DECLARED, *, abstract: bool = False
) -> str:
    bundle = spaces_facts.bundle_of(rules, declared)
    replayer = Replayer(bundle, load_described(bundle, WORLD), OpaCommand(find()), KEY)
    (found,) = replayer.replay([recorded(abstract=abstract)])
    return str(found.verdict) if found.verdict is not None else found.unknown or ""


@pytest.mark.parametrize("then", ["allow", "escalate", "deny"])
def test_a_call_is_decided_on_the_facts_of_its_record(then: str) -> None:
    assert replayed(rules_of(then)) == then


def test_a_fact_that_the_record_lacks_is_unknown() -> None:
    missing = "the policy tests facts that the record does not hold"
    assert replayed(rules_of("allow", "order/user", "ann")) == missing
    assert replayed(rules_of("allow"), abstract=True) == missing


def test_a_fact_that_means_something_else_is_unknown() -> None:
    fields = {**DECLARED["order"]["fields"], "status": {"at": "/state", "type": "string"}}
    other = {**DECLARED, "order": {**DECLARED["order"], "fields": fields}}
    said = "the fact order is declared otherwise than when the call was recorded"
    assert replayed(rules_of("allow"), other) == said


def test_a_profile_states_facts_and_is_unknown_without() -> None:
    bundle = spaces_facts.bundle_of(rules_of("escalate"))
    call = {"server": "shop", "tool": "pay", "arguments": {"order_id": "1"}}
    known = {**call, "facts": {"order": {"status": "pending"}}, "count": 3}
    profile = UsageProfile.model_validate(
        {"format": "ironcurtain/profile/v1", "calls": (known, {**call, "count": 2})}
    )
    calls = decide_profile(profile, bundle, WORLD, OpaCommand(find()))
    found = forecast(calls, PolicyContent.of(bundle), 1)
    assert (found.approvals, found.unknown) == (3, 2)
