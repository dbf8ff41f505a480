"""Respelled arguments without a role of a resource: denied values in them, values that a rule asks for."""

from __future__ import annotations

import copy
import unicodedata
from collections.abc import Iterable, Iterator, Mapping

from ironcurtain.analysis.attack.spellings.spelling import TOOLS, Spelling
from ironcurtain.compiler.annotate.heuristics import suspicion_of_use
from ironcurtain.compiler.annotate.schema_leaves import leaves
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.roles import Registry
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.conditions import ArgCondition, If
from ironcurtain.model.decision import Decision
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct

_NAMES_VALUES = frozenset({"equals", "in", "matches"})


def respell_value(value: JsonValue) -> Iterator[Spelling]:
    """Yield values that many tools take for the same. A policy cannot know whether this tool does."""
    for kind, spelled in _spelled(value):
        if type(spelled) is not type(value) or spelled != value:
            yield Spelling(kind, TOOLS, spelled, neighbour=True)


def _spelled(value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    if isinstance(value, bool):
        yield from (("type", int(value)), ("type", str(value).lower()), ("type", str(value)))
    elif isinstance(value, int | float):
        yield from (("type", str(value)), ("type", float(value)))
    elif isinstance(value, str):
        yield from (
            ("case", text) for text in (value.upper(), value.lower(), value.swapcase(), value.title())
        )
        yield from (("spaces", text) for text in (f" {value}", f"{value} ", f"{value}\n"))
        yield "end of text", f"{value}\0"
        yield from (("Unicode form", unicodedata.normalize(form, value)) for form in ("NFD", "NFKC"))
        yield "Unicode form", "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in value)
        yield "scalar and list", [value]
        yield "scalar and list", [[value]]
        if value in ("true", "false"):
            yield "type", value == "true"
        if value.isdecimal():
            yield "type", int(value)


def named_places(if_: If, then: Verdict, arguments: JsonValue) -> Iterator[tuple[str, ...]]:
    """Yield the places of values that a rule names in order to deny or escalate them.

    A rule that denies everything but some values names none of those that it denies.
    """
    if then is Verdict.ALLOW:
        return
    for test in if_.args or ():
        if test.op in _NAMES_VALUES:
            steps = pointers.steps_of(test.name)
            yield from (
                place for place, value in pointers.matches(arguments, steps) if _is_named(test, value)
            )


def _is_named(test: ArgCondition, value: JsonValue) -> bool:
    if test.op == "matches" or isinstance(test.value, dict):
        return value is not None
    return any(type(value) is type(operand) and value == operand for operand in test.operands)


_CATEGORIES = {"path": "path", "URL": "url", "address": "identifier"}
_PER_CATEGORY = 5


class UndecidedArgument(Struct):
    """An argument without a resource's role that seems to name one.

    Attributes:
        category: The category of roles that it seems to have.
        is_list: Whether its schema takes lists only.
    """

    steps: tuple[str, ...]
    category: str
    is_list: bool

    def with_value(self, arguments: dict[str, JsonValue], value: str) -> Iterator[dict[str, JsonValue]]:
        """Yield arguments in which it holds a value."""
        new: JsonValue = [value] if self.is_list else value
        if len(self.steps) == 1:
            yield {**arguments, self.steps[0]: new}
            return
        places = [steps for steps, _ in pointers.matches(arguments, self.steps)]
        for steps in places[:1]:
            changed = copy.deepcopy(arguments)
            pointers.assign(changed, steps, new)
            yield changed


def undecided_arguments(
    tool: ToolAnnotation, seen: Iterable[dict[str, JsonValue]], registry: Registry
) -> Iterator[UndecidedArgument]:
    """Yield arguments that no role of a resource covers, and that nobody confirmed to be none.

    Args:
        tool: The tool.
        seen: Arguments of its calls: a path in one of them shows that the argument takes paths.
        registry: The roles.
    """
    with_role = {a.name for a in tool.args if any(registry[role].resource for role in a.possible_roles)}
    with_role |= {name for composite in tool.composites for name in composite.join}
    known = {confirmation.arg for confirmation in tool.confirmed} | with_role
    calls = list(seen)
    for leaf in leaves(tool):
        if leaf.is_plain_element or leaf.spellings & known:
            continue
        steps = pointers.steps_of(leaf.name)
        values = [text for call in calls for _, v in pointers.matches(call, steps) for text in _texts(v)]
        kind = suspicion_of_use(leaf, values)
        if kind is not None:
            yield UndecidedArgument(steps, _CATEGORIES[kind], leaf.schema.get("type") == "array")


def denied_values(decided: Iterable[Decision], registry: Registry) -> Mapping[str, tuple[str, ...]]:
    """Return, by category, the shortest values that are denied in every decision about them."""
    denied: dict[tuple[str, str], None] = {}
    other: set[tuple[str, str]] = set()
    for decision in decided:
        for resource in decision.subjects:
            if registry[resource.role].resource:
                key = (registry[resource.role].category, resource.value)
                if resource.verdict is Verdict.DENY:
                    denied[key] = None
                else:
                    other.add(key)
    by_category: dict[str, list[str]] = {}
    for category, value in sorted(denied.keys() - other, key=lambda key: (len(key[1]), key)):
        by_category.setdefault(category, []).append(value)
    return {category: tuple(values[:_PER_CATEGORY]) for category, values in by_category.items()}


def _texts(value: JsonValue) -> Iterator[str]:
    yield from (text for _, text in pointers.leaves(value) if isinstance(text, str))
