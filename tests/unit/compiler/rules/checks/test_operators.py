"""Mistakes in tests of arguments that are more than an operator and an operand."""

from __future__ import annotations

from typing import Any

import pytest
from support.generators.spaces_operators import annotated, bundle_of
from support.projects.policies import compiled, rule

from ironcurtain.analysis.mutation.operators import mutants
from ironcurtain.analysis.mutation.source import PolicySource
from ironcurtain.compiler.rules.checks.policy import check_policy
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import RuleError

CODES: dict[str, Any] = {"name": "/codes/*", "op": "equals", "value": "a", "count": {"le": 1}}


def refused(key: str, test: dict[str, Any], tool: str = "book") -> str:
    policy = compiled([rule("r", "deny", tool=[tool], **{key: [test]})])
    with pytest.raises(RuleError) as found:
        check_policy(policy, annotated(), None, Registry())
    return str(found.value)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": "codes"}, "`count` needs a pointer with `*`"),
        ({"over": "every"}, "`over` has no meaning beside it"),
        ({"measure": "length"}, "without `measure`"),
        ({"value": {"caller": "/sub"}}, "compared with a constant"),
        ({"op": "not_equals"}, "not_equals cannot be counted"),
    ],
)
def test_a_count_that_would_count_nothing_is_refused(change: dict[str, Any], told: str) -> None:
    assert told in refused("args", CODES | change)


TOTAL: dict[str, Any] = {"name": "total", "op": "le", "value": {"arg": "/passengers", "times": 100}}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"value": {"arg": "/passengers", "times": 0}}, "`times` is a whole number from 1"),
        ({"value": {"arg": "/passengers", "plus": 0.5}}, "`plus` is a whole number"),
        ({"value": {"arg": "/passengers", "measure": "length"}}, '`measure` of another value is "count"'),
        ({"value": {"arg": "/passengers", "time": 2}}, "perhaps with"),
        ({"op": "matches"}, "only compared by"),
        ({"measure": "length"}, "a length is compared with a constant"),
        ({"value": {"arg": "/nobody"}}, "no tool of this rule has such an argument"),
    ],
)
def test_a_relation_that_could_not_hold_is_refused(change: dict[str, Any], told: str) -> None:
    assert told in refused("args", TOTAL | change, "fly")


def test_elements_are_not_compared_with_a_multiple() -> None:
    test = {"name": "/payments/*/amount", "op": "le", "value": {"arg": "/payments", "measure": "count"}}
    assert "elements are compared with another value by equals" in refused("args", test)


def test_a_factor_is_moved_both_ways() -> None:
    bundle = bundle_of([rule("r", "allow", tool=["fly"], args=[TOTAL])])
    moved = {mutant.change for mutant in mutants(PolicySource.of(bundle)) if mutant.kind == "bound moved"}
    assert moved == {f"r: total le: times 100 becomes {value}" for value in (99, 101)}


SUBJECT: dict[str, Any] = {"name": "subject", "op": "contains_any", "value": ["a"], "also_in": ["body"]}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"value": []}, "a list of texts, none of them empty"),
        ({"value": ["a", ""]}, "a list of texts, none of them empty"),
        ({"also_in": ["/nobody"]}, "no tool of this rule has such an argument"),
        ({"also_in": ["subject"]}, "names an argument twice"),
        ({"op": "in"}, "`also_in` goes with contains_any"),
        ({"op": "lt", "value": 3, "ignore_case": True, "also_in": []}, "`ignore_case` goes with"),
        ({"op": "equals", "value": 3, "ignore_case": True, "also_in": []}, "compares texts"),
    ],
)
def test_a_test_of_texts_that_makes_no_sense_is_refused(change: dict[str, Any], told: str) -> None:
    assert told in refused("args", SUBJECT | change, "mail")


END: dict[str, Any] = {
    "name": "end",
    "part": "instant",
    "op": "le",
    "value": {"arg": "/start", "plus": "24h"},
}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"value": {"arg": "/start", "plus": 24}}, "no duration such as"),
        ({"value": {"caller": "/start"}}, 'compared with {"arg": POINTER}'),
        ({"part": "date", "value": {"arg": "/start", "plus": "36h"}}, '"plus" is days such as 7d for dates'),
        ({"value": "tomorrow"}, "no instant such as 2026-11-23T07:00:00Z"),
        ({"op": "in", "value": ["2026-11-23"]}, "a date or time is compared by"),
        ({"op": "within", "part": "time", "value": ["mon 07:00-22:00"]}, "no time such as 07:00-22:00"),
        ({"op": "within", "value": ["07:00-22:00"]}, '"part": "time"'),
        ({"op": "within", "value": ["07:00-22:00"], "part": None}, '`within` needs "part"'),
        ({"or_absent": True, "measure": "length"}, "one value as it is"),
        ({"value": {"arg": "/nobody"}}, "no tool of this rule has such an argument"),
    ],
)
def test_a_test_of_a_date_that_could_not_hold_is_refused(change: dict[str, Any], told: str) -> None:
    assert told in refused("args", END | change, "meet")


def test_a_distance_in_time_is_moved_both_ways() -> None:
    bundle = bundle_of([rule("r", "allow", tool=["meet"], args=[END])])
    moved = {mutant.change for mutant in mutants(PolicySource.of(bundle)) if mutant.kind == "bound moved"}
    assert moved == {f"r: end le: plus 24h becomes {value}" for value in ("23h", "25h")}


def test_facts_are_not_counted() -> None:
    assert "elements of arguments only" in refused("caller", CODES | {"name": "/groups/*"})


def test_a_bound_of_elements_is_moved_both_ways() -> None:
    bundle = bundle_of([rule("r", "allow", tool=["book"], args=[CODES])])
    moved = {mutant.change for mutant in mutants(PolicySource.of(bundle)) if mutant.kind == "bound moved"}
    assert moved == {"r: /codes/*: count le 1 becomes 0", "r: /codes/*: count le 1 becomes 2"}
