"""Tests of facts about the caller: each is declared, and compared with values of its type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ironcurtain.decision.canonical import pointers
from ironcurtain.model.caller_facts import CallerFact
from ironcurtain.model.conditions import ArgCondition
from ironcurtain.model.records import near
from ironcurtain.model.unknown_facts import demanded_type, is_relation, reference
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.text import quoted

_HINT = (
    "Declare it with its type, meaning, example and from: [caller.NAME] in ironcurtain.toml, `caller` in a "
    "policy that is written by hand."
)


def caller_problem(name: str, declared: Mapping[str, CallerFact]) -> str:
    """Return what is wrong with the name or pointer of a fact about the caller; empty if nothing is.

    A hint stands on a second line.
    """
    if declared_fact(name, declared) is not None:
        return ""
    said = f"nobody declares {quoted(name)}, a fact about the caller"
    above = declared_fact(pointers.steps_of(name)[0], declared)
    if above is not None:
        return f"{said}; what is declared there is {_a(above.type)}"
    return f"{said}{near(pointers.steps_of(name)[0], declared)}\n{_HINT}"


def single_caller_problem(name: str, type_: str | None, declared: Mapping[str, CallerFact]) -> str:
    """Return what is wrong with a fact about the caller that is to be one value; empty if nothing is.

    Args:
        name: Its name or pointer.
        type_: The type that the value must have; None for any.
        declared: What is declared about the caller.
    """
    fact = declared_fact(name, declared)
    if fact is None:
        return caller_problem(name, declared)
    if fact.type == "strings" or (type_ is not None and fact.type != type_):
        return f"the fact {quoted(name)} about the caller is {_a(fact.type)}, not {_a(type_ or 'string')}"
    return ""


def declared_fact(name: str, declared: Mapping[str, CallerFact]) -> CallerFact | None:
    """Return the declaration of a fact, or of the list to whose elements the pointer leads; else None."""
    steps = pointers.steps_of(name)
    by_place = {pointers.steps_of(key): fact for key, fact in declared.items()}
    if steps in by_place:
        return by_place[steps]
    above = by_place.get(steps[:-1])
    return above if steps[-1] == pointers.EVERY and above is not None and above.type == "strings" else None


def caller_test_problems(
    test: ArgCondition, then: Verdict, declared: Mapping[str, CallerFact]
) -> Iterator[str]:
    """Yield what is wrong with a test of a fact about the caller, beyond its operator and operand."""
    problem = caller_problem(test.name, declared)
    if problem:
        yield problem
        return
    if test.count is not None:
        yield "`count` counts elements of arguments only"
    if test.part is not None:
        yield "`part` is of arguments only"
    yield from _type_problems(test, declared)
    if then is Verdict.ALLOW and (test.or_absent or (test.op == "present" and test.value is False)):
        what = "a caller fact that is missing must not make a rule allow"
        yield f"{what}\nDeny or escalate where it is missing."


def _type_problems(test: ArgCondition, declared: Mapping[str, CallerFact]) -> Iterator[str]:
    """Yield why a test can never hold of a value of the declared type."""
    fact = declared_fact(test.name, declared)
    wanted = _wanted(test, declared)
    if fact is None or wanted is None:
        return
    is_element = pointers.steps_of(test.name)[-1] == pointers.EVERY
    is_list = fact.type == "strings" and not is_element
    if wanted == ("array" if is_list else "string" if is_element else fact.type):
        return
    hint = f"\nTest its elements: {pointers.of_name(test.name)}/*." if is_list else ""
    yield f"it is declared as {_a(fact.type)}, and the test is of {_a(wanted)}{hint}"


def _wanted(test: ArgCondition, declared: Mapping[str, CallerFact]) -> str | None:
    """Return the JSON type that a test demands of its value, None where it takes any."""
    referred = reference(test.value)
    if referred is None:
        return demanded_type(test) if test.operands else None
    if is_relation(test):
        return "array" if test.measure == "count" else "number"
    root, name = referred
    other = declared_fact(name, declared) if root == "caller" else None
    return None if other is None else "array" if other.type == "strings" else other.type


def _a(type_: str) -> str:
    named = {"strings": "a list of texts", "array": "a list", "object": "an object"}
    return named.get(type_, f"a {type_}")
