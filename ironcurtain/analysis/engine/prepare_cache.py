"""Steps 3 to 5 of a decision for many calls that differ little: what reads alike is run once.

Thousands of calls are tried that differ in one value, and the tools of a server have arguments in common.
Step 3 is done once for all texts of an argument that its schema cannot tell apart, steps 4 and 5 once for
all calls, of whatever tool, that differ only in what these steps do not read.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping

from ironcurtain.analysis.engine.values.shapes import SchemaReader
from ironcurtain.decision import structural_checks
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.arguments import canonicalise
from ironcurtain.decision.canonical.conditional import roles_in_call
from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.canonical.validate import InvalidArgumentsError, ValidatedTool
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.decision.refusal import Refusal
from ironcurtain.decision.roles import GIT_REMOTE, Registry
from ironcurtain.model.annotations import Argument, ToolAnnotation
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct

_WORD = re.compile(r"[\w-]*")
# What steps 4 and 5 do not read of a tool and of an argument; everything else tells calls apart.
_UNREAD_TOOL = {
    "tool",
    "side_effects",
    "comment",
    "schema_digest",
    "listing_digest",
    "input_schema",
    "args",
    "confirmed",
    "source",
}
_UNREAD_ARGUMENT = {"roles", "conditional", "required", "pii"}


class PreparedResources(Struct):
    """What a call is after step 5: its resources, and what the structural checks demand."""

    resources: tuple[Resource, ...]
    minimum: structural_checks.MinimumVerdict


class PrepareCache:
    """Steps 3 to 5 under one policy; it remembers what it did.

    Args:
        policy: The policy, loaded in a world that does not change.
    """

    def __init__(self, policy: LoadedPolicy) -> None:
        self._policy = policy
        self._reached: dict[Hashable, PreparedResources | None] = {}
        self._tools: dict[tuple[str, str], StepsOfTool] = {}

    def of_tool(self, server: str, tool: ValidatedTool, registry: Registry) -> StepsOfTool:
        """Return the steps for the calls of one tool."""
        place = server, tool.annotation.tool
        if place not in self._tools:
            self._tools[place] = StepsOfTool(self, server, tool, registry)
        return self._tools[place]

    def validated(
        self, server: str, tool: ValidatedTool, arguments: dict[str, JsonValue]
    ) -> dict[str, JsonValue] | None:
        """Do step 3; return the filled arguments, None if they do not fit."""
        if not tool.fits_schema(arguments):
            return None
        has_root = self._policy.deployment.working_root(server) is not None
        try:
            return tool.validate(arguments, has_working_root=has_root)
        except InvalidArgumentsError:
            return None

    def reached(
        self, server: str, tool: ToolAnnotation, filled: dict[str, JsonValue], read: Hashable
    ) -> PreparedResources | None:
        """Do steps 4 and 5, once for calls of which they read the same; None if the call ends there."""
        if read not in self._reached:
            self._reached[read] = self._run(server, tool, filled)
        return self._reached[read]

    def _run(
        self, server: str, tool: ToolAnnotation, filled: dict[str, JsonValue]
    ) -> PreparedResources | None:
        try:
            canonical = canonicalise(tool, filled, self._policy.canonicalization(server))
            minimum = structural_checks.check(tool, canonical, self._policy.boundaries(server))
        except (UnrepresentableError, Refusal):
            return None
        return PreparedResources(canonical.resources, minimum)


class StepsOfTool:
    """Steps 3 to 5 for the calls of one tool under one policy."""

    def __init__(self, steps: PrepareCache, server: str, tool: ValidatedTool, registry: Registry) -> None:
        self._steps, self._server, self._tool = steps, server, tool
        self._annotation = tool.annotation
        self._shapes = SchemaReader(tool.schema.schema) if tool.schema else None
        self._filled: dict[Hashable, dict[str, JsonValue] | None] = {}
        self._about_tool = tool.annotation.model_dump_json(exclude=_UNREAD_TOOL)
        self._about = [(a, a.model_dump_json(exclude=_UNREAD_ARGUMENT)) for a in tool.annotation.args]
        self._read = _read_always(tool.annotation, registry)

    def of(self, arguments: dict[str, JsonValue], top: str) -> PreparedResources | None:
        """Do the steps for a call that differs from others in the argument `top`; None if it ends early."""
        filled = self._validated(arguments, top)
        if filled is None:
            return None
        return self._steps.reached(self._server, self._annotation, filled, self._reads(filled))

    def of_filled(self, filled: dict[str, JsonValue]) -> PreparedResources | None:
        """Do steps 4 and 5 for filled arguments, valid or not; None if the call ends there."""
        return self._steps.reached(self._server, self._annotation, filled, self._reads(filled))

    def accepts(self, arguments: dict[str, JsonValue]) -> bool:
        """Tell whether a call gets as far as the policy."""
        filled = self._steps.validated(self._server, self._tool, arguments)
        return filled is not None and self.of_filled(filled) is not None

    def _validated(self, arguments: dict[str, JsonValue], top: str) -> dict[str, JsonValue] | None:
        value = arguments.get(top)
        # Texts that fit have all that step 3 asks of them in common, and so have those that do not.
        fits = self._shapes.takes_text(top, value) if self._shapes and isinstance(value, str) else None
        if fits is None:
            return self._steps.validated(self._server, self._tool, arguments)
        same = (top, fits, repr({**arguments, top: None}))
        if same not in self._filled:
            self._filled[same] = self._steps.validated(self._server, self._tool, arguments)
        filled = self._filled[same]
        return None if filled is None else {**filled, top: value}

    def _reads(self, filled: Mapping[str, JsonValue]) -> Hashable:
        """Return all that steps 4 and 5 read of a call."""
        values = {
            name: repr(value)
            for name, value in filled.items()
            if name in self._read or not _names_nothing(value)
        }
        carried = ((each, about, roles_in_call(each, filled)) for each, about in self._about)
        arguments = tuple(
            (about, roles)
            for each, about, roles in carried
            if each.top_level in values or GIT_REMOTE in roles
        )
        return self._server, self._about_tool, tuple(values.items()), arguments


def _read_always(tool: ToolAnnotation, registry: Registry) -> frozenset[str]:
    """Return the top-level arguments of which steps 4 and 5 read more than whether they look like paths."""
    read = {argument.top_level for argument in tool.args if _is_read(argument, registry)}
    read |= {argument.relative_to for argument in tool.args if argument.relative_to is not None}
    return frozenset(read | {name for composite in tool.composites for name in composite.join})


def _is_read(argument: Argument, registry: Registry) -> bool:
    roles = [registry[role] for role in argument.possible_roles]
    return argument.name.startswith("/") or any(role.resource or role.refused for role in roles)


def _names_nothing(value: JsonValue) -> bool:
    """Tell whether a value is too plain to name a place of the disk."""
    return all(not isinstance(leaf, str) or _WORD.fullmatch(leaf) for _, leaf in pointers.leaves(value))
