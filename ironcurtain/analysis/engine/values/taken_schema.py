"""A tool's schema together with what step 4 refuses of values that name no resource.

What names a resource is made by witnesses. All other values are made along the schema, so it has to say what
the annotation says: a value that fits the schema alone can be one that no call may have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.json_schema import ArgumentSchema
from ironcurtain.decision.canonical.validate import ValidatedTool
from ironcurtain.decision.roles import Registry
from ironcurtain.model.annotations import Argument
from ironcurtain.system.frozen import JsonValue


def schema_of_all(tool: ValidatedTool, registry: Registry) -> ArgumentSchema | None:
    """Return the schema that the arguments of every call fit which gets past step 4; None where any do."""
    return _narrowed(tool, registry, lambda argument: argument.roles or ())


def schema_of_some(tool: ValidatedTool, registry: Registry) -> ArgumentSchema | None:
    """Return a schema of arguments that get past step 4 whatever roles conditions give them."""
    return _narrowed(tool, registry, lambda argument: argument.possible_roles)


def _narrowed(
    tool: ValidatedTool, registry: Registry, roles_of: Callable[[Argument], Iterable[str]]
) -> ArgumentSchema | None:
    named = [(pointers.steps_of(argument.name), argument) for argument in tool.annotation.args]
    parts: list[JsonValue] = [
        _placed(steps, _without(registry[role].refused))
        for steps, argument in named
        for role in roles_of(argument)
        if registry[role].refused
    ]
    # Where what stands below an argument is annotated, nothing beside it may stand there.
    above = dict.fromkeys(steps[:length] for steps, _ in named for length in range(1, len(steps)))
    parts += [_placed(steps, {"type": ["array", "object", "null"]}) for steps in above]
    if not parts or tool.unusable is not None:
        return tool.schema
    whole = tool.schema.schema if tool.schema is not None else {}
    also = whole.get("allOf")
    return ArgumentSchema({**whole, "allOf": [*(also if isinstance(also, list) else ()), *parts]})


def _without(refused: str) -> dict[str, JsonValue]:
    """Return the schema of a value all of whose leaves are texts that hold no such expression."""
    leaf: dict[str, JsonValue] = {
        "type": ["string", "null", "array", "object"],
        "not": {"type": "string", "pattern": refused},
    }
    return {**leaf, "items": leaf, "additionalProperties": leaf}


def _placed(steps: tuple[str, ...], schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the schema of an object that holds at a pointer what fits a schema, or nothing."""
    for step in reversed(steps):
        schema = {"items": schema} if step == pointers.EVERY else {"properties": {step: schema}}
    return schema
