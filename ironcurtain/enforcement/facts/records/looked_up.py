"""The records of one call: each looked up once, or once for each element of an argument.

    records = LookedUp(Operands(args, caller, {}))
    for operands in records.needed(name, fact):   # one, or one for each element
        found.append(...)                         # the fields of one answer
    records.add(name, fact, found)
    records.values                                # what rules test, by the record's name

What a later record refers to is there when it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from ironcurtain.enforcement.facts.records.references import Operands, Raw
from ironcurtain.enforcement.facts.totals.amounts import AmountError, add, as_json, number_of
from ironcurtain.enforcement.facts.unavailable import FactUnavailableError
from ironcurtain.model.records import MAX_ELEMENTS, RecordFact, is_reference
from ironcurtain.system.frozen import JsonValue


class LookedUp:
    """What is known of records so far."""

    def __init__(self, operands: Operands) -> None:
        self._operands = operands
        self._of_elements: dict[str, tuple[str, Sequence[Raw]]] = {}
        self.values: dict[str, Raw] = {}

    def needed(self, name: str, fact: RecordFact) -> list[Operands]:
        """Return what each look-up of a record is asked with, in the order of the elements.

        Raises:
            FactUnavailableError: If what it is looked up for is no list, an empty or too long one, or another
                list whose elements stand beside it is of another length.
        """
        whole = Operands(self._operands.args, self._operands.caller, self.values)
        if fact.each is None:
            return [whole]
        length = whole.length(fact.each)
        if length is None or not 0 < length <= MAX_ELEMENTS:
            raise FactUnavailableError(name, f"{fact.each} is no list of 1 to {MAX_ELEMENTS} elements")
        beside = [str(each["each"]) for each in fact.operands if _is_element(each)]  # type: ignore[index,call-overload]
        if any(whole.length(pointer) != length for pointer in beside):
            raise FactUnavailableError(name, "the lists that belong together are not of one length")
        same = {other: found for other, (each, found) in self._of_elements.items() if each == fact.each}
        return [
            whole.at_position(position, {other: found[position] for other, found in same.items()})
            for position in range(length)
        ]

    def add(self, name: str, fact: RecordFact, found: Sequence[Raw]) -> None:
        """Take in the fields of a record's answers, one for each that was needed.

        Raises:
            FactUnavailableError: If numbers cannot be added up exactly.
        """
        if fact.each is None:
            (self.values[name],) = found
            return
        self._of_elements[name] = (fact.each, found)
        self.values[name] = {
            field: _together(f"{name}/{field}", declared.type, [each[field] for each in found])
            for field, declared in fact.fields.items()
        }


def _is_element(operand: JsonValue) -> bool:
    return is_reference(operand, "each")


def _together(name: str, type_: str, values: Sequence[JsonValue]) -> JsonValue:
    """Return the one value of a field of several answers; None where one is not of its type."""
    if type_ == "boolean":
        return all(values) if all(isinstance(each, bool) for each in values) else None
    if type_ == "number":
        return _sum(name, values)
    if type_ == "string":
        return [*values]
    listed = [each for each in values if isinstance(each, list)]
    return [member for each in listed for member in each] if len(listed) == len(values) else None


def _sum(name: str, values: Sequence[JsonValue]) -> JsonValue:
    total = Decimal(0)
    try:
        for each in values:
            total = add(total, number_of(each))
        return as_json(total)
    except AmountError as error:
        raise FactUnavailableError(name, str(error)) from None
