"""What a test of a rule does not know: the table of docs/policy-authors.md, "Facts that are not known".

An absent argument is the tool's business, and `or_absent` says what it means. A fact that is absent, or of
another JSON type than the test compares it with, is not known, and a test that needs it is false in a rule
that allows and true in one that asks or denies. The renderer and the evaluators of evidence read this table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from ironcurtain.model.conditions import ValueTest
from ironcurtain.model.operators import SCALING
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct

Root: TypeAlias = Literal["args", "caller", "facts"]
"""Where a pointer begins: at the arguments, the caller facts, or the declared facts."""


def values_by_root() -> dict[Root, dict[str, JsonValue]]:
    """Return an object of values for each root, all empty."""
    return {"args": {}, "caller": {}, "facts": {}}


MEMBERSHIP = ("contains", "not_contains")
"""The operators that ask whether a set holds a string."""

_ROOT_OF_REFERENCE: dict[str, Root] = {"arg": "args", "caller": "caller", "fact": "facts"}
_TYPE_OF_MEASURE = {"count": "array", "length": "string"}
_ORDERED = ("lt", "le", "gt", "ge")
_TYPE_OF_OPERATOR = {
    **dict.fromkeys(_ORDERED, "number"),
    **dict.fromkeys(("matches", "contains_any", "within"), "string"),
    **dict.fromkeys(MEMBERSHIP, "array"),
    "in_week": "number",
}


class Needs(Struct):
    """The facts that a test needs.

    Attributes:
        tested: The tested value is a fact.
        operand: What it is compared with is a fact.
        type: The JSON type that a constant or an operator gives the tested value; None where there is none:
            the two sides of a comparison then give it to each other, and `present` takes any.
        compares: The test compares values; `present` does not.
        member: The tested value is a set, and the operand one of its strings.
    """

    tested: bool
    operand: bool
    type: str | None
    compares: bool
    member: bool = False

    @property
    def any(self) -> bool:
        """Whether the test needs a fact at all."""
        return self.tested or self.operand

    def unknown(self, tested: str | None, operand: str | None) -> bool:
        """Tell whether a fact that the test needs is not known.

        Args:
            tested: The JSON type of the tested value, None if it is absent (null counts as absent).
            operand: The same of what it is compared with.
        """
        if (self.tested and tested is None) or (self.operand and operand is None):
            return True
        if self.member:
            return (self.tested and tested != "array") or (self.operand and operand != "string")
        if not self.any or not self.compares or tested is None or operand is None:
            return False
        return tested != (self.type or operand)


NO_FACTS = Needs(tested=False, operand=False, type=None, compares=False)


def needs(root: Root, test: ValueTest) -> Needs:
    """Return the facts that a test needs."""
    referred = reference(test.value)
    return Needs(
        tested=root != "args",
        operand=referred is not None and referred[0] != "args",
        type=None if referred else demanded_type(test),
        compares=test.op != "present",
        member=test.op in MEMBERSHIP,
    )


def holds_unknown(then: Verdict) -> bool:
    """Tell whether a test of a fact that is not known holds in a rule of a verdict."""
    return then is not Verdict.ALLOW


def reference(value: JsonValue) -> tuple[Root, str] | None:
    """Return where an operand that refers to another value finds it: root and pointer; else None."""
    named = [item for item in value.items() if item[0] not in SCALING] if isinstance(value, dict) else []
    if len(named) == 1:
        ((kind, pointer),) = named
        root = _ROOT_OF_REFERENCE.get(kind)
        if root is not None and isinstance(pointer, str):
            return root, pointer
    return None


def is_relation(test: ValueTest) -> bool:
    """Tell whether a test compares two values as numbers."""
    if reference(test.value) is None or test.part is not None:
        return False
    return test.op in _ORDERED or bool(isinstance(test.value, dict) and SCALING & test.value.keys())


def demanded_type(test: ValueTest) -> str | None:
    """Return the JSON type that a test with a constant demands of its value, None for `present`."""
    if test.op == "present":
        return None
    if test.measure is not None:
        return _TYPE_OF_MEASURE[test.measure]
    return _TYPE_OF_OPERATOR.get(test.op) or json_type(operands(test.op, test.value)[0])


def operands(op: str, value: JsonValue) -> Sequence[JsonValue]:
    """Return the constants that an operator compares with: `in` and `not_in` list theirs, others have one."""
    if op in ("in", "not_in") and isinstance(value, list | tuple):
        return value
    if op == "in_week" and isinstance(value, list | tuple):
        return [bound for interval in value if isinstance(interval, list | tuple) for bound in interval]
    return [value]


def json_type(value: JsonValue) -> str | None:
    """Return the JSON type of a value, None for null, which counts as absent."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list | tuple) else "object"
