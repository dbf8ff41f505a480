"""Output policies by another way than the product's: paths as regular expressions over written addresses.

Coverage is compared over every address of a small universe, instead of over automata.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

ADDRESS = str
NAMES = ("a", "b", "c")
NUMBERS = (0, 1, 2)


def step_text(step: str | int) -> str:
    return f"k{step}/" if isinstance(step, str) else f"i{step}/"


@cache
def expression(path: str) -> re.Pattern[str]:
    """Return what the written addresses that a path matches look like; it is taken apart by hand."""
    rest, made = path, ""
    if rest == ".":
        rest = ""
    if rest.startswith(".["):
        rest = rest[1:]
    while rest:
        if found := re.match(r"\.\.(\w+)", rest):
            made += rf"(?:[ki][^/]*/)*k{found[1]}/"
        elif found := re.match(r"\.\*", rest):
            made += r"k[^/]*/"
        elif found := re.match(r"\.(\w+)", rest):
            made += rf"k{found[1]}/"
        elif found := re.match(r"\[\]", rest):
            made += r"i[^/]*/"
        elif found := re.match(r"\[(\d+)\]", rest):
            made += rf"i{found[1]}/"
        else:
            raise AssertionError(rest)
        rest = rest[found.end() :]
    return re.compile(made)


def matches(path: str, address: str) -> bool:
    return expression(path).fullmatch(address) is not None


def covers(path: str, address: str) -> bool:
    ends = [0, *(found.end() for found in re.finditer("/", address))]
    return any(matches(path, address[:end]) for end in ends)


STEPS: tuple[str | int, ...] = ("a", "b", "zz", 0, 7)
UNIVERSE = [
    "".join(map(step_text, steps)) for length in range(6) for steps in itertools.product(STEPS, repeat=length)
]


@cache
def coverage(path: str) -> frozenset[str]:
    return frozenset(address for address in UNIVERSE if covers(path, address))


ORDER = {"allow": 0, "mask": 1, "redact": 2}


def decided(rules: dict[str, str], address: str) -> tuple[str, str | None]:
    """Return what happens to a string at an address, and by which rule."""
    found = [path for path in rules if covers(path, address)]
    left = [path for path in found if not any(coverage(other) < coverage(path) for other in found)]
    if not left:
        return "strip", None
    effects = [
        ("redact" if rules[path] == "mask" and not matches(path, address) else rules[path], path)
        for path in left
    ]
    return max(effects, key=lambda effect: ORDER[effect[0]])


def masked(text: str) -> str:
    if text == "":
        return ""
    return text[0] + "***" + text[-1] if len(text) >= 4 else "***"


GONE = object()


def filtered(rules: dict[str, str], value: Any, address: str = "") -> Any:
    """Return what a policy leaves of a value at an address, GONE if nothing."""
    if isinstance(value, dict) and value:
        kept = {k: filtered(rules, v, f"{address}k{k}/") for k, v in value.items()}
        kept = {k: v for k, v in kept.items() if v is not GONE}
        return kept or GONE
    if isinstance(value, list) and value:
        elements = [filtered(rules, v, f"{address}i{n}/") for n, v in enumerate(value)]
        return [v for v in elements if v is not GONE] or GONE
    action, _ = decided(rules, address)
    if action == "mask":
        if value is None:
            return None
        return masked(value) if isinstance(value, str) else GONE
    return value if action == "allow" else GONE


def leaves(value: Any, address: str = "") -> Iterator[tuple[str, str]]:
    """Yield the address and the JSON text of every value that holds no other."""
    if isinstance(value, dict) and value:
        for name, member in value.items():
            yield from leaves(member, f"{address}k{name}/")
    elif isinstance(value, list) and value:
        for number, element in enumerate(value):
            yield from leaves(element, f"{address}i{number}/")
    else:
        yield address, json.dumps(value)
