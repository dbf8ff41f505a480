"""Amounts and totals: exact, or refused."""

from __future__ import annotations

import tracemalloc
from decimal import Decimal
from functools import reduce

import pytest

from ironcurtain.enforcement.facts.totals.amounts import (
    AmountError,
    add,
    amount_of,
    as_json,
    read_total,
    total_text,
)

LARGEST = 2**53 - 1


def test_tenths_add_up_exactly() -> None:
    total = reduce(add, [amount_of(0.1)] * 3, Decimal(0))
    assert total == Decimal("0.3")
    assert as_json(total) == 0.3


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (None, "missing"),
        (True, "no number"),
        ("5", "no number"),
        ([5], "no number"),
        (-1, "negative"),
        (-0.01, "negative"),
        (float("inf"), "too large"),
        (float("nan"), "too large"),
        (1e300, "too large"),
        (LARGEST + 1, "too large"),
    ],
)
def test_what_is_no_amount_is_refused(value: object, why: str) -> None:
    with pytest.raises(AmountError, match=why):
        amount_of(value)  # type: ignore[arg-type] # whatever a call holds


def test_a_total_that_a_decision_could_take_for_another_is_refused() -> None:
    almost = add(Decimal(1000), amount_of(0.0000001))
    assert as_json(almost) == 1000.0000001
    with pytest.raises(AmountError, match="digits"):
        add(Decimal(LARGEST - 1), amount_of(0.0000001))
    with pytest.raises(AmountError, match="digits"):
        add(Decimal(LARGEST - 1), amount_of(5e-324))


def test_a_counter_that_overflows_is_refused() -> None:
    assert add(Decimal(LARGEST - 1), amount_of(1)) == LARGEST
    with pytest.raises(AmountError, match="too large"):
        add(Decimal(LARGEST), amount_of(1))


@pytest.mark.parametrize("text", ["0", "130", "0.3", "1000.0000001", "0.000001"])
def test_a_total_has_one_text(text: str) -> None:
    assert total_text(read_total(text)) == text


@pytest.mark.parametrize("text", ["", "-1", "NaN", "Infinity", "1e3", "1.0", "01", " 1", "x"])
def test_another_text_is_no_total(text: str) -> None:
    with pytest.raises(AmountError):
        read_total(text)


def test_a_few_characters_that_stand_for_many_digits_are_refused_unread() -> None:
    tracemalloc.start()
    try:
        with pytest.raises(AmountError):
            read_total("1e30000000")
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_nothing_below_nothing_is_added() -> None:
    assert total_text(amount_of(-0.0)) == "0"


def test_a_small_number_is_written_without_an_exponent() -> None:
    assert total_text(amount_of(1e-07)) == "0.0000001"
