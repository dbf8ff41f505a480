"""A receipt asks OPA what was asked when the call was decided, or says that the record does not tell."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from support.generators import spaces
from support.generators.recorded import decide_all, random_calls, record_all
from support.records.audited import write_decisions

from ironcurtain.analysis.receipts.receipt import Choice, heads_of, make_receipt
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.decide import Prepared
from ironcurtain.decision.roles import Registry
from ironcurtain.enforcement.audit.log_paths import session_log
from ironcurtain.enforcement.audit.recorded_input import recorded_input
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.errors import ReceiptError


@pytest.mark.parametrize("seed", range(3))
def test_the_input_of_a_record_with_values_is_what_opa_was_asked(seed: int) -> None:
    random = Random(seed)
    bundle = spaces.bundle_of(spaces.random_policy(random, 20))
    calls = random_calls(random, 300)
    decided = decide_all(calls, bundle)
    content = PolicyContent.of(bundle)
    asked = 0
    for record in record_all(calls, bundle, abstract=False, decided=decided):
        prepared = decided[0][record.id]
        assert isinstance(prepared, Prepared) is (record.input_digest is not None), record
        if isinstance(prepared, Prepared) and not record.redacted:
            tool = content.tools[record.server, record.tool]
            made = recorded_input(record, tool, content, Registry(content.annotations.roles))
            assert made == {**prepared.input, **({"facts": {}} if content.facts else {})}
            asked += 1
    assert asked > 200


@pytest.mark.parametrize("seed", range(3, 5))
def test_a_record_without_values_is_decided_as_it_was_or_not_at_all(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    bundle = spaces.bundle_of(spaces.random_policy(random, 20))
    calls = random_calls(random, 30)
    records = record_all(calls, bundle, abstract=True, decided=decide_all(calls, bundle))
    write_decisions(tmp_path, *records)
    paths, opa = session_log(tmp_path, "work"), OpaCommand(find())
    ends = {"decided": 0, "refused": 0, "a digest cannot stand in": 0}
    for record in records:
        try:
            made = make_receipt(paths, Choice(id=record.id), bundle, opa, heads_of(paths))
        except ReceiptError as error:
            assert "a digest cannot stand in" in error.what  # noqa: PT017 - the other end is a receipt
            ends["a digest cannot stand in"] += 1
        else:
            ends[made.records[0].kind] += 1
    assert ends["decided"] > 5, ends
