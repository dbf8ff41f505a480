"""JSON pointers (RFC 6901) into call arguments, with `*` for every element of an array."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from ironcurtain.system.frozen import JsonValue

EVERY = "*"


def of_name(name: str) -> str:
    """Return an annotation's argument name as a pointer: `a/b` becomes `/a~1b`, pointers stay."""
    return name if name.startswith("/") else "/" + escape(name)


@lru_cache(maxsize=4096)
def steps_of(name: str) -> tuple[str, ...]:
    """Return the reference tokens of an annotation's argument name; policies have few, and each call asks."""
    return tokens(of_name(name))


def escape(token: str) -> str:
    """Escape one reference token."""
    return token.replace("~", "~0").replace("/", "~1")


def tokens(pointer: str) -> tuple[str, ...]:
    """Split a pointer into its unescaped reference tokens."""
    split = pointer.split("/")[1:]
    if "~" not in pointer:
        return tuple(split)
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in split)


def join(steps: tuple[str, ...]) -> str:
    """Return the pointer of unescaped reference tokens."""
    if not steps:
        return ""
    joined = "/".join(steps)
    if "~" in joined or joined.count("/") >= len(steps):
        joined = "/".join(map(escape, steps))
    return f"/{joined}"


def matches(value: JsonValue, pattern: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], JsonValue]]:
    """Yield (steps, value) of everything in `value` that a pointer pattern names, in document order.

    `*` matches elements of arrays only; a pattern that names nothing yields nothing.
    """
    if not pattern:
        yield (), value
        return
    head, rest = pattern[0], pattern[1:]
    for step, child in _children(value, head):
        for steps, found in matches(child, rest):
            yield (step, *steps), found


def leaves(value: JsonValue) -> Iterator[tuple[tuple[str, ...], JsonValue]]:
    """Yield (steps, scalar) of every scalar at or below `value`, in document order."""
    if isinstance(value, dict):
        for key, child in value.items():
            for steps, leaf in leaves(child):
                yield (key, *steps), leaf
    elif isinstance(value, list):
        for index, child in enumerate(value):
            if isinstance(child, str):  # most lists are of texts
                yield (str(index),), child
                continue
            for steps, leaf in leaves(child):
                yield (str(index), *steps), leaf
    else:
        yield (), value


def ends(value: JsonValue) -> Iterator[tuple[tuple[str, ...], JsonValue]]:
    """Yield (steps, value) of every scalar and every empty object or array, in document order."""
    if isinstance(value, dict | list) and value:
        children = value.items() if isinstance(value, dict) else enumerate(value)
        for step, child in children:
            if isinstance(child, str):
                yield (str(step),), child
                continue
            for steps, end in ends(child):
                yield (str(step), *steps), end
    else:
        yield (), value


def meets(pattern: tuple[str, ...], steps: tuple[str, ...]) -> bool:
    """Tell whether a pointer pattern names the place `steps`, a place above it or one below it."""
    return all(token in (step, EVERY) for token, step in zip(pattern, steps, strict=False))


def is_missing(value: JsonValue, pattern: tuple[str, ...]) -> bool:
    """Tell whether something that a pointer pattern asks for is absent or null.

    With `*`, every element must have it; an empty array lacks nothing.
    """
    if not pattern:
        return value is None
    head, rest = pattern[0], pattern[1:]
    if head == EVERY and isinstance(value, list):
        return any(is_missing(child, rest) for child in value)
    children = [child for _, child in _children(value, head)]
    return not children or is_missing(children[0], rest)


def covers(pattern: tuple[str, ...], steps: tuple[str, ...]) -> bool:
    """Tell whether a pointer pattern names the place `steps` or a place above it."""
    return len(pattern) <= len(steps) and all(
        token in (step, EVERY) for token, step in zip(pattern, steps, strict=False)
    )


def assign(value: JsonValue, steps: tuple[str, ...], new: JsonValue) -> None:
    """Put `new` at the place `steps`; `value` is changed.

    Raises:
        KeyError, IndexError, ValueError: If the place is not below `value`.
    """
    *above, last = steps
    for step in above:
        value = _at(value, step)
    if isinstance(value, dict):
        value[last] = new
    elif isinstance(value, list):
        value[int(last)] = new
    else:
        raise KeyError(last)


def _at(value: JsonValue, step: str) -> JsonValue:
    if isinstance(value, dict):
        return value[step]
    if isinstance(value, list):
        return value[int(step)]
    raise KeyError(step)


def _children(value: JsonValue, token: str) -> Iterator[tuple[str, JsonValue]]:
    if isinstance(value, dict):
        if token in value:
            yield token, value[token]
    elif isinstance(value, list):
        if token == EVERY:
            yield from ((str(index), child) for index, child in enumerate(value))
        elif token.isdecimal() and int(token) < len(value) and str(int(token)) == token:
            yield token, value[int(token)]
