"""One field of a record: where it stands in an answer, which element is meant, what it is compared with."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.conditional import same_json
from ironcurtain.enforcement.facts.records.references import Operands, at
from ironcurtain.enforcement.facts.totals.amounts import AmountError, add, as_json, number_of
from ironcurtain.enforcement.facts.unavailable import FactUnavailableError
from ironcurtain.model.records import RecordField
from ironcurtain.system.frozen import JsonValue


def field_of(name: str, declared: RecordField, record: JsonValue, operands: Operands) -> JsonValue:
    """Return a field as the answer has it; None where it is not of its type.

    Args:
        name: The field, `NAME/FIELD`.
        declared: Its declaration.
        record: The answer.
        operands: What its references lead to.

    Raises:
        FactUnavailableError: If it, or something that it is chosen by or compared with, is missing.
    """
    steps = pointers.tokens(declared.at)
    if declared.where:
        record, steps = _chosen(name, declared, record, operands), steps[steps.index(pointers.EVERY) + 1 :]
    value = _value(name, declared, record, steps)
    if declared.type == "keys":
        return [*value] if isinstance(value, dict) else None
    if declared.equals is not None:
        return same_json(value, _needed(name, declared.equals, operands))
    if declared.not_equals is not None:
        return not same_json(value, _needed(name, declared.not_equals, operands))
    if declared.minus is not None:
        return _difference(name, value, _needed(name, declared.minus, operands))
    return value


def _value(name: str, declared: RecordField, record: JsonValue, steps: tuple[str, ...]) -> JsonValue:
    """Return what stands at a place, or the declared default."""
    if pointers.is_missing(record, steps):
        if declared.default is None:
            raise FactUnavailableError(name, "it is missing")
        return declared.default
    found = [value for _, value in pointers.matches(record, steps)]
    return found if pointers.EVERY in steps else found[0]


def _needed(name: str, operand: JsonValue, operands: Operands) -> JsonValue:
    value = operands.value(operand)
    if value is None:
        raise FactUnavailableError(name, "what it is compared with is missing")
    return value


def _chosen(name: str, declared: RecordField, record: JsonValue, operands: Operands) -> JsonValue:
    """Return the one element of a list that `where` means."""
    wanted = {place: _needed(name, operand, operands) for place, operand in declared.where.items()}
    steps = pointers.tokens(declared.at)
    found = [
        element
        for key, element in _elements(at(record, steps[: steps.index(pointers.EVERY)]))
        if all(same_json(_beside(place, key, element), value) for place, value in wanted.items())
    ]
    if len(found) != 1:
        raise FactUnavailableError(name, "nothing in its list is meant" if not found else "several are meant")
    return found[0]


def _elements(listed: JsonValue) -> Iterator[tuple[str | None, JsonValue]]:
    """Yield the elements of a list, or the members of an object with their names."""
    if isinstance(listed, dict):
        yield from listed.items()
    elif isinstance(listed, list):
        yield from ((None, element) for element in listed)


def _beside(place: str, key: str | None, element: JsonValue) -> JsonValue:
    """Return what an element has at a place of `where`; of an object's member, `*` itself is its name."""
    steps = pointers.tokens(place)
    rest = steps[steps.index(pointers.EVERY) + 1 :]
    return key if not rest and key is not None else at(element, rest)


def _difference(name: str, value: JsonValue, other: JsonValue) -> JsonValue:
    try:
        return as_json(add(number_of(value), Decimal(0) - number_of(other)))
    except AmountError as error:
        raise FactUnavailableError(name, str(error)) from None
