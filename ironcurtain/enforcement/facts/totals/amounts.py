"""Amounts and totals: exact decimals, of which every one that the engine sees is the number itself."""

from __future__ import annotations

import math
from decimal import Context, Decimal, Inexact, InvalidOperation

import re2

from ironcurtain.system.frozen import JsonValue, is_number
from ironcurtain.system.json_text import MAX_INTEGER

MAX_DECIMALS = 8
"""How many digits an amount has after the point at most: to a finer one no other could be added exactly."""
_TOTAL = re2.compile(r"[0-9]{1,16}(\.[0-9]{1,400})?")
# Forty digits hold every sum of numbers that JSON and a double can both hold; what needs more is refused.
_EXACT = Context(prec=40, traps=[Inexact, InvalidOperation])


class AmountError(ValueError):
    """A number that cannot be counted; the message says why, without the number."""


def amount_of(value: JsonValue) -> Decimal:
    """Return a number of a call as it was written.

    Raises:
        AmountError: If it is missing, no number, negative, or too large or too fine to be counted exactly.
    """
    amount = number_of(value)
    if amount < 0:
        raise AmountError("the amount is negative")
    if amount != round(amount, MAX_DECIMALS):
        raise AmountError(f"the amount has more than {MAX_DECIMALS} digits after the point")
    return abs(amount)  # -0.0 adds nothing


def number_of(value: JsonValue) -> Decimal:
    """Return a number as it was written.

    Raises:
        AmountError: If it is missing, no number, or too large to be counted exactly.
    """
    if value is None:
        raise AmountError("the amount is missing")
    if not is_number(value):
        raise AmountError("the amount is no number")
    if not math.isfinite(value) or abs(value) > MAX_INTEGER:
        raise AmountError("the amount is too large to be counted")
    return Decimal(repr(value))


def read_total(text: str) -> Decimal:
    """Return a total as `total_text` wrote it.

    Raises:
        AmountError: If it is none.
    """
    # Before it is read: what a few characters with an exponent stand for can fill the memory.
    total = Decimal(text) if _TOTAL.fullmatch(text) else None
    if total is None or total_text(total) != text:
        raise AmountError("it is no total")
    return total


def total_text(total: Decimal) -> str:
    """Return the one text of a total: digits without an exponent."""
    text = f"{total:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def add(total: Decimal, amount: Decimal) -> Decimal:
    """Return the exact sum.

    Raises:
        AmountError: If it needs more digits than can be kept, or is too large to be decided on.
    """
    try:
        found = _EXACT.add(total, amount)
    except Inexact:
        raise AmountError("the total needs more digits than can be kept") from None
    as_json(found)
    return found


def as_json(total: Decimal) -> int | float:
    """Return a total as the number that the engine sees.

    Raises:
        AmountError: If no JSON number that everybody reads alike is that total.
    """
    if abs(total) > MAX_INTEGER:
        raise AmountError("the total is too large to be decided on")
    if total == total.to_integral_value():
        return int(total)
    number = float(total)
    if Decimal(repr(number)) != total:
        raise AmountError("the total has more digits than a decision can tell apart")
    return number
