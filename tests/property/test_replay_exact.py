"""A replay says what the other policy would decide, or that the record does not tell; it never guesses."""

from __future__ import annotations

import json
from random import Random

import pytest
from property.test_cells_difference import changed
from support.generators import spaces
from support.generators.recorded import decide_all, random_calls, record_all
from support.records.audited import KEY

from ironcurtain.analysis.engine.evaluate import load_described
from ironcurtain.analysis.replay.replay import Replayer
from ironcurtain.enforcement.audit.record_types import DecisionRecord
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.reserved_rules import ReservedRule

CALLS = 400
FEWER = 250
NOT_LOOKED_AT = "the policy names a place inside the call's tree that was not looked at"


@pytest.mark.parametrize("seed", range(4))
def test_replay_from_abstracted_records_equals_replay_from_raw_ones_or_says_unknown(seed: int) -> None:
    random = Random(seed)
    rules = spaces.random_policy(random, 20)
    new_rules = spaces.random_policy(random, 20) if seed % 2 else changed(random, rules)
    old, new = spaces.bundle_of(rules), spaces.bundle_of(new_rules)
    calls = random_calls(random, CALLS)
    decided = decide_all(calls, old)
    replayer = Replayer(new, load_described(new, spaces.WORLD), OpaCommand(find()), KEY)
    raw = replayer.replay(record_all(calls, old, abstract=False, decided=decided))
    records = [reread(record) for record in record_all(calls, old, abstract=True, decided=decided)]
    abstract = replayer.replay(records)
    told = 0
    for call, from_raw, from_abstract in zip(calls, raw, abstract, strict=True):
        if from_raw.verdict is None:
            assert from_raw.unknown == from_abstract.unknown == NOT_LOOKED_AT
        elif from_abstract.verdict is not None:
            told += 1
            assert from_abstract.verdict == from_raw.verdict, (seed, call)
            assert from_abstract.rule in (None, from_raw.rule), (seed, call)
    assert told > CALLS * 0.5


@pytest.mark.parametrize("seed", range(4, 6))
def test_replay_from_raw_records_says_what_the_other_policy_decides(seed: int) -> None:
    random = Random(seed)
    old, new = (spaces.bundle_of(spaces.random_policy(random, 20)) for _ in range(2))
    calls = random_calls(random, FEWER)
    records = record_all(calls, old, abstract=False, decided=decide_all(calls, old))
    truth = decide_all(calls, new)[1]
    replayed = Replayer(new, load_described(new, spaces.WORLD), OpaCommand(find())).replay(records)
    flipped = unknown = 0
    for call, record, again in zip(calls, records, replayed, strict=True):
        right = truth[str(call.id)]
        if again.verdict is None:
            assert again.unknown == NOT_LOOKED_AT
            unknown += 1
        else:
            assert (again.verdict, again.rule, again.clause) == (right.verdict, right.rule, right.clause), (
                call
            )
        flipped += right.verdict != record.verdict
    assert unknown < FEWER * 0.03
    assert flipped > FEWER * 0.1


def test_what_the_recorded_policy_tested_is_always_told() -> None:
    rules: set[str] = set()
    for seed in range(2):
        random = Random(seed)
        old = spaces.bundle_of(spaces.random_policy(random, 20))
        calls = random_calls(random, 250)
        decided = decide_all(calls, old)
        records = record_all(calls, old, abstract=True, decided=decided)
        replayed = Replayer(old, load_described(old, spaces.WORLD), OpaCommand(find()), KEY).replay(records)
        for record, again in zip(records, replayed, strict=True):
            assert (again.verdict, again.unknown) == (record.verdict, "")
            assert again.rule == record.rule
            rules.add(record.rule)
    assert rules >= {
        ReservedRule.UNKNOWN_TOOL,
        ReservedRule.MALFORMED_CALL,
        ReservedRule.INVALID_ARGUMENTS,
        "default-deny",
    }


def reread(record: DecisionRecord) -> DecisionRecord:
    return DecisionRecord.model_validate_json(json.dumps(record.model_dump(mode="json")))
