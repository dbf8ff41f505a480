"""A sentence about lists of things, over records: decided as plain Python over the shop's own data says."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import anyio
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.documents import object_at
from support.generators import spaces_exchange
from support.generators.spaces_facts import WORLD

from ironcurtain.analysis.engine.evaluate import evaluate
from ironcurtain.analysis.engine.lookup import locate
from ironcurtain.analysis.engine.opa_queries import examine
from ironcurtain.analysis.engine.policies_under_test import load_policies
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.enforcement.facts.facts_of_tool import ConcernedTools
from ironcurtain.enforcement.facts.gather import FactSources, gather
from ironcurtain.enforcement.facts.memory import SessionMemory
from ironcurtain.enforcement.facts.records.answers import LookUp
from ironcurtain.enforcement.facts.totals.sqlite_store import SqliteStore
from ironcurtain.enforcement.facts.unavailable import FactUnavailableError
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.system.structs import replace

SHOPS, CALLS = (4, 300) if settings.get_current_profile_name() == "repeatable" else (10, 3_000)
SEEDS = st.integers(min_value=0, max_value=10**9)
QUIET: Any = {"deadline": None, "suppress_health_check": list(HealthCheck), "phases": [Phase.generate]}


@settings(max_examples=SHOPS, **QUIET)
@given(SEEDS)
def test_each_exchange_is_allowed_exactly_where_the_sentence_allows_it(seed: int) -> None:
    random = Random(seed)
    shop, opa, bundle = spaces_exchange.Records(random), OpaCommand(find()), spaces_exchange.bundle()
    policies = load_policies([bundle], WORLD)
    (cells,) = examine([CallSpace("shop", "exchange", policies)], opa)
    assert not cells.gaps
    expected: dict[str, bool] = {}
    prepared: dict[str, Prepared] = {}
    gathering = _Gathering(bundle, policies[0].policy, shop)
    for number in range(CALLS):
        arguments = shop.random_arguments(random)
        who = random.choice(["ann", "bob"])
        call, is_right = gathering.call(arguments, who), shop.is_right(arguments, who)
        if call is None:
            assert not is_right, (arguments, who)
            continue
        id_ = f"c{number}"
        prepared[id_], expected[id_] = call, is_right
    answers = evaluate({id_: call.input for id_, call in prepared.items()}, bundle, opa)
    for id_, call in prepared.items():
        decided = object_at(answers[id_], "subjects", "call")
        assert (decided["verdict"] == "allow") is expected[id_], call.input
        (found,) = [each for each in locate(cells, call) if each.resource == "call"]
        outcome = found.answered.outcomes[0]
        assert outcome is not None
        assert outcome.rule == decided["rule"]
    assert True in expected.values()
    assert False in expected.values()


class _Gathering:
    """What gathers the facts of a call from a shop, as a gateway does."""

    def __init__(self, bundle: Bundle, policy: LoadedPolicy, shop: spaces_exchange.Records) -> None:
        self._policy, self._shop = policy, shop
        concerned = ConcernedTools(PolicyContent.of(bundle)).of("shop", policy.annotation("shop", "exchange"))
        assert concerned is not None
        self._concerned = concerned
        # No total is read: nothing opens the file.
        self._sources = FactSources(SessionMemory(), SqliteStore(Path("nowhere"), b"k"))

    def call(self, arguments: dict[str, Any], who: str) -> Prepared | None:
        """Return a call with its facts; None where one cannot be had, so that it is denied."""
        made = Call("shop", "exchange", arguments, {"sub": who})
        prepared = prepare(made, self._policy)
        assert isinstance(prepared, Prepared)
        try:
            gathered = anyio.run(gather, self._concerned, prepared, self._sources, self._ask)
        except FactUnavailableError:
            return None
        again = prepare(replace(made, facts=gathered.facts), self._policy)
        assert isinstance(again, Prepared)
        return again

    async def _ask(self, asked: LookUp) -> dict[str, Any]:
        return self._shop.answer(asked.tool, asked.arguments)
