"""Whether a server's answer holds what a policy takes out where none of the policy's paths leads.

Paths say where things are in the value that a tool means. Its server and the libraries below it may put that
value into several texts, into `{"result": ...}`, or into a string as JSON: there `.email` leads nowhere, and
a policy that allows the rest would let it leave.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from pydantic import JsonValue

from ironcurtain.gateway.output.automaton import State, TooManyStatesError
from ironcurtain.gateway.output.policy import OutputPolicy, UnfilterableError, check_bounds, leaf_outcome
from ironcurtain.gateway.output.rules import Action

WRAPPED = "result"
"""The only member of a structured content that servers' libraries make of a text or an array."""
_MOST_LAYERS = 4
_TAKEN_OUT = (Action.MASK, Action.REDACT)


def evades(policy: OutputPolicy, value: JsonValue, *, is_texts: bool) -> bool:
    """Tell whether something leaves that the policy takes out of the value that is meant.

    Args:
        policy: The policy.
        value: The answer, within the bounds of what is filtered.
        is_texts: Whether it was made of texts: then each of several may be a value of its own.

    Raises:
        UnfilterableError: If that cannot be told.
    """
    if all(rule.action is Action.ALLOW for rule in policy.rules):
        return False
    start = policy.start()
    try:
        meant = _meant(policy, value, start, is_texts=is_texts)
        return any(_leaves(policy, each, at, as_) for each, at, as_ in meant) or any(
            _leaves(policy, each, None, as_)
            for inner, state in _written_inside(policy, value, start)
            for each, as_ in _meant_inside(policy, inner, state)
        )
    except TooManyStatesError:
        raise UnfilterableError("the output policy is too complex for this value") from None


def _meant(
    policy: OutputPolicy, value: JsonValue, at: State, *, is_texts: bool
) -> Iterator[tuple[JsonValue, State, State]]:
    """Yield the values that could be meant, each with its state, and with the one that it would have."""
    start = policy.start()
    if is_texts and not isinstance(value, list):
        # One text of a list with one element: rules for elements are meant for it.
        yield value, at, policy.index(start, 0)
    if isinstance(value, dict) and value.keys() == {WRAPPED}:
        inner, state = value[WRAPPED], policy.key(at, WRAPPED)
        yield inner, state, start
        yield from _elements(policy, inner, state)
        yield from _meant(policy, inner, state, is_texts=False)
    if is_texts:
        for element, state, _ in _elements(policy, value, at):
            yield element, state, start
            yield from _meant(policy, element, state, is_texts=False)


def _meant_inside(policy: OutputPolicy, inner: JsonValue, at: State) -> Iterator[tuple[JsonValue, State]]:
    """Yield what could be meant by what a string holds, each with the state that it would have."""
    start = policy.start()
    yield from ((inner, as_) for as_ in (start, at))
    yield from ((each, as_) for each, _, as_ in _meant(policy, inner, start, is_texts=False))


def _elements(policy: OutputPolicy, value: JsonValue, at: State) -> Iterator[tuple[JsonValue, State, State]]:
    for number, element in enumerate(value if isinstance(value, list) else ()):
        yield element, policy.index(at, number), policy.start()


def _leaves(policy: OutputPolicy, value: JsonValue, at: State | None, as_: State) -> bool:
    """Tell whether a leaf leaves whole at one state that would be taken out at another.

    Args:
        policy: The policy.
        value: What holds it.
        at: Its state; None where it lies in a string that leaves.
        as_: The state that it would have.
    """
    if isinstance(value, dict) and value:
        return any(
            _leaves(policy, each, at and policy.key(at, name), policy.key(as_, name))
            for name, each in value.items()
        )
    if isinstance(value, list) and value:
        return any(
            _leaves(policy, each, at and policy.index(at, number), policy.index(as_, number))
            for number, each in enumerate(value)
        )
    leaves = at is None or leaf_outcome(policy.outcome(at), value).action is Action.ALLOW
    return leaves and leaf_outcome(policy.outcome(as_), value).action in _TAKEN_OUT


def _written_inside(policy: OutputPolicy, value: JsonValue, at: State) -> Iterator[tuple[JsonValue, State]]:
    """Yield what strings that leave hold as JSON, each with the string's state."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _written_inside(policy, each, policy.key(at, name))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _written_inside(policy, each, policy.index(at, number))
    elif isinstance(value, str) and policy.outcome(at).action is Action.ALLOW:
        inner = _read(value)
        if isinstance(inner, dict | list):
            check_bounds(inner)
            yield inner, at
            yield from _written_inside(policy, inner, at)


def _read(text: str) -> JsonValue:
    """Return what a text holds as JSON, also as JSON in JSON; itself where it is none."""
    value: JsonValue = text
    for _ in range(_MOST_LAYERS):
        if not isinstance(value, str) or not value.lstrip("\ufeff \t\r\n").startswith(("{", "[", '"')):
            break
        try:
            value = json.loads(value.lstrip("\ufeff"))
        except (ValueError, RecursionError):
            break
    return value
