"""Whether conditional roles only ever narrow, and test what the tool's schema knows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jsonschema import Draft202012Validator

from ironcurtain.compiler.annotate.schema_leaves import Leaf
from ironcurtain.decision.roles import NONE
from ironcurtain.model.annotations import Argument, ToolAnnotation, When
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import quoted, visible

# Words by which a description says what happens when an argument is not given.
_STATES_ABSENCE = re.compile(
    r"\b(?:omit|omits|omitted|omitting|absent|default|defaults|unset|without"
    r"|not (?:given|provided|specified|set|supplied))\b",
    re.IGNORECASE,
)


def conditional_problems(tool: ToolAnnotation, places: dict[str, Leaf] | None) -> Iterator[str]:
    """Yield the mistakes in a tool's conditional roles; `places` are its schema's, None without one."""
    for argument in tool.args:
        for branch in argument.conditional.when if argument.conditional else ():
            yield from _branch_problems(argument, branch, tool, places)


def _branch_problems(
    argument: Argument, branch: When, tool: ToolAnnotation, places: dict[str, Leaf] | None
) -> Iterator[str]:
    shown = quoted(argument.name)
    # `none` carries no role at all, so it is inside every default: `git_remote` has no URL in its list mode.
    added = [role for role in branch.roles if role not in {*argument.possible_roles, NONE}]
    if added:
        yield f"a condition of argument {shown} adds {visible(', '.join(added))}; it may only narrow"
    if branch.arg not in {other.name for other in tool.args if not other.name.startswith("/")}:
        yield f"a condition of argument {shown} tests {quoted(branch.arg)}, which is not annotated"
        return
    if branch.arg == argument.name:
        yield f"a condition of argument {shown} tests the argument itself"
    leaf = places.get(branch.arg) if places is not None else None
    for value in _tested(branch):
        if value is None:
            yield f"a condition of argument {shown} compares with null; test present: false instead"
        elif leaf is not None and not Draft202012Validator(_value_schema(leaf)).is_valid(value):
            yield f"a condition of argument {shown} tests {quoted(branch.arg)} for an impossible value"
    if (
        branch.present is False
        and set(branch.roles) != set(argument.possible_roles)
        and not states_absence(leaf)
    ):
        yield (
            f"a condition of argument {shown} narrows where {quoted(branch.arg)} is absent, "
            "but the schema does not say what absent means"
        )


def _tested(branch: When) -> tuple[JsonValue, ...]:
    if "equals" in branch.model_fields_set:
        return (branch.equals,)
    return branch.in_ or ()


def _value_schema(leaf: Leaf) -> dict[str, JsonValue]:
    return {key: leaf.schema[key] for key in ("type", "enum", "const") if key in leaf.schema}


def states_absence(leaf: Leaf | None) -> bool:
    """Tell whether the schema says of a place what leaving it out means."""
    if leaf is None:
        return False
    return "default" in leaf.schema or bool(_STATES_ABSENCE.search(str(leaf.schema.get("description", ""))))
