"""What look-ups are asked with and compared with: values of the call, of the caller, of earlier records."""

from __future__ import annotations

from collections.abc import Mapping

from ironcurtain.decision.canonical import pointers
from ironcurtain.model.records import is_reference
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, replace

Raw = dict[str, JsonValue]
"""The fields of a record by their declared names, as the answer has them."""


class Operands(Struct):
    """Where references lead.

    Attributes:
        args: The canonical arguments of the call that is decided.
        caller: The facts about whom the agent acts for.
        records: The fields of records that were looked up before, by the record's name.
        position: For which element of its list a record is looked up; None for one that is looked up once.
    """

    args: Mapping[str, JsonValue]
    caller: Mapping[str, JsonValue]
    records: Mapping[str, Raw]
    position: int | None = None

    def value(self, operand: JsonValue) -> JsonValue:
        """Return the value that an operand stands for; None where there is none."""
        if not isinstance(operand, dict) or not is_reference(operand, "arg", "caller", "fact", "each"):
            return operand
        ((kind, place),) = operand.items()
        if kind == "fact":
            record, _, field = str(place).partition("/")
            return self.records.get(record, {}).get(field)
        root = self.caller if kind == "caller" else self.args
        found = at(dict(root), pointers.steps_of(str(place)))
        if kind != "each":
            return found
        is_there = isinstance(found, list) and self.position is not None and self.position < len(found)
        return found[self.position] if is_there else None  # type: ignore[index]

    def length(self, pointer: str) -> int | None:
        """Return how many elements an argument has; None if it is no list."""
        found = at(dict(self.args), pointers.steps_of(pointer))
        return len(found) if isinstance(found, list) else None

    def at_position(self, position: int, records: Mapping[str, Raw]) -> Operands:
        """Return the operands of one element, with the fields that records of the same list have for it."""
        return replace(self, position=position, records={**self.records, **records})


def at(value: JsonValue, steps: tuple[str, ...]) -> JsonValue:
    """Return what stands at a path of member names, or None."""
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value
